//! The routes of the collective network as a context takes them (HW-5, HW-9).

use gyre_firmware::RoutePart;

use crate::api::context::Context;
use crate::collnet::routes::{self, NodeNumbers, TreeChoice, TreeRoutes, TreeShare};
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::Arc;

impl<P: Platform> Context<P> {
    /// How the nodes are numbered.
    ///
    /// # Errors
    /// [`Error::Bus`].
    pub fn node_numbers(&self) -> Result<NodeNumbers, Error> {
        routes::node_numbers(self.platform())
    }

    /// What is free at this node, for a member of the routes or for a node on their way.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::Bus`], [`Error::SetUp`].
    pub fn tree_share(&self, member: bool) -> Result<TreeShare, Error> {
        routes::share(self.platform(), member)
    }

    /// Takes this node's `part` of the routes of `choice`. `None`: something of it is not free.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::Alloc`], [`Error::Bus`], [`Error::SetUp`].
    pub fn take_tree_routes(
        &self,
        choice: &TreeChoice,
        part: &RoutePart,
    ) -> Result<Option<Arc<TreeRoutes<P>>>, Error> {
        let owner = self.core().layout.config.resources.owner;
        routes::take(self.platform(), owner, choice, part)
    }
}
