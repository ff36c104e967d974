// Separable round-robin allocation, all requests being of flits that can move: each input picks one of
// its virtual channels (each injection buffer one of its classes), then each output one of its inputs.
// Requester p of output p is injection path p: no packet leaves by the port it came in by. Ejection and
// discarding belong to the input and are granted at once.
module router_alloc
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    localparam int unsigned P = 2 * NDim
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  logic [P-1:0][NumVc-1:0]           req_i,
    input  logic [P-1:0][NumVc-1:0][3:0]      port_i,     // output of each virtual channel
    input  logic [P-1:0][NumClasses-1:0]      inj_req_i,
    output logic [P-1:0][NumVc-1:0]           read_o,     // one-hot: virtual channel picked
    output logic [P-1:0]                      pop_o,      // its flit moves
    output logic [P-1:0]                      eject_o,    // to the ejection buffers
    output logic [P-1:0][NumClasses-1:0]      inj_read_o,
    output logic [P-1:0]                      inj_pop_o,
    output logic [P-1:0][P-1:0]               gnt_o       // output p: one-hot input, bit p = injection
);
  logic [3:0]          port   [P];        // of the virtual channel picked
  logic [P-1:0]        out_req[16];
  logic [P-1:0][P-1:0] gnt;

  for (genvar p = 0; p < int'(P); p++) begin : gen_port
    rr_arbiter #(
        .N(NumVc)
    ) u_vc (
        .clk_i,
        .rst_ni,
        .req_i    (req_i[p]),
        .advance_i(pop_o[p]),
        .gnt_o    (read_o[p])
    );
    rr_arbiter #(
        .N(NumClasses)
    ) u_class (
        .clk_i,
        .rst_ni,
        .req_i    (inj_req_i[p]),
        .advance_i(inj_pop_o[p]),
        .gnt_o    (inj_read_o[p])
    );
    rr_arbiter #(
        .N(P)
    ) u_output (
        .clk_i,
        .rst_ni,
        .req_i    (out_req[p]),
        .advance_i(1'b1),
        .gnt_o    (gnt[p])
    );
  end

  always_comb begin
    for (int unsigned n = 0; n < 16; n++) out_req[n] = '0;
    for (int unsigned i = 0; i < P; i++) begin
      port[i] = '0;
      if (req_i[i] != '0) begin
        for (int unsigned v = 0; v < NumVc; v++) begin
          if (read_o[i][v]) port[i] = port[i] | port_i[i][v];
        end
        out_req[port[i]][i] = 1'b1;
      end
      if (inj_req_i[i] != '0) out_req[i][i] = 1'b1;
    end
  end

  always_comb begin
    pop_o     = '0;
    eject_o   = '0;
    inj_pop_o = '0;
    for (int unsigned i = 0; i < P; i++) begin
      if (req_i[i] != '0) begin
        eject_o[i] = port[i] == LocalPort;
        pop_o[i]   = port[i] >= NoPort;
        for (int unsigned p = 0; p < P; p++) begin
          if (p != i && gnt[p][i]) pop_o[i] = 1'b1;
        end
      end
      inj_pop_o[i] = gnt[i][i];
    end
  end

  assign gnt_o = gnt;

`ifndef SYNTHESIS
  for (genvar p = 0; p < int'(P); p++) begin : gen_check
    InjectRequested : assert property (@(posedge clk_i) disable iff (!rst_ni)
        inj_pop_o[p] |-> inj_req_i[p] != '0)
    else $fatal(1, "%m: an input was granted the output of its own port");
  end
`endif
endmodule
