// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Second half of the separable allocation by age: each input (and injection buffer) offers one flit
// that can move, each output picks one of its requesters: class priority or system first, then the one served last
// if it continues its packet, so that packets are not drawn out; else the oldest. Requester p of
// output p is injection path p: no packet leaves by the port it came in by. Ejection and discarding belong to the input,
// contend with no other and are granted at once.
module router_alloc
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter bit          ByAge = 1'b1,
    localparam int unsigned P = 2 * NDim
) (
    input  logic [P-1:0] clk_i,         // by output
    input  logic         rst_ni,
    input  logic [P-1:0] req_i,
    input  logic [3:0]   port_i   [P],  // output wanted, LocalPort or NoPort
    input  logic [P-1:0] body_i,        // goes on with a packet
    input  logic [P-1:0] high_i,        // of class priority or system
    input  logic [BirthW-1:0] birth_i [P], // of the packet
    input  logic [P-1:0] inj_req_i,
    input  logic [P-1:0] inj_body_i,
    input  logic [P-1:0] inj_high_i,
    input  logic [BirthW-1:0] inj_birth_i[P],
    input  logic [BirthW-1:0] now_i,     // see header_t.birth
    output logic [P-1:0] pop_o,         // the flit of this input moves
    output logic [P-1:0] eject_o,       // to the ejection buffers
    output logic [P-1:0] inj_pop_o,
    output logic [P-1:0] gnt_o    [P]   // by output: one-hot input, own bit = injection
);
  logic [P-1:0] out_req[16];            // by port number

  always_comb begin
    for (int unsigned n = 0; n < 16; n++) out_req[n] = '0;
    if ((req_i | inj_req_i) != '0) begin
      for (int unsigned i = 0; i < P; i++) begin
        if (req_i[i]) out_req[port_i[i]][i] = 1'b1;
        if (inj_req_i[i]) out_req[i][i] = 1'b1;
      end
    end
  end

  for (genvar p = 0; p < int'(P); p++) begin : gen_output
    logic [P-1:0] picked, body, high, last_q;

    always_comb begin
      picked = out_req[p];
      body   = '0;
      high   = '0;
      if (picked != '0) begin
        body    = body_i;
        high    = high_i;
        body[p] = inj_body_i[p];
        high[p] = inj_high_i[p];
        if ((picked & high) != '0) picked = picked & high;
        else if ((picked & body & last_q) != '0) picked = last_q;
      end
    end

    always_ff @(posedge clk_i[p] or negedge rst_ni) begin
      if (!rst_ni) last_q <= '0;
      else if (gnt_o[p] != '0) last_q <= gnt_o[p];
    end

    age_arbiter #(
        .N     (P),
        .StampW(BirthW),
        .ByAge (ByAge),
        .Apart (p)
    ) u_arbiter (
        .clk_i(clk_i[p]),
        .rst_ni,
        .req_i        (picked),
        .birth_i,
        .apart_birth_i(inj_birth_i[p]),
        .now_i,
        .advance_i    (1'b1),
        .gnt_o        (gnt_o[p])
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i[p]) begin
      if (rst_ni && inj_pop_o[p]) begin
        InjectRequested : assert (inj_req_i[p])
        else $fatal(1, "%m: an input was granted the output of its own port");
      end
    end
`endif
  end

  always_comb begin
    pop_o     = '0;
    inj_pop_o = '0;
    eject_o   = '0;
    if ((req_i | inj_req_i) != '0) begin
      eject_o = out_req[LocalPort];
      pop_o   = out_req[LocalPort] | out_req[NoPort];
      for (int unsigned p = 0; p < P; p++) begin
        pop_o        = pop_o | (gnt_o[p] & ~(P'(1) << p));
        inj_pop_o[p] = gnt_o[p][p];
      end
    end
  end

endmodule
