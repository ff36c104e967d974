#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Looks at how comments begin and how long the names of tests are.

    tools/prose.py [--list] [ROOT]

A comment begins with a verb or with a noun that names the thing. Counted are doc comments of Rust (`///`, `//!`), each
paragraph by itself, and comments of rtl/, that begin with What, Who, That, Those or Whose. Exit status 1, with the
list, if there are more than LIMIT. Warned about are tests whose names have more than 60 characters behind the ids of
requirements (`ep10_`); --list prints both lists in any case. Exit status 2 if a planted line is missed.
"""

import re
import sys
from pathlib import Path

LIMIT = 60
LONGEST_SUBJECT = 60
OPENS = re.compile(r"(What|Who|That|Those|Whose)\b")
DOC = re.compile(r"\s*(//[/!])(?!/)(.*)")
COMMENT = re.compile(r"(?P<code>[^\"/]*(?:\"(?:\\.|[^\"\\])*\"[^\"/]*|/(?!/)[^\"/]*)*)//(?P<text>.*)")
TEST = re.compile(r"#\[test\](?:\s*#\[[^\n]*\])*\s*(?:pub )?fn (\w+)")
ID = re.compile(r"(?:hw|ep|fn|af|ak|ct|x)\d+_")

PLANTED = {
    "a.rs": "//! What a module is.\n\n/// Whose line.\n/// What goes on.\n///\n/// Those of a paragraph.\nfn a() {}\n"
    "// What is no doc comment.\n//// Who is none either.\n/// Whatever.\n#[test]\nfn x1_x2_"
    + "a" * 61
    + "() {}\n#[test]\n#[ignore]\nfn x1_"
    + "b" * 60
    + "() {}\n",
    "rtl/a.sv": "// That block.\n// What goes on.\nlogic a; // Who trails\nlogic b; // whose\n",
}
FOUND = {"a.rs:1", "a.rs:3", "a.rs:6", "rtl/a.sv:1", "rtl/a.sv:3"}


def rust_openings(lines):
    """The first line of each paragraph of doc comments: its number and its text."""
    before = (None, "")
    for number, line in enumerate(lines, 1):
        match = DOC.match(line)
        marker, text = (match[1], match[2].strip()) if match else (None, "")
        if marker and text and (before[0] != marker or not before[1]):
            yield number, text
        before = (marker, text)


def rtl_openings(lines):
    """The first line of each comment: one behind code, or a block of lines."""
    in_block = False
    for number, line in enumerate(lines, 1):
        match = COMMENT.match(line)
        alone = bool(match) and not match["code"].strip()
        if match and not (alone and in_block):
            yield number, match["text"].strip()
        in_block = alone


def files_of(root):
    """Rust sources of the project and SystemVerilog of rtl/, in order."""
    for path in sorted([*root.rglob("*.rs"), *root.glob("rtl/**/*.sv")]):
        parts = path.relative_to(root).parts
        if not any(part in ("target", "generated") or part.startswith(".") for part in parts):
            yield "/".join(parts), path.read_text()


def openings(files):
    """Comments that begin with one of the words, as `file:line: text`."""
    found = []
    for name, text in files:
        lines = text.splitlines()
        of_file = rust_openings(lines) if name.endswith(".rs") else rtl_openings(lines)
        found += [f"{name}:{number}: {first}" for number, first in of_file if OPENS.match(first)]
    return found


def long_names(files):
    """Tests whose names say more than a line of a report has room for."""
    found = []
    for name, text in files:
        for test in TEST.findall(text):
            subject = test
            while ID.match(subject):
                subject = subject[ID.match(subject).end() :]
            if len(subject) > LONGEST_SUBJECT:
                found.append(f"{name}: {test}: {len(subject)} characters")
    return found


def main():
    planted = list(PLANTED.items())
    found = {":".join(line.split(":")[:2]) for line in openings(planted)}
    if found != FOUND or len(long_names(planted)) != 1:
        print(f"prose: planted lines: {sorted(found)}, {long_names(planted)}", file=sys.stderr)
        return 2

    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    files = list(files_of(root))
    opened, long = openings(files), long_names(files)
    if "--list" in sys.argv or len(opened) > LIMIT:
        print(*opened, sep="\n")
    if "--list" in sys.argv:
        print(*long, sep="\n")
    print(f"prose: {len(opened)} comments begin with What, Who, That, Those or Whose, at most {LIMIT} may")
    if long:
        print(f"prose: warning: {len(long)} tests have names of more than {LONGEST_SUBJECT} characters behind the ids")
    return 1 if len(opened) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
