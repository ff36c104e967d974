//! Steps of schedules in the memory of the member's node.

use std::rc::Rc;

use gyre_driver::{Context, Platform};

use super::{Shared, Team};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::node::{MemoryPlan, Neighbours, NodeMemory};

/// A collective whose turn it is in memory, and those of its steps that have waited for that.
pub(super) type Turn = Option<(u32, Vec<usize>)>;

impl<P: Platform> Shared<P> {
    /// The memory of the member's node, opened if the collective is the first that uses it.
    pub(super) fn open_memory(
        &self,
        context: &Context<P>,
        (geometry, rank): (&Geometry, u32),
        neighbours: &Neighbours,
        sequence: u32,
    ) -> Result<Option<Rc<NodeMemory<P>>>, Error> {
        let number = geometry.number();
        let known = self.memory(number);
        if known.is_some() {
            return Ok(known);
        }
        let (ranks, own) = (neighbours.here(rank), neighbours.number(rank));
        let memory = Rc::new(NodeMemory::open(context, geometry, ranks, own, sequence)?);
        if let Some(team) = self.teams.borrow_mut().get_mut(&number) {
            team.memory = Some(Rc::clone(&memory));
        }
        Ok(Some(memory))
    }

    fn memory(&self, number: u16) -> Option<Rc<NodeMemory<P>>> {
        self.teams.borrow().get(&number)?.memory.clone()
    }

    /// Looks whether the steps that wait for others can be carried out; says whether some could.
    pub(super) fn look_in_memory(self: &Rc<Self>, context: &Context<P>) -> bool {
        let numbers: Vec<u16> = {
            let teams = self.teams.borrow();
            let waits = |team: &Team<P>| team.memory.as_ref().is_some_and(|m| m.waits());
            let teams = teams.iter().filter(|(_, team)| waits(team));
            teams.map(|(&number, _)| number).collect()
        };
        let mut found = false;
        for number in numbers {
            let taken = self.memory(number).and_then(|memory| memory.take_waiting());
            let Some((sequence, steps)) = taken else {
                continue;
            };
            let key = (number, sequence);
            for step in steps {
                let ended = self.step(context, key, step);
                let waits = matches!(ended, Ok(false));
                found |= !waits;
                let ended = ended.map(|ended| ended.then_some(step));
                self.conclude(context, key, ended);
            }
        }
        found
    }

    /// A collective has ended: gives the one whose turn it is in memory.
    pub(super) fn end_in_memory(
        self: &Rc<Self>,
        context: &Context<P>,
        (number, sequence): (u16, u32),
        plan: &MemoryPlan,
    ) -> Result<Turn, Error> {
        let Some(memory) = self.memory(number).filter(|_| plan.used) else {
            return Ok(None);
        };
        let turn = memory.end(context.platform(), sequence, plan)?;
        self.pass_left(context, number);
        Ok(turn)
    }

    /// A collective has been given up, here or by others: gives the one whose turn it is in memory. What fails here
    /// besides changes nothing: the collective has ended with an error.
    pub(super) fn give_up_in_memory(
        &self,
        context: &Context<P>,
        (number, sequence): (u16, u32),
    ) -> Turn {
        let memory = self.memory(number)?;
        let left = memory.give_up(context.platform(), sequence);
        self.pass_left(context, number);
        left.unwrap_or_default()
    }

    /// Tells neighbours of collectives that were given up, as far as those before them have ended. One that cannot
    /// be told finds out when it waits.
    pub(super) fn pass_left(&self, context: &Context<P>, number: u16) {
        let (memory, next) = {
            let teams = self.teams.borrow();
            let Some(team) = teams.get(&number) else {
                return;
            };
            (team.memory.clone(), team.next)
        };
        if let Some(memory) = memory {
            let _ = memory.pass_left(context.platform(), next);
        }
    }

    /// Carries out the steps of a collective whose turn has come in memory.
    pub(super) fn take_turn(self: &Rc<Self>, context: &Context<P>, number: u16, turn: Turn) {
        if let Some((sequence, steps)) = turn {
            self.run(context, (number, sequence), steps);
        }
    }
}
