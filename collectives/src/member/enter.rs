//! Steps of schedules that enter the tree of the collective network, in the order of the collectives (HW-5).

use std::rc::Rc;
use std::sync::Arc;

use gyre_driver::{
    BufferRange, CollOp, CollType, Context, DoneFn, Instruction, Platform, TreeTransfer,
};

use super::Shared;
use crate::error::Error;
use crate::hardware::{Step, tree_operation};
use crate::header::Signature;
use crate::request::Collective;
use crate::schedule::{Action, Slice};

/// Makes what enters the tree, given its done callback.
type OnTree<P> = Box<dyn FnOnce(DoneFn<P>) -> Instruction<P>>;

impl<P: Platform> Shared<P> {
    /// Enters the tree with the steps whose turn has come.
    pub(super) fn enter_tree(
        self: &Rc<Self>,
        context: &Context<P>,
        number: u16,
    ) -> Result<(), Error> {
        while let Some((instruction, key)) = self.next_on_tree(context, number)? {
            self.watch(context)?;
            let (sequence, step) = key;
            let shared = Rc::clone(self);
            let done: DoneFn<P> = Box::new(move |context, result| {
                let ended = result.map(|()| Some(step)).map_err(Error::from);
                shared.conclude(context, (number, sequence), ended);
            });
            context.post(instruction(done))?;
        }
        Ok(())
    }

    /// The next step that enters the tree: what it posts, given its done callback.
    fn next_on_tree(
        &self,
        context: &Context<P>,
        number: u16,
    ) -> Result<Option<(OnTree<P>, Step)>, Error> {
        let mut teams = self.teams.borrow_mut();
        let Some(team) = teams.get_mut(&number) else {
            return Ok(None);
        };
        let Some((sequence, step)) = team.hardware.order.next() else {
            return Ok(None);
        };
        let (Some((geometry, _)), Some(routes), Some(operation)) = (
            &team.joined,
            &team.hardware.routes,
            team.running.get(&sequence),
        ) else {
            return Err(gyre_driver::Error::Destroyed.into());
        };
        let routes = Arc::clone(routes);
        let instruction: OnTree<P> = match operation.action(step) {
            Action::TreeTransfer { from, into, to } => {
                let range = |slice: Option<Slice>| slice.map(|s| operation.range(s)).transpose();
                let (from, into) = (range(from)?, range(into)?);
                let bytes = [&from, &into].into_iter().flatten().map(BufferRange::len);
                let bytes = bytes.max().unwrap_or(0);
                let Signature {
                    collective,
                    op,
                    data,
                    ..
                } = operation.signature;
                let broadcast = (CollOp::Broadcast, CollType::U32);
                let (op, data) = match collective {
                    Collective::Broadcast => broadcast,
                    // A condition of the algorithm.
                    _ => tree_operation(op, data).unwrap_or(broadcast),
                };
                let node = |to: u32| {
                    let task = geometry.tasks()[to as usize];
                    context.tasks().location(task).map(|at| at.node)
                };
                let to = to.map(node).transpose()?;
                Box::new(move |done| {
                    Instruction::TreeTransfer(TreeTransfer {
                        routes,
                        op,
                        data,
                        bytes,
                        from,
                        into,
                        to,
                        done: Some(done),
                    })
                })
            }
            _ => Box::new(move |done| Instruction::TreeBarrier {
                routes,
                done: Some(done),
            }),
        };
        Ok(Some((instruction, (sequence, step))))
    }
}
