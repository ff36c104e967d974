// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Output of a packet that goes by a dynamic channel: of those allowed the one with most room, of equals the highest.
module router_choice
  import gyre_pkg::*;
#(
    parameter int unsigned P = 6,
    parameter int unsigned RoomW = 9
) (
    input  logic [P-1:0]     allowed_i,
    input  logic             class_i,    // of the packet: request or response
    input  logic [RoomW-1:0] room_i  [P],
    input  logic [VcW-1:0]   dyn_vc_i[P][DynClasses],
    output logic [3:0]       port_o,     // 0 if none is allowed
    output logic [VcW-1:0]   vc_o        // channel of the class there
);
  logic [RoomW-1:0] most;

  always_comb begin
    most   = '0;
    port_o = '0;
    vc_o   = '0;
    if (allowed_i != '0) begin
      for (int unsigned p = 0; p < P; p++) begin
        if (allowed_i[p] && room_i[p] >= most) begin
          most   = room_i[p];
          port_o = 4'(p);
          vc_o   = dyn_vc_i[p][class_i];
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_comb begin
    if (allowed_i != '0) begin
      ChoiceAllowed : assert (allowed_i[$clog2(P)'(port_o)])
      else $fatal(1, "%m: an output that is not allowed");
    end
  end
`endif
endmodule
