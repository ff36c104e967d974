//! Members that do not agree on the tree (EP-4, HW-5): its packets carry no signature, and a barrier none at all, so
//! that each would wait for the others. Who has waited long tells them what for; they compare.

use std::rc::Rc;

use gyre_driver::{Context, Platform};

use super::Shared;
use super::run::gave_up;
use crate::error::Error;
use crate::header::{Form, Header, Signature};

/// Time between two looks, picoseconds: far more than a collective takes when all have begun it.
const LOOK_PS: u64 = 1_000_000_000;
/// Ended collectives of a geometry whose signatures are known.
const REMEMBERED: usize = 16;

impl<P: Platform> Shared<P> {
    /// Looks later at what is on the tree now.
    pub(super) fn watch(self: &Rc<Self>, context: &Context<P>) -> Result<(), Error> {
        if self.watching.replace(true) {
            return Ok(());
        }
        let shared = Rc::clone(self);
        let at = context.platform().now_ps().saturating_add(LOOK_PS);
        Ok(context.call_at(at, Box::new(move |context| shared.look(context)))?)
    }

    /// Tells the others of what has been on the tree since the last look.
    fn look(self: &Rc<Self>, context: &Context<P>) {
        self.watching.set(false);
        let mut waiting = Vec::new();
        let mut more = false;
        for (&number, team) in self.teams.borrow_mut().iter_mut() {
            let Some((geometry, rank)) = &team.joined else {
                continue;
            };
            for (&sequence, operation) in &mut team.running {
                if !operation.signature.is_on_tree() {
                    continue;
                }
                operation.looks += 1;
                more |= operation.looks < 2;
                if operation.looks == 2 {
                    let header = Header {
                        geometry: number,
                        sequence,
                        from: *rank,
                        tag: 0,
                        signature: operation.signature,
                        length: 0,
                        form: Form::Waits,
                    };
                    waiting.push((geometry.clone(), header));
                }
            }
        }
        for (geometry, header) in waiting {
            for (other, &to) in (0..).zip(geometry.endpoints()) {
                let told = match other == header.from {
                    true => Ok(()),
                    false => self.message(context, to, &header, &[]),
                };
                if let Err(error) = told {
                    self.give_up(context, (header.geometry, header.sequence), error);
                    break;
                }
            }
        }
        if more {
            // A context that is being destroyed watches no more.
            let _ = self.watch(context);
        }
    }

    /// How another member waits for something else on the tree.
    pub(super) fn disagrees(&self, header: &Header) -> Option<Error> {
        let teams = self.teams.borrow();
        let team = teams.get(&header.geometry)?;
        let (geometry, _) = team.joined.as_ref()?;
        let operation = team.running.get(&header.sequence)?;
        operation.disagrees(geometry, header)
    }

    /// Remembers a collective of the tree that has ended here, for those that still wait.
    pub(super) fn ended_on_tree(&self, (number, sequence): (u16, u32), signature: Signature) {
        if !signature.is_on_tree() {
            return;
        }
        if let Some(team) = self.teams.borrow_mut().get_mut(&number) {
            team.on_tree.insert(sequence, signature);
            if team.on_tree.len() > REMEMBERED {
                team.on_tree.pop_first();
            }
        }
    }

    /// Gives up what is under way on the routes of a geometry: they hold what a failed collective has left.
    pub(super) fn abandon_tree(self: &Rc<Self>, context: &Context<P>, number: u16) {
        let Some((geometry, rank)) = self.joined(number) else {
            return;
        };
        let sequences: Vec<u32> = {
            let mut teams = self.teams.borrow_mut();
            let Some(team) = teams.get_mut(&number) else {
                return;
            };
            if core::mem::replace(&mut team.hardware.broken, true) {
                return;
            }
            let on_tree = team.running.iter();
            let on_tree = on_tree.filter(|(_, operation)| operation.signature.is_on_tree());
            on_tree.map(|(&sequence, _)| sequence).collect()
        };
        for sequence in sequences {
            let error = gave_up(geometry.name().into(), sequence, rank);
            self.give_up(context, (number, sequence), error);
        }
    }
}
