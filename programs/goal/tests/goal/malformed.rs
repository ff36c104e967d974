// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every refusal: where it points and what it says.

use gyre_goal::{LoadError, Reason, parse, parse_file};

/// The message of the error that `text` causes, without the file name.
fn refusal(text: &str) -> String {
    match parse("f", text.as_bytes()) {
        Ok(program) => panic!("accepted as:\n{program}"),
        Err(error) => error.to_string()["f:".len()..].to_owned(),
    }
}

/// The same for statements from line 3 on, in rank 0 of 2. Rank 1 does nothing.
fn refusal_in_rank(statements: &str) -> String {
    refusal(&format!(
        "num_ranks 2\nrank 0 {{\n{statements}\n}}\nrank 1 {{\n}}\n"
    ))
}

#[track_caller]
fn assert_accepted(text: &str) {
    if let Err(error) = parse("f", text.as_bytes()) {
        panic!("{error}");
    }
}

/// One test a group: `input => message`, the input within rank 0 from line 3 on.
macro_rules! refused_in_rank {
    ($($test:ident { $($input:expr => $message:expr,)+ })+) => {$(
        #[test]
        fn $test() {
            $(assert_eq!(refusal_in_rank($input), $message);)+
        }
    )+};
}

/// The same for whole files.
macro_rules! refused {
    ($($test:ident { $($input:expr => $message:expr,)+ })+) => {$(
        #[test]
        fn $test() {
            $(assert_eq!(refusal($input), $message);)+
        }
    )+};
}

