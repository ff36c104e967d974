// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that nodes have sent, from their performance counters.

use std::collections::BTreeMap;

use gyre_driver::{BusError, Platform};
use gyre_layout::Kind;
use gyre_layout::registers::perf_sent;
use gyre_sim::{SimError, Until};

use gyre::job::Job;

/// Packets that the DMA engine of one node has sent since reset, by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub memory_fifo: u64,
    pub puts: u64,
    pub remote_gets: u64,
}

impl Sent {
    /// Packets sent after `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            memory_fifo: self.memory_fifo - before.memory_fifo,
            puts: self.puts - before.puts,
            remote_gets: self.remote_gets - before.remote_gets,
        }
    }
}

/// Packets that every node with a task has sent so far.
///
/// # Errors
/// A machine that stopped.
pub(super) fn sent(job: &mut Job) -> Result<BTreeMap<usize, Sent>, SimError> {
    let read = |process: gyre::job::Process| {
        let read = |kind: Kind| process.platform.read_reg(perf_sent(u8::from(kind).into()));
        Ok::<_, BusError>((
            process.node,
            Sent {
                memory_fifo: read(Kind::MemFifo)?,
                puts: read(Kind::Put)?,
                remote_gets: read(Kind::RemoteGet)?,
            },
        ))
    };
    let (counts, _) = job.each("reads counters", Until::Quiet, read)?;
    Ok(counts.into_iter().collect())
}
