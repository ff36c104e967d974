// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cookies: operations of an origin that end with an acknowledgement of their target.

use std::collections::{BTreeMap, BTreeSet};

use crate::buffer::BufferRange;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::platform::Platform;

/// An operation that waits for its acknowledgement.
pub(crate) struct Pending<P: Platform> {
    /// Peer that will acknowledge.
    pub peer: Endpoint,
    /// Whether fences of the peer cover it.
    pub fenced: bool,
    /// Data that the peer may still fetch.
    pub data: BufferRange<P::Buffer>,
    pub local_done: Option<DoneId>,
    pub remote_done: Option<DoneId>,
}

/// The waiting operations by cookie. A cookie is used again after all others have been used.
pub(crate) struct CookieTable<P: Platform> {
    pending: BTreeMap<u32, Pending<P>>,
    last: u32,
    /// Peers whose operations have been given up.
    given_up: BTreeSet<Endpoint>,
}

impl<P: Platform> CookieTable<P> {
    pub fn new() -> Self {
        Self {
            pending: BTreeMap::new(),
            last: 0,
            given_up: BTreeSet::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Remembers an operation and returns its cookie, which is never 0.
    pub fn insert(&mut self, pending: Pending<P>) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.pending.contains_key(&self.last) {
                self.pending.insert(self.last, pending);
                return self.last;
            }
        }
    }

    /// The cookie given last.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Whether an operation that fences of `peer` cover waits for its acknowledgement, with a cookie not later than
    /// `last`.
    pub fn waits_for(&self, peer: Endpoint, last: u32) -> bool {
        // Less than half of the cookies are alive when they are used again.
        let before = |cookie: u32| last.wrapping_sub(cookie) <= u32::MAX / 2;
        let mut pending = self.pending.iter();
        pending.any(|(&cookie, p)| p.fenced && p.peer == peer && before(cookie))
    }

    /// Takes out the operation that `peer` acknowledges by `cookie`. `None` when it may have been given up.
    ///
    /// # Errors
    /// [`Error::UnknownCookie`] when no operation waits for it: it was acknowledged before, or never sent.
    pub fn acknowledged(
        &mut self,
        peer: Endpoint,
        cookie: u32,
    ) -> Result<Option<Pending<P>>, Error> {
        match self.pending.remove(&cookie) {
            Some(pending) if pending.peer == peer => Ok(Some(pending)),
            None if self.has_given_up(peer) => Ok(None),
            other => {
                if let Some(pending) = other {
                    self.pending.insert(cookie, pending);
                }
                Err(Error::UnknownCookie {
                    origin: peer.task,
                    cookie,
                })
            }
        }
    }

    /// Gives up the operations that wait for `peer`, in the order of their cookies.
    pub fn give_up(&mut self, peer: Endpoint) -> Vec<Pending<P>> {
        self.given_up.insert(peer);
        let waits = |_: &u32, pending: &mut Pending<P>| pending.peer == peer;
        let taken = self.pending.extract_if(.., waits);
        taken.map(|(_, pending)| pending).collect()
    }

    /// Whether operations of `peer` have been given up: it may still answer them.
    pub fn has_given_up(&self, peer: Endpoint) -> bool {
        self.given_up.contains(&peer)
    }

    /// Forgets all operations. Their peers may still fetch their data: it is leaked rather than reused.
    pub fn leak_all(&mut self) {
        for (_, pending) in core::mem::take(&mut self.pending) {
            core::mem::forget(pending.data);
        }
    }

    /// Forgets the operations with any of the callbacks `ends`: they were not started.
    pub fn forget(&mut self, ends: &[DoneId]) {
        let ended = |done: Option<DoneId>| done.is_some_and(|done| ends.contains(&done));
        self.pending
            .retain(|_, pending| !ended(pending.local_done) && !ended(pending.remote_done));
    }

    /// Takes out a failed operation that will not be acknowledged.
    pub fn remove(&mut self, cookie: u32) -> Option<Pending<P>> {
        self.pending.remove(&cookie)
    }

    /// Takes out a failed operation whose acknowledgement will still come, and ignores that.
    pub fn disarm(&mut self, cookie: u32) -> Option<Pending<P>> {
        let pending = self.pending.get_mut(&cookie)?;
        let Pending { peer, fenced, .. } = *pending;
        Some(core::mem::replace(
            pending,
            Pending {
                peer,
                fenced,
                data: BufferRange::empty(),
                local_done: None,
                remote_done: None,
            },
        ))
    }
}

impl<P: Platform> Drop for CookieTable<P> {
    fn drop(&mut self) {
        self.leak_all();
    }
}
