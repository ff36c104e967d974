// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory behind a node's AXI4 masters: when bursts are answered, and checks of the protocol.
//!
//! Handshakes, and the order of beats on the wires, are kept cycle by cycle beside the model
//! (`cpp/axi_slave.h`); here accepted addresses and beats become events.

use std::collections::{BTreeMap, VecDeque};

use crate::axi::{Address, ReadBurst, WriteBeat, WriteBurst};
use crate::config::MemoryConfig;

/// Gives bursts their times, keeps the order of ids, joins addresses with data.
pub(crate) struct AxiMemory {
    config: MemoryConfig,
    node: u64,
    /// Bursts so far, which seed their jitter.
    bursts: u64,
    /// Last due time by (is write, master, id), or by (is write, master) without reordering.
    order: BTreeMap<(bool, u8, u8), u64>,
    addresses: Vec<VecDeque<Address>>,
    data: Vec<VecDeque<WriteBeat>>,
    /// Reads and writes accepted and not yet answered.
    pub(crate) reads_open: u32,
    pub(crate) writes_open: u32,
    /// Counts resets, so that accesses from before a reset are not answered after it.
    pub(crate) epoch: u32,
    /// Nothing that is accepted from now on is answered before.
    pub(crate) withheld_until: u64,
}

impl AxiMemory {
    pub(crate) fn new(config: &MemoryConfig, node: usize, masters: usize) -> Self {
        Self {
            config: config.clone(),
            node: node as u64,
            bursts: 0,
            order: BTreeMap::new(),
            addresses: vec![VecDeque::new(); masters],
            data: vec![VecDeque::new(); masters],
            reads_open: 0,
            writes_open: 0,
            epoch: 0,
            withheld_until: 0,
        }
    }

    /// A read address was accepted. Returns the cycle in which memory is sampled, and the burst.
    pub(crate) fn read(&mut self, cycle: u64, address: Address) -> (u64, ReadBurst) {
        let due = self.due(false, &address, cycle + self.config.read_latency);
        self.reads_open += 1;
        let burst = ReadBurst {
            address,
            due,
            epoch: self.epoch,
        };
        (cycle + self.config.read_latency / 2, burst)
    }

    /// A write address was accepted. Returns the burst if its data is complete.
    pub(crate) fn write_address(
        &mut self,
        cycle: u64,
        address: Address,
    ) -> Result<Option<Box<WriteBurst>>, String> {
        self.addresses[usize::from(address.master)].push_back(address);
        self.join(cycle, address.master)
    }

    /// A beat of write data was accepted. Returns the burst if it is complete.
    pub(crate) fn write_data(
        &mut self,
        cycle: u64,
        master: u8,
        beat: WriteBeat,
    ) -> Result<Option<Box<WriteBurst>>, String> {
        self.data[usize::from(master)].push_back(beat);
        self.join(cycle, master)
    }

    /// Drops accesses under way: the node was reset.
    pub(crate) fn reset(&mut self) {
        self.epoch += 1;
        self.order.clear();
        self.addresses.iter_mut().for_each(VecDeque::clear);
        self.data.iter_mut().for_each(VecDeque::clear);
        self.reads_open = 0;
        self.writes_open = 0;
    }

    /// Takes the oldest write burst of a master if its address and all of its data are there.
    fn join(&mut self, cycle: u64, master: u8) -> Result<Option<Box<WriteBurst>>, String> {
        let index = usize::from(master);
        let Some(&address) = self.addresses[index].front() else {
            return Ok(None);
        };
        let count = usize::from(address.beats);
        let data = &mut self.data[index];
        let early = data.iter().take(count - 1).position(|beat| beat.last);
        let full = data.len() >= count;
        if early.is_some() || (full && !data[count - 1].last) {
            return Err(format!(
                "AXI master {master}: write to {:#x} of {count} beats has its last mark {}",
                address.addr,
                early.map_or("missing".to_owned(), |beat| format!("on beat {beat}")),
            ));
        }
        if !full {
            return Ok(None);
        }
        let beats: Vec<WriteBeat> = data.drain(..count).collect();
        for (beat, number) in beats.iter().zip(0..) {
            let outside = beat.strobe & !address.beat_lanes(number);
            if outside != 0 {
                return Err(format!(
                    "AXI master {master}: write to {:#x} beat {number} strobes lanes {outside:#018x} \
                     outside of its bytes",
                    address.addr
                ));
            }
        }
        self.addresses[index].pop_front();
        let due = self.due(true, &address, cycle + self.config.write_latency);
        self.writes_open += 1;
        Ok(Some(Box::new(WriteBurst {
            address,
            beats,
            due,
            epoch: self.epoch,
        })))
    }

    /// The cycle of a burst's answer: `base` and its jitter, not before older ones that it must follow.
    fn due(&mut self, write: bool, address: &Address, base: u64) -> u64 {
        let jitter = match self.config.jitter {
            0 => 0,
            jitter => {
                let seed = self.config.seed ^ self.node << 40 ^ u64::from(write) << 63;
                mix(seed.wrapping_add(self.bursts.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
                    % (jitter + 1)
            }
        };
        self.bursts += 1;
        let id = if self.config.reorder { address.id } else { 0 };
        let last = self.order.entry((write, address.master, id)).or_insert(0);
        *last = (base + jitter).max(*last).max(self.withheld_until);
        *last
    }
}

/// Mixes a number (SplitMix64's finaliser), for choices by seed.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(len: u64, size: u64, id: u64) -> u64 {
        len | size << 8 | 1 << 16 | id << 24
    }

