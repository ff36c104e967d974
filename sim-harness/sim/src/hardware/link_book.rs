// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of the traffic on a machine's links.

use crate::record::LinkWord;

/// Virtual channels that a control word can name.
pub const LINK_CHANNELS: usize = 16;

/// Traffic of one direction of a link since the machine was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkBook {
    /// Flits by virtual channel, as they were sent.
    pub flits: [u64; LINK_CHANNELS],
    /// Credits by virtual channel, as they arrive: after flips.
    pub credits: [u64; LINK_CHANNELS],
    /// Times that the state on the wires changed, flips included.
    pub state_changes: u64,
    /// Last word that arrived.
    last: (u64, u32),
}

impl LinkBook {
    /// State that the wires show: 0 reset, 1 init, 2 acknowledged, 3 up.
    pub fn state(&self) -> u32 {
        self.last.1 & 3
    }

    pub(super) fn count(&mut self, sent: &LinkWord, arriving: &LinkWord) {
        if sent.is_flit() {
            self.flits[sent.channel() as usize] += 1;
        }
        // A word without a flit holds until the next: each cycle of it is a credit.
        let (since, held) = self.last;
        if held & LinkWord::CREDIT != 0 && arriving.cycle > since + 1 {
            self.credits[(held >> 26 & 15) as usize] += arriving.cycle - since - 1;
        }
        if arriving.is_credit() {
            self.credits[(arriving.word >> 26 & 15) as usize] += 1;
        }
        self.state_changes += u64::from((arriving.word ^ held) & 3 != 0);
        self.last = (arriving.cycle, arriving.word);
    }
}
