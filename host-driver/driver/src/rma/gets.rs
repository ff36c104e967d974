// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remote gets and read-modify-writes of a context: each has a byte counter, which its response lowers to zero.

use std::collections::VecDeque;

use crate::buffer::{BufferRange, RemoteAddress};
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::operation::RmwWidth;
use crate::platform::Platform;
use crate::refusal::word::GetWord;
use crate::route::Routing;
use crate::transport::counter::{Count, CounterBlock};
use crate::transport::wire::PutNotice;
use gyre_layout::{CounterRef, RmwOp};

/// Purpose of a get: the action when its counter reaches zero.
#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    /// A get or read-modify-write of the user.
    User(Option<DoneId>),
    /// The data of a rendezvous: ends its receive, then acknowledges it to the origin.
    Receive { done: Option<DoneId>, cookie: u32 },
    /// A put synchronisation of the peer: acknowledges put `number`, or reports its refusal.
    PutSync { cookie: u32, number: u32 },
    /// A put synchronisation that calls the program's callback here.
    PutNotice(Box<PutNotice>),
    /// The target's part of fence `cookie` of the peer, behind its puts up to `number` (FN-3).
    PeerFence { cookie: u32, number: u32 },
    /// The origin's own gets before its fence `cookie` have landed.
    OwnFence { cookie: u32 },
}

impl Purpose {
    /// Whether the get ends after all earlier gets from the same peer.
    fn is_barrier(&self) -> bool {
        !matches!(self, Self::User(_) | Self::Receive { .. })
    }

    /// Whether the get belongs to a fence.
    fn is_fence(&self) -> bool {
        matches!(self, Self::PeerFence { .. } | Self::OwnFence { .. })
    }
}

/// Request to the peer's DMA engine.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    /// A put of the remote data.
    Get(Routing),
    /// A zero-length put behind others: by this flow of the peer's node, or the fixed route.
    Follow(Option<u8>),
    /// A read-modify-write.
    Rmw {
        op: RmwOp,
        width: RmwWidth,
        value: u64,
        test: Option<u64>,
    },
}

/// A get that has no counter yet.
pub(crate) struct Waiting<P: Platform> {
    pub peer: Endpoint,
    pub remote: RemoteAddress,
    pub request: Request,
    pub into: BufferRange<P::Buffer>,
    pub purpose: Purpose,
}

/// A get whose counter has been set.
struct Active<P: Platform> {
    number: u32,
    peer: Endpoint,
    counter: u16,
    into: BufferRange<P::Buffer>,
    purpose: Purpose,
    /// The error of a get that will not end by itself.
    refused: Option<Fault>,
}

/// A get that has ended.
pub(crate) struct Landed {
    pub peer: Endpoint,
    pub purpose: Purpose,
    pub result: Result<(), Fault>,
}

/// A get ready to be sent.
pub(crate) struct Started<P: Platform> {
    /// Below [`GetWord::NUMBERS`].
    pub number: u32,
    pub counter: CounterRef,
    pub peer: Endpoint,
    pub remote: RemoteAddress,
    pub request: Request,
    pub into: BufferRange<P::Buffer>,
    /// Cookie of the message whose data it fetches, at its origin.
    pub cookie: Option<u32>,
    /// It is a get of the program.
    pub program: bool,
}

/// The gets of a context, in the order requested.
pub(crate) struct Gets<P: Platform> {
    counters: CounterBlock<P>,
    waiting: VecDeque<Waiting<P>>,
    active: Vec<Active<P>>,
    next: u32,
    /// Some of the active gets have been refused.
    refused: bool,
}