refused_in_rank! {
    unknown_statement {
        "recieve 5b from 1" => "3:1: unknown statement `recieve`, expected `send`, `recv`, `calc`, \
            `LABEL requires LABEL`, `LABEL irequires LABEL` or `}`",
        "l1: SEND 5b to 1" => "3:5: unknown statement `SEND`, expected `send`, `recv`, `calc`, \
            `LABEL requires LABEL`, `LABEL irequires LABEL` or `}`",
        "l1: calc 5\nl1 needs l1" => "4:4: expected `requires` or `irequires` after the label, found `needs`",
        "{" => "3:1: expected a statement or `}`, found `{`",
        ": calc 5" => "3:1: expected a statement or `}`, found `:`",
    }
    missing_words {
        "send" => "3:5: expected a number of bytes, found the end of the line",
        "send 5b 1" => "3:9: expected `to`, found `1`",
        "send 5b from 1" => "3:9: expected `to`, found `from`",
        "recv 5b to 1" => "3:9: expected `from`, found `to`",
        "send 5b to" => "3:11: expected the destination rank, found the end of the line",
        "recv 5b from" => "3:13: expected the source rank, or -1 for any, found the end of the line",
        "calc" => "3:5: expected a number of nanoseconds, found the end of the line",
        "l1:" => "3:4: expected `send`, `recv` or `calc` after the label, found the end of the line",
        "l1: calc 5\nl1 requires" => "4:12: expected the label of an operation, found the end of the line",
        "calc 5 cpu" => "3:11: expected the value of the attribute, found the end of the line",
        "calc /* five */ 5" => "3:6: expected a number of nanoseconds, found a comment",
    }
    missing_unit {
        "send 5 to 1" => "3:8: expected the unit `b` after the number of bytes, found `to`",
        "send 5kb to 1" => "3:7: expected the unit `b` after the number of bytes, found `kb`",
        "recv 5" => "3:7: expected the unit `b` after the number of bytes, found the end of the line",
    }
    bad_numbers {
        "send xb to 1" => "3:6: `xb` is no number of bytes, expected a decimal number",
        "send -5b to 1" => "3:6: `-5b` is no number of bytes, expected a decimal number",
        "send 0x5b to 1" => "3:7: expected the unit `b` after the number of bytes, found `x5b`",
        "calc 1.5" => "3:6: `1.5` is no number of nanoseconds, expected a decimal number",
        "calc +5" => "3:6: `+5` is no number of nanoseconds, expected a decimal number",
        "calc 5ns" => "3:6: `5ns` is no number of nanoseconds, expected a decimal number",
        "send 5b to one" => "3:12: `one` is no rank number, expected a decimal number",
        "send 5b to 1 tag t" => "3:18: `t` is no tag, expected a decimal number",
        "calc 5 cpu -1" => "3:12: `-1` is no cpu, expected a decimal number",
    }
    numbers_out_of_range {
        "calc 18446744073709551616" => "3:6: number of nanoseconds `18446744073709551616` is out of \
            range, expected 0 to 18446744073709551615",
        "  send 18446744073709551616b to 1" => "3:8: number of bytes `18446744073709551616` is out of \
            range, expected 0 to 18446744073709551615",
        "calc 5 cpu 18446744073709551616" => "3:12: cpu `18446744073709551616` is out of range, \
            expected 0 to 18446744073709551615",
        "calc 18446744073709551615\ncalc 1" => "4:1: the calc times of the program add up to more than \
            18446744073709551615",
        "send 1b to 1\nsend 18446744073709551615b to 1" => "4:1: the message sizes of the program add up \
            to more than 18446744073709551615",
    }
    tag_out_of_range {
        "recv 5b from 1 tag -2" => "3:20: tag -2 is out of range, expected 0 to 18446744073709551615, \
            or -1 for any",
        "recv 5b from 1 tag 99999999999999999999" => "3:20: tag 99999999999999999999 is out of range, \
            expected 0 to 18446744073709551615, or -1 for any",
    }
    peer_out_of_range {
        "send 5b to 2" => "3:12: peer 2 is out of range: `num_ranks 2` allows 0 to 1",
        "recv 5b from 4294967296" => "3:14: peer 4294967296 is out of range: `num_ranks 2` allows 0 to 1",
        "recv 5b from 99999999999999999999" => "3:14: peer 99999999999999999999 is out of range: \
            `num_ranks 2` allows 0 to 1",
        "recv 5b from -2" => "3:14: `-2` is no rank number, expected a decimal number",
    }
    wildcards_on_sends {
        "send 5b to -1" => "3:12: a send cannot have a wildcard destination: `-1` is for receives",
    }
    attributes {
        "send 5b to 1 cpu 1 tag 2" => "3:20: attribute `tag` must stand before `cpu`: the order is `tag`, \
            `cpu`, `nic`",
        "send 5b to 1 nic 1 cpu 2" => "3:20: attribute `cpu` must stand before `nic`: the order is `tag`, \
            `cpu`, `nic`",
        "recv 5b from 1 tag 1 tag 2" => "3:22: attribute `tag` is given twice",
        "recv 5b from 1 tag 1 cpu 0 tag 2" => "3:28: attribute `tag` is given twice",
        "calc 5 tag 1" => "3:8: `calc` has no attribute `tag`, only `cpu`",
        "calc 5 nic 1" => "3:8: `calc` has no attribute `nic`, only `cpu`",
        "calc 5 cpu 1 cpu 2" => "3:14: attribute `cpu` is given twice",
    }
    junk_after_a_statement {
        "calc 5 6" => "3:8: expected the end of the line after the statement, found `6`",
        "send 5b to 1 prio 3" => "3:14: expected the end of the line after the statement, found `prio`",
        "calc 5 calc 6" => "3:8: expected the end of the line after the statement, found `calc`",
        "calc 5 }" => "3:8: expected the end of the line after the statement, found `}`",
        "l1: calc 5\nl2: calc 5\nl1 requires l2 l2" => "5:16: expected the end of the line after the \
            statement, found `l2`",
        "calc 5 /* a */ 6" => "3:16: expected the end of the line after the statement, found `6`",
        "calc 5\rcalc 6" => "3:6: `5\\rcalc` is no number of nanoseconds, expected a decimal number",
    }
    labels {
        "l1: calc 5\n\nl1: calc 6" => "5:1: label `l1` is defined twice in rank 0, first in line 3",
        "l1: calc 5\nl1 requires l2" => "4:13: label `l2` is not defined in rank 0",
        "l2 irequires l1\nl1: calc 5" => "3:1: label `l2` is not defined in rank 0",
        "l1: calc 5\nl1 requires l2\n// l2:\nl2: calc 6" => "4:13: label `l2` is used before its \
            definition in line 6: state the dependency after both operations",
        "l1: calc 5\nl1 requires l1" => "4:13: `l1` depends on itself and could never start",
        "l1: calc 5\nl1 irequires l1" => "4:14: `l1` depends on itself and could never start",
        "1l: calc 5" => "3:1: `1l` is no label, expected a letter, then letters, digits or `_`",
        "_l: calc 5" => "3:1: `_l` is no label, expected a letter, then letters, digits or `_`",
        "l-1: calc 5" => "3:1: `l-1` is no label, expected a letter, then letters, digits or `_`",
        "l1: calc 5\nl1 requires 2" => "4:13: `2` is no label, expected a letter, then letters, digits or `_`",
    }
    dependency_cycles {
        "a: calc 5\nb: calc 5\na requires b\nb requires a" => "6:1: dependency cycle, none of its 2 \
            operations can ever start: a -> b -> a",
        "a: calc 5\nb: calc 5\nc: calc 5\nd: calc 5\nc requires a\na irequires b\n  b requires c\nd requires b" =>
            "9:3: dependency cycle, none of its 3 operations can ever start: a -> b -> c -> a",
    }
    comments {
        "/* open\ncalc 5" => "3:1: comment is not closed: expected `*/`",
        "calc 5 /* open" => "3:8: comment is not closed: expected `*/`",
        "/*/" => "3:1: comment is not closed: expected `*/`",
    }
    braces {
        "rank 1 {" => "3:1: rank 0, opened in line 2, is not closed: expected `}`",
        "}\n}" => "4:1: `}` without a rank to close",
    }
}

