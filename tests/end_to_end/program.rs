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
