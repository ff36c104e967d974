// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of disagreement on the collective network (EP-4, HW-5) and in shared memory. Neither carries signatures,
//! so disagreeing members would wait for each other forever. A member that has waited long sends its signature to the
//! others, which compare. The same serves a member that waits for a message while a neighbour writes to memory.

use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::{Context, Platform};

use super::state::States;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};

/// Period of the check, picoseconds: far longer than a collective that all members have begun.
const LOOK_PS: u64 = 1_000_000_000;

/// Alarm for the check of waiting collectives.
#[derive(Debug, Default)]
pub(super) struct Watch {
    armed: AtomicBool,
}

impl Watch {
    /// Schedules one call of `look`, unless one is due.
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

    /// Marks the call as done.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

/// Message of a member that has waited long, and its destinations.
pub(super) struct Waiting {
    pub geometry: Geometry,
    pub header: Header,
    /// Ranks; may include the member's own.
    pub others: Vec<u32>,
}

/// Checks the collectives under way. Returns those that have waited since the last check, and whether another check
/// is needed.
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
                    // Messages carry signatures, so only collectives without messages need the check.
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
