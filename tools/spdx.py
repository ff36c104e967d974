#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives every source file its licence line.

    tools/spdx.py           adds missing lines
    tools/spdx.py --check   lists files without their line

The line is the first of the file, or the second behind `#!`. Files under rtl/ are hardware and have the Solderpad
licence, all others that of the software. Files that git ignores and files made by other projects are left out;
generated files get the line from their generator. Exit status 1 if --check finds a file without its line.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARDWARE = "Apache-2.0 WITH SHL-2.1"
SOFTWARE = "MIT OR Apache-2.0"
OPENING = {
    **dict.fromkeys((".rs", ".sv", ".svh", ".rdl", ".vlt", ".cpp", ".js", ".mjs"), ("// ", "")),
    # Block comments: the headers of the C interface have no line comments, for C89.
    **dict.fromkeys((".c", ".h", ".css"), ("/* ", " */")),
    **dict.fromkeys((".py", ".sh"), ("# ", "")),
}
BY_NAME = {"Makefile": ("# ", ""), ".ci/run": ("# ", "")}
# Written by PeakRDL, from its own templates.
LEFT_OUT = ("docs/registers/",)


def line_of(path):
    """The licence line of a file by its path from the root, or None if its kind has none."""
    comment = BY_NAME.get(path) or OPENING.get(Path(path).suffix)
    if comment is None or path.startswith(LEFT_OUT):
        return None
    licence = HARDWARE if path.startswith("rtl/") else SOFTWARE
    return f"{comment[0]}SPDX-License-Identifier: {licence}{comment[1]}\n"


def with_line(text, line):
    """The text with its licence line; another licence line in its place is replaced."""
    lines = text.splitlines(keepends=True)
    at = 1 if lines and lines[0].startswith("#!") and not lines[0].startswith("#![") else 0
    if at < len(lines) and "SPDX-License-Identifier:" in lines[at]:
        del lines[at]
    lines.insert(at, line)
    return "".join(lines)


def check_itself():
    """Fails if the rules miss a planted file."""
    hardware = line_of("rtl/dma/dma_rx.sv")
    assert hardware == "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1\n", hardware
    assert line_of("docs/registers/js/main.js") is None and line_of("Cargo.toml") is None
    software = line_of("tools/lint.sh")
    assert with_line("#!/bin/sh\nx\n", software) == f"#!/bin/sh\n{software}x\n"
    rust = line_of("src/main.rs")
    assert with_line("#![no_std]\n", rust) == f"{rust}#![no_std]\n"
    assert with_line(hardware + "x\n", rust) == f"{rust}x\n"
    assert with_line(rust, rust) == rust


def main():
    check_itself()
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    missing = []
    for path in sorted(set(listed.stdout.split("\0"))):
        line = line_of(path)
        file = ROOT / path
        if line is None or not file.is_file() or file.is_symlink():
            continue
        text = file.read_text()
        wanted = with_line(text, line)
        if wanted != text:
            missing.append(path)
            if not check:
                file.write_text(wanted)
    if not check:
        print(f"spdx: {len(missing)} files got their line")
        return 0
    for path in missing:
        print(f"{path}: no licence line; `tools/spdx.py` adds it", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
