// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to a program, whose runs show what the changed part costs.

use gyre_goal::payload::Key;

/// Change of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// This rank computes half as long.
    pub halved: Option<u32>,
    /// This message is not sent.
    pub withheld: Option<Withheld>,
}

/// A withheld message: it uses no link, and its operations end when they did in the compared run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withheld {
    /// The message.
    pub key: Key,
    /// Line of its receive.
    pub receive_line: u32,
    /// Time at which its send ends, picoseconds; none for a send that ends when it is handed over.
    pub sent_ps: Option<u64>,
    /// Time at which its receive ends, picoseconds.
    pub received_ps: u64,
}

impl Change {
    /// The withheld message, if `key` is its key.
    pub fn withheld(&self, key: &Key) -> Option<Withheld> {
        self.withheld.filter(|withheld| withheld.key == *key)
    }

    /// The same for the receive in this line of a rank.
    pub fn withheld_from(&self, rank: u32, line: u32) -> Option<Withheld> {
        self.withheld
            .filter(|withheld| (withheld.key.destination, withheld.receive_line) == (rank, line))
    }
}
