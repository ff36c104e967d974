#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the types of the headers in include/ as Rust: src/abi/generated.rs, and src/abi/layout_lists.rs, by which tests compare
Rust with C.

    programs/pami/abi.py           writes them
    programs/pami/abi.py --check   fails if the committed files are not what the headers give

Reads the C that these headers use: typedefs of structures, unions, enumerations, functions, pointers and arrays, each with a
comment `/** ... */` before it or `/**< ... */` behind it. Anything else is an error. The Rust name of a type is its C name
without `pami_` and `_t`, in camel case; NAMES has the exceptions.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = ["pami.h", "pami_ext_torus.h", "pami_ext_async_progress.h"]

# Rust names of types, and of structures without a name in C.
NAMES = {
    "pami_result_t": "ResultCode",
    "pami_send_t": "SendSimple",
    "pami_send_typed_t.typed": "SendTypedData",
    "pami_metadata_t.check_correct": "CheckCorrect",
    "pami_metadata_t.check_perf": "CheckPerf",
    "pamix_async_t": "AsyncEvent",
    "struct iovec": "Iovec",
    "struct pami_xfer_t": "Xfer",
    "void": "c_void",
    "char": "c_char",
    "int": "c_int",
    "unsigned": "c_uint",
    "double": "f64",
    "size_t": "usize",
    "uintptr_t": "usize",
    "uint32_t": "u32",
}
# Parts of C names that Rust names do not have, and endings that they spell out.
DROPPED = [r"^pamix?_", r"^extension_(?=torus)", r"^async_progress(?=_)", r"_t$"]

TOKEN = re.compile(r"/\*\*(?P<doc>.*?)\*/|/\*.*?\*/|^#(?P<line>[^\n]*)|(?P<token>\w+|[^\s\w])", re.S | re.M)


def rust_name(name):
    if name not in NAMES:
        short = name
        for pattern in DROPPED:
            short = re.sub(pattern, "async" if "async" in pattern else "", short)
        short = re.sub(r"_fn$", "_function", short)
        NAMES[name] = "".join(word[0].upper() + word[1:] for word in short.split("_"))
    return NAMES[name]


def field_name(name):
    return "r#type" if name == "type" else name


def doc(text, c_name=""):
    """A comment as the lines of a Rust one: its text before the first tag."""
    text = re.sub(r"\n\s*\*", "\n", text).lstrip("<").split("@")[0]
    text = re.sub(r"^\[(\w+)\]", r"`\1`:", " ".join(text.split())) + (f" C: `{c_name}`." if c_name else "")
    return "".join(f"/// {line}\n" for line in textwrap.wrap(text, 112, break_on_hyphens=False))


