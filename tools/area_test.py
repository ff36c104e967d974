#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of `tools/area.py` that need no tool: cutting of a design, wrapper, table, comparison, known arrays."""

import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import area
import area_cells
import area_design
import area_ecp5
import area_wrap

# A node with two instances of one unit, one of another, and a small cell; register of the node itself.
DESIGN = r"""
attribute \src "a.sv:1.2"
module \part$gyre_node.u_network.g[0].u_part
  wire width 4 input 1 \a_i
  wire output 2 \b_o
  memory width 8 size 16 \store
  cell $dff $7
    parameter \CLK_POLARITY 1
    parameter \WIDTH 4
    connect \CLK \a_i [0]
    connect \D \a_i
    connect \Q $7q
  end
end
module \part$gyre_node.u_network.g[1].u_part
  wire width 4 input 1 \a_i
  wire output 2 \b_o
  memory width 8 size 16 \store
  cell $dff $9
    parameter \CLK_POLARITY 1
    parameter \WIDTH 4
    connect \CLK \a_i [0]
    connect \D \a_i
    connect \Q $9q
  end
end
module \part$gyre_node.u_dma.u_part
  wire width 8 input 1 \a_i
  wire output 2 \b_o
end
module \soft_reset$gyre_node.u_small
  wire input 1 \x_i
end
module \gyre_node
  wire input 1 \clk_i
  wire width 3 \three
  cell \soft_reset$gyre_node.u_small \u_small
    connect \x_i \clk_i
  end
  cell \part$gyre_node.u_network.g[0].u_part \g[0].u_part
    connect \a_i { \three \clk_i }
    connect \b_o \three [0]
  end
  cell \part$gyre_node.u_network.g[1].u_part \g[1].u_part
    connect \a_i 4'0000
    connect \b_o \three [1]
  end
  cell \part$gyre_node.u_dma.u_part \u_part
    connect \a_i 8'00000000
    connect \b_o \three [2]
  end
end
"""


def cells(lut, ff=0):
    """Cells of a result."""
    return {**dict.fromkeys(area.COLUMNS, 0), "lut": lut, "ff": ff, "around": 0}


class Cut(unittest.TestCase):
    """Every instance is in one unit; variants are apart; the digest is of the logic."""

    def setUp(self):
        self.design = area_design.Design(DESIGN)
        self.units = area_design.cut(self.design)
        area_design.prepare(self.units)

    def test_instances_with_one_shape_are_one_unit(self):
        found = [(unit.name, len(unit.instances)) for unit in self.units]
        self.assertEqual(found, [("gyre_node", 1), ("part", 2), ("part.2", 1)])
        self.assertEqual(self.units[1].groups(), {"Router and links": 2})
        self.assertEqual(self.units[2].groups(), {"DMA engine": 1})

    def test_instances_of_a_split_module_become_ports(self):
        text = self.units[0].text
        self.assertIn("  wire width 4 output 2 \\g[0].u_part.a_i\n", text)
        self.assertIn("  wire width 1 input 3 \\g[0].u_part.b_o\n", text)
        self.assertIn("  connect \\g[0].u_part.a_i { \\three \\clk_i }\n", text)
        self.assertIn("  connect \\three [0] \\g[0].u_part.b_o\n", text)
        self.assertNotIn("cell \\part", text)

    def test_small_cells_stay(self):
        self.assertIn("cell \\soft_reset_0 \\u_small", self.units[0].text)
        self.assertIn("module \\soft_reset_0\n", self.units[0].text)

    def test_digest_ignores_lines_numbers_and_instances(self):
        other = DESIGN.replace("$7", "$1234").replace('"a.sv:1.2"', '"b.sv:3.4"')
        other = other.replace("module \\gyre_node", 'attribute \\src "c.sv:1.1"\nmodule \\gyre_node')
        units = area_design.cut(area_design.Design(other))
        area_design.prepare(units)
        self.assertEqual([unit.digest for unit in units], [unit.digest for unit in self.units])
        changed = area_design.cut(area_design.Design(DESIGN.replace("connect \\D \\a_i", "connect \\D 4'0000")))
        area_design.prepare(changed)
        self.assertNotEqual(changed[1].digest, self.units[1].digest)
        self.assertEqual(changed[2].digest, self.units[2].digest)


