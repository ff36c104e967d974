// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packets that the receive side of the DMA engine has refused, until software takes them (X-5): the effect of the put or
// message is lost, and only this node knows. An entry has the software words first to last:
// a refusal joins the entry of its source and kind (and FIFO, except for puts) whose last word is its own or the one
// before. Without a free entry it is counted. Software takes an entry by writing back its last word; a
// refusal that joined it since is kept.
// Damaged read-modify-writes are logged; refused ones are answered.
module refusal_log
  import gyre_pkg::*;
#(
    parameter int unsigned NEntry = 8      // at most 16
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  error_t      err_i,             // of the DMA engine, one-cycle pulses
    // register access
    input  logic        req_i,
    input  logic        we_i,
    input  logic [8:0]  addr_i,
    input  logic [63:0] wdata_i,
    output logic [63:0] rdata_o,
    output logic        err_o
);
  localparam int unsigned IdW = $clog2(NEntry);

  typedef struct packed {
    logic [7:0]   reason;
    logic [9:0]   where;
    logic [29:0]  last;
    packet_info_t info;                    // of the first
  } entry_t;

  entry_t              entry [NEntry];
  logic [NEntry-1:0]   valid_q, kept, same, free;
  logic [31:0]         lost_q;
  logic                refused, write;
  packet_info_t        info;
  logic [IdW-1:0]      index;

  // ---- registers --------------------------------------------------------------------------------
  assign index = addr_i[4+:IdW];
  assign write = req_i && we_i;
  always_comb begin
    rdata_o = '0;
    err_o   = 1'b0;
    if (req_i) begin
      if (addr_i[8:3] == '0) begin
        err_o   = we_i;
        rdata_o = {lost_q, 32'(valid_q)};
      end else if (addr_i[8] && addr_i[7:4] < 4'(NEntry)) begin
        err_o   = we_i && !addr_i[3];
        rdata_o = addr_i[3] ? {2'd0, entry[index].last, 14'd0, entry[index].where, entry[index].reason}
                            : entry[index].info;
      end else err_o = 1'b1;
    end
  end

  // ---- entries ----------------------------------------------------------------------------------
  assign info = err_i.info;
  always_comb begin
    unique case (err_i.reason)
      ErrPktTruncated:
               refused = err_i.valid && info.kind inside {KindMemFifo, KindPut, KindRemoteGet, KindRmwReq};
      ErrPktRecFifo, ErrPktInjFifo, ErrPktSlot, ErrPktBounds, ErrPktCounter, ErrPktFlow, ErrWrite:
               refused = err_i.valid && info.kind inside {KindMemFifo, KindPut, KindRemoteGet};
      default: refused = 1'b0;
    endcase
  end
  always_comb begin
    kept = valid_q;
    if (write && !err_o && wdata_i[61:32] == entry[index].last) kept[index] = 1'b0;
  end

  always_comb begin
    same = '0;
    free = '0;
    if (refused) begin
      for (int unsigned e = 0; e < NEntry; e++) begin
        same[e] = kept[e] && {entry[e].info.kind, entry[e].info.src} == {info.kind, info.src} &&
                  (info.sw == entry[e].last || info.sw == entry[e].last + 1'b1) &&
                  (info.kind == KindPut || entry[e].where == err_i.where);
      end
      same = same & (~same + 1'b1);
      if (same == '0) free = ~kept & (kept + 1'b1);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      lost_q  <= '0;
    end else if (refused || write) begin
      valid_q <= kept | free;
      if (refused && same == '0 && free == '0 && lost_q != '1) lost_q <= lost_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (refused) begin
      for (int unsigned e = 0; e < NEntry; e++) begin
        if (same[e]) entry[e].last <= info.sw;
        if (free[e]) entry[e] <= '{reason: err_i.reason, where: err_i.where, last: info.sw, info: info};
      end
    end
  end

  logic unused;
  assign unused = ^{addr_i[2:0], wdata_i[63:62], wdata_i[31:0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && refused) begin
      OneEntry : assert ($onehot0({same, free}))
      else $fatal(1, "%m: a refusal in two entries");
    end
  end
`endif
endmodule
