//! The running CRC that both ends of a link keep over its flits.

use crate::record::FLIT_WORDS;

/// How much the CRC of a link's two ends differs after a flit, if it did by `before` and the flit's data differs in the bits
/// of `data` (`rtl/link/link_crc.sv`). The CRC is linear, so the flit itself does not matter.
pub fn crc_difference(before: u32, data: [u64; FLIT_WORDS]) -> u32 {
    let step = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)
        })
    };
    let bytes = data.into_iter().flat_map(u64::to_le_bytes);
    bytes.chain([0]).fold(before, step)
}

/// What the check byte of a flit shows of a CRC: its bytes, folded into one.
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
