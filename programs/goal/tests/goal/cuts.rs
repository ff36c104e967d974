// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags and processors of more bits than there are.

use gyre_goal::{ANY_TAG, OpKind, parse};

#[test]
fn x5_tags_keep_32_bits_and_processors_8_as_in_loggopsim() {
    let text = "num_ranks 1\nrank 0 {\nsend 1b to 0 tag 5010007104 cpu 257\nrecv 1b from 0 tag 715039808\n\
                send 1b to 0 tag 4294967295\nrecv 1b from 0 tag 8589934591 cpu 3 nic 512\n}\n";
    let program = parse("x.goal", text.as_bytes()).expect("a program");
    let ops = program.ranks()[0].ops();
    let tag = |index: usize| match ops[index].kind {
        OpKind::Send { tag, .. } => Some(tag),
        OpKind::Recv { tag, .. } => tag,
        OpKind::Calc { .. } => None,
    };
    assert_eq!(tag(0), Some(715_039_808));
    assert_eq!(tag(1), Some(715_039_808));
    // All bits set are any tag.
    assert_eq!((tag(2), tag(3)), (Some(ANY_TAG), None));
    assert_eq!((ops[0].cpu, ops[3].cpu), (1, 3));
    let said: Vec<String> = program.cuts().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "3: `tag` of more than 32 bits, 2 in all: its low 32 bits count, as in LogGOPSim",
            "3: `cpu` of more than 8 bits, 1 in all: its low 8 bits count, as in LogGOPSim",
            "6: `nic` of more than 8 bits, 1 in all: its low 8 bits count, as in LogGOPSim",
        ]
    );
    let plain = parse("x.goal", b"num_ranks 1\nrank 0 {\ncalc 1 cpu 255\n}\n").expect("a program");
    assert!(plain.cuts().is_empty());
}