    fn read_dues(config: MemoryConfig, ids: &[u64]) -> Vec<u64> {
        let mut axi = AxiMemory::new(&config, 0, 1);
        ids.iter()
            .zip(0..)
            .map(|(&id, cycle)| {
                let address = Address::decode(0, 0x1000, fields(0, 6, id)).expect("legal");
                axi.read(cycle, address).1.due
            })
            .collect()
    }

    fn beat(last: bool) -> WriteBeat {
        WriteBeat {
            dbg: 0,
            data: [0; 8],
            strobe: u64::MAX,
            last,
        }
    }

    #[test]
    fn latency_is_exact_without_jitter() {
        assert_eq!(read_dues(MemoryConfig::default(), &[0, 1, 0]), [40, 41, 42]);
    }

    #[test]
    fn jitter_reorders_bursts_of_different_ids_only_if_allowed() {
        let config = |reorder| MemoryConfig {
            jitter: 50,
            reorder,
            ..MemoryConfig::default()
        };
        let ids: Vec<u64> = (0..200).map(|i| i % 3).collect();
        let strict = read_dues(config(false), &ids);
        assert!(strict.is_sorted());
        let loose = read_dues(config(true), &ids);
        assert!(!loose.is_sorted());
        for id in 0..3 {
            let own: Vec<u64> = loose.iter().skip(id).step_by(3).copied().collect();
            assert!(own.is_sorted());
        }
        assert_eq!(loose, read_dues(config(true), &ids));
    }

    #[test]
    fn memory_is_sampled_half_way() {
        let mut axi = AxiMemory::new(&MemoryConfig::default(), 0, 1);
        let address = Address::decode(0, 0x1000, fields(0, 6, 0)).expect("legal");
        let (sampled, burst) = axi.read(100, address);
        assert_eq!((sampled, burst.due), (120, 140));
    }

    #[test]
    fn jitter_reaches_its_bound_and_differs_between_nodes() {
        let config = MemoryConfig {
            jitter: 3,
            ..MemoryConfig::default()
        };
        let address = Address::decode(0, 0x1000, fields(0, 6, 0)).expect("legal");
        // A reset before each burst: none has to wait for another.
        let dues = |node| -> Vec<u64> {
            let mut axi = AxiMemory::new(&config, node, 1);
            let mut due = || {
                axi.reset();
                axi.read(0, address).1.due
            };
            (0..200).map(|_| due()).collect()
        };
        let mut seen = dues(0);
        assert_ne!(seen, dues(1));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [40, 41, 42, 43]);
    }

    #[test]
    fn reads_writes_and_masters_do_not_wait_for_each_other() {
        let config = MemoryConfig {
            jitter: 1000,
            ..MemoryConfig::default()
        };
        let mut axi = AxiMemory::new(&config, 0, 2);
        let from = |master| Address::decode(master, 0x1000, fields(0, 6, 0)).expect("legal");
        // Each burst is accepted after the one before it, and some are answered earlier.
        let mut overtakes = [false; 3];
        for _ in 0..50 {
            axi.reset();
            axi.write_address(0, from(0)).expect("no data yet");
            let write = axi.write_data(0, 0, beat(true)).expect("legal");
            let write = write.expect("complete").due;
            let read = axi.read(0, from(0)).1.due;
            let other = axi.read(0, from(1)).1.due;
            overtakes[0] |= read < write;
            overtakes[1] |= other < write;
            overtakes[2] |= other < read;
        }
        assert_eq!(overtakes, [true; 3]);
    }

    #[test]
    fn write_is_complete_with_address_and_data_in_any_order() {
        let mut axi = AxiMemory::new(&MemoryConfig::default(), 0, 1);
        let address = Address::decode(0, 0x40, fields(1, 6, 2)).expect("legal");
        assert!(axi.write_data(1, 0, beat(false)).expect("legal").is_none());
        assert!(axi.write_address(2, address).expect("legal").is_none());
        let burst = axi
            .write_data(5, 0, beat(true))
            .expect("legal")
            .expect("complete");
        assert_eq!((burst.due, burst.beats.len()), (25, 2));
        assert!(axi.write_data(6, 0, beat(true)).expect("legal").is_none());
        let single = Address::decode(0, 0x80, fields(0, 6, 2)).expect("legal");
        assert!(axi.write_address(7, single).expect("legal").is_some());
    }

    #[test]
    fn wrong_last_marks_and_strobes_are_named() {
        let address = Address::decode(0, 0x40, fields(1, 6, 2)).expect("legal");
        let write = |beats: &[WriteBeat], address| {
            let mut axi = AxiMemory::new(&MemoryConfig::default(), 0, 1);
            axi.write_address(0, address).expect("no data yet");
            beats
                .iter()
                .find_map(|&beat| axi.write_data(1, 0, beat).err())
                .expect("refused")
        };
        assert!(write(&[beat(true)], address).contains("last mark on beat 0"));
        assert!(write(&[beat(false), beat(false)], address).contains("last mark missing"));
        let narrow = Address::decode(0, 0x48, fields(0, 3, 2)).expect("legal");
        assert!(write(&[beat(true)], narrow).contains("outside"));
    }
}
