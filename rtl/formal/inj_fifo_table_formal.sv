// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// inj_fifo_table: the pointers of an injection FIFO stay in order and in its ring, whatever software writes, and a
// descriptor that can be fetched is announced. The neighbours behave: a fetched descriptor was announced and completes once,
// and one that halts its FIFO does not complete; remote gets allocate free space, and commit it.
module inj_fifo_table_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter bit WakeUp = 1'b0,          // whether avail_o says all that it should
    localparam int unsigned NInj = 2
) (
    input logic                 clk_i,
    input logic                 reg_req_i,
    input logic                 reg_we_i,
    input logic [10:0]          reg_addr_i,
    input logic [63:0]          reg_wdata_i,
    input logic [NInj-1:0]      lingers_i,      // busy for another reason
    input logic [NInj-1:0]      flush_i,        // the fetched descriptor is dropped
    input logic                 fetch_take_i,
    input logic [0:0]           fetch_fifo_i,
    input logic [NInj-1:0]      path_halt_i,
    input logic                 act_err_valid_i,
    input logic [0:0]           act_err_fifo_i,
    input logic                 retire_valid_i,
    input tx_retire_t           retire_i,
    input logic [MaxFifoId-1:0] rget_id_i,
    input rget_move_t           rget_alloc_i,
    input rget_move_t           rget_commit_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                 reg_ack, reg_err, rget_ok, rget_moved, idle;
  logic [63:0]          reg_rdata;
  logic [NInj-1:0]      enable, remote, halted, avail, desc_done, busy;
  logic [NInj-1:0][3:0] owner;
  logic [AddrW-1:0]     fetch_addr, rget_base;
  logic [20:0]          rget_size, rget_free;
  logic [31:0]          rget_alloc;
  error_t               err;

  inj_fifo_table #(.NInj(NInj)) dut (
      .clk_i, .rst_ni(rst_n), .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o(reg_ack),
      .reg_err_o(reg_err), .reg_rdata_o(reg_rdata), .enable_o(enable), .remote_o(remote), .halted_o(halted),
      .avail_o(avail), .owner_o(owner), .busy_i(busy), .fetch_take_i, .fetch_fifo_i, .fetch_addr_o(fetch_addr),
      .flow_halt_i('0), .path_halt_i, .act_err_valid_i, .act_err_fifo_i, .act_err_i(ErrDescKind), .retire_valid_i, .retire_i, .rget_id_i,
      .rget_ok_o(rget_ok), .rget_base_o(rget_base), .rget_size_o(rget_size), .rget_alloc_o(rget_alloc),
      .rget_free_o(rget_free), .rget_alloc_i, .rget_commit_i, .rget_moved_o(rget_moved), .desc_done_o(desc_done),
      .err_o(err), .idle_o(idle)
  );

  // One register access at a time.
  logic waits_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) waits_q <= 1'b0;
    else waits_q <= (waits_q && !reg_ack) || reg_req_i;
    if (rst_n) AssumeOneAccess : assume (!reg_req_i || !waits_q);
  end

  logic [InjPtrW-1:0] alloc_bytes, commit_bytes;
  assign alloc_bytes  = InjPtrW'(rget_alloc_i.bytes[9:6]);
  assign commit_bytes = InjPtrW'(rget_commit_i.bytes[9:6]);

  for (genvar f = 0; f < int'(NInj); f++) begin : gen_fifo
    // Descriptors fetched and not completed; the last of them is at fault.
    logic [3:0] flight_q;
    logic       bad_q, takes, completes, halts, resumes;
    assign takes     = fetch_take_i && fetch_fifo_i == 1'(f);
    assign completes = retire_valid_i && retire_i.last && !retire_i.drop && retire_i.fifo[0] == 1'(f);
    assign halts     = path_halt_i[f] || (act_err_valid_i && act_err_fifo_i == 1'(f));
    assign resumes   = dut.resume && dut.res_fifo == 1'(f);
    assign busy[f]   = flight_q != '0 || lingers_i[f];

    always_ff @(posedge clk_i) begin
      if (!rst_n) begin
        flight_q <= '0;
        bad_q    <= 1'b0;
      end else begin
        flight_q <= flush_i[f] ? '0 : flight_q + 4'(takes) - 4'(completes);
        bad_q    <= (bad_q && !resumes && enable[f]) || halts;
      end
    end

    logic [InjPtrW-1:0] level, landing;
    assign level   = dut.tail_q[f] - dut.head_q[f];
    assign landing = dut.alloc_q[f] - dut.landed_q[f];

    always_ff @(posedge clk_i) if (rst_n) begin
      AssumeFetchAnnounced : assume (!takes || (enable[f] && avail[f] && !halted[f] && flight_q != '1));
      AssumeFlushKilled : assume (!flush_i[f] || ((!enable[f] || halted[f]) && !takes && !completes));
      AssumeCompleteFetched : assume (!completes || flight_q > 4'(halts || bad_q));
      AssumeHaltFetched : assume (!halts || (flight_q != '0 && !bad_q && enable[f]));
      AssumeAllocFree : assume (!rget_alloc_i.valid || rget_alloc_i.id[0] != 1'(f) ||
                                (enable[f] && remote[f] && !dut.broken_q[f] && alloc_bytes != '0 &&
                                 alloc_bytes <= InjPtrW'(rget_free[20:6])));
      AssumeCommitAllocated : assume (!rget_commit_i.valid || rget_commit_i.id[0] != 1'(f) ||
                                      (commit_bytes != '0 && commit_bytes <= landing));
      if (enable[f]) begin
        InRing : assert (level <= InjPtrW'(dut.size_q[f]));
        FetchedAhead : assert (dut.fetch_q[f] - dut.head_q[f] <= level);
        NoFetchBeyond : assert (!avail[f] || dut.fetch_q[f] != dut.tail_q[f]);
        AllocInRing : assert (!remote[f] || dut.broken_q[f] || level + landing <= InjPtrW'(dut.size_q[f]));
        if (WakeUp) NoLostWakeUp : assert (avail[f] || dut.fetch_q[f] == dut.tail_q[f]);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeFifo : assume (retire_i.fifo < MaxFifoId'(NInj) && rget_alloc_i.id < MaxFifoId'(NInj) &&
                         rget_commit_i.id < MaxFifoId'(NInj) && rget_id_i == rget_alloc_i.id);
    AssumeWhole : assume (rget_alloc_i.bytes[5:0] == '0 && rget_commit_i.bytes[5:0] == '0);
    AssumeOneError : assume (!(retire_valid_i && retire_i.err));
    Answered : assert (!reg_ack || waits_q);
    CoverTakesTurn : cover (fetch_take_i && enable == '1 && remote == 2'b10);
    CoverResumed : cover (dut.resume && remote[1] && dut.res_fifo == 1'b1);
    CoverBroken : cover (dut.broken_q[1] && halted[1]);
  end
endmodule