class Wrap(unittest.TestCase):
    """The wrapper has a register at each input and output that is logic, and pins for clocks and resets."""

    MODULE = {
        "ports": {
            "clk_i": {"direction": "input", "bits": [2]},
            "rst_ni": {"direction": "input", "bits": [3]},
            "a_i": {"direction": "input", "bits": [4, 5]},
            "none_i": {"direction": "input", "bits": [6]},
            "b_o": {"direction": "output", "bits": [7, 4, "0", 7]},
        },
        "cells": {
            "n": {"type": "$not", "connections": {"A": [3], "Y": [8]}},
            "f": {"type": "$aldff", "connections": {"CLK": [2], "ALOAD": [8], "D": [5], "AD": ["0"], "Q": [7]}},
        },
    }

    def test_pins(self):
        text, inputs, outputs = area_wrap.wrapper(self.MODULE)
        self.assertEqual(inputs, [("a_i", 1)])
        self.assertEqual(outputs, [("b_o", 0)])
        self.assertIn(".\\clk_i ({clk})", text)
        self.assertIn(".\\rst_ni ({rst_n})", text)
        self.assertIn(".\\a_i ({in_q[0], 1'b0})", text)
        self.assertIn(".\\none_i ({1'b0})", text)
        self.assertRegex(text, r"\.\\b_o \(\{open4_3, open4_2, open4_1, out\[0\]\}\)")

    def test_a_wide_output_is_reduced_to_a_pin(self):
        module = {"ports": {"b_o": {"direction": "output", "bits": list(range(2, 23))}}, "cells": {}}
        text, _, outputs = area_wrap.wrapper(module)
        self.assertEqual(len(outputs), 21)
        widths = [int(width) + 1 for width in re.findall(r"reg \[(\d+):0\] out\d_q", text)]
        self.assertEqual(widths, [21, 6, 2, 1])


