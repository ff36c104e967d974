#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks how comments begin, how long the names of tests are, and the paths that documents name.

    tools/prose.py [--list] [ROOT]

A comment begins with a verb or with a noun that names the thing. Counted are doc comments of Rust (`///`, `//!`), each
paragraph by itself, and comments of rtl/, that begin with What, Who, That, Those or Whose. Exit status 1, with the
list, if there are more than LIMIT. Warned about are tests whose names have more than 60 characters behind the ids of
requirements (`ep10_`); --list prints both lists in any case. Exit status 1 too if a file in Markdown has a link to no
file, or in backquotes a path below a folder of the project where no file is. Exit status 2 if a planted line is missed.
"""

import re
import sys
import tempfile
from pathlib import Path

from test_names import tests_of

LIMIT = 60
LONGEST_SUBJECT = 60
OPENS = re.compile(r"(What|Who|That|Those|Whose)\b")
DOC = re.compile(r"\s*(//[/!])(?!/)(.*)")
COMMENT = re.compile(r"(?P<code>[^\"/]*(?:\"(?:\\.|[^\"\\])*\"[^\"/]*|/(?!/)[^\"/]*)*)//(?P<text>.*)")
PATH = re.compile(r"`([\w.-]+/[\w./-]*)`|\]\(([^)#:]+)(?:#[^)]*)?\)")
NO_FOLDERS = {"target", "out"}

PLANTED = {
    "a.rs": "//! What a module is.\n\n/// Whose line.\n/// What goes on.\n///\n/// Those of a paragraph.\nfn a() {}\n"
    "// What is no doc comment.\n//// Who is none either.\n/// Whatever.\n#[test]\nfn x1_x2_"
    + "a" * 61
    + "() {}\n#[test]\n#[should_panic]\nfn x1_"
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


def dead_paths(root):
    """Paths in documents that lead nowhere."""
    top = {path.name for path in root.iterdir() if path.is_dir() and path.name[0] != "."} - NO_FOLDERS
    for document in sorted(root.rglob("*.md")):
        folder = document.parent
        name = document.relative_to(root)
        if name.parts[0] in NO_FOLDERS or name.parts[0].startswith("."):
            continue
        for named, linked in PATH.findall(document.read_text()):
            if linked and not (folder / linked).exists():
                yield f"{name}: no file {linked}"
            if named.split("/")[0] in top and not ((root / named).exists() or (folder / named).exists()):
                yield f"{name}: no file {named}"


def long_names(files):
    """Tests whose names say more than a line of a report has room for."""
    found = []
    for name, text in files:
        for test, _, subject in tests_of(text):
            if len(subject) > LONGEST_SUBJECT:
                found.append(f"{name}: {test}: {len(subject)} characters")
    return found


def main():
    planted = list(PLANTED.items())
    found = {":".join(line.split(":")[:2]) for line in openings(planted)}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "src").mkdir()
        (root / "a.md").write_text("`src/` [a](src) `out/a` `a/b` `src/b` [b](src/c#d) [c](https://x)")
        dead = list(dead_paths(root))
    if found != FOUND or len(long_names(planted)) != 1 or len(dead) != 2:
        print(f"prose: planted lines: {sorted(found)}, {long_names(planted)}, {dead}", file=sys.stderr)
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
    dead = list(dead_paths(root))
    for line in dead:
        print(f"prose: {line}", file=sys.stderr)
    return 1 if len(opened) > LIMIT or dead else 0


if __name__ == "__main__":
    sys.exit(main())
