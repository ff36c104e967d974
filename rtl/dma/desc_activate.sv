// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Activation of descriptors (HW-1): takes the prefetched descriptor of a FIFO whose previous one has issued
// its last packet, checks it, and loads it into the FIFO's context with its header template.
//
// Three stages: pick a FIFO, check, decide. A descriptor that takes another path than its predecessor, or
// that is refused, waits until nothing of the predecessor is in flight: packets of one class stay in order, and HEAD is
// at the bad descriptor when its FIFO halts.
module desc_activate
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned NInj = 32,
    parameter bit          Deposit = 1'b1,    // the network copies packets on their way
    parameter int unsigned NFlow = 4,
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  node_cfg_t            cfg_i,
    // FIFO table
    input  logic [NInj-1:0]      kill_i,       // disabled or halted
    input  logic [NInj-1:0]      remote_i,
    input  logic [NInj-1:0][3:0] owner_i,
    output logic                 err_valid_o,
    output logic [FidW-1:0]      err_fifo_o,
    output err_e                 err_o,
    input  logic                 err_ready_i,  // 0: errors wait
    // Prefetched descriptors
    input  logic [NInj-1:0]      raw_valid_i,
    input  logic [NInj-1:0]      raw_err_i,
    output logic                 read_valid_o,
    output logic [FidW-1:0]      read_fifo_o,
    input  desc_t                read_desc_i,  // a cycle after read_valid_o
    input  logic [AddrW-1:0]     read_addr_i,  // its address
    output logic                 free_valid_o, // the descriptor of free_fifo_o is used up
    output logic [FidW-1:0]      free_fifo_o,
    // Source slot, combinational
    output logic [MaxFifoId-1:0] slot_id_o,
    input  slot_t                slot_i,
    input  coll_route_t [CollRoutes-1:0] route_i,  // class routes of the collective network
    output flow_id_t             flow_id_o,    // flow of the descriptor that is checked, combinational
    input  flow_end_t            flow_i,
    output logic [NFlow-1:0]     flow_started_o, // named by a descriptor between check and load
    // Contexts
    input  logic [NInj-1:0]      active_i,     // context still issues packets
    input  logic [NInj-1:0]      inflight_i,   // packets of the FIFO have not left their path
    input  logic [NInj-1:0][3:0] path_i,       // path of the last descriptor
    output logic                 load_o,
    output logic [FidW-1:0]      load_fifo_o,
    output header_t              load_header_o, // template: position fields as of the first byte
    output logic [31:0]          load_length_o,
    output logic [AddrW-1:0]     load_src_o,
    output logic [3:0]           load_path_o,
    output logic [31:0]          load_dbg_o,
    output logic [NInj-1:0]      staged_o,     // in a stage here
    output logic                 idle_o
);
  logic [NInj-1:0] staged_q, wait_q;           // wait_q: until nothing is in flight
  logic [NInj-1:0] request, grant;
  logic            pick;
  logic [FidW-1:0] pick_fifo;

  // ---- pick -----------------------------------------------------------------------------------
  assign request = (cfg_i.dma_enable && !cfg_i.drain) ?
                   raw_valid_i & ~active_i & ~kill_i & ~staged_q & ~(wait_q & inflight_i) : '0;
  assign pick    = request != '0;

  rr_arbiter #(.N(NInj)) u_arbiter (
      .clk_i, .rst_ni, .req_i(request), .advance_i(pick), .gnt_o(grant)
  );

  always_comb begin
    pick_fifo = '0;
    if (pick) begin
      for (int unsigned f = 0; f < NInj; f++) if (grant[f]) pick_fifo = pick_fifo | FidW'(f);
    end
  end

  assign read_valid_o = pick;
  assign read_fifo_o  = pick_fifo;

  // ---- check ----------------------------------------------------------------------------------
  logic             chk_valid_q;
  logic [FidW-1:0]  chk_fifo_q;
  err_e             chk_err;
  logic [3:0]       chk_path;
  logic [AddrW-1:0] chk_src;
  desc_t            chk_desc;

  assign chk_desc  = read_desc_i;
  assign slot_id_o = chk_desc.src_slot;
  assign flow_id_o = chk_desc.flow;

  desc_check #(.NDim(NDim), .Deposit(Deposit)) u_check (
      .valid_i(chk_valid_q), .cfg_i, .desc_i(chk_desc), .addr_i(read_addr_i), .remote_i(remote_i[chk_fifo_q]),
      .owner_i(owner_i[chk_fifo_q]), .slot_i, .route_i(route_i[chk_desc.hint[3:0]]), .flow_i,
      .err_o(chk_err), .path_o(chk_path), .src_o(chk_src)
  );

  // ---- decide ---------------------------------------------------------------------------------
  logic             dec_valid_q;
  logic [FidW-1:0]  dec_fifo_q;
  err_e             dec_err_q;
  logic [3:0]       dec_path_q;
  logic [AddrW-1:0] dec_src_q;
  desc_t            dec_desc_q;
  logic [3:0]       dec_owner_q;
  logic             alive, alone, good;

  assign alive = dec_valid_q && !kill_i[dec_fifo_q];
  assign alone = !inflight_i[dec_fifo_q];
  assign good  = dec_err_q == ErrNone;

  assign load_o       = alive && good && (alone || path_i[dec_fifo_q] == dec_path_q);
  assign err_valid_o  = alive && !good && alone && err_ready_i;
  assign err_fifo_o   = dec_fifo_q;
  assign err_o        = dec_err_q;
  assign free_valid_o = load_o || err_valid_o;
  assign free_fifo_o  = dec_fifo_q;

  assign load_fifo_o   = dec_fifo_q;
  assign load_length_o = dec_desc_q.kind == KindRmwReq ? 32'(DescBytes / 2) : dec_desc_q.length;
  assign load_src_o    = dec_src_q;
  assign load_path_o   = dec_path_q;
  assign load_dbg_o    = dec_desc_q.msg_id;

  always_comb begin
    load_header_o = '0;
    if (dec_valid_q) begin
      load_header_o.dst    = dec_desc_q.dst;
      load_header_o.vclass = vclass_e'(dec_desc_q.vclass);
      load_header_o.src    = cfg_i.coord;
      load_header_o.kind   = dec_desc_q.kind;
      load_header_o.target = dec_desc_q.target;
      load_header_o.deposit = dec_desc_q.deposit;
      load_header_o.dynamic_route = dec_desc_q.dynamic_route;
      load_header_o.hint  = dec_desc_q.hint;
      load_header_o.order = dec_desc_q.order;
      load_header_o.flow_valid = dec_desc_q.flow_valid;
      load_header_o.flow       = dec_desc_q.flow;   // its number here, until packets are issued
      unique case (dec_desc_q.kind)
        KindMemFifo, KindPut, KindCollective: begin
          if (delivers_put(dec_desc_q.kind, vclass_e'(dec_desc_q.vclass))) begin
            load_header_o.offset = dec_desc_q.dst_off_lo;
            load_header_o.aux    = {23'b0, dec_desc_q.ctr_valid, dec_desc_q.dst_off_hi};
            load_header_o.sw0    = {dec_desc_q.ctr_offset, dec_desc_q.ctr_slot};
            // Tells the software of the target the origin of a refused put.
            if (dec_desc_q.kind == KindPut) load_header_o.sw1 = dec_desc_q.sw1;
          end else begin
            load_header_o.aux = dec_desc_q.length;
            load_header_o.sw0 = dec_desc_q.sw0;
            load_header_o.sw1 = dec_desc_q.sw1;
          end
        end
        KindRmwReq: begin
          load_header_o.offset = dec_desc_q.dst_off_lo;
          load_header_o.aux    = {dec_desc_q.length[3], dec_owner_q, dec_desc_q.src_off_hi, dec_desc_q.src_slot,
                                  dec_desc_q.ctr_valid, dec_desc_q.dst_off_hi};  // rmw_aux_t
          load_header_o.sw0    = {dec_desc_q.ctr_offset, dec_desc_q.ctr_slot};
          load_header_o.sw1    = dec_desc_q.src_off_lo;
        end
        default: load_header_o.sw1 = dec_desc_q.sw1;  // remote get: the payload says the rest
      endcase
    end
  end

  for (genvar k = 0; k < NFlow; k++) begin : gen_flow
    assign flow_started_o[k] = (chk_valid_q && chk_desc.flow_valid && chk_desc.flow == flow_id_t'(k)) ||
                               (dec_valid_q && dec_desc_q.flow_valid && dec_desc_q.flow == flow_id_t'(k));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      chk_valid_q <= 1'b0;
      dec_valid_q <= 1'b0;
      staged_q    <= '0;
      wait_q      <= '0;
    end else begin
      chk_valid_q <= pick;
      dec_valid_q <= chk_valid_q;
      if (pick) staged_q <= staged_q | grant;
      if (dec_valid_q) begin
        staged_q[dec_fifo_q] <= 1'b0;
        wait_q[dec_fifo_q]   <= alive && !free_valid_o;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (pick) chk_fifo_q <= pick_fifo;
    if (chk_valid_q) begin
      dec_fifo_q <= chk_fifo_q;
      dec_err_q  <= raw_err_i[chk_fifo_q] ? ErrDescRead : chk_err;
      dec_path_q <= chk_path;
      dec_src_q  <= chk_src;
      dec_desc_q <= chk_desc;
      dec_owner_q <= owner_i[chk_fifo_q];
    end
  end

  assign staged_o = staged_q;
  assign idle_o   = !pick && !chk_valid_q && !dec_valid_q;

  logic unused_desc;
  assign unused_desc = ^{dec_desc_q.rsvd0, dec_desc_q.rsvd1, dec_desc_q.rsvd2, dec_desc_q.rsvd3,
                         dec_desc_q.rsvd4, dec_desc_q.rsvd5, dec_desc_q.requester, dec_desc_q.remote,
                         dec_desc_q.rmw_op, dec_desc_q.rmw_compare,
                         dec_desc_q.rmw_fetch, dec_desc_q.rmw_test};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && load_o) begin
      LoadInactive : assert (!active_i[load_fifo_o])
      else $fatal(1, "%m: activated over an active descriptor");
    end
  end
`endif
endmodule
