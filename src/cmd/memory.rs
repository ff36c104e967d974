// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the messages of a program need, asked for before any of it is allocated.

use gyre_goal::{Dependency, OpId, OpKind, Program, RankProgram};

use gyre::console::complain;
use gyre::memory::{available, mib};
use gyre::options::UsageError;

/// Needs from which on they are said.
const SAID: u64 = 1 << 30;

/// Says what memory a program needs if that is much, and refuses one that needs more than there is.
///
/// # Errors
/// The need, and what there is.
pub(super) fn check(workload: &str, program: &Program) -> Result<(), UsageError> {
    let needed = needed(program);
    if needed < SAID {
        return Ok(());
    }
    let needs = format!(
        "{workload}: its messages need about {} of memory at once",
        mib(needed)
    );
    match available() {
        Some(available) if needed > available => Err(UsageError::Combination(format!(
            "{needs}: expected at most {}, which are free",
            mib(available)
        ))),
        _ => {
            complain(format_args!("{needs}"));
            Ok(())
        }
    }
}

/// Bytes of the buffers that are there at the same time, whatever the timing: the messages that wait for no other
/// operation, and what fills or checks one of them.
fn needed(program: &Program) -> u64 {
    let at_once: u64 = program
        .ranks()
        .iter()
        .map(at_once)
        .fold(0, u64::saturating_add);
    let ops = program.ranks().iter().flat_map(RankProgram::ops);
    let largest = ops.map(|op| bytes(op.kind)).max().unwrap_or(0);
    // The largest is there at both ends.
    at_once
        .max(largest.saturating_mul(2))
        .saturating_add(largest)
}

/// Bytes of a rank's messages that start before anything has ended. Behind a computation others may have ended.
fn at_once(rank: &RankProgram) -> u64 {
    let computes = |id: &OpId| matches!(rank.op(*id).kind, OpKind::Calc { ns } if ns > 0);
    let free = |id: &OpId| {
        [Dependency::Requires, Dependency::Irequires]
            .iter()
            .all(|&dependency| rank.dependencies(*id, dependency).is_empty())
    };
    let ids = rank.op_ids().take_while(|id| !(computes(id) && free(id)));
    let sizes = ids.filter(free).map(|id| bytes(rank.op(id).kind));
    sizes.fold(0, u64::saturating_add)
}

fn bytes(kind: OpKind) -> u64 {
    match kind {
        OpKind::Send { bytes, .. } | OpKind::Recv { bytes, .. } => bytes,
        OpKind::Calc { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_memory_of_messages_is_known_before_any_is_allocated() {
        let needs = |lines: [&str; 2]| {
            let [first, second] = lines;
            let text = format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n");
            needed(&gyre_goal::parse("x.goal", text.as_bytes()).expect("a program"))
        };
        assert_eq!(needs(["calc 1", "calc 1"]), 0);
        assert_eq!(needs(["send 100b to 1", "recv 100b from 0"]), 300);
        // Both at once, or one after the other.
        let twice = [
            "a: send 100b to 1\nb: send 100b to 1",
            "c: recv 100b from 0\nd: recv 100b from 0",
        ];
        assert_eq!(needs(twice), 500);
        let chain = [
            "a: send 100b to 1\nb: send 100b to 1\nb requires a",
            "c: recv 100b from 0\nd: recv 100b from 0\nd requires c",
        ];
        assert_eq!(needs(chain), 300);
        let most = "send 9223372036854775807b to 1";
        assert_eq!(needs([most, "recv 9223372036854775807b from 0"]), u64::MAX);
    }
}
