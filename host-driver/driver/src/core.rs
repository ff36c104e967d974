// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that the threads of a context share: its place in the machine, and the operations that wait for an
//! acknowledgement.

use gyre_layout::Coord;
use gyre_note::{Context, Note};

use crate::ack::cookie::{CookieTable, Pending};
use crate::attention::Attention;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::layout::{ClientLayout, ContextInfo};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicU32, Mutex, Ordering, lock};
use crate::task::{Destination, TaskId, TaskLocation};

/// Something is under way.
const BUSY: u32 = 0;
/// The advancing thread tests whether anything is under way.
const COMING_TO_REST: u32 = 1;
/// Nothing is under way: a turn of `advance` only looks for packets.
const AT_REST: u32 = 2;

/// The part of a context that posting threads and the engine both see.
pub(crate) struct Core<P: Platform> {
    pub platform: P,
    pub layout: Arc<ClientLayout>,
    pub info: ContextInfo,
    /// Operations that wait for an acknowledgement.
    pub cookies: Mutex<CookieTable<P>>,
    /// Reasons for the next turn of `advance` to look at more than packets.
    pub attention: Attention,
    /// Whether something is under way: [`BUSY`], [`COMING_TO_REST`] or [`AT_REST`]. The latter two are set by the
    /// advancing thread, the first by the thread that begins something.
    rest: AtomicU32,
}

impl<P: Platform> Core<P> {
    pub fn new(platform: P, layout: Arc<ClientLayout>, info: ContextInfo) -> Self {
        Self {
            platform,
            layout,
            info,
            cookies: Mutex::new(CookieTable::new()),
            attention: Attention::new(),
            rest: AtomicU32::new(AT_REST),
        }
    }

    /// Notes an event of this context on the platform.
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

    /// Place of an endpoint.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    #[inline]
    pub fn place(&self, peer: Endpoint) -> Result<TaskLocation, Error> {
        self.layout.config.tasks.place(peer.task, peer.context)
    }

    /// Place of an endpoint, as descriptors name it.
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

    /// Place of an endpoint that a program names, which must be an existing one of this client.
    ///
    /// # Errors
    /// [`Error::ForeignEndpoint`], [`Error::UnknownTask`], [`Error::UnknownContext`].
    #[inline]
    pub fn checked(&self, peer: Endpoint) -> Result<Destination, Fault> {
        let client = self.info.endpoint.client;
        if peer.client != client {
            return Err(foreign(client, peer));
        }
        self.layout.destination(peer)
    }

    /// The endpoint of this client at context offset `context` of `task`, unchecked.
    pub fn peer(&self, task: TaskId, context: u8) -> Endpoint {
        Endpoint {
            client: self.info.endpoint.client,
            context,
            task,
        }
    }

    /// Whether nothing is under way, apart from posted work.
    pub fn rests(&self) -> bool {
        self.rest.load(Ordering::Acquire) == AT_REST
    }

    /// Leaves rest: something begins.
    #[inline]
    pub fn leave_rest(&self) {
        self.rest.store(BUSY, Ordering::Release);
    }

    /// Comes to rest if `nothing` is under way, given the number of operations that wait for an acknowledgement;
    /// returns whether it does.
    pub fn come_to_rest(&self, nothing: impl FnOnce(usize) -> bool) -> bool {
        self.rest.swap(COMING_TO_REST, Ordering::AcqRel);
        // The lock keeps other threads from expecting an acknowledgement meanwhile.
        let cookies = lock(&self.cookies);
        let rests = nothing(cookies.len());
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        // A thread that has begun something meanwhile has left rest before.
        let settled = |to| {
            self.rest
                .compare_exchange(COMING_TO_REST, to, order, failed)
        };
        settled(if rests { AT_REST } else { BUSY }).is_ok() && rests
    }

    /// Remembers an operation that waits for an acknowledgement; returns its cookie.
    pub fn remember(&self, pending: Pending<P>) -> u32 {
        let mut cookies = lock(&self.cookies);
        self.leave_rest();
        cookies.insert(pending)
    }
}

#[cold]
fn foreign(expected: u8, endpoint: Endpoint) -> Fault {
    let found = endpoint.client;
    Error::ForeignEndpoint { expected, found }.into()
}
