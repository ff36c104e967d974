// SPDX-License-Identifier: MIT OR Apache-2.0
//! Controlled transfers on the machine: messages above the eager limit wait at their origin, the target
//! fetches them by remote get when it has the receive, and acknowledges them (CT-2 to CT-6).

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::{json, metric, scratch, text};

/// Longest message that is sent eagerly, in bytes.
const EAGER: u64 = 4096;

fn program(name: &str, content: &str) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, content).expect("the build's folder can be written");
    path
}

/// Rank 0 sends and then computes for 10 us; rank 1 posts its receive after 50 us.
fn late_receive(bytes: u64) -> Value {
    let content = format!(
        "num_ranks 2\nrank 0 {{\ns: send {bytes}b to 1 tag 3\nc: calc 10000\nc requires s\n}}\n\
         rank 1 {{\nw: calc 50000\nr: recv {bytes}b from 0 tag 3\nr requires w\n}}\n"
    );
    let path = program(&format!("late-receive-{bytes}.goal"), &content);
    json(&["run", text(&path), "--shape", "2"])
}

#[test]
fn ct2_ct3_ct6_a_long_message_waits_at_its_origin_until_acknowledged() {
    let result = late_receive(EAGER + 1);
    assert_eq!(result["metrics"]["verified"], true);
    assert_eq!(metric(&result, "peak_held_bytes"), 0, "no payload is held");
    let makespan = metric(&result, "makespan_ns");
    assert!(
        makespan > 60_000,
        "the send ended before its receive: {makespan} ns"
    );
}

#[test]
fn ct3_a_message_within_the_eager_limit_is_held_and_counted() {
    let result = late_receive(EAGER);
    assert_eq!(result["metrics"]["verified"], true);
    assert_eq!(metric(&result, "peak_held_bytes"), EAGER);
    let makespan = metric(&result, "makespan_ns");
    assert!((50_000..60_000).contains(&makespan), "{makespan} ns");
}

/// Every pair of three ranks, themselves included, with sizes on both sides of the limit; half of the
/// receives before their messages, half after.
#[test]
fn hw1_ct4_ct5_remote_gets_and_counted_puts_carry_every_byte() {
    let sizes = [EAGER - 1, EAGER, EAGER + 1, 4608, 10_000, 65_536, 100_001];
    let mut content = "num_ranks 3\n".to_owned();
    for rank in 0..3 {
        let _ = writeln!(content, "rank {rank} {{\nw: calc 30000");
        for peer in 0..3 {
            for (tag, size) in sizes.iter().enumerate() {
                let _ = writeln!(content, "s{peer}_{tag}: send {size}b to {peer} tag {tag}");
                let _ = writeln!(content, "r{peer}_{tag}: recv {size}b from {peer} tag {tag}");
                let early = (rank + peer + tag) % 2 == 0;
                let late = if early { 's' } else { 'r' };
                let _ = writeln!(content, "{late}{peer}_{tag} requires w");
            }
        }
        content.push_str("}\n");
    }
    let path = program("long-all-to-all.goal", &content);
    for shape in ["3", "1", "2x1"] {
        let result = json(&["run", text(&path), "--shape", shape]);
        assert_eq!(result["metrics"]["verified"], true, "{shape}");
        assert_eq!(
            metric(&result, "messages"),
            9 * sizes.len() as u64,
            "{shape}"
        );
        assert_eq!(
            metric(&result, "bytes"),
            9 * sizes.iter().sum::<u64>(),
            "{shape}"
        );
    }
}
