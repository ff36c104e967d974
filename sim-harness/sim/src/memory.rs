// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a node: pages that exist once they are written.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// Bytes outside the simulator's process that a range of node memory stands for.
pub trait OutsideMemory {
    /// Copies bytes out, from `offset` in the range on; false if some are not there.
    fn read(&self, offset: u64, out: &mut [u8]) -> bool;
    /// Copies bytes in, from `offset` in the range on; false if some are not there or may not be written.
    fn write(&self, offset: u64, data: &[u8]) -> bool;
}

/// A range of addresses that stands for bytes outside.
struct Window {
    end: u64,
    outside: Box<dyn OutsideMemory>,
}

/// Sparse byte-addressed memory. What was never written reads as zero.
#[derive(Default)]
pub(crate) struct Memory {
    /// Looked up by page number, never iterated over: the order of a hash map reaches nothing.
    pages: FxHashMap<u64, Box<[u8; PAGE]>>,
    error_ranges: Vec<Range<u64>>,
    /// By their first address; no two overlap.
    windows: BTreeMap<u64, Window>,
}

impl Memory {
    pub(crate) fn new(error_ranges: &[Range<u64>]) -> Self {
        Self {
            pages: FxHashMap::default(),
            error_ranges: error_ranges.to_vec(),
            windows: BTreeMap::new(),
        }
    }

    /// Has `range`, which overlaps no other such range, stand for bytes outside from now on.
    pub(crate) fn map(&mut self, range: Range<u64>, outside: Box<dyn OutsideMemory>) {
        let end = range.end;
        let replaced = self.windows.insert(range.start, Window { end, outside });
        debug_assert!(replaced.is_none(), "the range is nobody else's");
    }

    /// Makes the range that begins at `start` ordinary memory again.
    pub(crate) fn unmap(&mut self, start: u64) {
        self.windows.remove(&start);
    }

    /// The ranges that stand for bytes outside and have some of `range`: what of it, and where that is outside.
    fn outside(
        &self,
        range: Range<u64>,
    ) -> impl Iterator<Item = (Range<u64>, u64, &dyn OutsideMemory)> {
        let below = self.windows.range(..range.end).rev();
        below
            .take_while(move |(_, window)| window.end > range.start)
            .map(move |(&start, window)| {
                let part = start.max(range.start)..window.end.min(range.end);
                let offset = part.start - start;
                (part, offset, &*window.outside)
            })
    }

    /// Copies bytes out, from `addr` on. Bytes outside that are not there read as zero; then this returns false.
    pub(crate) fn read(&self, addr: u64, out: &mut [u8]) -> bool {
        self.read_pages(addr, out);
        if self.windows.is_empty() {
            return true;
        }
        let mut all = true;
        for (part, offset, outside) in self.outside(addr..addr.saturating_add(out.len() as u64)) {
            let out = &mut out[(part.start - addr) as usize..(part.end - addr) as usize];
            if !outside.read(offset, out) {
                out.fill(0);
                all = false;
            }
        }
        all
    }

    fn read_pages(&self, mut addr: u64, mut out: &mut [u8]) {
        while !out.is_empty() {
            let offset = addr as usize % PAGE;
            let count = out.len().min(PAGE - offset);
            let (now, rest) = out.split_at_mut(count);
            match self.pages.get(&(addr >> PAGE_BITS)) {
                Some(page) => now.copy_from_slice(&page[offset..offset + count]),
                None => now.fill(0),
            }
            out = rest;
            addr = addr.wrapping_add(count as u64);
        }
    }

    /// Copies bytes in, from `addr` on; false if some of those outside cannot be written.
    pub(crate) fn write(&mut self, addr: u64, data: &[u8]) -> bool {
        if self.windows.is_empty() {
            self.write_pages(addr, data);
            return true;
        }
        // Bytes outside of the memory lie in no page.
        let mut all = true;
        let mut rest = addr..addr.saturating_add(data.len() as u64);
        let part_of =
            |range: Range<u64>| &data[(range.start - addr) as usize..(range.end - addr) as usize];
        let parts: Vec<_> = self
            .outside(rest.clone())
            .map(|(part, offset, outside)| {
                all &= outside.write(offset, part_of(part.clone()));
                part
            })
            .collect();
        for part in parts.into_iter().rev() {
            self.write_pages(rest.start, part_of(rest.start..part.start));
            rest.start = part.end;
        }
        self.write_pages(rest.start, part_of(rest));
        all
    }

