// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier.

use super::builder::Builder;
use super::steps::Slice;

impl Builder<'_> {
    /// In round `k` every endpoint notifies the one 2^k ranks on.
    pub(super) fn dissemination_barrier(&mut self) {
        let ranks: Vec<u32> = (0..self.geometry.endpoints().len() as u32).collect();
        self.dissemination(&ranks, self.rank as usize, &[]);
    }

    /// The same among `ranks`, as number `me`, after `before`; returns the steps after which all have arrived.
    pub(super) fn dissemination(
        &mut self,
        ranks: &[u32],
        me: usize,
        before: &[usize],
    ) -> Vec<usize> {
        let mut heard = before.to_vec();
        let mut distance = 1;
        let mut tag = 0;
        while distance < ranks.len() {
            let nothing = Slice::nothing();
            let to = ranks[(me + distance) % ranks.len()];
            let from = ranks[(me + ranks.len() - distance) % ranks.len()];
            self.send_to(to, tag, nothing, &heard);
            heard.push(self.receive_of(from, tag, nothing, &[]));
            distance *= 2;
            tag += 1;
        }
        heard
    }
}
