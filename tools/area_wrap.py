# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts a unit between registers, for `tools/area.py`: so that every path of it begins and ends in a flip-flop.

Inputs are a shift register that is fed by one pin. Outputs go into flip-flops, and through a pipelined tree of XOR to one pin,
so that none is removed. Clocks and asynchronous resets are pins. An output that is an input's wire or a constant is left open.
"""

# Inputs of one XOR, a LUT.
FAN = 4

FORK = {"$not", "$logic_not", "$_NOT_", "$buf", "$_BUF_"}
CLOCK_PINS = ("CLK", "RD_CLK", "WR_CLK")
RESET_PINS = ("ARST", "ALOAD", "SET", "CLR")


def _roots(module, pins):
    """The nets that drive the named pins of cells, through inverters."""
    through = {}
    for cell in module["cells"].values():
        if cell["type"] in FORK:
            through.update(zip(cell["connections"]["Y"], cell["connections"]["A"]))
    found = set()
    for cell in module["cells"].values():
        if not cell["type"].startswith(("$", "TRELLIS", "DP16KD")) or cell["type"] in FORK:
            continue
        for pin in pins:
            for bit in cell["connections"].get(pin, ()):
                while bit in through:
                    bit = through[bit]
                if isinstance(bit, int):
                    found.add(bit)
    return found


def wrapper(module, unit="unit", name="area_wrapper"):
    """Verilog of the wrapper of a module in yosys's JSON; with it the port and bit of each input register and of each output."""
    clocks = _roots(module, CLOCK_PINS)
    resets = _roots(module, RESET_PINS)
    used = {bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits}
    inputs, outputs, pins = [], [], []
    at_input, taken = set(), set()
    for port in module["ports"].values():
        if port["direction"] == "input":
            at_input.update(port["bits"])
    for port_name, port in module["ports"].items():
        bits = []
        for index, bit in enumerate(port["bits"]):
            if port["direction"] == "input":
                if bit in clocks:
                    bits.append("clk")
                elif bit in resets:
                    bits.append("rst_n")
                elif bit not in used:
                    bits.append("1'b0")
                else:
                    bits.append(f"in_q[{len(inputs)}]")
                    inputs.append((port_name, index))
            elif isinstance(bit, int) and bit not in at_input and bit not in taken:
                taken.add(bit)
                bits.append(f"out[{len(outputs)}]")
                outputs.append((port_name, index))
            else:
                bits.append(None)
        pins.append((port_name, bits))
    text = [f"module {name} (input clk, input rst_n, input si, output so);"]
    wires = len(inputs) or 1
    text.append(f"  reg [{wires}:0] in_q;")
    text.append(f"  always @(posedge clk) in_q <= {{in_q[{wires - 1}:0], si}};")
    text.append(f"  wire [{max(len(outputs), 1) - 1}:0] out;")
    if not outputs:
        text.append("  assign out = 1'b0;")
    width, level = max(len(outputs), 1), 0
    text.append(f"  reg [{width - 1}:0] out0_q;")
    text.append("  always @(posedge clk) out0_q <= out;")
    while width > 1:
        fewer = -(-width // FAN)
        text.append(f"  reg [{fewer - 1}:0] out{level + 1}_q;")
        text.append("  always @(posedge clk) begin")
        for index in range(fewer):
            first, last = index * FAN, min(index * FAN + FAN, width) - 1
            text.append(f"    out{level + 1}_q[{index}] <= ^out{level}_q[{last}:{first}];")
        text.append("  end")
        width, level = fewer, level + 1
    # The last input register counts too, where the unit has no input.
    text.append("  reg so_q;")
    text.append(f"  always @(posedge clk) so_q <= out{level}_q[0] ^ in_q[{wires}];")
    text.append("  assign so = so_q;")
    connections = []
    for index, (port_name, bits) in enumerate(pins):
        if all(bit is None for bit in bits):
            continue
        named = []
        for place, bit in enumerate(bits):
            if bit is None:
                text.append(f"  wire open{index}_{place};")
                bit = f"open{index}_{place}"
            named.append(bit)
        connections.append(f"    .\\{port_name} ({{{', '.join(reversed(named))}}})")
    text.append(f"  {unit} u (\n" + ",\n".join(connections) + "\n  );")
    text.append("endmodule\n")
    return "\n".join(text), inputs, outputs