refused! {
    header {
        "" => "1:1: expected `num_ranks`, found the end of the file",
        "// only\n\n" => "3:1: expected `num_ranks`, found the end of the file",
        "rank 0 {\n}\n" => "1:1: expected `num_ranks`, found `rank`",
        "num_ranks\nrank 0 {\n}\n" => "1:10: expected the number of ranks, found the end of the line",
        "num_ranks 0\n" => "1:11: number of ranks `0` is out of range, expected 1 to 4294967295",
        "num_ranks 4294967296\n" => "1:11: number of ranks `4294967296` is out of range, expected 1 to 4294967295",
        "num_ranks two\n" => "1:11: `two` is no number of ranks, expected a decimal number",
        "num_ranks 1 rank 0 {\n}\n" => "1:13: expected the end of the line after the statement, found `rank`",
        "num_ranks 1\nnum_ranks 1\n" => "2:1: `num_ranks` is given twice, first in line 1",
    }
    ranks {
        "num_ranks 1\nrank 1 {\n}\n" => "2:6: rank 1 is out of range: `num_ranks 1` allows 0 to 0",
        "num_ranks 1\nrank x {\n}\n" => "2:6: `x` is no rank number, expected a decimal number",
        "num_ranks 1\nrank {\n}\n" => "2:6: expected a rank number, found `{`",
        "num_ranks 1\nrank 0\n{\n}\n" => "2:7: expected `{`, found the end of the line",
        "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\nrank 0 {\n}\n" => "6:6: rank 0 is defined twice, first in line 2",
        "num_ranks 4\nrank 2 {\n}\n" => "1:11: `num_ranks 4`, but ranks are missing (3): 0, 1, 3",
        "num_ranks 4000000000\nrank 0 {\n}\n" => "1:11: `num_ranks 4000000000`, but ranks are missing \
            (3999999999): 1, 2, 3, 4, 5, 6, 7, 8, ...",
        "num_ranks 1\ncalc 5\n" => "2:1: expected `rank`, found `calc`",
        "num_ranks 1\nrank 0 {\ncalc 5\n" => "2:1: rank 0, opened in line 2, is not closed: expected `}`",
        "num_ranks 1\nrank 0 {\n} calc 5\n" => "3:3: expected the end of the line after the statement, found `calc`",
    }
    labels_are_local_to_their_rank {
        "num_ranks 2\nrank 0 {\na: calc 5\n}\nrank 1 {\nb: calc 5\nb requires a\n}\n" =>
            "7:12: label `a` is not defined in rank 1",
    }
    messages_without_receive {
        "num_ranks 2\nrank 0 {\nsend 5b to 1\nsend 5b to 1\n}\n\nrank 1 {\nrecv 5b from 0\n}\n" =>
            "7:1: messages sent to rank 1: 2, receives that it posts: 1",
        "num_ranks 2\nrank 0 {\nsend 5b to 1 tag 1\n}\nrank 1 {\n  recv 5b from 0 tag 2\n}\n" =>
            "6:3: receives that rank 1 posts from rank 0 with tag 2: 1, such messages sent: 0",
        "num_ranks 3\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 2 tag -1\n}\nrank 2 {\n}\n" =>
            "6:1: receives that rank 1 posts from rank 2: 1, such messages sent: 0",
        "num_ranks 2\nrank 0 {\nsend 5b to 1 tag 1\nsend 5b to 1 tag 1\n}\nrank 1 {\nrecv 5b from -1 tag 2\nrecv 5b from 0 tag -1\n}\n" =>
            "4:1: messages from rank 0 to rank 1 with tag 1: 2, receives that can match them: 1",
        "num_ranks 3\nrank 0 {\nsend 5b to 1 tag -1\n}\nrank 1 {\nrecv 5b from 2 tag 4\n}\nrank 2 {\n}\n" =>
            "6:1: receives that rank 1 posts from rank 2 with tag 4: 1, such messages sent: 0",
        "num_ranks 2\nrank 0 {\nsend 9b to 1 tag -1\n}\nrank 1 {\nrecv 8b from 0 tag 4\n}\n" =>
            "3:1: rank 0 sends 9 bytes to rank 1 with tag -1, but no receive that can match takes more than 8",
        "num_ranks 2\nrank 0 {\nl1: send 5b to 1\nl2: send 9b to 1\n}\nrank 1 {\nrecv 5b from 0\nrecv 8b from -1\n}\n" =>
            "4:1: rank 0 sends 9 bytes to rank 1 with tag 0, but no receive that can match takes more than 8",
    }
}

