// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small programs made for a machine.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::scratch;

/// Payload sizes around every boundary of packets and chunks, in bytes.
const SIZES: [u64; 12] = [0, 1, 31, 32, 33, 63, 64, 511, 512, 513, 1024, 3000];

/// Writes a program in which every rank sends one message to every rank, itself included, of sizes from
/// the list in turn. Half of the receives are posted before a pause, half after it, so that messages come
/// both expected and unexpected.
pub fn all_to_all(name: &str, ranks: usize) -> PathBuf {
    let mut program = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let _ = writeln!(program, "rank {rank} {{\nw: calc {}", 500 * (rank + 1));
        for peer in 0..ranks {
            let sent = SIZES[(rank * 5 + peer) % SIZES.len()];
            let received = SIZES[(peer * 5 + rank) % SIZES.len()];
            let tag = peer % 3;
            let _ = writeln!(program, "s{peer}: send {sent}b to {peer} tag {}", rank % 3);
            let _ = writeln!(program, "r{peer}: recv {received}b from {peer} tag {tag}");
            if (rank + peer).is_multiple_of(2) {
                let _ = writeln!(program, "r{peer} requires w");
            }
        }
        program.push_str("}\n");
    }
    let path = scratch(&format!("{name}.goal"));
    fs::write(&path, program).expect("the build's folder can be written");
    path
}

/// Writes a program: the operations of each rank, a line each.
fn write(name: &str, ranks: &[Vec<String>]) -> PathBuf {
    let mut program = format!("num_ranks {}\n", ranks.len());
    for (rank, lines) in ranks.iter().enumerate() {
        let _ = writeln!(program, "rank {rank} {{");
        for line in lines {
            let _ = writeln!(program, "{line}");
        }
        program.push_str("}\n");
    }
    let path = scratch(&format!("{name}.goal"));
    fs::write(&path, program).expect("the build's folder can be written");
    path
}

/// Writes a program in which a short message goes round `ranks` ranks so many times.
pub fn ring(name: &str, ranks: usize, rounds: usize) -> PathBuf {
    let rank = |rank: usize| {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut lines = Vec::new();
        for round in 0..rounds {
            lines.push(format!("s{round}: send 8b to {next} tag {round}"));
            lines.push(format!("r{round}: recv 8b from {before} tag {round}"));
            match rank {
                0 if round > 0 => lines.push(format!("s{round} requires r{}", round - 1)),
                0 => {}
                _ => lines.push(format!("s{round} requires r{round}")),
            }
        }
        lines
    };
    write(name, &(0..ranks).map(rank).collect::<Vec<_>>())
}

/// Writes a program in which all other ranks send a long message to rank 0.
pub fn hot_spot(name: &str, ranks: usize, bytes: u64) -> PathBuf {
    let receives = (1..ranks).map(|peer| format!("recv {bytes}b from {peer}"));
    let mut all = vec![receives.collect()];
    all.resize(ranks, vec![format!("send {bytes}b to 0")]);
    write(name, &all)
}

/// Writes a program in which rank 0 waits until rank 1, which computes for `ns`, has posted the receive for its message.
pub fn late_receive(name: &str, ranks: usize, bytes: u64, ns: u64) -> PathBuf {
    let mut all = vec![vec!["calc 20000".to_owned()]; ranks];
    all[0] = ["s: send BYTESb to 1", "c: calc 20000", "c requires s"]
        .map(|line| line.replace("BYTES", &bytes.to_string()))
        .to_vec();
    all[1] = vec![
        format!("c: calc {ns}"),
        format!("r: recv {bytes}b from 0"),
        "r requires c".to_owned(),
    ];
    write(name, &all)
}

/// Writes a program of so many steps, in each of which every rank computes and sends to the next; one computes three times as
/// long as the others.
pub fn slow_rank(name: &str, ranks: usize, slow: usize, steps: usize) -> PathBuf {
    let rank = |rank: usize| {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let ns = if rank == slow { 60_000 } else { 20_000 };
        let mut lines = Vec::new();
        for step in 0..steps {
            lines.push(format!("c{step}: calc {ns}"));
            lines.push(format!("s{step}: send 64b to {next} tag {step}"));
            lines.push(format!("s{step} requires c{step}"));
            lines.push(format!("r{step}: recv 64b from {before} tag {step}"));
            lines.push(format!("r{step} requires c{step}"));
            if let Some(last) = step.checked_sub(1) {
                lines.push(format!("c{step} requires s{last}"));
                lines.push(format!("c{step} requires r{last}"));
            }
        }
        lines
    };
    write(name, &(0..ranks).map(rank).collect::<Vec<_>>())
}
