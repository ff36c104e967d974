// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reset to traffic and back: bring-up, drain, soft reset.

use gyre_layout::registers::node::{ctrl, status};

use crate::access::RegisterAccess;
use crate::error::NodeError;
use crate::network::NetworkConfig;
use crate::node::{CTRL, Node, STATUS};
use crate::self_test::SelfTest;

impl<A: RegisterAccess> Node<A> {
    /// Self-test, place in the network, links of torus and tree up, DMA engine on. The neighbours must be brought up at the
    /// same time: `polls` reads of each link status is how long this node waits for them. FIFOs and slots
    /// are set up afterwards, with the `open_` and `grant_` functions.
    ///
    /// # Errors
    /// Errors of its steps.
    pub fn bring_up(
        &mut self,
        network: &NetworkConfig,
        self_test: SelfTest,
        polls: u32,
    ) -> Result<(), NodeError<A::Error>> {
        if self_test == SelfTest::Run {
            self.self_test()?;
        }
        self.configure_network(network)?;
        self.enable_links(network)?;
        self.enable_tree(network)?;
        self.await_links(network, polls)?;
        self.await_tree(network, polls)?;
        self.enable_dma()
    }

    /// Lets the DMA engine start descriptors and serve packets.
    ///
    /// # Errors
    /// [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn enable_dma(&mut self) -> Result<(), NodeError<A::Error>> {
        self.write_checked(CTRL, ctrl::DMA_ENABLE.put(1), u64::MAX)
    }

    /// Starts no new descriptor and waits until those that run have left the node, with at most `polls`
    /// reads of STATUS. Packets are still received. [`Node::enable_dma`] ends the drain.
    ///
    /// # Errors
    /// [`NodeError::NotInTime`], [`NodeError::Access`].
    pub fn drain(&mut self, polls: u32) -> Result<(), NodeError<A::Error>> {
        self.write(CTRL, ctrl::DMA_ENABLE.put(1) | ctrl::DRAIN.put(1))?;
        let drained = status::DRAINED.put(1);
        self.poll(STATUS, drained, drained, polls)
    }

    /// Resets DMA engine and network and waits until that is over, with at most `polls` reads of CTRL.
    /// The links go down, FIFOs and slots are disabled; place and shape are kept. Bring the node up
    /// again with [`Node::bring_up`]. Without a [`Node::drain`] before, packets under way are lost.
    ///
    /// # Errors
    /// [`NodeError::NotInTime`], [`NodeError::Access`].
    pub fn soft_reset(&mut self, polls: u32) -> Result<(), NodeError<A::Error>> {
        self.write(CTRL, ctrl::SOFT_RESET.put(1))?;
        self.poll(CTRL, 0, ctrl::SOFT_RESET.mask(), polls)
    }
}
