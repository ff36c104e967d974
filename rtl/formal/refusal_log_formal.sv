// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// refusal_log: a refusal is in an entry of its source and kind, as its last word, until software that has read it takes it,
// or it is counted as lost; one that comes while its entry is taken is kept.
module refusal_log_formal
  import gyre_pkg::*;
#(
    parameter int unsigned NEntry = 2
) (
    input logic        clk_i,
    input logic        come_i,
    input logic        put_i,
    input logic [1:0]  src_i,
    input logic [1:0]  sw_i,
    input logic        req_i,
    input logic        we_i,
    input logic [8:0]  addr_i,
    input logic [1:0]  last_i,
    input logic        track_i         // follow the refusal of this cycle
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  packet_info_t info;
  error_t       err;
  logic [63:0]  rdata, wdata;
  logic         refused;
  assign info  = '{sw: 30'(sw_i), kind: put_i ? KindPut : KindMemFifo, src: coord_t'(src_i)};
  assign err   = come_i ? '{valid: 1'b1, reason: ErrPktSlot, where: '0, info: info} : '0;
  assign wdata = 64'(last_i) << 32;
  refusal_log #(.NEntry(NEntry)) dut (
      .clk_i, .rst_ni(rst_n), .err_i(err), .req_i, .we_i, .addr_i, .wdata_i(wdata), .rdata_o(rdata), .err_o(refused)
  );

  // The refusal followed: not taken yet. Lost ones are counted.
  logic         here_q, full;
  packet_info_t info_q;
  logic [31:0]  lost_q;
  logic [NEntry-1:0] holds, takes;
  for (genvar e = 0; e < int'(NEntry); e++) begin : gen_entry
    assign holds[e] = dut.valid_q[e] && {dut.entry[e].info.kind, dut.entry[e].info.src} == {info_q.kind, info_q.src} &&
                      30'(info_q.sw - dut.entry[e].info.sw) <= 30'(dut.entry[e].last - dut.entry[e].info.sw);
    // Software takes what it has read: up to the last word there.
    assign takes[e] = req_i && we_i && addr_i[8] && addr_i[3] && addr_i[7:4] == 4'(e) &&
                      wdata[61:32] == dut.entry[e].last;
  end
  assign full = come_i && dut.same == '0 && dut.free == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      here_q <= 1'b0;
      lost_q <= '0;
    end else begin
      if (full && lost_q != '1) lost_q <= lost_q + 1'b1;
      if (here_q && (holds & ~takes) == '0) here_q <= 1'b0;
      if (!here_q && come_i && track_i && !full) begin
        here_q <= 1'b1;
        info_q <= info;
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    // Numbers of one source and kind grow; they do not wrap round here.
    AssumeForward : assume (!here_q || !come_i || {info.kind, info.src} != {info_q.kind, info_q.src} ||
                            info.sw >= info_q.sw);
    NotLost : assert (!here_q || holds != '0);
    LostOnlyFull : assert (!full || (dut.kept == '1));
    Counted : assert (dut.lost_q == lost_q);
    OnePlace : assert (!come_i || full || $onehot({dut.same, dut.free}));
    CoverJoined : cover (here_q && come_i && dut.same != '0 && sw_i == 2'd2 && info_q.sw == 30'd0);
    CoverLost : cover (dut.lost_q == 32'd1 && here_q);
    CoverTakenAsItComes : cover (come_i && takes == 2'b01 && dut.free == 2'b01);
  end
endmodule
