// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Register access to the injection FIFOs of one group (HW-1): a request is registered, then checked against
// the state of its FIFO and answered.
//
// FIFO f is at f*0x40, 64-bit registers:
//   +0x00 BASE       ring address, 48 bits, 4 KiB aligned; written while disabled only
//   +0x08 SIZE       ring bytes, power of two, 4 KiB..1 MiB; written while disabled only
//   +0x10 HEAD       RO, bytes completed, free-running modulo 2^32 (ring offset = HEAD & (SIZE-1))
//   +0x18 TAIL       bytes posted, free-running; a write starts the work. Whole descriptors, not before the
//                    old TAIL, not past HEAD+SIZE, and neither disabled nor remote-get FIFO
//   +0x20 CTRL       [0] enable, [1] remote-get FIFO, [7:4] owner, [8] completion event. [1] and [7:4]
//                    change while disabled only. Setting enable clears HEAD, TAIL, COUNT and STATUS; it
//                    needs a SIZE, a ring that ends within the 48-bit address space, and nothing of the FIFO in flight
//   +0x28 STATUS     [0] halted by an error (write 1: skip the bad descriptor and resume, once what is in
//                    flight has left), [1] busy: work left or in flight, [2] empty, [15:8] err_e of the halt
//   +0x30 COUNT      RO, descriptors completed, modulo 2^32
//   +0x38 HIGHWATER  most bytes between HEAD and TAIL so far; a write clears it
// An access that breaks these rules, an absent FIFO, and an address that is not a multiple of 8 answer reg_err_o and
// change nothing. Other bits are ignored when written and read as zero.
module inj_fifo_access
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NInj = 32,
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    // Access: a pulse; the answer comes two cycles later.
    input  logic               reg_req_i,
    input  logic               reg_we_i,
    input  logic [10:0]        reg_addr_i,
    input  logic [63:0]        reg_wdata_i,
    output logic               reg_ack_o,
    output logic               reg_err_o,
    output logic [63:0]        reg_rdata_o,
    // FIFO accessed, and its state in the same cycle
    output logic               valid_o,
    output logic [FidW-1:0]    fifo_o,
    input  inj_fifo_t          state_i,
    // Write that is carried out in this cycle
    output logic               write_o,
    output logic               start_o,      // it enables the FIFO
    output inj_reg_e           reg_o,
    output logic [63:0]        wdata_o,
    output logic [InjPtrW-1:0] level_o,      // descriptors between HEAD and TAIL
    output logic [InjPtrW-1:0] new_level_o   // and with the TAIL written
);
  logic               rq_valid_q, rq_we_q, rq_bad_q;
  logic [FidW-1:0]    rq_fifo_q;
  inj_reg_e           rq_reg_q;
  logic [63:0]        rq_wdata_q;
  logic               ack_q, nack_q;
  logic [63:0]        rdata_q;

  logic               ok, no_fifo;
  logic [63:0]        rdata;
  logic [InjPtrW-1:0] level, new_level;
  logic [AddrW-12:0]  ring_end;   // page behind the ring

  if (NInj < 32) begin : gen_absent
    assign no_fifo = reg_addr_i[10:6] >= 5'(NInj);
  end else begin : gen_all
    assign no_fifo = 1'b0;
  end

  always_comb begin
    ok        = 1'b0;
    rdata     = '0;
    level     = '0;
    new_level = '0;
    ring_end  = '0;
    if (rq_valid_q) begin
      level     = state_i.tail - state_i.head;
      new_level = rq_wdata_q[31:6] - state_i.head;
      unique case (rq_reg_q)
        InjRegBase: begin
          rdata = {16'b0, state_i.base, 12'b0};
          ok    = !state_i.enable && rq_wdata_q[11:0] == '0 && rq_wdata_q[63:AddrW] == '0;
        end
        InjRegSize: begin
          rdata = 64'({state_i.size, 6'b0});
          ok    = !state_i.enable && $onehot(rq_wdata_q[20:12]) && rq_wdata_q[11:0] == '0 &&
                  rq_wdata_q[63:21] == '0;
        end
        InjRegHead: rdata = {32'b0, state_i.head, 6'b0};
        InjRegTail: begin
          rdata = {32'b0, state_i.tail, 6'b0};
          ok    = state_i.enable && !state_i.remote && rq_wdata_q[5:0] == '0 &&
                  rq_wdata_q[63:32] == '0 && new_level >= level && new_level <= InjPtrW'(state_i.size);
        end
        InjRegCtrl: begin
          rdata = 64'({state_i.event_on, state_i.owner, 2'b0, state_i.remote, state_i.enable});
          ring_end = {1'b0, state_i.base} + (AddrW - 11)'(state_i.size[InjLevelW-1:6]);
          if (!rq_wdata_q[0]) ok = 1'b1;
          else if (state_i.enable)
            ok = rq_wdata_q[1] == state_i.remote && rq_wdata_q[7:4] == state_i.owner;
          else
            ok = state_i.size != '0 && ring_end <= {1'b1, (AddrW - 12)'(0)} && !state_i.busy && state_i.landed;
        end
        InjRegStatus: begin
          rdata = 64'({state_i.reason, 5'b0, level == '0,
                       state_i.busy || (state_i.enable && level != '0), state_i.halted});
          ok    = !rq_wdata_q[0] || !state_i.broken;
        end
        InjRegCount: rdata = 64'(state_i.count);
        InjRegHighwater: begin
          rdata = 64'({state_i.high, 6'b0});
          ok    = 1'b1;
        end
        default: rdata = '0;
      endcase
    end
  end

  assign valid_o     = rq_valid_q;
  assign fifo_o      = rq_fifo_q;
  assign reg_o       = rq_reg_q;
  assign wdata_o     = rq_wdata_q;
  assign level_o     = level;
  assign new_level_o = new_level;
  assign write_o     = rq_valid_q && rq_we_q && !rq_bad_q && ok;
  assign start_o     = write_o && rq_reg_q == InjRegCtrl && rq_wdata_q[0] && !state_i.enable;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rq_valid_q <= 1'b0;
      ack_q      <= 1'b0;
      nack_q     <= 1'b0;
    end else begin
      rq_valid_q <= reg_req_i;
      ack_q      <= rq_valid_q;
      nack_q     <= rq_valid_q && (rq_bad_q || (rq_we_q && !ok));
    end
  end

  always_ff @(posedge clk_i) begin
    if (reg_req_i) begin
      rq_we_q    <= reg_we_i;
      rq_bad_q   <= no_fifo || reg_addr_i[2:0] != '0;
      rq_fifo_q  <= no_fifo ? '0 : FidW'(reg_addr_i[10:6]);
      rq_reg_q   <= inj_reg_e'(reg_addr_i[5:3]);
      rq_wdata_q <= reg_wdata_i;
    end
    if (rq_valid_q) rdata_q <= (rq_we_q || rq_bad_q) ? '0 : rdata;
  end

  assign reg_ack_o   = ack_q;
  assign reg_err_o   = nack_q;
  assign reg_rdata_o = rdata_q;

`ifndef SYNTHESIS
  logic asked_q;                 // in the last cycle
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) asked_q <= 1'b0;
    else asked_q <= rq_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && asked_q) begin
      Answered : assert (reg_ack_o)
      else $fatal(1, "%m: register access not answered");
    end
    if (rst_ni && start_o) begin
      StartAlone : assert (write_o && reg_o == InjRegCtrl)
      else $fatal(1, "%m: FIFO enabled without a write of CTRL");
    end
  end
`endif
endmodule