class Parser:
    def __init__(self, text):
        self.tokens, self.types, self.constants = [], [], {}
        pending = ""
        for match in TOKEN.finditer(text):
            if match["doc"] is not None:
                self.tokens.append(("doc", match["doc"]))
                pending = match["doc"]
            elif match["line"] is not None:
                define = re.match(r"define (\w+) (.+)", match["line"])
                if define:
                    self.constants[define[1]] = (pending, self.value(define[2]))
                    if self.tokens[-1:] != [("doc", pending)]:
                        sys.exit(f"abi.py: no comment right before `#define {define[1]}`")
                    self.tokens.pop()
            elif match["token"]:
                self.tokens.append(("token", match["token"]))
        self.at = 0

    def value(self, text):
        text = re.sub(r"sizeof\(uintptr_t\)", "8", text)
        text = re.sub(r"[A-Z]\w+", lambda name: str(self.constants[name[0]][1]), text)
        if not re.fullmatch(r"[-+*/()\w ]+", text):
            sys.exit(f"abi.py: `{text}` is no constant")
        return int(eval(text.replace("/", "//"), {"__builtins__": {}}))

    def peek(self):
        """The next token, after comments."""
        return next((text for kind, text in self.tokens[self.at :] if kind == "token"), None)

    def next(self):
        while self.tokens[self.at][0] == "doc":
            self.at += 1
        self.at += 1
        return self.tokens[self.at - 1][1]

    def take(self, *expected):
        for token in expected:
            found = self.next()
            if found != token:
                sys.exit(f"abi.py: `{found}`, expected `{token}`")

    def before(self):
        """The comment that stands here."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "doc":
            self.at += 1
            # A comment on the header as a whole comes before another one.
            return self.before() or self.tokens[self.at - 1][1]
        return ""

    def behind(self):
        """The comment that belongs to what has just ended."""
        if self.at < len(self.tokens) and self.tokens[self.at][1].startswith("<"):
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def parse(self):
        while self.peek():
            text = self.before()
            token = self.next()
            if token == "__extension__":
                token = self.next()
            if token == "typedef":
                self.typedef(text)
            elif token == "extern" and self.peek() == '"':
                self.take('"', "C", '"', "{")
            elif token != "}":
                # Functions and variables are no types.
                while self.next() != ";":
                    pass
                self.behind()
        return self

    def typedef(self, text):
        if self.peek() == "enum":
            self.take("enum", "{")
            values = []
            while self.peek() != "}":
                name = self.next()
                self.take("=")
                value = ""
                while self.peek() not in (",", "}"):
                    value += self.next()
                if self.peek() == ",":
                    self.take(",")
                values.append((name, value, self.behind()))
            self.take("}")
            self.types.append(("enum", self.next(), text, values))
            self.take(";")
            return
        aggregate = self.aggregate()
        if aggregate:
            name = self.next()
            self.take(";")
            self.add(name, name, text, aggregate)
            return
        c_type = self.c_type()
        if self.peek() == "(":
            self.take("(", "*")
            name = self.next()
            self.take(")", "(")
            self.types.append(("function", name, text, (c_type, self.parameters())))
        else:
            name = self.next()
            self.types.append(("alias", name, text, self.array(c_type)))
        self.take(";")

    def add(self, c_name, key, text, aggregate):
        """Notes a structure or union, after those without a name within it."""
        kind, members = aggregate
        word = members and members[0][0] == "unsigned" and members[0][1].startswith("bitmask")
        bits = word and members[1][0][1] or members
        if word or all(isinstance(member[2], int) for member in members) and members:
            place = members[1][1] + "." if word else ""
            self.types.append(("bits", c_name, text, (key, place, bits)))
            return
        for place, (c_type, name, _, comment) in enumerate(members):
            if isinstance(c_type, tuple):
                path = f"{key}.{name}"
                self.add(f"__typeof__((({c_name} *)0)->{name})", path, comment, c_type)
                members[place] = (path, name, None, comment)
        self.types.append((kind, c_name, text, (key, members)))

    def aggregate(self):
        """A structure or union with its members, if one begins here."""
        kind = self.peek()
        start = self.at
        if kind not in ("struct", "union"):
            return None
        self.take(kind)
        if self.peek() != "{":
            self.next()
        if self.peek() != "{":
            self.at = start
            return None
        self.take("{")
        members = []
        while self.peek() != "}":
            text = self.before()
            c_type = self.aggregate() or self.c_type()
            name = self.next()
            width = None
            if self.peek() == ":":
                self.take(":")
                width = int(self.next())
            self.take(";")
            members.append((c_type, name, width, text or self.behind()))
        self.take("}")
        return kind, members

    def c_type(self):
        """A type up to its name, as its words and stars."""
        words = [self.next()]
        while words[-1] in ("const", "struct"):
            words.append(self.next())
        while self.peek() == "*":
            words.append(self.next())
        return " ".join(words)

    def array(self, c_type):
        if self.peek() != "[":
            return c_type
        self.take("[")
        bound = ""
        while self.peek() != "]":
            bound += self.next()
        self.take("]")
        return c_type + (f" [{self.value(bound)}]" if bound else " *")

    def parameters(self):
        found = []
        while self.peek() != ")":
            c_type = self.c_type()
            if self.peek() not in (",", ")"):
                name = self.next()
                found.append((name, self.array(c_type)))
            if self.peek() == ",":
                self.take(",")
        self.take(")")
        return found


def rust_type(c_type):
    array = re.fullmatch(r"(.*) \[(\d+)\]", c_type)
    if array:
        return f"[{rust_type(array[1])}; {array[2]}]"
    if c_type.endswith("*"):
        inner = c_type[:-1].strip()
        const = inner.startswith("const ") and "*" not in inner
        inner = inner.removeprefix("const ") if const else inner
        return f"*{'const' if const else 'mut'} {rust_type(inner)}"
    return rust_name(c_type)


def function_type(c_result, parameters):
    arguments = ", ".join(f"{name}: {rust_type(c_type)}" for name, c_type in parameters)
    result = "" if c_result == "void" else f" -> {rust_type(c_result)}"
    return f"Option<unsafe extern \"C\" fn({arguments}){result}>"


def prefix(names):
    """The words with which all of the names begin."""
    words = [name.split("_") for name in names]
    count = next(at for at, column in enumerate(zip(*words)) if len(set(column)) > 1)
    return "".join(word + "_" for word in words[0][:count])


def rust(parser):
    """The types, and the lists of the tests."""
    out, constants, lists = "", "", {kind: "" for kind in ("structures", "unions", "values", "words", "others")}
    for name, (text, value) in parser.constants.items():
        short = re.sub("^PAMIX?_", "", name)
        attribute = "Attribute" in text
        item = f"AttributeName = AttributeName({value})" if attribute else f"usize = {value}"
        out += doc(text, name) + f"pub const {short}: {item};\n\n"
        constants += f'("{name}", abi::{short}{".0" if attribute else ""} as i64),'
    opaque = {"Configuration", "Xfer"}
    for kind, c_name, text, content in parser.types:
        if kind == "enum":
            name = rust_name(c_name)
            start = prefix([value[0] for value in content])
            word = "c_int" if any(value.startswith("-") for _, value, _ in content) else "c_uint"
            out += doc(text, c_name) + "#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n#[repr(transparent)]\n"
            out += f"pub struct {name}(pub {word});\n\nimpl {name} {{\n"
            for value, number, comment in content:
                out += doc(comment) + f"pub const {value.removeprefix(start)}: Self = Self({number});\n"
            out += "}\n\n"
            values = ", ".join(value[0].removeprefix(start) for value in content)
            lists["values"] += f'{name} = "{c_name}" "{start}" {{ {values} }}\n'
        elif kind == "bits":
            key, place, members = content
            name = rust_name(key)
            out += doc(text, "" if "(" in c_name else c_name)
            out += "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n#[repr(C)]\n"
            out += f"pub struct {name} {{\n/// All bits.\npub bits: c_uint,\n}}\n\nimpl {name} {{\n"
            shift = 0
            for _, member, width, comment in members:
                out += doc(comment)
                out += f"pub const {member.upper()}: Bits = Bits {{ shift: {shift}, width: {width} }};\n"
                shift += width
            out += "}\n\n"
            fields = ", ".join(f"{member[1]}: {member[1].upper()}" for member in members)
            lists["words"] += f'{name} = "{c_name}" "{place}" {{ {fields} }}\n'
        elif kind in ("struct", "union"):
            key, members = content
            name = rust_name(key)
            derived = "Clone, Copy" + ("" if kind == "union" or name in opaque else ", Debug")
            out += doc(text, "" if "(" in c_name else c_name) + f"#[derive({derived})]\n#[repr(C)]\npub {kind} {name} {{\n"
            for c_type, member, _, comment in members:
                out += doc(comment) + f"pub {field_name(member)}: {rust_type(c_type)},\n"
            out += "}\n\n"
            fields = ", ".join(field_name(member[1]) for member in members)
            lists["structures" if kind == "struct" else "unions"] += f'{name} = "{c_name}" {{ {fields} }}\n'
        elif c_name == "xfer_p":
            lists["others"] += f'*mut Xfer = "{c_name}"\n'
        else:
            name = rust_name(c_name)
            target = function_type(*content) if kind == "function" else rust_type(content)
            out += doc(text, c_name) + f"pub type {name} = {target};\n\n"
            lists["others"] += f'{name} = "{c_name}"\n'
    lists["structures"] = 'Iovec = "struct iovec" { iov_base, iov_len }\n' + lists["structures"]
    tests = "".join(f"{kind}! {{\n{in_lines(text)}\n}}\n\n" for kind, text in lists.items())
    return out, tests + f"const CONSTANTS: &[(&str, i64)] = &[{constants}];\n"


def in_lines(text):
    """A list's entries, long ones on several lines."""
    lines = (textwrap.wrap(line, 116, initial_indent="    ", subsequent_indent="        ") for line in text.splitlines())
    return "\n".join("\n".join(line) for line in lines)


def main():
    text = "\n".join((HERE / "include" / header).read_text() for header in HEADERS)
    types, lists = rust(Parser(text).parse())
    by = "Generated by `programs/pami/abi.py` from the headers; do not edit.\n\n"
    files = {
        "src/abi/generated.rs": f"//! Types of the headers. {by}use std::ffi::{{c_char, c_int, c_uint, c_void}};\n\n"
        f"use super::primitives::{{Bits, Iovec}};\n\n{types}",
        "src/abi/layout_lists.rs": f"// The types of the headers by their names in Rust and in C. {by}{lists}",
    }
    stale = []
    for name, content in files.items():
        content = f"// SPDX-License-Identifier: MIT OR Apache-2.0\n{content}"
        command = ["rustfmt", "--edition", "2024", "--emit", "stdout"]
        content = subprocess.run(command, input=content, stdout=subprocess.PIPE, text=True, check=True).stdout
        path = HERE / name
        if "--check" not in sys.argv[1:]:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            stale.append(name)
    if stale:
        sys.exit(f"abi.py: {', '.join(stale)}: not what the headers give; run programs/pami/abi.py and commit the result")


if __name__ == "__main__":
    main()