class Table(unittest.TestCase):
    """Rows fit 80 columns, are read back, and a change beyond 3 % is told."""

    def setUp(self):
        design = area_design.Design(DESIGN)
        self.units = area_design.cut(design)
        self.results = {
            "gyre_node": {"cells": cells(100, 5), "arrays": {}, "place": {"mhz": 99.5, "from": "a", "to": "b"}},
            "part": {"cells": cells(400_000, 10), "arrays": {"store": {"bits": 8192, "in": "RAM cells"}}, "place": {"unplaced": "too large"}},
            "part.2": {"cells": cells(30), "arrays": {"good": {"bits": 8192, "in": "block RAM"}}, "place": {"mhz": 200.0}},
        }

    def test_sums_count_instances(self):
        self.assertEqual(area.total(self.units, self.results)["lut"], 800_130)
        self.assertEqual(area.total(self.units, self.results, "Router and links")["lut"], 800_000)

    def test_rows_fit_and_are_read_back(self):
        lines = area.table(self.units, self.results, True)
        self.assertLessEqual(max(map(len, lines)), 80)
        rows = area.committed("\n".join(lines))
        self.assertEqual(set(rows), set(self.results))
        self.assertEqual((rows["part"]["lut"], rows["part"]["mhz"]), (400_000, None))
        self.assertEqual(rows["gyre_node"]["mhz"], 99.5)

    def test_units_without_figures_are_known(self):
        self.results["part"] = {"failed": "not measured"}
        self.results["part.2"] = {"place": {"unplaced": "too large: 99,999 LUT4 in its units"}}
        lines = area.table(self.units, self.results, True)
        self.assertIn("  without 1 of its units, not measured", lines)
        rows = area.committed("\n".join(lines))
        self.assertEqual((rows["part"], rows["part.2"]), (None, None))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(area, "TABLE", Path(folder) / "area.md"):
            area.TABLE.write_text("\n".join(lines), encoding="utf-8")
            chosen = area.choose(mock.Mock(units=[], check=True), self.units)
            self.assertEqual([unit.name for unit in chosen], ["gyre_node"])
            with mock.patch("builtins.print"):
                self.assertTrue(area.check(chosen, self.results))
                self.assertFalse(area.check(self.units, self.results))
                self.results["gyre_node"]["cells"]["lut"] += 20
                self.assertFalse(area.check(chosen, self.results))

    def test_a_change_beyond_tolerance_is_told(self):
        rows = area.committed("\n".join(area.table(self.units, self.results, True)))
        self.assertEqual(list(area.moved("part", rows["part"], self.results["part"])), [])
        near = {"cells": cells(408_000, 10), "place": None}
        self.assertEqual([beyond for _, beyond in area.moved("part", rows["part"], near)], [False])
        far = {"cells": cells(360_000, 10), "place": None}
        line, beyond = next(area.moved("part", rows["part"], far))
        self.assertTrue(beyond)
        self.assertIn("400,000 -> 360,000 (-10.0%)", line)

    def test_only_arrays_outside_block_ram_are_listed(self):
        self.assertEqual([key for key, _ in area.array_lines(self.units, self.results)], ["part:store"])

    def test_known_arrays_that_are_settled_are_told(self):
        with mock.patch.dict(area.KNOWN, {"part:store": "", "part.2:good": "", "none:x": ""}, clear=True):
            self.assertEqual(area.settled(self.units, self.results), ["part.2:good"])

    def test_the_document_has_the_table(self):
        text = area.document(self.units, self.results)
        self.assertEqual(set(area.committed(text)), set(self.results))
        self.assertIn("16 Kbit in all", text)