impl<P: Platform> Gets<P> {
    pub fn new(counters: CounterBlock<P>) -> Self {
        Self {
            counters,
            waiting: VecDeque::new(),
            active: Vec::new(),
            next: 0,
            refused: false,
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.len() + self.active.len()
    }

    /// Bytes of the gets of fences.
    pub fn fence_bytes(&self) -> usize {
        let waiting = self.waiting.iter().filter(|get| get.purpose.is_fence());
        let active = self.active.iter().filter(|get| get.purpose.is_fence());
        waiting.count() * size_of::<Waiting<P>>() + active.count() * size_of::<Active<P>>()
    }

    /// Gets that have no counter yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Puts a get behind those that wait for a counter.
    pub fn push(&mut self, get: Waiting<P>) {
        self.waiting.push_back(get);
    }

    /// Gives the next get a counter, if one is free.
    pub fn start(&mut self, platform: &P) -> Result<Option<Started<P>>, Fault> {
        let Some(get) = self.waiting.front() else {
            return Ok(None);
        };
        let value = match get.request {
            // A zero-length put lowers its counter by one.
            Request::Get(_) | Request::Follow(_) => get.into.len().max(1),
            Request::Rmw { width, .. } => width.bytes(),
        } as u64;
        let Some((index, counter)) = self.counters.take(platform, value)? else {
            return Ok(None);
        };
        let Some(get) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let cookie = match get.purpose {
            Purpose::Receive { cookie, .. } => Some(cookie),
            _ => None,
        };
        let program = matches!(get.purpose, Purpose::User(_));
        let number = self.next;
        self.next = (self.next + 1) % GetWord::NUMBERS;
        self.active.push(Active {
            number,
            peer: get.peer,
            counter: index,
            into: get.into.clone(),
            purpose: get.purpose,
            refused: None,
        });
        Ok(Some(Started {
            number,
            counter,
            peer: get.peer,
            remote: get.remote,
            request: get.request,
            into: get.into,
            cookie,
            program,
        }))
    }

    /// Takes out the next get, if there will never be a counter for it.
    pub fn starved(&mut self) -> Option<Landed> {
        let starved = self.active.is_empty() && !self.counters.has_free();
        let get = self.waiting.pop_front_if(|_| starved)?;
        Some(Landed {
            peer: get.peer,
            purpose: get.purpose,
            result: Err(Error::NoCounters.into()),
        })
    }

    /// Takes out the gets whose counters are zero, and those that were refused. A barrier get
    /// completes after all earlier gets to that peer: counters of one path may reach memory in another order than
    /// their puts came.
    pub fn poll(&mut self, platform: &P, landed: &mut Vec<Landed>) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let mut at = 0;
        self.refused = false;
        while at < self.active.len() {
            let get = &self.active[at];
            if let Some(error) = get.refused.clone() {
                let get = self.active.remove(at);
                // Data that has not been refused may still arrive: counter and buffer are leaked rather than reused.
                core::mem::forget(get.into);
                landed.push(Landed {
                    peer: get.peer,
                    purpose: get.purpose,
                    result: Err(error),
                });
                continue;
            }
            // Earlier data has not landed.
            let open = get.purpose.is_barrier()
                && self.active[..at].iter().any(|other| other.peer == get.peer);
            let count = if open {
                Count::Open
            } else {
                self.counters
                    .count(platform, get.counter)
                    .unwrap_or_else(|error| {
                        outcome = core::mem::replace(&mut outcome, Ok(())).and(Err(error));
                        Count::Open
                    })
            };
            let result = match count {
                Count::Open => {
                    at += 1;
                    continue;
                }
                Count::Zero => Ok(()),
                Count::Refused => Err(Fault::from(Error::RmwRefused {
                    peer: get.peer.task,
                })),
            };
            let get = self.active.remove(at);
            self.counters.give_back(get.counter);
            landed.push(Landed {
                peer: get.peer,
                purpose: get.purpose,
                result,
            });
        }
        outcome
    }

    /// Takes out get `number`, which has been refused, and frees its counter.
    pub fn fail(&mut self, number: u32, peer: Option<Endpoint>, error: Fault) -> Option<Landed> {
        let at = self
            .active
            .iter()
            .position(|get| get.number == number && peer.is_none_or(|peer| peer == get.peer))?;
        let get = self.active.remove(at);
        self.counters.give_back(get.counter);
        Some(Landed {
            peer: get.peer,
            purpose: get.purpose,
            result: Err(error),
        })
    }

    /// The get from one of the peers `from` whose counter the lower 30 bits of a packet's word name.
    pub fn with_counter(&self, word: u32, from: impl Fn(Endpoint) -> bool) -> Option<u32> {
        let named = |get: &&Active<P>| self.counters.is_named(get.counter, word) && from(get.peer);
        self.active.iter().find(named).map(|get| get.number)
    }

    /// Notes that data of get `number` has been refused here, if its peer is one of `from`: the next poll returns it.
    pub fn refuse(&mut self, number: u32, from: impl Fn(Endpoint) -> bool) {
        let refused = |get: &&mut Active<P>| get.number == number && from(get.peer);
        if let Some(get) = self.active.iter_mut().find(refused) {
            let peer = get.peer.task;
            get.refused = Some(Error::GetDataRefused { peer }.into());
            self.refused = true;
        }
    }

    /// Requests to `peer` may have been refused: the next poll gives them up.
    pub fn refuse_all(&mut self, peer: Endpoint, error: &Fault) {
        for get in self.active.iter_mut().filter(|get| get.peer == peer) {
            get.refused = Some(error.clone());
            self.refused = true;
        }
    }

    /// Whether gets or read-modify-writes of the user at `peer` have not ended.
    pub fn are_under_way(&self, peer: Endpoint) -> bool {
        let own =
            |of: Endpoint, purpose: &Purpose| of == peer && matches!(purpose, Purpose::User(_));
        self.waiting.iter().any(|get| own(get.peer, &get.purpose))
            || self.active.iter().any(|get| own(get.peer, &get.purpose))
    }

    /// The peers that wait for the end of gets.
    pub fn awaited_by(&self) -> impl Iterator<Item = Endpoint> {
        let waiting = self.waiting.iter().map(|get| (get.peer, &get.purpose));
        let active = self.active.iter().map(|get| (get.peer, &get.purpose));
        let awaited = waiting.chain(active).filter(|(_, purpose)| match purpose {
            Purpose::User(_) | Purpose::OwnFence { .. } => false,
            Purpose::Receive { .. }
            | Purpose::PutSync { .. }
            | Purpose::PutNotice(_)
            | Purpose::PeerFence { .. } => true,
        });
        awaited.map(|(peer, _)| peer)
    }

    /// Whether the next poll will return refused gets.
    pub fn has_refused(&self) -> bool {
        self.refused
    }

    /// Gives up all gets. Frees the counters, unless responses may still come.
    pub fn close(&mut self) {
        if self.active.is_empty() {
            self.counters.close();
        }
        self.waiting.clear();
        self.leak();
    }

    /// Buffers of unfinished gets may still be written: they are leaked rather than reused.
    fn leak(&mut self) {
        for get in self.active.drain(..) {
            core::mem::forget(get.into);
        }
    }
}

impl<P: Platform> Drop for Gets<P> {
    fn drop(&mut self) {
        self.leak();
    }
}
