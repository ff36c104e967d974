// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routes of the collective network as a context takes them (HW-5, HW-9).

use gyre_firmware::RoutePart;

use crate::api::context::Context;
use crate::collnet::routes::{self, CollnetChoice, CollnetRoutes, CollnetShare, NodeNumbers};
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::Arc;

impl<P: Platform> Context<P> {
    /// Numbering of the nodes.
    ///
    /// # Errors
    /// [`Error::Bus`].
    pub fn node_numbers(&self) -> Result<NodeNumbers, Error> {
        routes::node_numbers(self.platform())
    }

    /// Free resources of this node, for a member of the routes or for a node on their path.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::Bus`], [`Error::SetUp`].
    pub fn collnet_share(&self, member: bool) -> Result<CollnetShare, Error> {
        routes::share(self.platform(), member)
    }

    /// Takes this node's `part` of the routes of `choice`. `None`: a part of it is not free.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::Alloc`], [`Error::Bus`], [`Error::SetUp`].
    pub fn take_collnet_routes(
        &self,
        choice: &CollnetChoice,
        part: &RoutePart,
    ) -> Result<Option<Arc<CollnetRoutes<P>>>, Error> {
        let owner = self.core().layout.config.resources.owner;
        routes::take(self.platform(), owner, choice, part)
    }
}
