// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts that a fence may have to wait for, in constant space for any number of endpoints (FN-2).

use crate::endpoint::Endpoint;

/// Endpoints whose puts may be under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peers {
    None,
    One(Endpoint),
    Several,
}

/// Puts of a context without an answered fence behind them. It may name too many peers with puts under way, never too
/// few.
pub(crate) struct PutsUnderWay {
    peers: Peers,
    /// Number of the first fence, or fence of all endpoints, behind all of them.
    fence: Option<u32>,
}

impl PutsUnderWay {
    /// None.
    pub fn new() -> Self {
        Self {
            peers: Peers::None,
            fence: None,
        }
    }

    /// Notes the start of a put to `peer`.
    pub fn start(&mut self, peer: Endpoint) {
        self.peers = match self.peers {
            Peers::None => Peers::One(peer),
            Peers::One(other) if other == peer => Peers::One(peer),
            Peers::One(_) | Peers::Several => Peers::Several,
        };
        self.fence = None;
    }

    /// Whether puts to `peer` may be under way.
    pub fn concern(&self, peer: Endpoint) -> bool {
        match self.peers {
            Peers::None => false,
            Peers::One(other) => other == peer,
            Peers::Several => true,
        }
    }

    /// Notes the start of fence `number` of `peer`.
    pub fn fence(&mut self, peer: Endpoint, number: u32) {
        if self.peers == Peers::One(peer) {
            self.fence.get_or_insert(number);
        }
    }

    /// Notes the start of fence `number` of all endpoints.
    pub fn fence_all(&mut self, number: u32) {
        // The fence of the single peer covers its puts.
        if self.peers == Peers::Several {
            self.fence.get_or_insert(number);
        }
    }

    /// Notes the end of fence `number`, answered by all endpoints if it is one of all.
    pub fn answered(&mut self, number: u32) {
        if self.fence == Some(number) {
            *self = Self::new();
        }
    }

    /// Notes that fence `number`, or a part of it, ends without a response.
    pub fn unanswered(&mut self, number: u32) {
        if self.fence == Some(number) {
            self.fence = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskId;

    fn peer(task: u32) -> Endpoint {
        Endpoint {
            client: 0,
            context: 0,
            task: TaskId(task),
        }
    }

    /// Whether puts to two endpoints may be under way.
    fn concern(puts: &PutsUnderWay) -> [bool; 2] {
        [1, 2].map(|task| puts.concern(peer(task)))
    }

    #[test]
    fn fn1_fn2_an_answered_fence_ends_puts_to_one_endpoint() {
        let mut puts = PutsUnderWay::new();
        assert_eq!(concern(&puts), [false; 2]);
        puts.start(peer(1));
        puts.fence(peer(2), 1);
        puts.fence(peer(1), 2);
        assert_eq!(concern(&puts), [true, false]);
        puts.answered(1);
        assert_eq!(concern(&puts), [true, false], "another endpoint's fence");
        puts.start(peer(1));
        puts.answered(2);
        assert_eq!(concern(&puts), [true, false], "a put behind the fence");
        puts.fence(peer(1), 3);
        puts.fence(peer(1), 4);
        puts.answered(3);
        assert_eq!(concern(&puts), [false; 2], "the first of two");
        puts.start(peer(1));
        puts.answered(4);
        assert_eq!(concern(&puts), [true, false], "the second is before it");
    }

    #[test]
    fn fn1_x5_an_unanswered_fence_ends_no_puts() {
        let mut puts = PutsUnderWay::new();
        puts.start(peer(1));
        puts.fence(peer(1), 1);
        puts.unanswered(1);
        // Numbers wrap around.
        puts.answered(1);
        assert_eq!(concern(&puts), [true, false]);
        puts.fence(peer(1), 2);
        puts.answered(2);
        assert_eq!(concern(&puts), [false; 2]);
    }

    #[test]
    fn fn2_fn6_a_fence_of_all_ends_puts_to_several_endpoints() {
        let mut puts = PutsUnderWay::new();
        for task in [1, 3] {
            puts.start(peer(task));
            puts.fence(peer(task), task);
        }
        for task in [1, 3] {
            puts.answered(task);
        }
        assert_eq!(concern(&puts), [true; 2], "which of them is not kept");
        puts.fence_all(4);
        puts.start(peer(1));
        puts.answered(4);
        assert_eq!(concern(&puts), [true; 2], "a put behind its start");
        puts.fence_all(5);
        puts.unanswered(5);
        puts.answered(5);
        assert_eq!(concern(&puts), [true; 2], "one endpoint has not answered");
        puts.fence_all(6);
        puts.answered(6);
        assert_eq!(concern(&puts), [false; 2]);
    }
}
