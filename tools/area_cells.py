# SPDX-License-Identifier: MIT OR Apache-2.0
"""Maps a unit to standard cells of a Liberty library, for `tools/area.py`: area and the longest path before layout.

Before layout means: sized and buffered by ABC without wires, clock and reset ideal. Arrays of at least LARGE bits would be macros: they are cut out, their
pins in registers, and counted in bits. The longest path runs between flip-flops around or in the unit. OpenSTA finds it where
it is installed, with set-up time; else ABC estimates it.
"""

import gzip
import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import area_wrap
from area_ecp5 import LARGE, Failed, execute, yosys

# Debian's qflow-tech-osu018, where LIBERTY does not have it.
OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
NAMES = (("asap7", "ASAP7"), ("sg13g2", "SG13G2"), ("osu018", "OSU018"))

FLAT = (
    "read_rtlil unit.il",
    "hierarchy -check -top unit",
    "proc",
    "flatten",
    "bmuxmap",
    "opt",
    "memory -nomap",
    "opt_clean",
    "write_rtlil flat.il",
)
OPENED = ("read_rtlil open.il", "opt_clean", "write_json open.json", "write_rtlil open.il")
SYNTH = (
    "read_rtlil open.il",
    "setattr -mod -set keep_hierarchy 1 unit",
    "read_verilog wrapper.v",
    "synth -top area_wrapper -noshare -flatten -noabc",
)
AFTER = (
    "setattr -mod -unset keep_hierarchy unit",
    "flatten",
    "splitnets -ports",
    "opt_clean -purge",
    "write_verilog -noattr -noexpr -nohex -nodec net.v",
)
ABC_SCRIPT = "strash\n&get -n\n&fraig -x\n&put\nscorr\ndc2\ndch -f\nmap -B 0.9\ntopo\nbuffer -p -N 16\nupsize\ndnsize\nstime -p\n"
FLOW = "\n".join((*FLAT, *OPENED, *SYNTH, *AFTER, ABC_SCRIPT, Path(__file__).read_text(encoding="utf-8")))


@dataclass
class Library:
    """A library of cells: its files belong together."""

    name: str
    files: list
    digest: str


def libraries(folder, scratch):
    """The libraries of a folder, files of one name together, unpacked; with Debian's if the folder has none of that name."""
    found = {}
    files = sorted(path for path in Path(folder).iterdir() if path.name.endswith((".lib", ".lib.gz")))
    if files and OSU018.exists():
        files.append(OSU018)
    for path in files:
        name = next((name for begin, name in NAMES if path.name.startswith(begin)), path.name.split(".lib")[0])
        if path == OSU018 and name in found:
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        scratch.mkdir(parents=True, exist_ok=True)
        plain = scratch / path.name.removesuffix(".gz")
        if not plain.exists() or plain.read_bytes() != data:
            plain.write_bytes(data)
        library = found.setdefault(name, Library(name, [], ""))
        library.files.append(plain)
        library.digest = hashlib.sha256((library.digest + hashlib.sha256(data).hexdigest()).encode()).hexdigest()
    return list(found.values())


def timer():
    """The program that finds the longest path, or None for ABC's estimate."""
    return shutil.which("sta")


def open_memories(text):
    """Replaces large memories of a flat unit by ports: RTLIL, and the bits that were cut out."""
    last = max((int(number) for number in re.findall(r"^  wire .*(?:input|output) (\d+) ", text, re.M)), default=0)
    bits, wires, joins = 0, [], []

    def cut(match):
        nonlocal bits, last
        body = match[0]
        number = {}
        for key, value in re.findall(r"parameter (?:signed )?\\(SIZE|WIDTH|WR_PORTS|RD_PORTS|ABITS) (\S+)", body):
            number[key] = int(value.split("'")[1], 2) if "'" in value else int(value)
        size = number["SIZE"] * number["WIDTH"]
        if size < LARGE or not number["WR_PORTS"]:
            return body
        bits += size
        name = re.search(r'parameter \\MEMID "\\*(.*)"', body)[1]
        for pin, signal in re.findall(r"^    connect \\(\w+) (.*)$", body, re.M):
            if pin in ("RD_CLK", "WR_CLK", "RD_ARST", "RD_SRST"):
                continue
            width = {
                "RD_ADDR": number["RD_PORTS"] * number["ABITS"],
                "RD_DATA": number["RD_PORTS"] * number["WIDTH"],
                "RD_EN": number["RD_PORTS"],
                "WR_ADDR": number["WR_PORTS"] * number["ABITS"],
                "WR_DATA": number["WR_PORTS"] * number["WIDTH"],
                "WR_EN": number["WR_PORTS"] * number["WIDTH"],
            }[pin]
            if not width:
                continue
            last += 1
            reads = pin == "RD_DATA"
            port = f"\\{name}.{pin}"
            wires.append(f"  wire width {width} {'input' if reads else 'output'} {last} {port}\n")
            joins.append(f"  connect {signal} {port}\n" if reads else f"  connect {port} {signal}\n")
        return ""

    text = re.sub(r"^(?:  attribute .*\n)*  cell \$mem_v2 .*\n(?:    .*\n)*  end\n", cut, text, flags=re.M)
    start = text.index("\n", text.index("module \\unit")) + 1
    end = text.rindex("end\n")
    return text[:start] + "".join(wires) + text[start:end] + "".join(joins) + text[end:], bits


