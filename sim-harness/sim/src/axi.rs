// SPDX-License-Identifier: MIT OR Apache-2.0
//! AXI4 bursts as a node's masters make them.

/// Bytes of a beat on the data bus.
pub(crate) const LINE: u64 = 64;

/// An accepted address, read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) master: u8,
    pub(crate) id: u8,
    pub(crate) addr: u64,
    /// Beats, 1 to 256.
    pub(crate) beats: u16,
    /// Bytes of a beat, 1 to 64.
    pub(crate) bytes: u8,
}

impl Address {
    /// Decodes the channel's fields. Fails on what AXI4 forbids or this memory does not serve.
    pub(crate) fn decode(master: u8, addr: u64, fields: u64) -> Result<Self, String> {
        let (len, size) = (fields as u8, (fields >> 8) as u8);
        let (burst, id) = ((fields >> 16) as u8, (fields >> 24) as u8);
        let beats = u16::from(len) + 1;
        let at = |what: &str| format!("AXI master {master} id {id} address {addr:#x}: {what}");
        if size > 6 {
            return Err(at(&format!("size {size} is wider than the 64 B bus")));
        }
        if burst != 1 {
            return Err(at(&format!(
                "burst type {burst} where INCR (1) is expected"
            )));
        }
        let bytes = 1u8 << size;
        let first = addr & !(u64::from(bytes) - 1);
        let last = first + u64::from(beats) * u64::from(bytes) - 1;
        if first >> 12 != last >> 12 {
            return Err(at(&format!("burst of {beats} x {bytes} B crosses 4 KiB")));
        }
        Ok(Self {
            master,
            id,
            addr,
            beats,
            bytes,
        })
    }

    /// First byte address of a beat.
    fn beat_addr(&self, beat: u16) -> u64 {
        if beat == 0 {
            return self.addr;
        }
        let bytes = u64::from(self.bytes);
        (self.addr & !(bytes - 1)) + u64::from(beat) * bytes
    }

    /// The 64 B line of a beat.
    pub(crate) fn beat_line(&self, beat: u16) -> u64 {
        self.beat_addr(beat) & !(LINE - 1)
    }

    /// The bytes that a beat may touch.
    pub(crate) fn beat_range(&self, beat: u16) -> std::ops::Range<u64> {
        let first = self.beat_addr(beat);
        let bytes = u64::from(self.bytes);
        first..(first & !(bytes - 1)) + bytes
    }

    /// Byte lanes that a beat may use.
    pub(crate) fn beat_lanes(&self, beat: u16) -> u64 {
        let range = self.beat_range(beat);
        let count = range.end - range.start;
        let ones = if count == 64 {
            u64::MAX
        } else {
            (1 << count) - 1
        };
        ones << (range.start % LINE)
    }
}

/// A read burst on its way to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadBurst {
    pub(crate) address: Address,
    /// Cycle of its first data beat at the earliest.
    pub(crate) due: u64,
    /// Reset of the node that it belongs to.
    pub(crate) epoch: u32,
}

/// One beat of write data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBeat {
    pub(crate) data: [u64; 8],
    pub(crate) strobe: u64,
    /// Debug side-band: message id of the written packet; 0 for other data.
    pub(crate) dbg: u32,
    pub(crate) last: bool,
}

/// A write burst whose beats were all accepted.
#[derive(Clone, Debug)]
pub(crate) struct WriteBurst {
    pub(crate) address: Address,
    pub(crate) beats: Vec<WriteBeat>,
    /// Cycle of its response at the earliest, when its data is visible.
    pub(crate) due: u64,
    /// Reset of the node that it belongs to.
    pub(crate) epoch: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(len: u64, size: u64, id: u64) -> u64 {
        len | size << 8 | 1 << 16 | id << 24
    }

    #[test]
    fn illegal_bursts_are_named() {
        let refuse = |addr, fields| Address::decode(1, addr, fields).expect_err("illegal");
        assert!(refuse(0xfc0, fields(1, 6, 3)).contains("crosses 4 KiB"));
        assert!(refuse(0, fields(0, 7, 3)).contains("wider"));
        assert!(refuse(0, 6 << 8).contains("burst type 0"));
        let unaligned = Address::decode(0, 0xfe1, fields(0, 6, 3)).expect("legal");
        assert_eq!(unaligned.beat_range(0), 0xfe1..0x1000);
        assert_eq!(unaligned.beat_lanes(0), !0 << 33);
    }

    #[test]
    fn narrow_bursts_walk_through_their_lines() {
        let burst = Address::decode(0, 0x38, fields(2, 3, 0)).expect("legal");
        assert_eq!(burst.beat_line(0), 0);
        assert_eq!(burst.beat_lanes(0), 0xff << 56);
        assert_eq!(burst.beat_line(1), 0x40);
        assert_eq!(burst.beat_lanes(2), 0xff << 8);
    }
}
