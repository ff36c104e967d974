// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software word 0 of a memory-FIFO packet: its sender and its handler.

/// Contents of software word 0; software word 1 is the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// Dispatch identifier, bits 7:0.
    pub dispatch: u8,
    /// Process of the origin on its node, bits 15:8.
    pub process: u8,
    /// Context offset of the origin, bits 23:16.
    pub context: u8,
    /// Communication context of the message, bits 31:24.
    pub comm: u8,
}

impl Envelope {
    pub fn pack(self) -> u32 {
        u32::from_le_bytes([self.dispatch, self.process, self.context, self.comm])
    }

    pub fn unpack(word: u32) -> Self {
        let [dispatch, process, context, comm] = word.to_le_bytes();
        Self {
            dispatch,
            process,
            context,
            comm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ep1_envelope_fields_have_their_bits() {
        let envelope = Envelope {
            dispatch: 0x11,
            process: 0x22,
            context: 0x33,
            comm: 0x44,
        };
        assert_eq!(envelope.pack(), 0x4433_2211);
        assert_eq!(Envelope::unpack(0x4433_2211), envelope);
    }
}
