// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target-side flow contexts whose context has been destroyed (HW-4).

use std::collections::BTreeMap;

use crate::error::Fault;
use crate::flow::registers::{self, End, FlowConfig};
use crate::platform::Platform;
use crate::sync::{Mutex, lock};

/// Flows that end at a context, with the values that opened them.
pub(crate) type Targets = BTreeMap<u8, FlowConfig>;

/// The target-side flow contexts that destroyed contexts of a process have left, by context offset. Peers may
/// go on sending on them, to be refused as by the fixed route, until the next context of that offset inherits
/// them or the client ends.
#[derive(Debug)]
pub(crate) struct OrphanedFlows(Mutex<Option<BTreeMap<u8, Targets>>>);

impl OrphanedFlows {
    /// None.
    pub fn new() -> Self {
        Self(Mutex::new(Some(BTreeMap::new())))
    }

    /// Takes the flows left by the previous context at `offset`.
    pub fn inherit(&self, offset: u8) -> Targets {
        let mut orphaned = lock(&self.0);
        orphaned
            .as_mut()
            .and_then(|orphaned| orphaned.remove(&offset))
            .unwrap_or_default()
    }

    /// Keeps the flows of the context at `offset` for the next one; closes them if the client has ended.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn leave<P: Platform>(
        &self,
        platform: &P,
        offset: u8,
        targets: Targets,
    ) -> Result<(), Fault> {
        if targets.is_empty() {
            return Ok(());
        }
        if let Some(orphaned) = lock(&self.0).as_mut() {
            orphaned.insert(offset, targets);
            return Ok(());
        }
        close(platform, targets)
    }

    /// Closes the kept flows, and keeps none from now on.
    ///
    /// # Errors
    /// The first error of the bus; the others have been closed nevertheless.
    pub fn close<P: Platform>(&self, platform: &P) -> Result<(), Fault> {
        let orphaned = lock(&self.0).take().unwrap_or_default();
        close(platform, orphaned.into_values().flatten())
    }
}

fn close<P: Platform>(
    platform: &P,
    targets: impl IntoIterator<Item = (u8, FlowConfig)>,
) -> Result<(), Fault> {
    let mut outcome = Ok(());
    for (flow, _) in targets {
        let closed = registers::close(platform, End::Target, flow);
        outcome = outcome.and(closed.map(drop));
    }
    outcome
}
