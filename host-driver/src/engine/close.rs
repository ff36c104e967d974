//! The end of a context: its resources of the node are given back.

use super::Engine;
use crate::error::Fault;
use crate::platform::Platform;
use crate::sync::lock;
use crate::transport::registers;
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Gives the resources back. What has not finished, `posted` instructions besides, is given up: its done
    /// callbacks are left to the interface. Memory that the DMA engine or a peer may still write is leaked rather
    /// than given to somebody else.
    ///
    /// # Errors
    /// [`Error::WorkLeft`](crate::Error::WorkLeft) when something was given up; those of the node. The context is
    /// closed all the same.
    pub fn close(&mut self, posted: usize, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let (_, mut outcome) = self.io.lanes.poll(&mut self.io.completed);
        outcome = outcome.and(self.run_completions(up));
        let left = self.left(lock(&self.core.cookies).len());
        outcome = outcome.and(match (posted, left) {
            (0, None) => Ok(()),
            (posted, left) => Err(left.unwrap_or_default().error(posted).into()),
        });
        let closed = self.close_resources(left.is_some());
        self.assemblies.clear();
        self.kept.clear();
        self.gets.close();
        self.fences.close();
        lock(&self.core.cookies).leak_all();
        closed.and(outcome)
    }

    /// Disables FIFOs and wake-ups; `in_use`: the DMA engine may still use their memory.
    fn close_resources(&mut self, in_use: bool) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut node = registers::node(platform)?;
        let mut outcome = registers::write(platform, registers::wake_mask(core.info.wake_group), 0);
        self.refusals.forget_table();
        if let Some(table) = self.table.take() {
            let index = core.layout.index_here(core.offset());
            outcome = outcome.and(table.withdraw(platform, index).map_err(Fault::from));
        }
        if let Some(inbox) = self.inbox.take() {
            outcome = outcome.and(inbox.close(platform));
        }
        outcome = outcome.and(self.io.close(&mut node));
        outcome = outcome.and(self.collnet.close(platform, &mut node));
        let remote_get = self.remote_get.close(&mut node, in_use);
        let reception = self.reception.close(&mut node, in_use);
        outcome.and(remote_get).and(reception)
    }
}
