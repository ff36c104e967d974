// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre check`.

use crate::{error_of, gyre, json, printed_by};

#[test]
fn x3_shapes_are_free_of_deadlock_whole_or_by_dimension() {
    for (shape, mesh, method) in [
        ("4x4x4", None, "exhaustive"),
        ("1", None, "exhaustive"),
        ("5x8x3", Some("ac"), "exhaustive"),
        ("4x4x4x4x2", None, "exhaustive"),
        ("16x16x16", None, "by_dimension"),
    ] {
        let mesh = mesh.map_or(vec![], |mesh| vec!["--mesh", mesh]);
        let found = json(&[&["check", "deadlock", "--shape", shape][..], &mesh].concat());
        assert_eq!(found["free"], true, "{found}");
        assert_eq!(found[method], 1, "{found}");
        assert!(found["trees"].as_u64() > Some(0), "{found}");
        assert!(
            found["tree_dependencies"].as_u64() > Some(0) || shape == "1",
            "{found}"
        );
    }
}

#[test]
fn x3_a_rule_broken_on_purpose_is_refused_with_the_cycle() {
    for (rule, shape, step) in [
        ("dateline", "8", "channel 0 from (7) by -a waits for"),
        ("order", "3x3", "by +b"),
        ("classes", "2x2", "waits for remote get at"),
        ("cut-through", "8x3", "request channel"),
        ("escape", "4x4", "dynamic"),
        ("reordering", "2x2", "waits for place of a request flow at"),
        ("tree-routes", "3", "waits for contribution to route"),
        ("tree-channels", "2x2", "on the link down to"),
        ("tree-cut-through", "4x4", "under way up at"),
        ("tree-fifo", "3x3", "in the injection buffer at"),
    ] {
        let output = gyre(&["check", "deadlock", "--shape", shape, "--break", rule]);
        let text = printed_by(&output);
        assert_eq!(output.status.code(), Some(1), "{rule}: {text}");
        assert!(text.contains("a cycle of"), "{rule}: {text}");
        assert!(text.contains(step), "{rule}: {text}");
    }
}

#[test]
fn x3_x5_wrong_options_of_the_check_are_refused() {
    for (arguments, words) in [
        (&["--shape", "4x0"][..], "found `4x0`"),
        (
            &["--shape", "4", "--break", "luck"],
            "expected one of dateline, order",
        ),
        (
            &["--shape", "64x64x64", "--break", "order"],
            "at most 1024 nodes, found 262144",
        ),
        (
            &["--shape", "64x64x64x2"],
            "--shape: expected at most 262144 nodes, found `64x64x64x2`",
        ),
        (&["--all", "--mesh", "a"], "--mesh"),
        (&[], "--shape"),
    ] {
        let output = gyre(&[&["check", "deadlock"], arguments].concat());
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
