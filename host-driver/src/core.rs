//! What the threads of a context share: its place in the machine, and the operations that wait for an
//! acknowledgement.

use gyre_layout::Coord;
use gyre_note::{Context, Note};

use crate::ack::cookie::{CookieTable, Pending};
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::layout::{ClientLayout, ContextInfo};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock};
use crate::task::{Destination, TaskId, TaskLocation};

/// The part of a context that posting threads and the engine both see.
pub(crate) struct Core<P: Platform> {
    pub platform: P,
    pub layout: Arc<ClientLayout>,
    pub info: ContextInfo,
    /// Operations that wait for an acknowledgement.
    pub cookies: Mutex<CookieTable<P>>,
    /// A wait ended by a wake-up that no poll has followed yet.
    pub woken: AtomicBool,
    /// Nothing is under way: what a turn of `advance` does is to look for packets. Set by the thread that
    /// advances, under the lock of `cookies`; cleared by whoever begins something.
    at_rest: AtomicBool,
}

impl<P: Platform> Core<P> {
    pub fn new(platform: P, layout: Arc<ClientLayout>, info: ContextInfo) -> Self {
        Self {
            platform,
            layout,
            info,
            cookies: Mutex::new(CookieTable::new()),
            woken: AtomicBool::new(true),
            at_rest: AtomicBool::new(true),
        }
    }

    /// Tells the platform what has happened in this context.
    #[inline(always)]
    pub fn note(&self, note: impl FnOnce(Context) -> Note) {
        self.platform.note(note(self.info.endpoint.into()));
    }

    /// Node of the context.
    pub fn node(&self) -> Coord {
        self.layout.location.node
    }

    /// Offset of the context in its client.
    pub fn offset(&self) -> u8 {
        self.info.endpoint.context
    }

    /// Where an endpoint is.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    #[inline]
    pub fn place(&self, peer: Endpoint) -> Result<TaskLocation, Error> {
        self.layout.config.tasks.place(peer.task, peer.context)
    }

    /// Where an endpoint is, as descriptors name it.
    ///
    /// # Errors
    /// As [`place`](Self::place).
    #[inline]
    pub fn destination(&self, peer: Endpoint) -> Result<Destination, Fault> {
        self.layout
            .config
            .tasks
            .destination(peer.task, peer.context)
    }

    /// The endpoint of this client at context offset `context` of `task`, unchecked.
    pub fn peer(&self, task: TaskId, context: u8) -> Endpoint {
        Endpoint {
            client: self.info.endpoint.client,
            context,
            task,
        }
    }

    /// Whether nothing is under way, apart from what has been posted.
    pub fn rests(&self) -> bool {
        self.at_rest.load(Ordering::Acquire)
    }

    /// Something begins.
    pub fn leave_rest(&self) {
        self.at_rest.store(false, Ordering::Release);
    }

    /// Rests from now on if `nothing` is under way, operations that wait for an acknowledgement counted; says
    /// whether it does.
    pub fn come_to_rest(&self, nothing: impl FnOnce(usize) -> bool) -> bool {
        // Nobody expects another acknowledgement meanwhile.
        let cookies = lock(&self.cookies);
        let nothing = nothing(cookies.len());
        self.at_rest.store(nothing, Ordering::Release);
        nothing
    }

    /// Remembers what waits for an acknowledgement, and returns its cookie.
    pub fn remember(&self, pending: Pending<P>) -> u32 {
        let mut cookies = lock(&self.cookies);
        self.leave_rest();
        cookies.insert(pending)
    }
}
