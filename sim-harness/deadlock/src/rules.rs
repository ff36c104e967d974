// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of a network configuration, and faults that break them on purpose.

use std::str::FromStr;

use crate::torus::MAX_DIMS;

/// A rule that is broken on purpose, to see the check refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All packets of a ring use one virtual channel.
    Dateline,
    /// Every other node has the reverse dimension order.
    Order,
    /// Responses travel in the virtual channels of requests.
    Classes,
    /// A packet enters a dynamic virtual channel that has no room for all of it.
    CutThrough,
    /// Packets of the dynamic virtual channels never take a deterministic one.
    Escape,
    /// Packets of an ordered-dynamic flow have no places reserved where they are put in order: as many may be under way as
    /// the network holds.
    Reordering,
    /// All class routes share one virtual channel of the tree's links.
    TreeRoutes,
    /// Packets down the tree share the virtual channels of those up.
    TreeChannels,
    /// The tree starts a packet without room for all of it.
    TreeCutThrough,
    /// All class routes of a node share an injection FIFO, which members fill in orders of their own.
    TreeFifo,
}

impl Fault {
    /// All of them, with the names they have on the command line.
    pub const ALL: [(&'static str, Self); 10] = [
        ("dateline", Self::Dateline),
        ("order", Self::Order),
        ("classes", Self::Classes),
        ("cut-through", Self::CutThrough),
        ("escape", Self::Escape),
        ("reordering", Self::Reordering),
        ("tree-routes", Self::TreeRoutes),
        ("tree-channels", Self::TreeChannels),
        ("tree-cut-through", Self::TreeCutThrough),
        ("tree-fifo", Self::TreeFifo),
    ];
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|&(_, fault)| fault).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("expected one of {names}")
        })
    }
}

/// The network's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Programmed dimension order: which dimension is routed first, second...
    pub order: [usize; MAX_DIMS],
    /// The rule that does not hold.
    pub fault: Option<Fault>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            order: std::array::from_fn(|d| d),
            fault: None,
        }
    }
}

impl Rules {
    /// The default order with a rule broken.
    pub fn broken(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }

    /// Whether `fault` is in.
    pub fn breaks(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Dimension order of a node.
    pub fn order_at(&self, node: usize) -> [usize; MAX_DIMS] {
        let mut order = self.order;
        if self.breaks(Fault::Order) && node % 2 == 1 {
            order.reverse();
        }
        order
    }
}