def measure(text, library, program, folder, limit):
    """Area, cells and longest path of a unit."""
    (folder / "unit.il").write_text(text, encoding="utf-8")
    yosys(FLAT, folder / "flat.log", limit, folder)
    opened, bits = open_memories((folder / "flat.il").read_text(encoding="utf-8"))
    (folder / "open.il").write_text(opened, encoding="utf-8")
    yosys(OPENED, folder / "open.log", limit, folder)
    module = json.loads((folder / "open.json").read_text(encoding="utf-8"))["modules"]["unit"]
    (folder / "wrapper.v").write_text(area_wrap.wrapper(module)[0], encoding="utf-8")
    (folder / "abc.script").write_text(ABC_SCRIPT, encoding="utf-8")
    named = " ".join(f"-liberty {path}" for path in library.files)
    registers = next((path for path in library.files if "_SEQ_" in path.name), library.files[0])
    yosys(
        [
            *SYNTH,
            f"dfflibmap -liberty {registers}",
            f"abc {named} -script abc.script",
            "opt_clean",
            f"tee -q -o stat.json stat -json {named}",
            *AFTER,
        ],
        folder / "map.log",
        limit,
        folder,
    )
    statistics = json.loads((folder / "stat.json").read_text(encoding="utf-8"))["modules"]["\\unit"]
    kinds = {kind: count for kind, count in statistics.get("num_cells_by_type", {}).items() if kind != "$scopeinfo"}
    result = {"area": float(statistics.get("area", 0.0)), "cells": sum(kinds.values()), "macro_bits": bits}
    unmapped = [kind for kind in kinds if kind.startswith("$")]
    if unmapped:
        raise Failed(f"not mapped to {library.name}: {', '.join(sorted(unmapped)[:4])}")
    result["ns"] = longest(folder, library, limit) if program else estimate(folder / "map.log")
    for big in ("unit.il", "flat.il", "open.il", "open.json", "net.v"):
        (folder / big).unlink(missing_ok=True)
    return result


def longest(folder, library, limit):
    """The longest path between flip-flops by OpenSTA, ns, with set-up time."""
    lines = [f"read_liberty {path}" for path in library.files]
    lines += [
        "read_verilog net.v",
        "link_design area_wrapper",
        "set_cmd_units -time ns",
        "create_clock -name clk -period 1000 [get_ports clk]",
        "set_false_path -from [get_ports rst_n]",
        "report_checks -path_delay max -format full -digits 4",
        "exit",
    ]
    (folder / "sta.tcl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    execute(["sta", "-exit", "-no_splash", "sta.tcl"], folder / "sta.log", limit, folder)
    log = (folder / "sta.log").read_text(encoding="utf-8")
    slack = re.search(r"^\s*(-?[\d.]+)\s+slack", log, re.M)
    if not slack:
        raise Failed("OpenSTA found no path; see sta.log")
    return round(1000 - float(slack[1]), 3)


def estimate(log):
    """The longest path between flip-flops by ABC, ns, without them."""
    found = re.findall(r"Delay\s*=\s*([\d.]+) ps", log.read_text(encoding="utf-8"))
    if not found:
        raise Failed("ABC gave no delay")
    return round(max(float(delay) for delay in found) / 1000, 3)


def table(library, program, units, results, groups):
    """The lines of a library's table, with nanoseconds a hop where router and link are there."""
    lines = [
        "",
        f"{library.name}, before layout, no wires; longest path by "
        + ("OpenSTA" if program else "ABC, without flip-flops"),
        f"{'unit':<22}{'n':>3}{'cells':>10}{'um^2':>12}{'ns':>9}{'MHz':>8}{'RAM Kbit':>10}",
    ]
    for group in [title for title, _ in groups]:
        area = cells = bits = 0
        inside = [unit for unit in units if group in unit.groups() and unit.name in results]
        if inside:
            lines += ["", group]
        for unit in inside:
            result, count = results[unit.name], unit.groups()[group]
            if "failed" in result:
                lines.append(f"{unit.name:<22}{count:>3}  {result['failed']}"[:80])
                continue
            name = f"  {unit.name}" if unit.part_of else unit.name
            lines.append(line(name, count, result["cells"], result["area"], result["ns"], result["macro_bits"]))
            if not unit.part_of:
                area, cells = area + count * result["area"], cells + count * result["cells"]
                bits += count * result["macro_bits"]
        if len(inside) > 1:
            lines.append(line("= sum", "", cells, area, None, bits))
    hop = [unit for unit in units if unit.name in results and "Router and links" in unit.groups() and "ns" in results[unit.name]]
    if len(hop) > 1:
        slowest = max(hop, key=lambda unit: results[unit.name]["ns"])
        lines += ["", f"ns a hop: {2 * results[slowest.name]['ns']:.3f}, two cycles of the slowest unit measured, {slowest.name}"]
    return lines


def line(name, count, cells, area, ns, bits):
    """A row of the table."""
    speed = f"{ns:>9.3f}{1000 / ns:>8.0f}" if ns else " " * 17
    return f"{name:<22}{count:>3}{cells:>10,}{area:>12,.0f}{speed}{bits / 1024:>10.1f}".rstrip()
