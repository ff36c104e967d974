// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running digest of a node's activity.

use xxhash_rust::xxh3::Xxh3;

/// Digest of a node's link transfers and memory writes, or of what its software has written into memory that
/// processes share, in order of time. Debug side-bands, idle cycles and anything of the host are not part of it
///
#[derive(Default)]
pub(crate) struct Digest {
    state: Xxh3,
    /// Records gathered before they are hashed together.
    pending: Vec<u8>,
}

const FLUSH: usize = 4096;

impl Digest {
    /// A flit on a link: `word` is its control word, `data` its data wires. The parity wire is left out: it is a function
    /// of the others.
    pub(crate) fn link_flit(&mut self, cycle: u64, port: usize, word: u32, data: &[u64]) {
        const PARITY: u32 = 1 << 31;
        self.push(cycle << 8 | port as u64);
        self.push((word & !PARITY).into());
        data.iter().for_each(|&word| self.push(word));
        self.flush_if_full();
    }

    /// A beat of a memory write: 64 B line at `addr`. Bytes that are not strobed do not count.
    pub(crate) fn memory_write(&mut self, cycle: u64, addr: u64, data: &[u64; 8], strobe: u64) {
        self.push(cycle << 8 | 0xff);
        self.push(addr);
        self.push(strobe);
        for (&word, enables) in data.iter().zip(strobe.to_le_bytes()) {
            self.push(word & byte_mask(enables));
        }
        self.flush_if_full();
    }

    /// A write by software, at `ps` picoseconds, of `data` at `addr`.
    pub(crate) fn software_write(&mut self, ps: u64, addr: u64, data: &[u8]) {
        self.push(ps);
        self.push(addr);
        self.push(data.len() as u64);
        self.pending.extend_from_slice(data);
        self.flush_if_full();
    }

    /// The digest so far.
    pub(crate) fn value(&self) -> u64 {
        let mut state = self.state.clone();
        state.update(&self.pending);
        state.digest()
    }

    fn push(&mut self, word: u64) {
        self.pending.extend_from_slice(&word.to_le_bytes());
    }

    fn flush_if_full(&mut self) {
        if self.pending.len() >= FLUSH {
            self.state.update(&self.pending);
            self.pending.clear();
        }
    }
}

/// 0xff in each byte whose bit is set.
fn byte_mask(enables: u8) -> u64 {
    let spread = u64::from(enables).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((spread.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) & 0x8080_8080_8080_8080) >> 7) * 0xff
}

/// The digests of all nodes, in node order, as one.
pub(crate) fn combine(nodes: impl Iterator<Item = u64>) -> u64 {
    let mut state = Xxh3::new();
    nodes.for_each(|value| state.update(&value.to_le_bytes()));
    state.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x1_digest_covers_time_place_and_data_of_software_writes() {
        let hash = |ps, addr, data: &[u8]| {
            let mut digest = Digest::default();
            digest.software_write(ps, addr, data);
            digest.value()
        };
        let base = hash(5, 0x40, &[1, 2]);
        assert_eq!(base, hash(5, 0x40, &[1, 2]));
        for other in [
            hash(6, 0x40, &[1, 2]),
            hash(5, 0x41, &[1, 2]),
            hash(5, 0x40, &[1, 3]),
            hash(5, 0x40, &[1, 2, 0]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn every_part_of_a_record_counts() {
        let hash = |cycle, port, word, data: [u64; 2]| {
            let mut digest = Digest::default();
            digest.link_flit(cycle, port, word, &data);
            digest.value()
        };
        let base = hash(5, 1, 7, [1, 2]);
        assert_eq!(base, hash(5, 1, 7, [1, 2]));
        for other in [
            hash(6, 1, 7, [1, 2]),
            hash(5, 2, 7, [1, 2]),
            hash(5, 1, 6, [1, 2]),
            hash(5, 1, 7, [1, 3]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn every_part_of_a_memory_write_counts() {
        let hash = |cycle, addr, data: [u64; 8], strobe| {
            let mut digest = Digest::default();
            digest.memory_write(cycle, addr, &data, strobe);
            digest.value()
        };
        let base = hash(5, 0x40, [0; 8], 1);
        assert_eq!(base, hash(5, 0x40, [0; 8], 1));
        // Writing a zero byte is not the same as leaving it alone.
        for other in [
            hash(6, 0x40, [0; 8], 1),
            hash(5, 0x80, [0; 8], 1),
            hash(5, 0x40, [0; 8], 3),
        ] {
            assert_ne!(base, other);
        }
        for word in 0..8 {
            let mut data = [0; 8];
            data[word] = 1;
            assert_ne!(
                hash(5, 0x40, [0; 8], !0),
                hash(5, 0x40, data, !0),
                "word {word}"
            );
        }
    }

    #[test]
    fn what_lies_far_back_counts() {
        let hash = |first| {
            let mut digest = Digest::default();
            digest.link_flit(first, 0, 0, &[]);
            for cycle in 10..10 + FLUSH as u64 {
                digest.link_flit(cycle, 0, 0, &[]);
            }
            digest.value()
        };
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn bytes_that_are_not_written_do_not_count() {
        let hash = |word, strobe| {
            let mut digest = Digest::default();
            digest.memory_write(1, 0, &[word; 8], strobe);
            digest.value()
        };
        let strobe = 0x8181_8181_8181_8181;
        let written = hash(0x1100_0000_0000_0022, strobe);
        assert_eq!(written, hash(0x11ab_cdef_0123_4522, strobe));
        assert_ne!(written, hash(0x1000_0000_0000_0022, strobe));
        assert_ne!(written, hash(0x1100_0000_0000_0023, strobe));
    }

    #[test]
    fn value_does_not_depend_on_when_it_was_asked_for() {
        let mut quiet = Digest::default();
        let mut asked = Digest::default();
        for cycle in 0..1000 {
            quiet.memory_write(cycle, 64 * cycle, &[cycle; 8], u64::MAX);
            asked.memory_write(cycle, 64 * cycle, &[cycle; 8], u64::MAX);
            asked.value();
        }
        assert_eq!(quiet.value(), asked.value());
    }

    #[test]
    fn node_order_counts() {
        assert_ne!(combine([1, 2].into_iter()), combine([2, 1].into_iter()));
    }
}
