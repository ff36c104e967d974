// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check bits of a link as the specification says them, bit by bit.

/// One more byte of the IEEE CRC-32.
pub fn crc_byte(mut crc: u32, byte: u8) -> u32 {
    crc ^= u32::from(byte);
    for _ in 0..8 {
        crc = if crc & 1 != 0 {
            crc >> 1 ^ 0xedb8_8320
        } else {
            crc >> 1
        };
    }
    crc
}

/// CRC bits in a flit: the CRC's bytes, folded into one.
pub fn fold(crc: u32) -> u8 {
    crc.to_le_bytes().into_iter().fold(0, |a, b| a ^ b)
}

/// How much two CRCs differ after a flit, of those that differed by `before` ahead of it: of its data the bits of `data`
/// are other ones, of its control byte those of `control`. The CRC is linear, so the flit itself does not matter.
pub fn difference(before: u32, control: u8, data: &[u32]) -> u32 {
    let data = data.iter().flat_map(|word| word.to_le_bytes());
    data.chain([control]).fold(before, crc_byte)
}

/// Sequence number and running CRC of one direction of a link since it came up.
#[derive(Clone, Copy, Debug)]
pub struct LinkCheck {
    crc: u32,
    sequence: u8,
}

impl Default for LinkCheck {
    fn default() -> Self {
        Self {
            crc: !0,
            sequence: 0,
        }
    }
}

impl LinkCheck {
    /// The 16 check bits of the next flit: `ctl` is its link word, `data` all its words.
    pub fn next(&mut self, ctl: u32, data: &[u32]) -> u32 {
        let control = (ctl >> 3 & 0x3f | ctl >> 24 & 0x40) as u8;
        let data = data.iter().flat_map(|word| word.to_le_bytes());
        self.crc = data.chain([control]).fold(self.crc, crc_byte);
        let check = u32::from(self.sequence) << 8 | u32::from(fold(self.crc));
        self.sequence = self.sequence.wrapping_add(1);
        check
    }
}
