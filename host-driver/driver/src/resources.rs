// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hardware resources of a client on every node, and the checks on them (EP-5, HW-9).

use core::ops::Range;

use gyre_firmware::Parameters;

use crate::error::Error;

/// Alignment of a ring of descriptors or packets, bytes.
pub(crate) const RING_ALIGN: usize = 4096;

/// Wake groups of a node.
const WAKE_GROUPS: u32 = 16;
/// Most bytes of a ring.
const RING_MAX: usize = 1 << 20;

/// The share of every node's resources that a client has. It is the same on every node, so that a task
/// knows which reception FIFO leads to a context of another: process `p`, context `c` of `n` uses the
/// numbers from `first + (p * n + c) * per_context` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// First injection FIFO.
    pub injection_first: u16,
    /// Whether the contexts of a process share its injection FIFOs and lock each before use (EP-2); else
    /// each context has its own.
    pub shared_injection: bool,
    /// Injection FIFOs of each context, or of each process that shares them, at least 1. Traffic to a node keeps
    /// to one of them; several let one context feed several links.
    pub injection_per_context: u16,
    /// Ring of an injection FIFO in bytes: a power of two, 4 KiB to 1 MiB; 64 B a descriptor. A staging area of eight
    /// times its size holds copied payload.
    pub injection_ring: usize,
    /// First remote-get injection FIFO; each context has one, for the gets of peers from it.
    pub remote_get_first: u16,
    /// Ring of a remote-get FIFO in bytes: a power of two, 4 KiB to 1 MiB; 64 B a get under way.
    pub remote_get_ring: usize,
    /// Byte counters of each context, at least 1: most gets, rendezvous receives and fences that it has
    /// under way at once; more wait.
    pub counters: u16,
    /// First base slot of the memory regions.
    pub slot_first: u16,
    /// Base slots of each process: most memory regions that it has at once.
    pub slots_per_process: u16,
    /// First reception FIFO; each context has one.
    pub reception_first: u16,
    /// Ring of a reception FIFO in bytes: a power of two, 4 KiB to 1 MiB.
    pub reception_ring: usize,
    /// Ring in the node's shared memory through which messages of the same node reach a context, in
    /// bytes: a power of two, 4 KiB to 1 MiB. Used with [`SameNode::SharedMemory`] alone.
    pub shared_ring: usize,
    /// First wake group; each context has one.
    pub wake_first: u8,
    /// Owner of the FIFOs, 0 to 15: that of the slots of the client's buffers.
    pub owner: u8,
}

impl Default for Resources {
    /// Injection, reception FIFOs and wake groups from number 0 on, remote-get FIFOs and base slots from
    /// 16 on; one injection FIFO and 256 counters a context, 4 base slots a process, rings of 64 KiB,
    /// owner 0.
    fn default() -> Self {
        Self {
            injection_first: 0,
            shared_injection: false,
            injection_per_context: 1,
            injection_ring: 64 << 10,
            remote_get_first: 16,
            remote_get_ring: 64 << 10,
            counters: 256,
            slot_first: 16,
            slots_per_process: 4,
            reception_first: 0,
            reception_ring: 64 << 10,
            shared_ring: 64 << 10,
            wake_first: 0,
            owner: 0,
        }
    }
}

impl Resources {
    /// Refuses values that are invalid on every node: returns field, value and expectation.
    pub(crate) fn check(&self) -> Result<(), (&'static str, u64, &'static str)> {
        for (field, value) in [
            ("injection_per_context", self.injection_per_context),
            ("counters", self.counters),
        ] {
            if value == 0 {
                return Err((field, 0, "at least 1"));
            }
        }
        for (field, bytes) in [
            ("injection_ring", self.injection_ring),
            ("remote_get_ring", self.remote_get_ring),
            ("reception_ring", self.reception_ring),
            ("shared_ring", self.shared_ring),
        ] {
            if !bytes.is_power_of_two() || !(RING_ALIGN..=RING_MAX).contains(&bytes) {
                let expected = "a power of two from 4096 to 1048576 bytes";
                return Err((field, bytes as u64, expected));
            }
        }
        if self.owner > 15 {
            return Err(("owner", u64::from(self.owner), "0 to 15"));
        }
        Ok(())
    }

    /// Resources of a node with `processes` processes of `contexts` contexts: injection, reception and
    /// remote-get FIFOs, wake groups, and base slots. Remote-get FIFOs are injection FIFOs too.
    pub(crate) fn used(&self, processes: u64, contexts: u8) -> [(&'static str, Range<u64>); 5] {
        // At most 256 processes of 255 contexts with 65535 FIFOs each: fits 64 bits.
        let count = processes * u64::from(contexts);
        let injecting = if self.shared_injection {
            processes
        } else {
            count
        };
        [
            (
                "injection FIFOs",
                self.injection_first,
                injecting * u64::from(self.injection_per_context),
            ),
            ("reception FIFOs", self.reception_first, count),
            ("remote-get injection FIFOs", self.remote_get_first, count),
            ("wake groups", u16::from(self.wake_first), count),
            (
                "base slots",
                self.slot_first,
                processes * u64::from(self.slots_per_process),
            ),
        ]
        .map(|(what, first, needed)| (what, u64::from(first)..u64::from(first) + needed))
    }

    /// Refuses resources that a node of `parameters` lacks for `processes` processes of `contexts` contexts of client
    /// `name`.
    pub(crate) fn check_room(
        &self,
        name: &str,
        processes: u32,
        contexts: u8,
        parameters: &Parameters,
    ) -> Result<(), Error> {
        let groups = u32::from(parameters.groups);
        let available = [
            u32::from(parameters.injection_fifos) * groups,
            u32::from(parameters.reception_fifos) * groups,
            u32::from(parameters.injection_fifos) * groups,
            WAKE_GROUPS,
            u32::from(parameters.slots) * groups,
        ];
        let used = self.used(u64::from(processes), contexts);
        for ((what, numbers), available) in used.iter().zip(available) {
            if numbers.end > u64::from(available) {
                return Err(Error::Resources {
                    client: name.to_owned(),
                    what,
                    // From a field of 16 bits.
                    first: numbers.start as u32,
                    end: u32::try_from(numbers.end).unwrap_or(u32::MAX),
                    processes,
                    contexts: u32::from(contexts),
                    available,
                });
            }
        }
        let [(_, injection), _, (_, remote_get), ..] = used;
        if remote_get.start < injection.end && injection.start < remote_get.end {
            return Err(Error::Config {
                client: name.to_owned(),
                field: "remote_get_first",
                value: remote_get.start,
                expected: "FIFOs that are none of the client's other injection FIFOs",
            });
        }
        Ok(())
    }
}
