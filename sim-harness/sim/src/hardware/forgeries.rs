// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets whose headers change on a link.

use gyre_layout::LinkState;
use gyre_layout::fields::link;

use crate::disturbances::Forgery;
use crate::link_crc::{crc_difference, crc_fold};
use crate::record::{FLIT_WORDS, LinkWord};

/// Changes that forgeries have made on the links from a port.
#[derive(Clone, Copy, Debug, Default)]
struct Forged {
    /// How much the CRCs of both ends would differ without it.
    difference: u32,
    /// Virtual channel of a changed head, and the bits that change in the flit behind it.
    behind: Option<(u32, [u64; FLIT_WORDS])>,
}

/// Forgeries on the links from a node.
#[derive(Default)]
pub(super) struct Forgeries {
    waiting: Vec<Forgery>,
    /// By port.
    forged: Vec<Forged>,
}

impl Forgeries {
    pub(super) fn add(&mut self, forgery: Forgery) {
        self.waiting.push(forgery);
    }

    /// Changes words that are sent, of each port in order of cycles.
    pub(super) fn apply(&mut self, sent: &mut [(usize, LinkWord)], ports: usize) {
        self.forged.resize(ports, Forged::default());
        for (port, word) in sent {
            self.forge(*port, word);
        }
    }

    /// Changes a word that a port sends as forgeries want it.
    fn forge(&mut self, port: usize, word: &mut LinkWord) {
        let forged = &mut self.forged[port];
        if word.field(link::CTL) != LinkState::Up as u32 {
            // Both ends start anew.
            *forged = Forged::default();
        }
        if !word.is_flit() {
            return;
        }
        let (channel, head) = (word.channel(), word.is_head());
        let mut mask = [0; FLIT_WORDS];
        if let Some((of, behind)) = forged.behind
            && of == channel
        {
            forged.behind = None;
            if !head {
                mask = behind;
            }
        }
        let fits = |f: &Forgery| head && f.port == port && f.from <= word.cycle;
        if let Some(at) = self.waiting.iter().position(fits) {
            let [a, b, c, d] = self.waiting.remove(at).header;
            mask = [a, b];
            forged.behind = Some((channel, [c, d]));
        }
        if mask == [0; FLIT_WORDS] && forged.difference == 0 {
            return;
        }
        forged.difference = crc_difference(forged.difference, mask);
        word.word ^= u32::from(crc_fold(forged.difference)) << link::CHECK.lsb;
        for (data, mask) in word.data.iter_mut().zip(mask) {
            *data ^= mask;
        }
    }
}
