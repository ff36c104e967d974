#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds circles of imports between the source files of a crate.

    tools/import_circles.py              every crate of the workspace
    tools/import_circles.py CRATE...     the crates in these folders

A file imports the file of its crate that defines what a `use` declaration or a path in its code names; what is reached
through a re-export belongs to the file that defines it. No imports are `mod` declarations, a `pub use` of what lies
below the own module, and what is for tests alone (`#[cfg(test)]`). Methods are not followed. Files that reach each
other are printed, each with what it imports of the others and the first line that does. Exit status 1 if there are
any, 2 if a crate cannot be read or a circle is missed that the tool plants itself.
"""

import re
import sys
import tempfile
from pathlib import Path

from rust_tokens import close_of, tokens_of, without_tests

ROOT = Path(__file__).resolve().parent.parent
MANIFESTS = sorted(ROOT.glob("*/*/Cargo.toml"))
CRATES = [".", *(m.parent.relative_to(ROOT).as_posix() for m in MANIFESTS if (m.parent / "src").is_dir())]
NAME = re.compile(r"(r#)?[^\W\d]\w*$")
DEFINING = {"const", "static", "type", "fn", "struct", "enum", "union", "trait"}

# A crate to look at first: its files, and the circles in it.
PLANTED = {
    "lib.rs": "mod a; mod b; mod c; mod d; mod e; mod g; mod i; mod k; pub use a::A; pub use i::*; pub struct Root;",
    # Through a re-export.
    "a.rs": "use crate::b::{self, B}; pub struct A(B);",
    "b.rs": "pub struct B; fn f() { let _ = crate::A; }",
    # Not in comments, literals and tests.
    "c.rs": "use crate::d::D; pub struct C;",
    "d.rs": "/* use crate::c::C; */ pub struct D(&'static str); #[cfg(test)] mod tests { use crate::c::C; }"
    " #[cfg(test)] use crate::c::{C}; const N: D = D(\"use crate::c::C;\"); const Q: char = '\"';",
    # A parent may re-export what imports it, not use it.
    "e.rs": "mod f; pub use f::F; pub struct E;",
    "e/f.rs": "use super::E; use crate::Root; pub struct F;",
    "g.rs": "mod h; use h::H; pub struct G;",
    "g/h.rs": "pub struct H(super::G);",
    # Through two globs, and a module's name.
    "i.rs": "mod j; pub use j::*; pub struct I;",
    "i/j.rs": "use crate::k; pub struct J(k::K);",
    "k.rs": "use crate::J; pub struct K;",
}
CIRCLES = [["a.rs", "b.rs"], ["g/h.rs", "g.rs"], ["i/j.rs", "k.rs"]]


class Module:
    """A module: what it declares, what its `use` declarations bind, and what its code names."""

    def __init__(self, file, path):
        self.file = file
        self.path = path
        self.children = set()
        self.defined = set()
        self.bound = {}  # name: path of a `use`
        self.globs = []  # paths of `use path::*`
        self.named = []  # path, line, whether a re-export


class Crate:
    """The modules below a root file, and which file imports which."""

    def __init__(self, root):
        self.root = root
        self.modules = {}  # by path
        self.imports = {}  # file: {imported file: first line that does}
        self.read(root, ())
        for module in self.modules.values():
            for path, line, exported in module.named:
                target, rest = self.walk(module, path) or (module, ())
                below = target.path[: len(module.path)] == module.path
                # A module alone is no import: what is used of it is.
                if rest and target.file != module.file and not (exported and below):
                    lines = self.imports[module.file]
                    lines[target.file] = min(line, lines.get(target.file, line))

    def read(self, file, path):
        """Reads the file of a module, and those of the modules below it."""
        self.imports[file] = {}
        self.scan(Module(file, path), without_tests(tokens_of(file.read_text(encoding="utf-8"))))

    def scan(self, module, tokens):
        """Takes in declarations and paths of a module."""
        self.modules[module.path] = module
        at = 0
        while at < len(tokens):
            token, line = tokens[at]
            before, after = (tokens[i][0] if 0 <= i < len(tokens) else "" for i in (at - 1, at + 1))
            if token == "mod" and NAME.match(after):
                at = self.declare(module, after, tokens, at + 2)
            elif token == "use" and after != "<":
                end = next(i for i in range(at, len(tokens)) if tokens[i][0] == ";")
                self.bind(module, tokens[at + 1 : end], (), before in ("pub", ")"))
                at = end
            elif token in DEFINING and NAME.match(after):
                module.defined.add(after)
            elif token == "macro_rules":
                module.defined.add(tokens[at + 2][0])
            elif NAME.match(token) and before not in (".", "::"):
                path = [token]
                while at + 2 < len(tokens) and tokens[at + 1][0] == "::" and NAME.match(tokens[at + 2][0]):
                    path.append(tokens[at + 2][0])
                    at += 2
                module.named.append((tuple(path), line, False))
            at += 1

    def declare(self, module, name, tokens, at):
        """A `mod` declaration with its `;` or `{` at `at`. Gives the position of its end."""
        path = (*module.path, name)
        module.children.add(name)
        if tokens[at][0] == "{":
            end = close_of(tokens, at)
            self.scan(Module(module.file, path), tokens[at + 1 : end])
            return end
        folder = self.root.parent.joinpath(*module.path)
        files = [folder / f"{name}.rs", folder / name / "mod.rs"]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            raise ValueError(f"{module.file}: no file of the module {name}")
        self.read(file, path)
        return at

    def bind(self, module, tree, prefix, exported):
        """Takes in a tree of a `use` declaration."""
        texts = [token for token, _ in tree]
        end = next((i for i, token in enumerate(texts) if token in ("{", "*", "as")), len(texts))
        path = (*prefix, *(token for token in texts[:end] if token != "::"))
        stop = texts[end] if end < len(texts) else ""
        if stop == "{":
            start, depth = end + 1, 0
            for i in range(start, len(texts)):
                if depth == 0 and texts[i] in (",", "}"):
                    if start < i:
                        self.bind(module, tree[start:i], path, exported)
                    start = i + 1
                depth += (texts[i] == "{") - (texts[i] == "}")
        elif stop == "*":
            module.globs.append(path)
        else:
            path = path[:-1] if path[-1] == "self" and len(path) > 1 else path
            module.bound[texts[-1] if stop == "as" else path[-1]] = path
            module.named.append((path, tree[0][1], exported))

    def walk(self, module, path, seen=frozenset(), guess=True):
        """The last module on a path, re-exports followed, and what is left of the path there; none for what is not of
        the crate. What a module does not seem to have comes of a macro of its file, if `guess` says so."""
        known = path[0] in ("crate", "self", "super")
        at = () if path[0] == "crate" else module.path
        while path and path[0] in ("crate", "self", "super"):
            at = at[:-1] if path[0] == "super" else at
            path = path[1:]
        module = self.modules[at] if known else module
        while path:
            name = path[0]
            key = (module.path, name)
            item = name in module.bound or name in module.defined
            if name in module.children and (len(path) > 1 or not item):
                module = self.modules[(*module.path, name)]
                path, known = path[1:], True
                continue
            if name in module.bound and key not in seen:
                return self.walk(module, module.bound[name] + path[1:], seen | {key})
            if name in module.defined:
                return module, path
            for glob in module.globs if key not in seen else ():
                of, rest = self.walk(module, glob, seen | {key}) or (module, path)
                found = None if rest else self.walk(of, ("self", *path), seen | {key}, guess=False)
                if found:
                    return found
            return (module, path) if known and guess else None
        return module, path

    def circles(self):
        """The sets of files that reach each other, each sorted."""
        reach = {}
        for file in self.imports:
            reach[file], ahead = set(), [file]
            while ahead:
                ahead_of = self.imports[ahead.pop()]
                ahead.extend(other for other in ahead_of if other not in reach[file])
                reach[file].update(ahead_of)
        circles = {
            tuple(sorted(other for other in reach[file] if file in reach[other]))
            for file in self.imports
            if file in reach[file]
        }
        return sorted(circles)


def check_itself():
    """Whether the planted circles are found, and nothing else."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch)
        for name, text in PLANTED.items():
            file = source / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        found = Crate(source / "lib.rs").circles()
        names = [[file.relative_to(source).as_posix() for file in circle] for circle in found]
    if names != CIRCLES:
        print(f"import_circles: planted {CIRCLES}, found {names}", file=sys.stderr)
    return names == CIRCLES


def look_at(folder):
    """Prints the circles of a crate. Gives whether there are none."""
    source = ROOT / folder / "src"
    roots = [file for file in (source / "lib.rs", source / "main.rs") if file.is_file()]
    if not roots:
        raise ValueError(f"{folder}: no src/lib.rs and no src/main.rs")
    clean = True
    for root in roots:
        crate = Crate(root)
        circles = crate.circles()
        clean = clean and not circles
        if not circles:
            print(f"{folder}: {len(crate.imports)} files, no circle")
        for circle in circles:
            print(f"{folder}: {len(circle)} files of {len(crate.imports)} in a circle")
            for file in circle:
                inside = ((other, line) for other, line in crate.imports[file].items() if other in circle)
                imports = ", ".join(f"{other.relative_to(source)} (line {line})" for other, line in sorted(inside))
                print(f"  {file.relative_to(source)} imports {imports}")
    return clean


def main():
    try:
        if not check_itself():
            return 2
        results = [look_at(folder) for folder in sys.argv[1:] or CRATES]
    except (OSError, ValueError) as error:
        print(f"import_circles: {error}", file=sys.stderr)
        return 2
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
