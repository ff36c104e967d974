// SPDX-License-Identifier: MIT OR Apache-2.0
//! The place of the collective network at a DMA engine: what is injected on a class route comes out, packet by
//! packet, at the engine that the route leads to; a route that leads nowhere takes nothing more.

use std::collections::VecDeque;

use crate::Unit;
use crate::packet::{Assembler, CLASSES, Flit};

/// Class routes.
pub const ROUTES: usize = 16;

/// A node's part in a class route: `coll_route_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The route is in use.
    pub valid: bool,
    /// The node contributes and receives.
    pub member: bool,
    /// Owner of the FIFOs that may use it.
    pub owner: u8,
}

ports! {
    /// Ports of an engine to the collective network.
    pub(crate) struct Ports {
        route: "coll_route_i", inj_valid: "coll_inj_valid_o", inj_route: "coll_inj_route_o",
        inj_ctl: "coll_inj_ctl_o", inj_data: "coll_inj_data_o", inj_credit: "coll_inj_credit_i",
        ej_valid: "coll_ej_valid_i", ej_ready: "coll_ej_ready_o", ej_ctl: "coll_ej_ctl_i", ej_data: "coll_ej_data_i",
    }
}

impl Ports {
    /// Sets an engine's part in every class route.
    pub(crate) fn configure(&self, unit: &mut Unit, routes: &[Route; ROUTES]) {
        let mut words = [0; 5];
        for (index, route) in routes.iter().enumerate() {
            // coll_route_t from bit 0: valid, parent, child0, child1, member, owner[4].
            let bits =
                u64::from(route.valid) | u64::from(route.member) << 4 | u64::from(route.owner) << 5;
            let (word, shift) = (index * 9 / 32, index * 9 % 32);
            let bits = bits << shift;
            words[word] |= bits as u32;
            if bits >> 32 != 0 {
                words[word + 1] |= (bits >> 32) as u32;
            }
        }
        unit.set_wide(self.route, 0, &words);
    }
}

/// Wires between an engine and the collective network.
#[derive(Default)]
pub(crate) struct Attachment {
    injected: [VecDeque<Flit>; ROUTES],
    assembler: Assembler,
    arriving: [VecDeque<Flit>; CLASSES],
    /// Credits not given back yet.
    owed: [usize; ROUTES],
}

impl Attachment {
    /// The oldest whole packet of a route.
    pub(crate) fn take_packet(&mut self, route: usize) -> Option<Vec<Flit>> {
        let queue = &mut self.injected[route];
        let flits = queue.iter().position(|flit| flit.tail)? + 1;
        self.owed[route] += flits;
        Some(queue.drain(..flits).collect())
    }

    /// Lets flits arrive.
    pub(crate) fn deliver(&mut self, class: usize, flits: &[Flit]) {
        self.arriving[class].extend(flits);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.injected.iter().all(VecDeque::is_empty)
            && self.arriving.iter().all(VecDeque::is_empty)
            && self.owed == [0; ROUTES]
    }

    /// Sets the engine's inputs for a cycle.
    pub(crate) fn drive(&mut self, unit: &mut Unit, ports: &Ports, flit_bytes: usize) {
        let mut credits = 0;
        for (route, owed) in self.owed.iter_mut().enumerate().filter(|(_, n)| **n != 0) {
            *owed -= 1;
            credits |= 1 << route;
        }
        unit.set(ports.inj_credit, 0, credits);
        let mut valid = 0;
        for (class, queue) in self.arriving.iter().enumerate() {
            if let Some(flit) = queue.front() {
                valid |= 1 << class;
                unit.set(ports.ej_ctl, class, flit.ctl());
                unit.set_wide(ports.ej_data, class, &flit.data[..flit_bytes / 4]);
            }
        }
        unit.set(ports.ej_valid, 0, valid);
    }

    /// Takes the engine's outputs of a cycle. Returns their fault, if any; `check` judges a
    /// packet by its bytes and class.
    pub(crate) fn take(
        &mut self,
        unit: &Unit,
        ports: &Ports,
        flit_bytes: usize,
        depth: usize,
        check: impl Fn(&[u8], usize) -> Option<String>,
    ) -> Option<String> {
        let ready = unit.get(ports.ej_ready, 0);
        for (class, queue) in self.arriving.iter_mut().enumerate() {
            if ready >> class & 1 != 0 {
                queue.pop_front();
            }
        }
        if unit.get(ports.inj_valid, 0) == 0 {
            return None;
        }
        let route = unit.get(ports.inj_route, 0) as usize;
        let ctl = unit.get(ports.inj_ctl, 0);
        let flit = Flit::from_ctl(ctl, &unit.get_wide(ports.inj_data, 0));
        self.injected[route].push_back(flit);
        if self.injected[route].len() + self.owed[route] > depth {
            return Some(format!("class route {route}: flit without credit"));
        }
        match self.assembler.push(&flit, flit_bytes) {
            Ok(None) => None,
            Err(error) => Some(format!("class route {route}: {error}")),
            Ok(Some(packet)) => {
                // Class: header bits 31:30. Hint: header bits 87:78, of which the low four are the route.
                let bytes = &packet.bytes;
                let named = usize::from(bytes[9] >> 6) | usize::from(bytes[10] & 3) << 2;
                if named == route {
                    check(bytes, usize::from(bytes[3] >> 6))
                } else {
                    Some(format!("packet of class route {named} on {route}"))
                }
            }
        }
    }
}