    fn write_pages(&mut self, mut addr: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let offset = addr as usize % PAGE;
            let count = data.len().min(PAGE - offset);
            let (now, rest) = data.split_at(count);
            self.page(addr)[offset..offset + count].copy_from_slice(now);
            data = rest;
            addr = addr.wrapping_add(count as u64);
        }
    }

    /// Writes a 64 B line, aligned, byte `i` if bit `i` of `strobe` is set; false if some bytes outside cannot be written.
    pub(crate) fn write_line(&mut self, addr: u64, data: &[u64; 8], strobe: u64) -> bool {
        if self.outside(addr..addr + 64).next().is_some() {
            return self.write_strobed(addr, data, strobe);
        }
        let offset = addr as usize % PAGE;
        let line = &mut self.page(addr)[offset..offset + 64];
        for (index, word) in data.iter().enumerate() {
            let bytes = word.to_le_bytes();
            match (strobe >> (8 * index)) & 0xff {
                0xff => line[8 * index..8 * index + 8].copy_from_slice(&bytes),
                enables => {
                    for (i, &byte) in bytes.iter().enumerate() {
                        if enables >> i & 1 == 1 {
                            line[8 * index + i] = byte;
                        }
                    }
                }
            }
        }
        true
    }

    /// Writes the bytes of a line that `strobe` has, run by run.
    fn write_strobed(&mut self, addr: u64, data: &[u64; 8], strobe: u64) -> bool {
        let bytes = data.map(u64::to_le_bytes);
        let bytes = bytes.as_flattened();
        let mut all = true;
        let mut at = 0;
        while at < 64 {
            let run = (strobe >> at).trailing_ones() as usize;
            all &= self.write(addr + at as u64, &bytes[at..at + run]);
            at += run;
            if at < 64 {
                at += ((strobe >> at).trailing_zeros() as usize).min(64 - at);
            }
        }
        all
    }

    /// Reads a 64 B line, aligned; with false if some bytes outside are not there.
    pub(crate) fn read_line(&self, addr: u64) -> ([u64; 8], bool) {
        if self.outside(addr..addr + 64).next().is_some() {
            let mut bytes = [[0; 8]; 8];
            let all = self.read(addr, bytes.as_flattened_mut());
            return (bytes.map(u64::from_le_bytes), all);
        }
        let offset = addr as usize % PAGE;
        let line = match self.pages.get(&(addr >> PAGE_BITS)) {
            Some(page) => std::array::from_fn(|i| {
                let at = offset + 8 * i;
                u64::from_le_bytes(std::array::from_fn(|b| page[at + b]))
            }),
            None => [0; 8],
        };
        (line, true)
    }

    /// Makes AXI accesses that touch a byte of the range fail. Software is not affected.
    pub(crate) fn add_error_range(&mut self, range: Range<u64>) {
        self.error_ranges.push(range);
    }

    /// Makes all of memory answer again.
    pub(crate) fn clear_error_ranges(&mut self) {
        self.error_ranges.clear();
    }

    /// Whether an access to the range fails.
    pub(crate) fn is_faulty(&self, range: Range<u64>) -> bool {
        self.error_ranges
            .iter()
            .any(|bad| bad.start < range.end && range.start < bad.end)
    }

    /// Bytes held by pages that exist.
    pub(crate) fn resident_bytes(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    fn page(&mut self, addr: u64) -> &mut [u8; PAGE] {
        self.pages
            .entry(addr >> PAGE_BITS)
            .or_insert_with(|| Box::new([0; PAGE]))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn bytes_come_back_across_pages_and_the_rest_is_zero() {
        let mut memory = Memory::default();
        let data: Vec<u8> = (0..9000).map(|i| i as u8 ^ (i >> 8) as u8).collect();
        memory.write(0x1_0000_0ff0, &data);
        let mut back = vec![0xff; 9032];
        memory.read(0x1_0000_0fe0, &mut back);
        assert_eq!(&back[..16], [0; 16]);
        assert_eq!(&back[16..9016], &data[..]);
        assert_eq!(&back[9016..], [0; 16]);
        assert_eq!(memory.resident_bytes(), 4 * 4096);
    }

    #[test]
    fn line_writes_change_the_strobed_bytes_only() {
        let mut memory = Memory::default();
        memory.write(0, &[0x55; 64]);
        memory.write_line(0, &[0xaaaa_aaaa_aaaa_aaaa; 8], 0xff00_0000_0000_0012);
        let (line, _) = memory.read_line(0);
        assert_eq!(line[0], 0x5555_55aa_5555_aa55);
        assert_eq!(line[1], 0x5555_5555_5555_5555);
        assert_eq!(line[7], 0xaaaa_aaaa_aaaa_aaaa);
    }

    #[test]
    fn faults_are_where_they_were_put() {
        let mut memory = Memory::new(std::slice::from_ref(&(0x100..0x101)));
        memory.add_error_range(0x2000..0x3000);
        assert!(memory.is_faulty(0xc0..0x101) && !memory.is_faulty(0xc0..0x100));
        assert!(memory.is_faulty(0x2fff..0x4000) && !memory.is_faulty(0x3000..0x4000));
        memory.clear_error_ranges();
        assert!(!memory.is_faulty(0..u64::MAX));
    }

    /// Bytes that tests share with a window; those from 100 on are not there.
    #[derive(Clone, Default)]
    struct Elsewhere(Rc<RefCell<Vec<u8>>>);

    impl Elsewhere {
        fn range(offset: u64, bytes: usize) -> Option<Range<usize>> {
            let start = offset as usize;
            (start + bytes <= 100).then_some(start..start + bytes)
        }
    }

    impl OutsideMemory for Elsewhere {
        fn read(&self, offset: u64, out: &mut [u8]) -> bool {
            let range = Self::range(offset, out.len());
            range.is_some_and(|range| {
                out.copy_from_slice(&self.0.borrow()[range]);
                true
            })
        }

        fn write(&self, offset: u64, data: &[u8]) -> bool {
            let range = Self::range(offset, data.len());
            range.is_some_and(|range| {
                self.0.borrow_mut()[range].copy_from_slice(data);
                true
            })
        }
    }

    /// Memory of 0x55 with windows of `lengths` bytes at `starts`.
    fn with_windows(windows: &[(u64, u64)]) -> (Memory, Vec<Elsewhere>) {
        let mut memory = Memory::default();
        memory.write(0, &[0x55; 512]);
        let elsewhere = windows.iter().map(|&(start, length)| {
            let elsewhere = Elsewhere(Rc::new(RefCell::new(vec![0xaa; 128])));
            memory.map(start..start + length, Box::new(elsewhere.clone()));
            elsewhere
        });
        let elsewhere = elsewhere.collect();
        (memory, elsewhere)
    }

    #[test]
    fn accesses_reach_what_is_outside_and_what_is_beside_it() {
        let (mut memory, elsewhere) = with_windows(&[(70, 50), (120, 8), (130, 60)]);
        let mut all = [0; 256];
        assert!(memory.read(0, &mut all));
        for (at, byte) in all.into_iter().enumerate() {
            let outside = matches!(at, 70..128 | 130..190);
            assert_eq!(byte, if outside { 0xaa } else { 0x55 }, "{at}");
        }
        let data: Vec<u8> = (0..=255).collect();
        assert!(memory.write(0, &data));
        assert!(memory.read(0, &mut all));
        assert_eq!(all, data.as_slice());
        assert_eq!(elsewhere[0].0.borrow()[..50], data[70..120]);
        assert_eq!(elsewhere[1].0.borrow()[..8], data[120..128]);
        assert_eq!(elsewhere[2].0.borrow()[..60], data[130..190]);
        assert!(
            elsewhere[0].0.borrow()[50..]
                .iter()
                .all(|&byte| byte == 0xaa)
        );
        // Memory under the windows has kept its contents.
        for start in [70, 120, 130] {
            memory.unmap(start);
        }
        assert!(memory.read(0, &mut all));
        assert!(all[70..128].iter().all(|&byte| byte == 0x55));
    }

    #[test]
    fn lines_reach_what_is_outside_byte_by_byte() {
        for strobe in [
            u64::MAX,
            0,
            1,
            1 << 63,
            0x00ff_f0f0_1234_8001,
            0x7fff_ffff_ffff_fffe,
        ] {
            let (mut memory, _) = with_windows(&[(60, 10), (100, 7), (120, 30)]);
            let before: [u8; 256] = {
                let mut bytes = [0; 256];
                memory.read(0, &mut bytes);
                bytes
            };
            let data = [0x0807_0605_0403_0201; 8];
            assert!(memory.write_line(64, &data, strobe));
            let mut after = [0; 256];
            memory.read(0, &mut after);
            for (at, byte) in after.into_iter().enumerate() {
                let written = (64..128).contains(&at) && strobe >> (at - 64) & 1 == 1;
                let expected = if written {
                    (at % 8 + 1) as u8
                } else {
                    before[at]
                };
                assert_eq!(byte, expected, "{at} {strobe:x}");
            }
            let (line, all) = memory.read_line(64);
            assert!(all);
            assert_eq!(line.map(u64::to_le_bytes).as_flattened(), &after[64..128]);
        }
    }

    #[test]
    fn bytes_outside_that_are_not_there_fail() {
        let (mut memory, elsewhere) = with_windows(&[(0, 128)]);
        assert_eq!(memory.read_line(0), ([0xaaaa_aaaa_aaaa_aaaa; 8], true));
        assert_eq!(memory.read_line(64), ([0; 8], false));
        assert!(!memory.write_line(64, &[1; 8], 1 << 40));
        assert!(memory.write_line(64, &[1; 8], 1));
        assert_eq!(elsewhere[0].0.borrow()[64], 1);
        let mut bytes = [1; 2];
        assert!(!memory.read(99, &mut bytes) && !memory.write(99, &bytes));
        assert_eq!(bytes, [0; 2]);
    }
}
