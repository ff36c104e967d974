// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One port's link: initialisation handshake, sending and receiving halves, faults.
//
// States, sent in every link word: Reset (disabled or in reset) -> Init -> Ack -> Up. Init lasts at
// least `InitCycles`, longer than a round trip, so that nothing older than the handshake is on the wires
// in either direction when it goes on; then, once the input buffers of this port are empty and the other
// end is in Init or Ack, Ack: credits are full, sequence numbers and CRC restart. Up follows when
// the other end is in Ack or Up. The link falls back to Init when the other end leaves (Reset seen, or
// Init seen while up) and on a fault: a flit that fails its check or breaks the protocol, or a word whose
// parity is wrong. Either node can thus be reset alone, and credits that wires have changed are given back with
// all others. Flits are sent in Up only.
module link_unit
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortId = 0,
    parameter int unsigned InitCycles = 128, // > 2 * link latency + 4
    parameter int unsigned ReplayDepth = 0,  // flits of replay buffer for retransmission
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             clk_i,       // of state and sending half
    input  logic             rx_clk_i,    // of the receiving half: the same, but for gating
    input  logic             rst_ni,
    input  logic             enable_i,
    // Wires.
    input  link_word_t       link_ctl_i,
    input  logic [FlitW-1:0] link_data_i,
    input  logic [31:0]      link_dbg_i,
    input  logic             beside_i,    // parity of the wires beside the incoming word, and of those beside
    input  logic             beside_tx_i, // the word that goes: barrier wires
    output link_word_t       link_ctl_o,
    output logic [FlitW-1:0] link_data_o,
    output logic [31:0]      link_dbg_o,
    // State.
    output link_ctl_e        state_o,
    output logic             up_o,        // flits may be sent
    output logic             down_o,      // Reset or Init: open packets are to be closed
    output logic             start_o,     // enters Ack: all credits are back
    input  logic             drained_i,   // the input buffers of this port are empty
    input  logic             fault_i,     // this cycle's flit or credit breaks the protocol
    output logic             side_fault_o, // parity of this cycle's word is wrong: wires beside it have no meaning
    // Router side.
    input  logic             send_i,
    input  logic [VcW-1:0]   send_vc_i,
    input  flit_ctl_t        send_ctl_i,
    input  logic [FlitW-1:0] send_data_i,
    input  logic             pop_i,       // a flit left the input buffers
    input  logic [VcW-1:0]   pop_vc_i,
    output logic             rx_valid_o,
    output logic [VcW-1:0]   rx_vc_o,
    output flit_ctl_t        rx_ctl_o,
    output logic [FlitW-1:0] rx_data_o,
    output logic             credit_o,
    output logic [VcW-1:0]   credit_vc_o,
    // Error, held until taken.
    output error_t           err_o,
    input  logic             err_take_i,
    output logic             busy_o,      // a register will change, reports and the receiving half aside
    output logic             rx_busy_o    // one of the receiving half will change, its input register by new input aside
);
  if (ReplayDepth != 0) begin : gen_replay
    $fatal(1, "link_unit: ReplayDepth %0d: link retransmission is not implemented", ReplayDepth);
  end
  if (InitCycles < 8) begin : gen_init_cycles
    $fatal(1, "link_unit: InitCycles %0d: expected at least 8", InitCycles);
  end

  localparam int unsigned InitW = $clog2(InitCycles + 1);

  link_ctl_e        state_q, state_d, peer;
  logic             enable_q;
  logic [InitW-1:0] init_q;     // cycles left in Init at least
  logic             crc_fault, side_fault, fault, discard, tx_busy, rx_word;
  logic             discarded_q; // loss or damage was reported since the link was last up
  error_t           err_q;

  assign side_fault = side_fault_o && enable_q;
  assign fault   = crc_fault || fault_i || side_fault;
  assign state_o = state_q;
  assign up_o    = state_q == LinkUp;
  assign down_o  = state_q == LinkReset || state_q == LinkInit;
  assign start_o = state_q == LinkInit && state_d == LinkAck;
  assign err_o   = err_q;
  assign busy_o  = state_d != state_q || enable_i != enable_q || (state_q == LinkInit && init_q != '0) || fault || discard ||
                   (up_o && discarded_q) || send_i || (pop_i && up_o) || tx_busy;
  assign rx_busy_o = rx_word || start_o;

  always_comb begin
    state_d = state_q;
    // Nothing to do on a link that is up and well.
    if (state_q != LinkUp || peer != LinkUp || !enable_q || fault) begin
      unique case (state_q)
        LinkReset: state_d = LinkInit;
        LinkInit:  if (init_q == '0 && drained_i && (peer == LinkInit || peer == LinkAck)) state_d = LinkAck;
        LinkAck: begin
          if (peer == LinkReset) state_d = LinkInit;
          else if (peer != LinkInit) state_d = LinkUp;
        end
        LinkUp:    if (peer == LinkReset || peer == LinkInit) state_d = LinkInit;
        default:   state_d = LinkReset;
      endcase
      if (fault) state_d = LinkInit;
      if (!enable_q) state_d = LinkReset;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= LinkReset;
      enable_q    <= 1'b0;
      init_q      <= '0;
      discarded_q <= 1'b0;
      err_q       <= '0;
    end else begin
      enable_q <= enable_i;
      state_q  <= state_d;
      if (state_d == LinkInit) begin
        if (state_q != LinkInit) init_q <= InitW'(InitCycles);
        else if (init_q != '0) init_q <= init_q - 1'b1;
      end
      if (err_take_i) err_q <= '0;
      if (up_o) discarded_q <= 1'b0;
      // One report a fall: the fault that caused it, or else the first that was on the wires.
      if ((fault && (state_q == LinkAck || state_q == LinkUp)) || ((discard || fault) && !discarded_q)) begin
        err_q <= '{
            valid: 1'b1,
            reason: side_fault ? ErrLinkSideBand : (crc_fault ? ErrLinkCrc : (fault_i ? ErrLinkProtocol : ErrLinkDown)),
            where: 10'(PortId),
            info: (crc_fault || rx_valid_o || discard) ? rx_data_o[63:0] : '0
        };
        discarded_q <= 1'b1;
      end
    end
  end

  link_tx #(
      .FlitBytes(FlitBytes)
  ) u_tx (
      .clk_i,
      .rst_ni,
      .state_i    (state_q),
      .start_i    (start_o),
      .send_i,
      .send_vc_i,
      .send_ctl_i,
      .send_data_i,
      .credit_i   (pop_i && up_o),
      .credit_vc_i(pop_vc_i),
      .beside_i   (beside_tx_i),
      .link_ctl_o,
      .link_data_o,
      .link_dbg_o,
      .busy_o     (tx_busy)
  );

  link_rx #(
      .FlitBytes(FlitBytes)
  ) u_rx (
      .clk_i      (rx_clk_i),
      .rst_ni,
      .link_ctl_i,
      .link_data_i,
      .link_dbg_i,
      .beside_i,
      .state_i    (state_q),
      .start_i    (start_o),
      .peer_o     (peer),
      .valid_o    (rx_valid_o),
      .vc_o       (rx_vc_o),
      .ctl_o      (rx_ctl_o),
      .data_o     (rx_data_o),
      .crc_fault_o(crc_fault),
      .side_fault_o,
      .discard_o  (discard),
      .credit_o,
      .credit_vc_o,
      .busy_o     (rx_word)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_o) begin
      OpenOnlyDrained : assert (drained_i && !rx_valid_o)
      else $fatal(1, "%m: link opened over flits of the last session");
    end
  end
`endif
endmodule
