//! The memory of a node: pages that exist once they are written.

use std::ops::Range;

use rustc_hash::FxHashMap;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// Sparse byte-addressed memory. What was never written reads as zero.
#[derive(Default)]
pub(crate) struct Memory {
    /// Looked up by page number, never iterated over: the order of a hash map reaches nothing.
    pages: FxHashMap<u64, Box<[u8; PAGE]>>,
    error_ranges: Vec<Range<u64>>,
}

impl Memory {
    pub(crate) fn new(error_ranges: &[Range<u64>]) -> Self {
        Self {
            pages: FxHashMap::default(),
            error_ranges: error_ranges.to_vec(),
        }
    }

    /// Copies bytes out, from `addr` on.
    pub(crate) fn read(&self, mut addr: u64, mut out: &mut [u8]) {
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

    /// Copies bytes in, from `addr` on.
    pub(crate) fn write(&mut self, mut addr: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let offset = addr as usize % PAGE;
            let count = data.len().min(PAGE - offset);
            let (now, rest) = data.split_at(count);
            self.page(addr)[offset..offset + count].copy_from_slice(now);
            data = rest;
            addr = addr.wrapping_add(count as u64);
        }
    }

    /// Writes a 64 B line, aligned, byte `i` if bit `i` of `strobe` is set.
    pub(crate) fn write_line(&mut self, addr: u64, data: &[u64; 8], strobe: u64) {
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
    }

    /// Reads a 64 B line, aligned.
    pub(crate) fn read_line(&self, addr: u64) -> [u64; 8] {
        let offset = addr as usize % PAGE;
        match self.pages.get(&(addr >> PAGE_BITS)) {
            Some(page) => std::array::from_fn(|i| {
                let at = offset + 8 * i;
                u64::from_le_bytes(std::array::from_fn(|b| page[at + b]))
            }),
            None => [0; 8],
        }
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
        let line = memory.read_line(0);
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
}
