// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packets on their way up the tree, one at a time, from this node and its children. A chosen packet
// takes a flit of each of its inputs a cycle through the arithmetic; the result goes to the parent or, at
// the route's root, turns around into the way down. Header and length come from the first input (this node
// before child 0 before child 1). Where another header differs in more than its source, or another packet is
// shorter or longer, the result ends with `err`, all are read to their tails, and ErrCollMismatch is reported.
// So does a contributor's tail marked `err`, without a report.
//
// Each packet is announced to its outputs when it is started (`start_o`), each of its flits again when it leaves
// the inputs (`take_o`); it is there CollAluLatency cycles later.
module coll_up
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  coll_route_t [CollRoutes-1:0] route_i,
    // Inputs: this node, child 0, child 1. Packets at the front ...
    input  coll_front_t                  front_i [CollPorts],
    input  logic [CollPorts-1:0]         link_down_i,
    output logic [CollPorts-1:0]         started_o,
    output logic [3:0]                   start_route_o,
    // ... and their flits, of the route that is read.
    output logic [3:0]                   route_o,
    output logic [CollPorts-1:0]         read_o,
    input  logic [CollPorts-1:0]         avail_i,
    input  flit_ctl_t                    ctl_i  [CollPorts],
    input  logic [FlitW-1:0]             data_i [CollPorts],
    output logic [CollPorts-1:0]         pop_o,
    // Outputs: tree links, then ejection.
    input  logic [CollPorts-1:0]         up_i,
    input  logic [CollRoutes-1:0]        out_ok_i [CollPorts],
    input  logic [NumClasses-1:0]        ej_ok_i,
    output logic [CollPorts-1:0]         start_o,       // links only
    output logic [CollPorts:0]           take_o,
    output logic                         take_tail_o,
    output logic                         take_class_o,
    // Way down, for packets that turn around.
    output logic                         turn_want_o,
    input  logic                         turn_gnt_i,
    output logic                         turn_done_o,   // the tail of one is there
    // Result.
    output logic [CollPorts:0]           outs_o,        // its outputs that were alive at its start
    output logic [3:0]                   out_route_o,
    output logic                         out_class_o,
    output flit_ctl_t                    ctl_o,
    output logic [FlitW-1:0]             data_o,
    // Error, held until taken.
    output error_t                       err_o,
    input  logic                         err_take_i,
    output logic                         busy_o       // a register will change, reports aside
);
  localparam int unsigned HeaderFlits = (HeaderBytes > FlitBytes) ? HeaderBytes / FlitBytes : 1;
  localparam int unsigned PosW = $clog2(HeaderFlits + 1);
  localparam int unsigned HintPos = (FlitBytes == 8) ? 1 : 0;             // flit of the header's w2 ...
  localparam int unsigned HintBit = (FlitBytes == 8) ? 14 : 64 + 14;
  localparam logic [FlitW-1:0] SrcMask = FlitW'({30'h3fff_ffff, 32'b0});  // header_t.src, in the first flit

  // Side information of a packet in the arithmetic.
  typedef struct packed {
    logic [3:0]         route;
    logic [CollPorts:0] outs;
    logic               turn;
    logic               cls;
  } tag_t;

  // ---- choice -------------------------------------------------------------------------------
  logic                 chosen, discard, dead, turn, cls, start, finish, report;
  logic [3:0]           choice;
  logic [CollPorts-1:0] inputs;
  logic [CollPorts:0]   outs;
  error_t               err_q;
  logic                 active_q;

  coll_select u_select (
      .clk_i,
      .rst_ni,
      .enable_i (!err_q.valid && (!active_q || (finish && !report))),
      .route_i,
      .front_i,
      .link_down_i,
      .out_ok_i,
      .ej_ok_i,
      .valid_o  (chosen),
      .choice_o (choice),
      .inputs_o (inputs),
      .discard_o(discard),
      .dead_o   (dead),
      .turn_o   (turn),
      .outs_o   (outs),
      .class_o  (cls),
      .take_i   (start)
  );

  assign turn_want_o   = chosen && turn;
  assign start         = chosen && (!turn || turn_gnt_i);
  assign started_o     = start ? inputs : '0;
  assign start_o       = start ? outs[CollPorts-1:0] : '0;
  assign start_route_o = choice;

  // ---- packet under way ---------------------------------------------------------------------
  logic [3:0]           route_q;
  logic [CollPorts-1:0] need_q;       // inputs whose tail has not left
  logic [CollPorts-1:0] first_q;      // one-hot
  logic [CollPorts:0]   outs_q;
  logic                 class_q, discard_q, dead_q;
  logic [PosW-1:0]      pos_q;        // flits that have left, up to those of the header
  coll_t                instr_q;
  logic [63:0]          head_q;       // first words of the header, for a report
  logic                 spoilt_q;     // the result will end with `err`
  logic                 reported_q;

  logic                 go, first_here, in_header, any_err, unequal, spoil, valid;
  logic [CollPorts-1:0] tails, errs;
  flit_ctl_t            ctl;
  logic [FlitW-1:0]     first_data;

  assign route_o      = route_q;
  assign read_o       = active_q ? need_q : '0;
  assign go           = active_q && (need_q & ~avail_i) == '0;
  assign pop_o        = go ? need_q : '0;
  assign finish       = go && tails == need_q;
  assign valid        = go && first_here && !discard_q;
  assign take_o       = valid ? outs_q : '0;
  assign take_tail_o  = ctl.tail;
  assign take_class_o = class_q;
  assign in_header    = pos_q != PosW'(HeaderFlits);

  always_comb begin
    tails      = '0;
    errs       = '0;
    ctl        = '0;
    first_data = '0;
    first_here = 1'b0;
    any_err    = 1'b0;
    unequal    = 1'b0;
    spoil      = 1'b0;
    if (go) begin
      for (int unsigned i = 0; i < CollPorts; i++) begin
        tails[i] = need_q[i] && ctl_i[i].tail;
        errs[i]  = need_q[i] && ctl_i[i].err;
        if (first_q[i]) begin
          first_data = data_i[i];
          ctl        = ctl_i[i];
        end
      end
      first_here = (need_q & first_q) != '0;
      any_err    = errs != '0;
      if (first_here && !any_err) begin
        unequal = tails != '0 && tails != need_q;
        if (in_header) begin
          for (int unsigned i = 0; i < CollPorts; i++) begin
            if (need_q[i] && ((data_i[i] ^ first_data) & ~((pos_q == '0) ? SrcMask : '0)) != '0) unequal = 1'b1;
          end
        end
      end
      spoil = any_err || unequal;
      if (ctl.tail) ctl.err = ctl.err || spoilt_q || spoil;
    end
  end

  assign report = go && (discard_q ? pos_q == '0 : (unequal && !reported_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      err_q    <= '0;
    end else begin
      if (start) active_q <= 1'b1;
      else if (finish) active_q <= 1'b0;
      if (err_take_i) err_q <= '0;
      if (report) begin
        err_q.valid  <= 1'b1;
        err_q.reason <= !discard_q ? ErrCollMismatch : dead_q ? ErrLinkDown : ErrCollRoute;
        err_q.where  <= !dead_q ? 10'(route_q) : first_q[1] ? 10'(CollPortId + 1) : 10'(CollPortId + 2);
        err_q.info   <= (pos_q == '0) ? first_data[63:0] : head_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (go) begin
      need_q <= need_q & ~tails;
      if (in_header) pos_q <= pos_q + 1'b1;
      if (pos_q == '0) head_q <= first_data[63:0];
      if (pos_q == PosW'(HintPos)) instr_q <= coll_t'(first_data[HintBit+:10]);
      if (spoil) spoilt_q <= 1'b1;
      if (unequal) reported_q <= 1'b1;
    end
    if (start) begin
      route_q    <= choice;
      need_q     <= inputs;
      first_q    <= inputs & (~inputs + 1'b1);
      outs_q     <= outs;
      class_q    <= cls;
      discard_q  <= discard;
      dead_q     <= dead;
      pos_q      <= '0;
      spoilt_q   <= 1'b0;
      reported_q <= 1'b0;
    end
  end

  // ---- arithmetic, and the packet's tag beside it -------------------------------------------
  tag_t  tag;
  logic  there, no_tag, full;
  logic [$clog2(CollAluLatency+3)-1:0] level;
  logic  result_payload;
  coll_t result_instr;

  coll_alu #(
      .FlitBytes(FlitBytes)
  ) u_alu (
      .clk_i,
      .rst_ni,
      .valid_i  (valid),
      .payload_i(!in_header),
      .instr_i  (instr_q),
      .ctl_i    (ctl),
      .present_i(need_q),
      .data_i,
      .valid_o  (there),
      .payload_o(result_payload),
      .instr_o  (result_instr),
      .ctl_o,
      .data_o
  );

  // Packets of one flit: one that starts, and one in each stage of the arithmetic and at its entrance.
  gyre_fifo #(
      .Width($bits(tag_t)),
      .Depth(CollAluLatency + 2)
  ) u_tags (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .push_i (start && !discard),
      .data_i ({choice, outs & {1'b1, up_i}, turn, cls}),
      .pop_i  (there && ctl_o.tail),
      .data_o (tag),
      .empty_o(no_tag),
      .full_o (full),
      .level_o(level)
  );

  assign outs_o      = there ? tag.outs : '0;
  assign out_route_o = tag.route;
  assign out_class_o = tag.cls;
  assign turn_done_o = there && ctl_o.tail && tag.turn;
  assign err_o       = err_q;
  assign busy_o      = active_q || chosen || !no_tag;

  logic unused_alu;
  assign unused_alu = ^{result_payload, result_instr, full, level};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && go) begin
      Framed : assert (!first_here || ctl.head == (pos_q == '0))
      else $fatal(1, "%m: packet does not start with its head");
    end
    if (rst_ni && there) begin
      Tagged : assert (!no_tag)
      else $fatal(1, "%m: result without a tag");
    end
  end
`endif
endmodule
