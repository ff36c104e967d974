// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Base slots of a group page (HW-1): registers, and three combinational look-ups by number: source slots
// of the transmit side, target and counter slots of the receive side. A number that does not exist reads
// as an invalid slot. Slot s at s*0x20: +0x00 BASE (byte address), +0x08 LIMIT (bytes), +0x10 CTRL {[0] valid,
// [1] read, [2] write, [3] atomic, [4] remote read granted, [11:8] owner}. Other bits of CTRL are ignored when written
// and read as zero. Answers with an error, and changes nothing: BASE above 48 bits, LIMIT above 40, +0x18, an absent slot,
// an address that is not a multiple of 8. Where BASE + LIMIT passes the end of the address space, users of the look-ups refuse
// accesses beyond it: software writes one register after the other.
module slot_table
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NSlot = 32
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // register access, one-cycle request, acknowledge in the next cycle
    input  logic                 reg_req_i,
    input  logic                 reg_we_i,
    input  logic [9:0]           reg_addr_i,
    input  logic [63:0]          reg_wdata_i,
    output logic                 reg_ack_o,
    output logic                 reg_err_o,
    output logic [63:0]          reg_rdata_o,
    // look-ups
    input  logic [MaxFifoId-1:0] tx_id_i,
    output slot_t                tx_slot_o,
    input  logic [MaxFifoId-1:0] rx_id_i,
    output slot_t                rx_slot_o,
    input  logic [MaxFifoId-1:0] ctr_id_i,
    output slot_t                ctr_slot_o,
    input  logic [MaxFifoId-1:0] rmw_id_i,
    output slot_t                rmw_slot_o,
    output logic                 idle_o
);
  localparam int unsigned IdW = $clog2(NSlot);

  if (NSlot < 2 || NSlot > 32 || (NSlot & (NSlot - 1)) != 0) begin : gen_bad_nslot
    $fatal(1, "slot_table: NSlot must be a power of two, 2..32");
  end

  logic [AddrW-1:0]   base_q  [NSlot];
  logic [OffsetW-1:0] limit_q [NSlot];
  logic [8:0]         ctrl_q  [NSlot];  // {owner, rights[4:0]}

  function automatic slot_t make_slot(logic in_range, logic [AddrW-1:0] base,
                                      logic [OffsetW-1:0] limit, logic [8:0] ctrl);
    slot_t s;
    s.valid       = in_range && ctrl[0];
    s.read        = ctrl[1];
    s.write       = ctrl[2];
    s.atomic      = ctrl[3];
    s.remote_read = ctrl[4];
    s.owner       = ctrl[8:5];
    s.base        = base;
    s.limit       = limit;
    return s;
  endfunction

  assign tx_slot_o  = make_slot(tx_id_i < MaxFifoId'(NSlot), base_q[tx_id_i[IdW-1:0]],
                                limit_q[tx_id_i[IdW-1:0]], ctrl_q[tx_id_i[IdW-1:0]]);
  assign rx_slot_o  = make_slot(rx_id_i < MaxFifoId'(NSlot), base_q[rx_id_i[IdW-1:0]],
                                limit_q[rx_id_i[IdW-1:0]], ctrl_q[rx_id_i[IdW-1:0]]);
  assign ctr_slot_o = make_slot(ctr_id_i < MaxFifoId'(NSlot), base_q[ctr_id_i[IdW-1:0]],
                                limit_q[ctr_id_i[IdW-1:0]], ctrl_q[ctr_id_i[IdW-1:0]]);
  assign rmw_slot_o = make_slot(rmw_id_i < MaxFifoId'(NSlot), base_q[rmw_id_i[IdW-1:0]],
                                limit_q[rmw_id_i[IdW-1:0]], ctrl_q[rmw_id_i[IdW-1:0]]);

  logic [IdW-1:0] sel;
  logic [1:0]     word;
  logic           err;
  logic [63:0]    rdata;
  assign sel  = reg_addr_i[5+:IdW];
  assign word = reg_addr_i[4:3];

  always_comb begin
    rdata = '0;
    err   = 1'b0;
    if (reg_req_i) begin
      err = {27'd0, reg_addr_i[9:5]} >= NSlot || reg_addr_i[2:0] != '0 || word == 2'd3 ||
            (reg_we_i && ((word == 2'd0 && reg_wdata_i[63:AddrW] != '0) ||
                          (word == 2'd1 && reg_wdata_i[63:OffsetW] != '0)));
    end
    if (reg_req_i && !err) begin
      unique case (word)
        2'd0:    rdata = {16'd0, base_q[sel]};
        2'd1:    rdata = {24'd0, limit_q[sel]};
        2'd2:    rdata = {52'd0, ctrl_q[sel][8:5], 3'd0, ctrl_q[sel][4:0]};
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < NSlot; s++) begin
        base_q[s]  <= '0;
        limit_q[s] <= '0;
        ctrl_q[s]  <= '0;
      end
    end else if (reg_req_i && reg_we_i && !err) begin
      unique case (word)
        2'd0:    base_q[sel]  <= reg_wdata_i[AddrW-1:0];
        2'd1:    limit_q[sel] <= reg_wdata_i[OffsetW-1:0];
        2'd2:    ctrl_q[sel]  <= {reg_wdata_i[11:8], reg_wdata_i[4:0]};
        default: ;
      endcase
    end
  end

  reg_answer u_answer (
      .clk_i, .rst_ni, .req_i(reg_req_i), .err_i(err), .rdata_i(rdata),
      .ack_o(reg_ack_o), .err_o(reg_err_o), .rdata_o(reg_rdata_o), .idle_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (tx_slot_o.valid || rx_slot_o.valid || ctr_slot_o.valid || rmw_slot_o.valid)) begin
      ValidExists : assert ((!tx_slot_o.valid || 32'(tx_id_i) < NSlot) && (!rx_slot_o.valid || 32'(rx_id_i) < NSlot) &&
                            (!ctr_slot_o.valid || 32'(ctr_id_i) < NSlot) && (!rmw_slot_o.valid || 32'(rmw_id_i) < NSlot))
      else $fatal(1, "%m: a slot that does not exist is valid");
    end
  end
`endif
endmodule
