// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends of operations: completions go to the protocol that waits for them, or to the program.

use gyre_layout::{Coord, ErrorReason};
use gyre_note::Note;

use super::Engine;
use crate::ack::sender::refuse;
use crate::buffer::RemoteAddress;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::rendezvous;
use crate::rma::fence;
use crate::rma::gets::{Landed, Purpose};
use crate::rma::notify::PutArrival;
use crate::sync::lock;
use crate::task::TaskLocation;
use crate::transport::injection::Finish;
use crate::transport::wire::{GetFailed, MessagesRefused, PutNotice, Refused};
use crate::upcalls::{Upcalls, deliver, deliver_error};

impl<P: Platform> Engine<P> {
    /// Calls the done callbacks of completed operations; returns an error without a callback.
    #[inline(never)] // Keeps the turn short.
    pub(super) fn run_completions(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let mut completed = core::mem::take(&mut self.io.completed);
        let mut result = Ok(());
        for entry in completed.drain(..) {
            let ended = match (entry.finish, entry.result) {
                (Finish::Control | Finish::Fence { .. } | Finish::Get { .. }, Ok(())) => Ok(()),
                (Finish::Control, Err(error)) => Err(error),
                (Finish::Fence { cookie }, Err(error)) => {
                    let (fences, with) = self.fences();
                    fences.fail(with, cookie, error, up)
                }
                (Finish::Get { number }, Err(error)) => self.fail_get(number, error, up),
                (Finish::Contribution { route, part, .. }, result) => {
                    self.collnet
                        .contributed(&mut self.io, (route, part), result, up)
                }
                (Finish::Send { local_done, .. }, Ok(())) => deliver(up, local_done, Ok(())),
                (
                    Finish::Send {
                        local_done,
                        cookie,
                        answered,
                    },
                    Err(error),
                ) => self.fail_send(local_done, (cookie, answered), error, up),
            };
            result = result.and(ended);
        }
        if self.io.completed.is_empty() {
            self.io.completed = completed;
        }
        result
    }

    /// Fails a refused send or put: its callbacks get the error, which is returned if there are none.
    fn fail_send(
        &mut self,
        local_done: Option<DoneId>,
        (cookie, answered): (Option<u32>, bool),
        error: Fault,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let pending = cookie.and_then(|cookie| {
            let mut cookies = lock(&self.core.cookies);
            if answered {
                cookies.disarm(cookie)
            } else {
                cookies.remove(cookie)
            }
        });
        // The callback of a rendezvous waits with its data.
        let (pending_local, remote_done) = pending.map_or((None, None), |pending| {
            (pending.local_done, pending.remote_done)
        });
        deliver_error(up, [local_done, pending_local, remote_done], error)
    }

    /// Continues the purpose of a get that has landed or failed.
    pub(super) fn end_get(&mut self, get: Landed, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        up.progress().completed += 1;
        let peer = get.peer;
        match get.purpose {
            Purpose::User(done) => deliver(up, done, get.result),
            Purpose::Receive { done, cookie } => {
                rendezvous::fetched(&mut self.am(up), peer, (done, cookie), get.result)
            }
            Purpose::PutSync { cookie, number } => {
                let told = self.put_landed(peer, cookie, number).map(drop);
                get.result.and(told)
            }
            Purpose::PutNotice(notice) => {
                let told = match get.result.is_ok() {
                    true => self.put_arrived(peer, &notice, up),
                    false => self
                        .put_landed(peer, notice.cookie, notice.number)
                        .map(drop),
                };
                get.result.and(told)
            }
            Purpose::PeerFence { cookie, number } => {
                let with = fence::FenceIo {
                    io: &mut self.io,
                    gets: &mut self.gets,
                    refusals: &mut self.refusals,
                };
                fence::answer(with, &mut self.acks, peer, (cookie, number), get.result)
            }
            Purpose::OwnFence { cookie } => {
                let (fences, with) = self.fences();
                fences.own_gets_landed(with, cookie, get.result, up)
            }
        }
    }

    /// Fails get `number`, which could not be requested.
    pub(super) fn fail_get(
        &mut self,
        number: u32,
        error: Fault,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        match self.gets.fail(number, None, error.clone()) {
            Some(get) => self.end_get(get, up),
            None => Err(error),
        }
    }

    /// Acknowledges the put of `peer` with this number, which is in memory, or reports its refusal. Returns whether it
    /// is in memory.
    fn put_landed(&mut self, peer: Endpoint, cookie: u32, number: u32) -> Result<bool, Fault> {
        let refused = self
            .refusals
            .has_refused(&mut self.io, &mut self.gets, peer, number);
        if refused == Ok(false) {
            self.acks.owe(&self.core, peer, cookie);
            return Ok(true);
        }
        // Where the node cannot tell, the put may have been refused.
        let told = refuse(&mut self.io, peer, (cookie, Refused::PUT));
        refused.and(told).map(|()| false)
    }

    /// As [`put_landed`](Self::put_landed), for a put with a callback here.
    fn put_arrived(
        &mut self,
        peer: Endpoint,
        notice: &PutNotice,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        if !self.put_landed(peer, notice.cookie, notice.number)? {
            return Ok(());
        }
        let arrival = PutArrival {
            origin: peer,
            remote: RemoteAddress {
                slot: notice.slot,
                offset: notice.offset,
            },
            length: notice.length as usize,
            word: notice.word,
        };
        match up.put(notice.dispatch, &arrival) {
            true => Ok(()),
            false => Err(Error::UnknownPutDispatch {
                id: notice.dispatch,
                origin: peer.task,
                length: arrival.length,
            }
            .into()),
        }
    }

