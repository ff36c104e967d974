#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks rules of this project on the syntax trees of SystemVerilog files: those of rtl/, or those that are named.

Checks itself first, on planted violations."""

import pathlib
import sys

from pyslang.syntax import SyntaxKind, SyntaxTree

CONCURRENT = {
    SyntaxKind.AssertPropertyStatement,
    SyntaxKind.AssumePropertyStatement,
    SyntaxKind.CoverPropertyStatement,
    SyntaxKind.CoverSequenceStatement,
    SyntaxKind.RestrictPropertyStatement,
}
ALWAYS = {
    SyntaxKind.AlwaysBlock,
    SyntaxKind.AlwaysCombBlock,
    SyntaxKind.AlwaysFFBlock,
    SyntaxKind.AlwaysLatchBlock,
}


def is_concurrent_assertion(node, _inside):
    return node.kind in CONCURRENT


def is_select_of_call(node, _inside):
    return node.kind == SyntaxKind.ElementSelectExpression and node.left.kind == SyntaxKind.InvocationExpression


def is_static_local(node, inside):
    if not inside or node.kind != SyntaxKind.DataDeclaration:
        return False
    return "automatic" not in [token.valueText for token in node.modifiers]


# Each with the reason why it is refused.
RULES = [
    # Verilator copies the values that a concurrent assertion looks at in each evaluation, whether it holds or not; the
    # simulator evaluates a model once a cycle, after which copies of signals that depend on inputs would be a cycle old.
    (is_concurrent_assertion, "concurrent assertion: expected an immediate one in always_ff, under the condition it is about"),
    # Of IEEE 1800-2023 alone: other tools refuse it.
    (is_select_of_call, "bits selected from a function's result: expected a variable of their own"),
    # It keeps its value from edge to edge; some tools make a register of it.
    (is_static_local, "static local of an always block: expected an automatic one"),
]

# Lines with a violation are marked with the number of the rule.
PLANTED = """\
module planted(input logic clk_i, input logic [3:0] a_i, output logic [3:0] b_o);
  function automatic logic [3:0] f(logic [3:0] x);
    logic [3:0] result = x;
    return result;
  endfunction
  logic [3:0] member = 4'd0;
  initial assert (1);
  assert property (@(posedge clk_i) a_i == 0);  // 0
  named: assume property (@(posedge clk_i) a_i == 0) else $error("property");  // 0
  cover property (@(posedge clk_i) a_i == 0);  // 0
  assign b_o = f(a_i)[1:0] + member[3:2];  // 1
  wire [1:0] other = planted_pkg::f(.x(a_i[1:0]))[0];  // 1
  always_ff @(posedge clk_i) begin
    automatic logic [3:0] kept = f(a_i);
    logic [3:0] first;  // 2
    static int second = 0;  // 2
    if (kept[0]) begin
      planted_pkg::kind_e third;  // 2
      assert (kept == 0) else $error("immediate");
    end
  end
  always_comb for (int i = 0; i < 4; i++) begin
    logic fourth = a_i[i];  // 2
  end
endmodule
"""


def violations(tree):
    """Pairs of a line and a number of a rule."""
    found = []

    def visit(node, inside):
        for number, (is_violation, _) in enumerate(RULES):
            if is_violation(node, inside):
                found.append((tree.sourceManager.getLineNumber(node.getFirstToken().location), number))
        inside = inside or node.kind in ALWAYS
        for child in node:
            if hasattr(child, "getFirstToken"):
                visit(child, inside)

    visit(tree.root, False)
    return found


def check_itself():
    marked = [(line, int(text[-1])) for line, text in enumerate(PLANTED.splitlines(), 1) if text[-4:-1] == "// "]
    found = violations(SyntaxTree.fromText(PLANTED))
    if found != marked:
        sys.exit(f"lint_rtl: planted violations (line, rule): found {found}, expected {marked}")


def main():
    check_itself()
    files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(pathlib.Path("rtl").rglob("*.sv"))
    failed = False
    for file in files:
        tree = SyntaxTree.fromFile(str(file))
        lines = file.read_text().splitlines()
        for line, number in violations(tree):
            print(f"{file}:{line}:{lines[line - 1]}\nlint: {RULES[number][1]}", file=sys.stderr)
            failed = True
        errors = [found for found in tree.diagnostics if found.isError()]
        if errors:
            print(f"lint: {file}: {len(errors)} syntax errors", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
