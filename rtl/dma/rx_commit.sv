// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Commit queue of the receive side: packets that own ring space, in the order in which they got it. The
// oldest leaves when its payload is in memory, one a cycle, and moves the tail of its ring, so a tail never
// passes a packet that is not there (visibility order, HW-1).
module rx_commit
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NPath = 7
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // allocation
    input  logic                 push_i,
    input  logic                 push_rget_i,   // ring of an injection FIFO, else of a reception FIFO
    input  logic [MaxFifoId-1:0] push_id_i,
    input  logic [9:0]           push_bytes_i,
    output logic [CommitW-1:0]   push_index_o,
    output logic                 room_o,        // at least two places
    // payload written, one pulse a packet
    input  logic [NPath-1:0]     done_i,
    input  logic [CommitW-1:0]   done_index_i [NPath],
    input  logic [NPath-1:0]     done_failed_i,
    // tails
    output rec_move_t            rec_commit_o,
    output rget_move_t           rget_commit_o,
    output logic                 busy_o,
    output logic                 idle_o
);
  typedef struct packed {
    logic                 rget;
    logic [MaxFifoId-1:0] id;
    logic [9:0]           bytes;
  } entry_t;

  entry_t                 entry [CommitDepth];
  logic [CommitDepth-1:0] done_q, failed_q;
  logic [CommitW-1:0]     head_q, tail_q;
  logic [CommitW:0]       level_q;
  entry_t                 oldest;
  logic                   pop;

  assign oldest       = entry[head_q];
  assign pop          = level_q != '0 && done_q[head_q];
  assign push_index_o = tail_q;
  assign room_o       = level_q <= (CommitW + 1)'(CommitDepth - 2);
  assign busy_o       = level_q != '0;
  assign idle_o       = !pop;

  assign rec_commit_o  = '{valid: pop && !oldest.rget, failed: failed_q[head_q],
                           id: oldest.id, bytes: oldest.bytes};
  assign rget_commit_o = '{valid: pop && oldest.rget, failed: failed_q[head_q],
                           id: oldest.id, bytes: oldest.bytes};

  always_ff @(posedge clk_i) begin
    if (push_i) entry[tail_q] <= '{rget: push_rget_i, id: push_id_i, bytes: push_bytes_i};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q   <= '0;
      tail_q   <= '0;
      level_q  <= '0;
      done_q   <= '0;
      failed_q <= '0;
    end else begin
      if (push_i) tail_q <= tail_q + 1'b1;
      if (push_i != pop) level_q <= push_i ? level_q + 1'b1 : level_q - 1'b1;
      if (pop) begin
        head_q           <= head_q + 1'b1;
        done_q[head_q]   <= 1'b0;
        failed_q[head_q] <= 1'b0;
      end
      if (done_i != '0) begin
        for (int unsigned p = 0; p < NPath; p++) begin
          if (done_i[p]) begin
            done_q[done_index_i[p]]   <= 1'b1;
            failed_q[done_index_i[p]] <= done_failed_i[p];
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      NoOverflow : assert (level_q < (CommitW + 1)'(CommitDepth))
      else $fatal(1, "%m: commit queue overflow");
    end
  end
  for (genvar p = 0; p < NPath; p++) begin : gen_done
    always_ff @(posedge clk_i) begin
      if (rst_ni && done_i[p]) begin
        DoneOnce : assert (level_q != '0 && !done_q[done_index_i[p]])
        else $fatal(1, "%m: packet done twice");
      end
    end
  end
`endif
endmodule
