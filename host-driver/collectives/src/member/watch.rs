//! Members that do not agree on the collective network (EP-4, HW-5) or in the memory of nodes: packets of the network
//! carry no signature, a barrier none at all, and memory is looked at for what is expected there, so that each would
//! wait for the others. A member that has waited long tells them what for; they compare. So does one that waits for
//! messages that a neighbour puts into memory.

use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::{Context, Platform};

use super::state::States;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};

/// Time between two looks, picoseconds: far more than a collective takes when all have begun it.
const LOOK_PS: u64 = 1_000_000_000;

/// The alarm at which a context looks at what waits.
#[derive(Debug, Default)]
pub(super) struct Watch {
    armed: AtomicBool,
}

impl Watch {
    /// Has `look` called later, once: not at all if a call is due.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn arm<P: Platform>(
        &self,
        context: &Context<P>,
        look: impl FnOnce(&Context<P>) + Send + 'static,
    ) -> Result<(), Error> {
        if self.armed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let at = context.platform().now_ps().saturating_add(LOOK_PS);
        Ok(context.call_at(at, Box::new(look))?)
    }

    /// Notes that the call has come.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

/// A member that has waited long: what it tells, and whom.
pub(super) struct Waiting {
    pub geometry: Geometry,
    pub header: Header,
    /// Ranks, its own perhaps among them.
    pub others: Vec<u32>,
}

/// Looks at what is under way. Returns the collectives that have waited since the look before, and whether some are to
/// be looked at again.
pub(super) fn look<P: Platform>(states: &States<P>) -> (Vec<Waiting>, bool) {
    let mut waiting = Vec::new();
    let mut more = false;
    states.each(|number, state| {
        let Some((geometry, rank)) = &state.joined else {
            return;
        };
        for (&sequence, operation) in &mut state.running {
            let silent = operation.signature.is_silent();
            if !silent && !state.neighbours.sharing().some {
                continue;
            }
            operation.looks += 1;
            more |= operation.looks < 2;
            if operation.looks == 2 {
                let signature = operation.signature;
                waiting.push(Waiting {
                    geometry: geometry.clone(),
                    header: Header::control(number, sequence, *rank, signature, Form::Waits),
                    // Messages tell the others what they are about; neighbours do not wait for them.
                    others: match silent {
                        true => (0..geometry.endpoints().len() as u32).collect(),
                        false => state.neighbours.here(*rank).to_vec(),
                    },
                });
            }
        }
    });
    (waiting, more)
}
