//! Barrier.

use gyre_driver::Routing;

use super::{Action, Builder, Slice};

impl Builder<'_> {
    /// In round `k` every endpoint tells the one 2^k ranks on what it has heard.
    pub(super) fn dissemination_barrier(&mut self) {
        let ranks = self.geometry.endpoints().len() as u64;
        let me = u64::from(self.rank);
        let mut heard = Vec::new();
        let mut distance = 1;
        let mut tag = 0;
        while distance < ranks {
            let nothing = Slice::nothing();
            // Ranks are below 2^32.
            let to = ((me + distance) % ranks) as u32;
            let from = ((me + ranks - distance) % ranks) as u32;
            let send = Action::Send {
                to,
                tag,
                from: nothing,
            };
            self.add(send, &heard);
            heard.push(self.receive_from((from, Routing::Fixed), tag, nothing, &[]));
            distance *= 2;
            tag += 1;
        }
    }
}
