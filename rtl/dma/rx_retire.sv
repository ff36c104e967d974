// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Writes of one path on their way: packets in issue order, each with one or two bursts. Responses of one id
// come back in order; the oldest packet retires when all its responses are there: a request is reported to the
// commit queue, a put lowers its byte counter by its payload bytes, or by one if it has none; a put of a flow (HW-4)
// is reported there and lowers its counter in turn. A failed write is reported as ErrWrite; a failed put lowers nothing.
module rx_retire
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned Depth = 8
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               push_i,
    input  rx_write_t          push_data_i,
    input  logic               push_two_i,     // two bursts
    output logic               room_o,
    // write responses of this path's id
    input  logic               b_valid_i,
    input  logic               b_bad_i,
    // requests: commit queue
    output logic               done_o,
    output logic [CommitW-1:0] done_index_o,
    output logic               done_failed_o,
    // puts: counter unit
    output logic               retire_o,       // a packet is in memory, or lost
    output logic               ctr_valid_o,
    output logic [AddrW-1:0]   ctr_addr_o,
    output logic [9:0]         ctr_bytes_o,
    input  logic               ctr_ack_i,
    output flow_ref_t          flow_o,         // a put of a flow
    output logic               flow_failed_o,  // did not reach memory
    // errors, held until taken
    output error_t             err_o,
    input  logic               err_ack_i,
    output logic               busy_o,
    output logic               idle_o
);
  localparam int unsigned PtrW = $clog2(Depth);
  if (Depth != (1 << PtrW)) begin : gen_bad_depth
    $fatal(1, "rx_retire: Depth must be a power of two");
  end

  typedef struct packed {
    logic                 two;
    logic                 response;
    logic                 ctr;
    flow_ref_t            flow;
    logic [MaxFifoId-1:0] target;
    logic [9:0]           len;
    packet_info_t         info;
    logic [CommitW-1:0]   commit;
    logic [AddrW-1:0]     ctr_addr;
  } entry_t;

  entry_t           entry [Depth];
  entry_t           oldest;
  logic [PtrW-1:0]  tail_q, resp_q, head_q;   // next free, waits for responses, oldest
  logic [PtrW:0]    level_q, ready_q;         // all, of these with all responses
  logic             first_q;                  // first of two responses is there
  logic [Depth-1:0] failed_q;
  logic             complete, failed, retire;

  assign oldest   = entry[head_q];
  assign complete = b_valid_i && (!entry[resp_q].two || first_q);
  assign failed   = failed_q[head_q];
  assign room_o   = level_q != (PtrW + 1)'(Depth);

  always_comb begin
    retire        = 1'b0;
    done_o        = 1'b0;
    ctr_valid_o   = 1'b0;
    flow_o        = '0;
    err_o         = '0;
    err_o.reason  = ErrNone;
    if (ready_q != '0) begin
      ctr_valid_o = !failed && oldest.response && oldest.ctr && !oldest.flow.valid;
      if (failed) err_o = '{valid: 1'b1, reason: ErrWrite, where: oldest.target, info: oldest.info};
      retire      = failed ? err_ack_i : !ctr_valid_o || ctr_ack_i;
      done_o      = retire && !oldest.response;
      flow_o       = oldest.flow;
      flow_o.valid = oldest.flow.valid && retire;
    end
  end
  assign done_index_o  = oldest.commit;
  assign done_failed_o = failed;
  assign flow_failed_o = failed;
  assign retire_o      = retire;
  assign ctr_addr_o    = oldest.ctr_addr;
  assign ctr_bytes_o   = oldest.len == '0 ? 10'd1 : oldest.len;
  assign busy_o        = level_q != '0;
  assign idle_o        = ready_q == '0;

  always_ff @(posedge clk_i) begin
    if (push_i)
      entry[tail_q] <= '{two: push_two_i, response: push_data_i.response, ctr: push_data_i.ctr_valid,
                         flow: push_data_i.flow,
                         target: push_data_i.target, len: push_data_i.len, info: push_data_i.info,
                         commit: push_data_i.commit, ctr_addr: push_data_i.ctr_addr};
  end
  logic unused_bits;
  assign unused_bits = ^{push_data_i, oldest.two};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tail_q   <= '0;
      resp_q   <= '0;
      head_q   <= '0;
      level_q  <= '0;
      ready_q  <= '0;
      first_q  <= 1'b0;
      failed_q <= '0;
    end else begin
      if (push_i) tail_q <= tail_q + 1'b1;
      if (push_i != retire) level_q <= push_i ? level_q + 1'b1 : level_q - 1'b1;
      if (complete != retire) ready_q <= complete ? ready_q + 1'b1 : ready_q - 1'b1;
      if (b_valid_i) begin
        first_q <= !complete;
        if (b_bad_i) failed_q[resp_q] <= 1'b1;
        if (complete) resp_q <= resp_q + 1'b1;
      end
      if (retire) begin
        head_q           <= head_q + 1'b1;
        failed_q[head_q] <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && b_valid_i) begin
      ResponseExpected : assert (level_q > ready_q)
      else $fatal(1, "%m: write response without a write");
    end
    if (rst_ni && push_i) begin
      NoOverflow : assert (room_o)
      else $fatal(1, "%m: too many writes");
    end
  end
`endif
endmodule