    /// Calls the done callbacks of byte counters at zero. Returns how many.
    pub(super) fn poll_counters(&mut self, up: &mut impl Upcalls<P>) -> Result<usize, Fault> {
        let mut count = 0;
        while let Some(done) = self.counters.take_zero(&self.core.platform)? {
            count += 1;
            up.progress().completed += 1;
            deliver(up, done, Ok(()))?;
        }
        Ok(count)
    }

    /// Ends the operation `cookie`, which the peer has acknowledged.
    pub(super) fn acknowledged(
        &mut self,
        peer: Endpoint,
        cookie: u32,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let acknowledged = lock(&self.core.cookies).acknowledged(peer, cookie)?;
        let Some(pending) = acknowledged else {
            return Ok(());
        };
        drop(pending.data);
        self.core.note(|at| Note::Acknowledged { at, cookie });
        up.progress().completed += 1;
        for done in [pending.local_done, pending.remote_done] {
            deliver(up, done, Ok(()))?;
        }
        Ok(())
    }

    /// Handles a refusal.
    pub(super) fn refused_by_peer(
        &mut self,
        peer: Endpoint,
        refused: Refused,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let error = match refused.what {
            Refused::PUT => Error::PutsRefused { peer: peer.task },
            Refused::DATA => Error::NotFetched { peer: peer.task },
            what => {
                return Err(Error::ControlMessage {
                    origin: peer.task,
                    message: "refusal",
                    field: "what",
                    value: what.into(),
                    expected: "0 or 1",
                }
                .into());
            }
        };
        let pending = lock(&self.core.cookies).acknowledged(peer, refused.cookie)?;
        up.progress().completed += 1;
        // The operation may have failed here already, or have no callback.
        let Some(pending) = pending else {
            return Ok(());
        };
        for done in [pending.local_done, pending.remote_done] {
            if done.is_some() {
                deliver(up, done, Err(error.clone().into()))?;
            }
        }
        Ok(())
    }

    /// Handles GET_FAILED from `node`.
    pub(super) fn get_failed(
        &mut self,
        node: Coord,
        message: GetFailed,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let process = message.process;
        let tasks = &core.layout.config.tasks;
        let Some(task) = tasks.task_at(TaskLocation { node, process }) else {
            return Err(Error::UnknownOrigin { node, process }.into());
        };
        let peer = core.layout.endpoint(task, message.context)?;
        let error = Error::RemoteRefused {
            peer: task,
            reason: ErrorReason::try_from(message.reason).map_err(|_| message.reason),
        };
        if message.get & GetFailed::BY_COUNTER != 0 {
            let word = message.get & !GetFailed::BY_COUNTER;
            let there = |peer: Endpoint| core.place(peer).is_ok_and(|place| place.node == node);
            let number = self.gets.with_counter(word, there);
            let lost = number.and_then(|number| self.gets.fail(number, None, error.into()));
            return lost.map_or(Ok(()), |get| self.end_get(get, up));
        }
        match self.gets.fail(message.get, Some(peer), error.into()) {
            Some(get) => self.end_get(get, up),
            None if lock(&core.cookies).has_given_up(peer) => Ok(()),
            None => Err(Error::UnknownCookie {
                origin: task,
                cookie: message.get,
            }
            .into()),
        }
    }

    /// Handles MESSAGES_REFUSED from `node`: operations that wait for a response of that endpoint fail. Later responses
    /// to them are ignored.
    pub(super) fn messages_refused(
        &mut self,
        node: Coord,
        message: MessagesRefused,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let MessagesRefused {
            process,
            context: offset,
            reason,
            what,
        } = message;
        let layout = &self.core.layout;
        let task = layout.config.tasks.task_at(TaskLocation { node, process });
        let Some(task) = task else {
            return Err(Error::UnknownOrigin { node, process }.into());
        };
        let peer = layout.endpoint(task, offset)?;
        if let Some(flows) = &mut self.io.flows {
            flows.refused(&self.io.lanes, peer)?;
        }
        let error = Fault::from(Error::MessagesRefused {
            peer: task,
            context: offset,
            reason: ErrorReason::try_from(reason).map_err(|_| reason),
        });
        let before = up.progress().callbacks;
        let pending = lock(&self.core.cookies).give_up(peer);
        for pending in pending {
            up.progress().completed += 1;
            // The peer may still fetch it: leaked rather than reused.
            core::mem::forget(pending.data);
            for done in [pending.local_done, pending.remote_done] {
                if done.is_some() {
                    deliver(up, done, Err(error.clone()))?;
                }
            }
        }
        if what == MessagesRefused::UNKNOWN {
            self.gets.refuse_all(peer, &error);
        }
        let (fences, with) = self.fences();
        fences.fail_all_of(with, peer, &error, up)?;
        // Messages without a callback.
        if up.progress().callbacks == before && what == MessagesRefused::PLAIN {
            return Err(error);
        }
        Ok(())
    }
}
