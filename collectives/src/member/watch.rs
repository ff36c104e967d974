//! Members that do not agree on the tree (EP-4, HW-5) or in the memory of nodes: packets of the tree carry no
//! signature, a barrier none at all, and memory is looked at for what is expected there, so that each would wait
//! for the others. Who has waited long tells them what for; they compare. So does who waits for messages that a
//! neighbour puts into memory.

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
    /// Looks later at what is on the tree, or in memory, now.
    pub(super) fn watch(self: &Rc<Self>, context: &Context<P>) -> Result<(), Error> {
        if self.watching.replace(true) {
            return Ok(());
        }
        let shared = Rc::clone(self);
        let at = context.platform().now_ps().saturating_add(LOOK_PS);
        Ok(context.call_at(at, Box::new(move |context| shared.look(context)))?)
    }

    /// Tells the others of what has been there since the last look.
    fn look(self: &Rc<Self>, context: &Context<P>) {
        self.watching.set(false);
        let mut waiting = Vec::new();
        let mut more = false;
        for (&number, team) in self.teams.borrow_mut().iter_mut() {
            let Some((geometry, rank)) = &team.joined else {
                continue;
            };
            for (&sequence, operation) in &mut team.running {
                let silent = operation.signature.is_silent();
                if !silent && !team.neighbours.sharing().some {
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
                    // Messages tell the others what they are about; neighbours do not wait for them.
                    let to: Vec<u32> = match silent {
                        true => (0..geometry.endpoints().len() as u32).collect(),
                        false => team.neighbours.here(*rank).to_vec(),
                    };
                    waiting.push((geometry.clone(), header, to));
                }
            }
        }
        for (geometry, header, others) in waiting {
            for other in others {
                let to = geometry.endpoints()[other as usize];
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

    /// How another member waits for something else.
    pub(super) fn disagrees(&self, header: &Header) -> Option<Error> {
        let teams = self.teams.borrow();
        let team = teams.get(&header.geometry)?;
        let (geometry, _) = team.joined.as_ref()?;
        let operation = team.running.get(&header.sequence)?;
        operation.disagrees(geometry, header)
    }

    /// Remembers a collective that has ended here, for those that still wait.
    pub(super) fn remember(&self, (number, sequence): (u16, u32), signature: Signature) {
        if let Some(team) = self.teams.borrow_mut().get_mut(&number) {
            team.ended.insert(sequence, signature);
            if team.ended.len() > REMEMBERED {
                team.ended.pop_first();
            }
        }
    }

    /// Whether a collective that has ended here and in which another member waits is one of the tree at either.
    pub(super) fn is_of_tree(&self, header: &Header) -> bool {
        let teams = self.teams.borrow();
        let team = teams.get(&header.geometry);
        let ended = team.and_then(|team| team.ended.get(&header.sequence));
        ended
            .into_iter()
            .chain([&header.signature])
            .any(Signature::is_on_tree)
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