#[test]
fn what_the_grammar_allows_is_accepted() {
    assert_accepted("num_ranks 1\nrank 0 {\n}");
    assert_accepted("num_ranks 1\r\nrank 0 {\r\nl1: calc 5\r\n\r\n}\r\n");
    assert_accepted(
        "/* a\nb */ num_ranks 1 // c\n/**/rank 0 { // d\n/* e */ calc 5 // f\ncalc 5/* g\n*/calc 6//\n} // h",
    );
    assert_accepted(
        "num_ranks 1\n\trank\t0\t{\n\tl_1:calc 5\tcpu 255 \n\tL2 : calc 007\n  l_1 requires L2\n}\n",
    );
    assert_accepted(
        "num_ranks 1\nrank 0 {\nsend 0 b to 0 tag 4294967294 cpu 1 nic 2\nrecv 3b from -1 tag -1 nic 2\n}\n",
    );
    assert_accepted(
        "num_ranks 2\nrank 0 {\nsend 3b to 1 tag -1\nsend 4b to 1 tag -1\nsend 5b to 1\n}\n\
         rank 1 {\nrecv 5b from 0 tag 6\nrecv 5b from -1 tag -1\nrecv 5b from 0\n}\n",
    );
    assert_accepted(
        "num_ranks 1\nrank 0 {\nsend: calc 5\nrequires: calc 5\nsend requires requires\n}\n",
    );
    assert_accepted(
        "num_ranks 1\nrank 0 {\nl1: calc 1\nl4: calc 4\nl1 requires l4\nl1 requires l4\n}\n",
    );
    assert_accepted("num_ranks 2\nrank 1 {\n}\nrank 0 {\n}\n");
}

#[test]
fn long_and_binary_tokens_are_shown_short_and_escaped() {
    let long = format!("num_ranks {}\n", "9".repeat(5_000));
    let shown = refusal(&long);
    assert_eq!(
        shown,
        format!(
            "1:11: number of ranks `{}...` is out of range, expected 1 to 4294967295",
            "9".repeat(40)
        )
    );
    let error = parse("f", b"num_ranks 1\nrank 0 {\n\xff\x1b[31m\0 5\n}\n").expect_err("binary");
    assert!(
        error
            .to_string()
            .contains("unknown statement `\u{fffd}\\u{1b}[31m\\0`"),
        "{error}"
    );
    let _ = rendered(&error);
}

#[test]
fn a_long_cycle_is_cut() {
    let operations: String = (0..50).map(|i| format!("l{i}: calc 1\n")).collect();
    let cycle = (0..50).map(|i| format!("l{i} requires l{}", (i + 1) % 50));
    let cycle: Vec<_> = cycle.collect();
    assert_eq!(
        refusal_in_rank(&format!("{operations}{}", cycle.join("\n"))),
        "102:1: dependency cycle, none of its 50 operations can ever start: l0 -> l1 -> l2 -> l3 -> l4 \
         -> l5 -> l6 -> l7 -> l8 -> l9 -> l10 -> l11 -> ... -> l0"
    );
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        refusal_in_rank("/* \u{e9}\u{e9} */ calk 5")
            .split(": ")
            .next(),
        Some("3:10")
    );
}

fn rendered(error: &gyre_goal::ParseError) -> String {
    let mut text = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .render_report(&mut text, error)
        .expect("a report can be drawn");
    text
}

#[test]
fn report_shows_the_source_line() {
    let text = "num_ranks 2\nrank 0 {\nl1: calc 5\nl1 requires l2\n}\nrank 1 {\n}\n";
    let error = parse("halo.goal", text.as_bytes()).expect_err("undefined label");
    assert!(matches!(error.reason, Reason::UndefinedLabel { .. }));
    assert_eq!((error.line, error.column), (4, 13));
    let expected = [
        "  × halo.goal:4:13: label `l2` is not defined in rank 0",
        "   ╭─[halo.goal:4:13]",
        " 3 │ l1: calc 5",
        " 4 │ l1 requires l2",
        "   ·             ─┬",
        "   ·              ╰── here",
        " 5 │ }",
        "   ╰────",
        "  help: labels are local to their rank",
    ];
    assert_eq!(rendered(&error).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn report_of_a_very_long_line_stays_small() {
    let text = format!("num_ranks 1\nrank 0 {{\n{} calk\n}}\n", " ".repeat(1 << 20));
    let error = parse("f", text.as_bytes()).expect_err("unknown statement");
    assert_eq!((error.line, error.column), (3, (1 << 20) + 2));
    assert!(rendered(&error).len() < 4_000);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = parse_file("no/such/file.goal".as_ref()).expect_err("no such file");
    assert!(matches!(error, LoadError::Read { .. }));
    assert!(
        error.to_string().starts_with("no/such/file.goal: "),
        "{error}"
    );
}
