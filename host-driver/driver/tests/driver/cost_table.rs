// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost table: complete, positive, and precise about what is wrong.

use gyre_driver::{CostTable, Op};

#[test]
fn the_default_table_has_cost_and_comment_for_each_operation() {
    let table = CostTable::default();
    for op in Op::ALL {
        assert!(table.instructions(op) > 0, "{op:?}");
    }
    let text = CostTable::DEFAULT_TOML;
    let lines: Vec<_> = text.lines().collect();
    let mut entries = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.contains('=') && !line.starts_with('#') {
            entries += 1;
            assert!(lines[index - 1].starts_with("# "), "{line} has no comment");
        }
    }
    assert_eq!(entries, Op::ALL.len());
}

#[test]
fn x5_wrong_tables_are_refused_with_their_line() {
    let good: String = Op::ALL.map(|op| format!("{} = 30\n", op.key())).concat();
    for (bad, said) in [
        (good.replace("post = 30", "post = 0"), "nonzero"),
        (good.replace("post = 30", "post = -3"), "nonzero"),
        (good.replace("post = 30", "post = 1.5"), "nonzero"),
        (good.replace("post = 30", ""), "missing entries: post"),
        (
            good.replace("post = 30", "post = 30\npots = 3"),
            "unknown field `pots`",
        ),
        (good.replace("post = 30", "post = = 3"), "TOML parse error"),
    ] {
        let error = CostTable::from_toml("mine.toml", &bad).expect_err("refused");
        let text = error.to_string();
        assert!(text.starts_with("mine.toml: "), "{text}");
        assert!(text.contains(said), "{text}");
        assert!(
            text.contains("line ") || said.starts_with("missing"),
            "{text}"
        );
    }
}
