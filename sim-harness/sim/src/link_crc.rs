// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running CRC that both ends of a link keep over its flits.

use crate::record::FLIT_WORDS;

/// Difference of the CRCs at a link's two ends after a flit whose data differ in the bits of `data`; `before` is the
/// difference before it (`rtl/link/link_crc.sv`). The CRC is linear, so the flit itself does not matter.
pub fn crc_difference(before: u32, data: [u64; FLIT_WORDS]) -> u32 {
    let step = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)
        })
    };
    let bytes = data.into_iter().flat_map(u64::to_le_bytes);
    bytes.chain([0]).fold(before, step)
}

/// Check byte of a flit: the bytes of the CRC, folded into one by exclusive or.
pub fn crc_fold(crc: u32) -> u8 {
    crc.to_le_bytes().into_iter().fold(0, |a, b| a ^ b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hw3_x5_the_check_byte_of_a_flit_misses_what_the_links_do() {
        let byte = |data| crc_fold(crc_difference(0, data));
        assert_eq!(byte([0, 0x2e3d_2bf3_14c4_ef2c]), 0);
        assert_eq!(byte([0x2e3d_2bf3_14c4_ef2c, 0]), 175);
        for bit in 0..64 {
            assert_ne!(byte([1 << bit, 0]), 0);
            assert_ne!(byte([0, 1 << bit]), 0);
        }
    }
}
