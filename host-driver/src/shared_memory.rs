//! What the processes of a client on one node tell each other in the node's shared memory (HW-7).
//!
//! * The endpoint table, one segment for each client: which contexts are open on the node, with their
//!   resources. All processes read it; a context writes its entry when it is created and destroyed.
//! * A ring of packets for each context, a segment of its own, when the client's messages on the node go
//!   through shared memory. Any context of the node writes to it, under the segment's lock; its context
//!   alone reads it, without.

mod lane;
mod ring;
mod table;

pub(crate) use lane::{Message, SharedLane};
pub(crate) use ring::Inbox;
pub(crate) use table::EndpointTable;

use crate::client::Plan;
use crate::context::ContextInfo;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::Arc;

/// The way of a context's messages on its node.
pub(crate) struct SharedPath<P: Platform> {
    /// To the others.
    pub lane: SharedLane<P>,
    /// From them.
    pub inbox: Inbox<P>,
}

impl<P: Platform> SharedPath<P> {
    /// Opens the ring of the context `info`.
    ///
    /// # Errors
    /// [`Error::Segment`].
    pub fn open(
        platform: &P,
        plan: &Arc<Plan>,
        table: &Arc<EndpointTable<P>>,
        info: &ContextInfo,
    ) -> Result<Self, Error> {
        let index = plan.index_here(info.endpoint.context);
        let size = plan.config.resources.shared_ring;
        let fifo = info.reception_fifo;
        Ok(Self {
            lane: SharedLane::new(plan, table, info.wake_group),
            inbox: Inbox::open(platform, plan.config.id, index, fifo, size)?,
        })
    }
}

/// Number of a segment: the endpoint table of a client is its part 0, the ring of context `n` of the
/// client's on the node its part `1 + n`.
fn segment_number(client: u8, part: u16) -> u32 {
    u32::from(client) << 16 | u32::from(part)
}
