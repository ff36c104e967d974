// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// slot_table: every look-up gives the last written value of a slot; a slot that does not exist is not
// valid; an access to it, to the word that a slot lacks, or with bits that a register lacks changes nothing and answers an
// error.
module slot_table_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NSlot = 4,
    parameter int unsigned Who = 2,          // slot followed; at NSlot and above an absent one
    localparam int unsigned IdW = $clog2(NSlot)
) (
    input logic                 clk_i,
    input logic                 reg_req_i,
    input logic                 reg_we_i,
    input logic [9:0]           reg_addr_i,
    input logic [63:0]          reg_wdata_i,
    input logic [MaxFifoId-1:0] tx_id_i,
    input logic [MaxFifoId-1:0] rx_id_i,
    input logic [MaxFifoId-1:0] ctr_id_i,
    input logic [MaxFifoId-1:0] rmw_id_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        ack, err, idle;
  logic [63:0] rdata;
  slot_t       tx, rx, ctr, rmw;
  slot_table #(.NSlot(NSlot)) dut (
      .clk_i, .rst_ni(rst_n), .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o(ack), .reg_err_o(err),
      .reg_rdata_o(rdata), .tx_id_i, .tx_slot_o(tx), .rx_id_i, .rx_slot_o(rx), .ctr_id_i, .ctr_slot_o(ctr), .rmw_id_i,
      .rmw_slot_o(rmw), .idle_o(idle)
  );

  // The slot followed, as software wrote it, and the access of the last cycle.
  localparam logic [MaxFifoId-1:0] Slot = MaxFifoId'(Who);
  slot_t                slot_q;
  logic                 asked_q, bad_q, hit_q;
  logic [1:0]           word_q;
  slot_t                read_q;
  logic                 here, too_large;
  assign here = reg_addr_i[2:0] == '0 && MaxFifoId'(reg_addr_i[9:5]) == Slot;
  assign too_large = reg_we_i && ((reg_addr_i[4:3] == 2'd0 && (reg_wdata_i >> AddrW) != '0) ||
                                  (reg_addr_i[4:3] == 2'd1 && (reg_wdata_i >> OffsetW) != '0));

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      slot_q  <= '0;
      asked_q <= 1'b0;
    end else begin
      asked_q <= reg_req_i;
      bad_q   <= reg_addr_i[2:0] != '0 || 32'(reg_addr_i[9:5]) >= NSlot || reg_addr_i[4:3] == 2'd3 || too_large;
      hit_q   <= here;
      word_q  <= reg_addr_i[4:3];
      read_q  <= slot_q;
      if (reg_req_i && reg_we_i && here && Who < NSlot && !too_large) begin
        if (reg_addr_i[4:3] == 2'd0) slot_q.base <= reg_wdata_i[AddrW-1:0];
        if (reg_addr_i[4:3] == 2'd1) slot_q.limit <= reg_wdata_i[OffsetW-1:0];
        if (reg_addr_i[4:3] == 2'd2) begin
          {slot_q.remote_read, slot_q.atomic, slot_q.write, slot_q.read, slot_q.valid} <= reg_wdata_i[4:0];
          slot_q.owner <= reg_wdata_i[11:8];
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeOneAccess : assume (!reg_req_i || !asked_q);
    AnsweredNext : assert (ack == asked_q);
    ErrorOfBad : assert (!ack || err == bad_q);
    NoDataOfBad : assert (!ack || !bad_q || rdata == '0);
    if (ack && hit_q && !bad_q) begin
      ReadsBase : assert (word_q != 2'd0 || rdata == 64'(read_q.base));
      ReadsLimit : assert (word_q != 2'd1 || rdata == 64'(read_q.limit));
      ReadsCtrl : assert (word_q != 2'd2 || rdata == {52'd0, read_q.owner, 3'd0, read_q.remote_read, read_q.atomic,
                                                      read_q.write, read_q.read, read_q.valid});
    end
  end
  if (Who < NSlot) begin : gen_there
    always_ff @(posedge clk_i) if (rst_n) begin
      Kept : assert (dut.base_q[Who] == slot_q.base && dut.limit_q[Who] == slot_q.limit &&
                     dut.ctrl_q[Who] == {slot_q.owner, slot_q.remote_read, slot_q.atomic, slot_q.write, slot_q.read,
                                         slot_q.valid});
      LookUps : assert ((tx_id_i != Slot || tx == slot_q) && (rx_id_i != Slot || rx == slot_q) &&
                        (ctr_id_i != Slot || ctr == slot_q) && (rmw_id_i != Slot || rmw == slot_q));
    end
  end else begin : gen_absent
    always_ff @(posedge clk_i) if (rst_n) begin
      Invalid : assert ((tx_id_i != Slot || !tx.valid) && (rx_id_i != Slot || !rx.valid) &&
                        (ctr_id_i != Slot || !ctr.valid) && (rmw_id_i != Slot || !rmw.valid));
    end
  end
  always_ff @(posedge clk_i) if (rst_n) begin
    CoverWritten : cover (Who < NSlot ? rx_id_i == Slot && rx.valid && rx.base == '1 && rx.limit == 40'd4096
                                      : ack && err && hit_q && tx.valid);
  end
endmodule
