// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Contexts of the active descriptors, one an injection FIFO, and their packets (HW-1): one packet a cycle at
// most, round robin over paths and, inside a path, system before priority before the others, then least recently served
// over its FIFOs, a packet a turn. A
// packet is issued to a path only when it fits into the injection buffer of its class, so that it never
// blocks another; FIFOs whose class has no room lose no turn. The last path belongs to the collective network
// (HW-5), with a buffer a class route.
//
// Every packet of a message but the last carries 512 bytes. Answers to read-modify-writes come whole from the
// receive side and go before the packets of FIFOs. Packets of a flow (HW-4) get its number at the target and their
// sequence number when they are issued; FIFOs whose flow has its window full lose no turn either. Where a flow is closed by
// force, FIFOs that are at a descriptor of it are to halt.
module packetizer
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NPath = 8,
    parameter int unsigned NInj  = 32,
    parameter int unsigned NFlow = 4,
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1,
    localparam int unsigned Coll = NPath - 1
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  logic [NInj-1:0]                   halted_i,   // the FIFO's context ends
    // Activation
    input  logic                              load_i,
    input  logic [FidW-1:0]                   load_fifo_i,
    input  header_t                           load_header_i,
    input  logic [31:0]                       load_length_i,
    input  logic [AddrW-1:0]                  load_src_i,
    input  logic [3:0]                        load_path_i,
    input  logic [31:0]                       load_dbg_i,
    output logic [NInj-1:0]                   active_o,
    output logic [NInj-1:0]                   inflight_o, // packets issued and not retired
    output logic [NInj-1:0][3:0]              path_o,
    // Paths
    output logic [NPath-1:0]                  cmd_valid_o,
    output tx_cmd_t                           cmd_o,      // common to all paths
    input  logic [Coll-1:0][NetClasses-1:0]   room_i,     // a full-size packet of the class may be issued
    input  logic [CollRoutes-1:0]             coll_room_i,// and of the class route
    // Flows
    input  logic [NFlow-1:0]                  flow_full_i,
    input  logic [NFlow-1:0]                  flow_closing_i,  // full as well
    output logic [NInj-1:0]                   flow_halt_o,     // the FIFO's context cannot go on, and nothing is in flight
    output logic [NFlow-1:0]                  flow_active_o, // named by a context
    output logic                              flow_issue_o,
    output flow_id_t                          flow_id_o,     // number here
    input  flow_id_t                          flow_i,        // and at the target
    input  flow_seq_t                         flow_seq_i,
    input  flow_epoch_t                       flow_epoch_i,
    // Answers
    input  logic                              answer_valid_i,
    input  logic [3:0]                        answer_path_i,
    input  tx_cmd_t                           answer_i,
    output logic                              answer_ready_o,
    // Packets of FIFOs that left
    input  logic                              retire_valid_i,
    input  logic [FidW-1:0]                   retire_fifo_i,
    output logic                              idle_o
);
  localparam int unsigned CntW = 5;
  localparam int unsigned PathW = $clog2(NPath);

  logic [NInj-1:0]            active_q, inflight_q;
  logic [NetClasses-1:0][NInj-1:0] class_q;            // FIFOs of each class
  logic [NPath-1:0][NInj-1:0] member_q;                // FIFOs of each path
  logic [NFlow-1:0][NInj-1:0] flow_member_q;           // and of each flow
  logic [NInj-1:0][3:0]       path_q;
  logic [CntW-1:0]            count_q [NInj];          // packets in flight
  header_t                    header_q [NInj];
  logic [31:0]                length_q [NInj];
  logic [31:0]                pos_q    [NInj];         // bytes issued
  logic [AddrW-1:0]           src_q    [NInj];
  logic [31:0]                dbg_q    [NInj];
  logic [3:0]                 route_q  [NInj];         // class route of a collective

  // ---- arbitration ------------------------------------------------------------------------------
  logic [NPath-1:0]           path_req, path_gnt, busy_q; // busy_q: got a packet in the cycle before
  logic [NPath-1:0][NInj-1:0] eligible;
  logic [NInj-1:0]            fifo_req, grant;
  logic                       issue, answer;
  logic [FidW-1:0]            fifo;
  logic [PathW-1:0]           answer_path;

  logic [NInj-1:0] ready;      // active, and the window of its flow is open
  always_comb begin
    ready = active_q;
    if (flow_full_i != '0) begin
      for (int unsigned k = 0; k < NFlow; k++) if (flow_full_i[k]) ready = ready & ~flow_member_q[k];
    end
  end
  for (genvar k = 0; k < NFlow; k++) begin : gen_flow
    assign flow_active_o[k] = (active_q & flow_member_q[k]) != '0;
  end
  always_comb begin
    flow_halt_o = '0;
    if (flow_closing_i != '0) begin
      for (int unsigned k = 0; k < NFlow; k++)
        if (flow_closing_i[k]) flow_halt_o = flow_halt_o | (flow_member_q[k] & active_q & ~inflight_q);
    end
  end

  always_comb begin
    eligible = '0;
    path_req = '0;
    if (ready != '0) begin
      for (int unsigned p = 0; p < Coll; p++) begin
        for (int unsigned c = 0; c < NetClasses; c++)
          eligible[p] = eligible[p] | (class_q[c] & {NInj{room_i[p][c]}});
        eligible[p] = eligible[p] & ready & member_q[p];
        path_req[p] = eligible[p] != '0 && !busy_q[p];
      end
      if ((active_q & member_q[Coll]) != '0 && !busy_q[Coll]) begin
        for (int unsigned f = 0; f < NInj; f++)
          eligible[Coll][f] = active_q[f] && member_q[Coll][f] && coll_room_i[route_q[f]];
        path_req[Coll] = eligible[Coll] != '0;
      end
    end
  end

  rr_arbiter #(.N(NPath)) u_path_arbiter (
      .clk_i, .rst_ni, .req_i(path_req), .advance_i(issue), .gnt_o(path_gnt)
  );

  assign answer_path    = PathW'(answer_path_i);
  assign answer         = answer_valid_i && room_i[answer_path][ClassResponse] && !busy_q[answer_path];
  assign answer_ready_o = answer;
  assign issue          = path_req != '0 && !answer;

  always_comb begin
    fifo_req = '0;
    if (issue) begin
      for (int unsigned p = 0; p < NPath; p++) if (path_gnt[p]) fifo_req = fifo_req | eligible[p];
      if (!path_gnt[Coll]) begin
        if ((fifo_req & class_q[ClassSystem]) != '0) fifo_req = fifo_req & class_q[ClassSystem];
        else if ((fifo_req & class_q[ClassPriority]) != '0) fifo_req = fifo_req & class_q[ClassPriority];
      end
    end
  end

  // A FIFO is on one path at a time: one order serves all paths.
  lrs_arbiter #(.N(NInj)) u_fifo_arbiter (
      .clk_i, .rst_ni, .req_i(fifo_req), .advance_i(issue), .gnt_o(grant)
  );

  always_comb begin
    fifo = '0;
    if (issue) begin
      for (int unsigned f = 0; f < NInj; f++) if (grant[f]) fifo = fifo | FidW'(f);
    end
  end

  // ---- the packet ---------------------------------------------------------------------------------
  tx_cmd_t            cmd_d, cmd_q;
  logic [31:0]        pos, left;
  logic               last;
  logic [OffsetW-1:0] target_off;
  logic               is_put;

  always_comb begin
    cmd_d      = '0;
    pos        = '0;
    left       = '0;
    last       = 1'b0;
    target_off = '0;
    is_put     = 1'b0;
    flow_issue_o = 1'b0;
    flow_id_o    = '0;
    if (issue) begin
      pos          = pos_q[fifo];
      left         = length_q[fifo] - pos;
      last         = left <= 32'(MaxPayloadBytes);
      cmd_d.header = header_q[fifo];
      cmd_d.addr   = src_q[fifo] + AddrW'(pos);
      cmd_d.fifo   = MaxFifoId'(fifo);
      cmd_d.dbg    = dbg_q[fifo];
      is_put       = delivers_put(cmd_d.header.kind, cmd_d.header.vclass);
      target_off   = {is_put ? cmd_d.header.aux[7:0] : 8'b0, cmd_d.header.offset} + OffsetW'(pos);

      cmd_d.header.len    = last ? left[9:0] : 10'(MaxPayloadBytes);
      cmd_d.header.first  = pos == '0;
      cmd_d.header.last   = last;
      cmd_d.header.seq    = pos[18:9];
      cmd_d.header.offset = target_off[31:0];
      if (is_put) cmd_d.header.aux[7:0] = target_off[39:32];
      flow_issue_o = cmd_d.header.flow_valid;
      flow_id_o    = cmd_d.header.flow;
      if (flow_issue_o) begin
        cmd_d.header.flow     = flow_i;
        cmd_d.header.flow_seq = flow_seq_i;
        cmd_d.header.seq      = 10'(flow_epoch_i);
      end
    end
  end

  logic [NInj-1:0] loaded, retired;
  always_comb begin
    loaded  = '0;
    retired = '0;
    if (load_i) loaded[load_fifo_i] = 1'b1;
    if (retire_valid_i) retired[retire_fifo_i] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q   <= '0;
      inflight_q <= '0;
      busy_q     <= '0;
      class_q    <= '0;
      member_q   <= '0;
      flow_member_q <= '0;
      path_q     <= '0;
      for (int unsigned f = 0; f < NInj; f++) count_q[f] <= '0;
    end else begin
      busy_q   <= answer ? NPath'(1) << answer_path : path_gnt;
      active_q <= ((active_q & ~(last ? grant : '0)) | loaded) & ~halted_i;
      if (load_i) begin
        for (int unsigned c = 0; c < NetClasses; c++)
          class_q[c] <= (load_header_i.vclass == 2'(c)) ? (class_q[c] | loaded) : (class_q[c] & ~loaded);
        path_q[load_fifo_i] <= load_path_i;
        for (int unsigned k = 0; k < NFlow; k++) begin
          flow_member_q[k] <= (load_header_i.flow_valid && 32'(load_header_i.flow) == k)
                              ? (flow_member_q[k] | loaded) : (flow_member_q[k] & ~loaded);
        end
        for (int unsigned p = 0; p < NPath; p++) begin
          member_q[p] <= (load_path_i == 4'(p)) ? (member_q[p] | loaded) : (member_q[p] & ~loaded);
        end
      end
      if (issue && !retired[fifo]) begin
        count_q[fifo]    <= count_q[fifo] + 1'b1;
        inflight_q[fifo] <= 1'b1;
      end
      if (retire_valid_i && !grant[retire_fifo_i]) begin
        count_q[retire_fifo_i]    <= count_q[retire_fifo_i] - 1'b1;
        inflight_q[retire_fifo_i] <= count_q[retire_fifo_i] != CntW'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (answer) cmd_q <= answer_i;
    if (issue) begin
      cmd_q       <= cmd_d;
      pos_q[fifo] <= pos + 32'(MaxPayloadBytes);
    end
    if (load_i) begin
      header_q[load_fifo_i] <= load_header_i;
      length_q[load_fifo_i] <= load_length_i;
      pos_q[load_fifo_i]    <= '0;
      src_q[load_fifo_i]    <= load_src_i;
      dbg_q[load_fifo_i]    <= load_dbg_i;
      if (load_path_i == 4'(Coll)) route_q[load_fifo_i] <= load_header_i.hint[3:0];
    end
  end

  assign cmd_valid_o = busy_q;
  assign cmd_o       = cmd_q;
  assign active_o    = active_q;
  assign inflight_o  = inflight_q;
  assign path_o      = path_q;
  assign idle_o      = !issue && !answer && busy_q == '0 && (active_q & halted_i) == '0 && flow_halt_o == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && retire_valid_i) begin
      RetireCounted : assert (inflight_q[retire_fifo_i])
      else $fatal(1, "%m: retired a packet that was not issued");
    end
    if (rst_ni && issue && !retired[fifo]) begin
      CountFits : assert (count_q[fifo] != '1)
      else $fatal(1, "%m: too many packets of one FIFO in flight");
    end
    if (rst_ni && answer_valid_i) begin
      AnswerPath : assert (32'(answer_path_i) < Coll && answer_i.answer)
      else $fatal(1, "%m: answer for a path that does not exist");
    end
    if (rst_ni && load_i) begin
      PathExists : assert (32'(load_path_i) < NPath)
      else $fatal(1, "%m: descriptor for a path that does not exist");
    end
  end
`endif
endmodule