class Reports(unittest.TestCase):
    """Logs and dumps of the tools are read as they are."""

    def test_memories(self):
        dump = ('  cell $mem_v2 $x\n    parameter \\MEMID "\\\\u.store"\n    parameter \\SIZE 16\n    parameter \\WIDTH 8\n'
                "    parameter \\WR_PORTS 1\n  end\n"
                '  cell $mem_v2 $y\n    parameter \\MEMID "\\\\rom"\n    parameter \\SIZE 16\n    parameter \\WIDTH 8\n'
                "    parameter \\WR_PORTS 0\n  end\n")
        self.assertEqual(area_ecp5.memories(dump), {"u.store": 128})

    def test_places(self):
        log = ("mapping memory unit.a.b via $__ECP5_DP16KD_\nmapping memory unit.c via $__TRELLIS_DPR16X4_\n"
               "using FF mapping for memory unit.d\n")
        self.assertEqual(area_ecp5.places(log), {"a.b": "block RAM", "c": "RAM cells", "d": "flip-flops"})

    def test_a_tool_that_fails_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(program, limit=30):
                area_ecp5.execute([sys.executable, "-c", program], Path(folder) / "log", limit, folder)

            with self.assertRaisesRegex(area_ecp5.Refused, "^no room$"):
                run("print('ERROR: no room'); exit(1)")
            with self.assertRaisesRegex(area_ecp5.Failed, "^status 3, last line: so far$"):
                run("print('so far'); exit(3)")
            with self.assertRaisesRegex(area_ecp5.Failed, "^not done after 1 s$"):
                run("import time; time.sleep(9)", 1)
            run("print('ERROR: but well')")

    def test_ends_of_paths_have_names_of_the_source(self):
        flip_flop = {"type": "TRELLIS_FF"}
        module = {
            "cells": {
                "set": {**flip_flop, "connections": {"Q": [5]}},
                "not": {"type": "LUT4", "connections": {"A": [5], "B": ["0"], "C": ["0"], "D": ["0"], "Z": [6]}},
                "in": {**flip_flop, "connections": {"Q": [7]}},
                "u.x_i_LUT4_Z_TRELLIS_FF_Q": {**flip_flop, "connections": {"Q": [9]}},
                "u.m.0.1": {"type": "TRELLIS_DPR16X4", "connections": {}},
            },
            "netnames": {"u.state_q": {"bits": [8, 6]}, "in_q": {"bits": [4, 7]}, "u.a.x_i": {"bits": [7]}},
        }
        names = area_ecp5.Names(module)
        inputs = [("a_i", 0), ("x_i", 3)]
        self.assertEqual(names.of("set", inputs, []), "state_q[1]")
        self.assertEqual(names.of("in", inputs, []), "input x_i[3]")
        self.assertEqual(names.of("u.x_i_LUT4_Z_TRELLIS_FF_Q", inputs, []), "near x_i")
        self.assertEqual(names.of("u.m.0.1$DPRAM_COMB3", inputs, []), "m")

    def test_large_memories_are_cut_out(self):
        cell = ('  cell $mem_v2 $x\n    parameter \\MEMID "\\\\m"\n    parameter \\SIZE 1024\n    parameter \\WIDTH 8\n'
                "    parameter \\WR_PORTS 1\n    parameter \\RD_PORTS 1\n    parameter \\ABITS 10\n"
                "    connect \\RD_ADDR \\a\n    connect \\RD_DATA \\d\n    connect \\RD_CLK \\c\n  end\n")
        text, bits = area_cells.open_memories("module \\unit\n  wire input 1 \\c\n" + cell + "end\n")
        self.assertEqual(bits, 8192)
        self.assertIn("wire width 10 output 2 \\m.RD_ADDR\n", text)
        self.assertIn("wire width 8 input 3 \\m.RD_DATA\n", text)
        self.assertIn("connect \\d \\m.RD_DATA\n", text)
        self.assertNotIn("$mem_v2", text)


class Usage(unittest.TestCase):
    """Bad usage has status 2 and says what is wrong."""

    def refused(self, *arguments, **environment):
        with mock.patch.object(sys, "argv", ["area.py", *arguments]), mock.patch.dict("os.environ", {"LIBERTY": "", **environment}), \
                mock.patch("sys.stderr") as errors, self.assertRaises(SystemExit) as end:
            area.main()
        self.assertEqual(end.exception.code, 2)
        return "".join(call.args[0] for call in errors.write.call_args_list)

    def test_refusals(self):
        self.assertIn("--write needs all units", self.refused("--write", "link_unit"))
        self.assertIn("no such folder", self.refused(LIBERTY="/nowhere"))
        self.assertIn("no folder /nowhere", self.refused("--json", "/nowhere/x.json"))
        self.assertIn("1 or more", self.refused("--jobs", "0"))
        with mock.patch.object(area_ecp5, "NEXTPNR", Path("/nowhere")), mock.patch.object(area_ecp5, "YOSYS", Path(self.tools())):
            self.assertIn("tools/setup.sh area", self.refused())
        with mock.patch.object(area_ecp5, "YOSYS", Path("/nowhere")):
            self.assertIn("make setup", self.refused())

    def tools(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "pyosys").mkdir()
        return folder.name

    def test_an_unknown_unit_is_named(self):
        chosen = mock.Mock(units=["nothing"], check=False)
        units = area_design.cut(area_design.Design(DESIGN))
        with mock.patch("sys.stderr") as errors, self.assertRaises(SystemExit) as end:
            area.choose(chosen, units)
        self.assertEqual(end.exception.code, 2)
        self.assertIn("no unit nothing; known are: gyre_node, part, part.2", errors.write.call_args_list[0].args[0])


if __name__ == "__main__":
    unittest.main()
