// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that a program posts to a context: sends, puts, gets, read-modify-writes, fences, acknowledgements.

use gyre_note::Note;

use crate::ack::cookie::Pending;
use crate::api::callbacks::{Callbacks, guarded};
use crate::api::check::{check_dispatch, check_instruction, check_region, check_send};
use crate::api::context::{Context, Done, DoneFn, Held, Work};
use crate::api::operation::{Fence, Get, Instruction, Put, Rget, Rmw, Rput, SendMessage};
use crate::attention::Reason;
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::operation::{ImmediateEnvelope, ImmediateMessage, SendImmediate};
use crate::platform::{Platform, PlatformLock};
use crate::route::Routing;
use crate::sync::{Ordering, lock};
use crate::transport::injection::{Direct, Finish};
use crate::transport::wire::{ControlMessage, FIRST_CONTROL, Headed};

impl<P: Platform> Context<P> {
    /// Puts an instruction on the work queue, checks it, and returns; `advance` carries it out.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`], [`Error::ForeignEndpoint`],
    /// [`Error::MessageLength`], [`Error::PacketLength`], [`Error::ReservedDispatch`],
    /// [`Error::Destroyed`].
    pub fn post(&self, mut instruction: Instruction<P>) -> Result<(), Error> {
        check_instruction(self.core(), &instruction)?;
        let done = instruction.take_done();
        self.charge_callbacks(&done);
        self.submit(instruction, done)
    }

    /// Posts a send without done callbacks, with these: the local and the remote one.
    ///
    /// # Errors
    /// As [`Context::post`].
    #[inline]
    pub(crate) fn send_for<D: Into<Done<P>>>(
        &self,
        message: SendMessage<P>,
        done: [Option<D>; 2],
    ) -> Result<(), Error> {
        check_send(self.core(), &message)?;
        self.charge_callbacks(&done);
        self.submit(Instruction::Send(message), done)
    }

    /// Puts a checked instruction on the work queue, and its done callbacks into the queue's table.
    #[inline]
    fn submit<D: Into<Done<P>>>(
        &self,
        instruction: Instruction<P>,
        done: [Option<D>; 2],
    ) -> Result<(), Error> {
        self.platform().charge(Op::Post, 1);
        // The closure keeps a pointer to it: it is not copied on the way to the queue.
        let instruction = &mut Some(instruction);
        self.enqueue(move |queue| {
            self.core().note(|at| Note::Posted { at });
            let done = done.map(|done| done.map(|done| queue.done.insert(done.into())));
            if let Some(instruction) = instruction.take() {
                queue.work.push_back(Work { instruction, done });
            }
            self.core().attention.call(Reason::Posted);
        })
    }

    fn charge_callbacks<D>(&self, done: &[Option<D>; 2]) {
        let callbacks = done.iter().flatten().count() as u64;
        if callbacks > 0 {
            self.platform().charge(Op::Enlist, callbacks);
        }
    }

    /// Sends an eager message without done callbacks, with this local one: a message with data and without a header is
    /// handed to the DMA engine at the call, or posted where that is not possible, as by
    /// [`send_immediate`](Self::send_immediate).
    ///
    /// # Errors
    /// As [`Context::post`].
    #[inline(never)]
    pub(crate) fn send_eager(
        &self,
        message: SendMessage<P>,
        done: Option<Done<P>>,
    ) -> Result<(), Error> {
        let plain = message.header.is_empty() && !message.data.is_empty();
        if !plain || self.has_work() {
            return self.send_for(message, [done, None]);
        }
        check_send(self.core(), &message)?;
        let local_done = match done {
            Some(done) => {
                self.platform().charge(Op::Enlist, 1);
                let mut queue = lock(&self.shared().queue);
                if queue.destroyed {
                    return Err(Error::Destroyed);
                }
                Some(queue.done.insert(done))
            }
            None => None,
        };
        let label = SendImmediate {
            comm: message.comm,
            tag: message.tag,
            ..SendImmediate::new(message.destination, message.dispatch)
        };
        let finish = Finish::Send {
            local_done,
            cookie: None,
            answered: false,
        };
        let data = Direct::<P, 0>::InPlace(&message.data, local_done.is_some());
        let own = (Some(finish), message.message_id);
        let injected = self.shared().lanes.inject(&label, &data, own);
        if injected == Ok(true) {
            return Ok(());
        }
        let mut done = None;
        if let Some(kept) = local_done {
            done = lock(&self.shared().queue).done.take(kept);
            if done.is_none() {
                // The end of the context has called it with the error.
                return Ok(());
            }
        }
        injected?;
        self.submit(Instruction::Send(message), [done, None])
    }

    /// Posts a send.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn send(&self, mut message: SendMessage<P>) -> Result<(), Error> {
        let done = [message.local_done.take(), message.remote_done.take()];
        self.send_for(message, done)
    }

    /// Sends a short message: header and data are copied. It is handed to the DMA engine at the call, in a callback too,
    /// or posted when that is not possible: behind work that has been posted, or without room.
    ///
    /// # Errors
    /// As [`Context::post`].
    #[inline]
    pub fn send_immediate(&self, message: &SendImmediate<'_>) -> Result<(), Error> {
        let plain = message.header.is_empty() && message.data.len() <= SendImmediate::MAX;
        match plain && message.dispatch < FIRST_CONTROL {
            true => {
                let payload = Direct::Copied([message.data]);
                self.inject_or_post(message, &payload, message.data.len())
            }
            false => self.send_headed(message),
        }
    }

    /// Sends an immediate message of the bytes of `message`, which has no header, and of `data` behind them, together at
    /// most [`SendImmediate::MAX`]: `data` may be changed when this returns.
    ///
    /// # Errors
    /// As [`Context::post`].
    #[inline(never)]
    pub(crate) fn send_gathered(
        &self,
        message: &SendImmediate<'_>,
        data: &BufferRange<P::Buffer>,
    ) -> Result<(), Error> {
        let payload = Direct::<P, 0>::Gathered(message.data, data);
        self.inject_or_post(message, &payload, message.data.len() + data.len())
    }

    /// Sends an immediate message that has a header, or that must be refused.
    #[inline(never)]
    fn send_headed(&self, message: &SendImmediate<'_>) -> Result<(), Error> {
        check_dispatch(message.dispatch)?;
        self.core().checked(message.destination)?;
        let bytes = message.header.len() + message.data.len();
        let limit = match message.header.is_empty() {
            true => SendImmediate::MAX,
            false => SendImmediate::MAX_HEADED,
        };
        if bytes > limit {
            return Err(Error::PacketLength {
                what: "immediate message",
                bytes,
                limit,
            });
        }
        self.platform().charge(Op::Header, 1);
        // Both lengths are below 512.
        let fields = Headed {
            cookie: 0,
            length: message.data.len() as u32,
            header_length: message.header.len() as u16,
            dispatch: message.dispatch,
        };
        let headed = SendImmediate {
            dispatch: ControlMessage::Headed as u8,
            ..*message
        };
        let payload = Direct::Copied([&fields.bytes(), message.header, message.data]);
        self.inject_or_post(&headed, &payload, bytes)
    }

    /// Hands an immediate message with this payload, `bytes` of it the program's, to the DMA engine, if no posted work goes
    /// before it and there is room; else posts a copy.
    #[inline(always)]
    fn inject_or_post<const N: usize>(
        &self,
        message: &SendImmediate<'_>,
        payload: &Direct<'_, P, N>,
        bytes: usize,
    ) -> Result<(), Error> {
        let lanes = &self.shared().lanes;
        match !self.has_work() && lanes.inject(message, payload, (None, None))? {
            true => Ok(()),
            false => self.post_copy(message, payload, bytes, None),
        }
    }

    /// Posts an immediate message with a copy of this payload, which has the message's header inside. The copy is charged
    /// for the program's `bytes`.
    #[inline(never)] // Keeps the path of injected messages short.
    pub(crate) fn post_copy<const N: usize>(
        &self,
        message: &SendImmediate<'_>,
        payload: &Direct<'_, P, N>,
        bytes: usize,
        done: Option<Done<P>>,
    ) -> Result<(), Error> {
        self.core().checked(message.destination)?;
        let payload = payload.to_bytes()?;
        self.platform().charge_copy(Op::Copy, bytes);
        let envelope = ImmediateEnvelope {
            destination: message.destination,
            dispatch: message.dispatch,
            comm: message.comm,
            tag: message.tag,
        };
        let done = [done, None];
        self.charge_callbacks(&done);
        let message = ImmediateMessage { envelope, payload };
        self.submit(Instruction::SendImmediate(message), done)
    }

    /// Calls a function at once in the role of a callback of [`advance`](Self::advance), unless posted work or a thread
    /// that advances the context or sends goes before it: then returns `value`. The function may post; it may not
    /// advance the context, nor call functions of the program, which might. The instruction that it returns starts at
    /// once, or behind others that it has posted. Done callbacks wait for `advance`.
    ///
    /// # Errors
    /// As [`Context::post`]; an error of the instruction, if no done callback takes it.
    pub fn call_at_once<T>(
        &self,
        value: T,
        function: impl FnOnce(&Self, T) -> Option<Instruction<P>>,
    ) -> Result<Option<T>, Error> {
        self.platform().charge(Op::Lock, 2);
        if self.has_work() || !self.shared().engine_lock.trylock() {
            return Ok(Some(value));
        }
        let mut held = self.hold_engine(false)?;
        // Work posted before the lock was taken goes first.
        if self.has_work() {
            return Ok(Some(value));
        }
        match guarded(self, |context| function(context, value)) {
            None => Ok(None),
            Some(instruction) if self.has_posted() => self.post(instruction).map(|()| None),
            Some(instruction) => self.start(&mut held, instruction).map(|()| None),
        }
    }

    /// Starts an instruction at its post.
    fn start(&self, held: &mut Held<P>, mut instruction: Instruction<P>) -> Result<(), Error> {
        check_instruction(self.core(), &instruction)?;
        let done = instruction.take_done().map(|done| done.map(Done::from));
        self.charge_callbacks(&done);
        self.platform().charge(Op::Post, 1);
        self.core().note(|at| Note::Posted { at });
        let keep = |done| lock(&self.shared().queue).done.insert(done);
        let done = done.map(|done| done.map(keep));
        let Held { engine, calls } = held;
        let work = Work { instruction, done };
        let result = engine.start_at_post(work, &mut Callbacks::at_post(self, calls));
        // Work that no event announces, and work without room or counter.
        let unfinished = engine.unfinished() || engine.is_startable() || !calls.work.is_empty();
        self.shared()
            .unfinished
            .store(unfinished, Ordering::Release);
        if unfinished {
            self.announce();
        }
        Ok(result?)
    }

    /// Posts a put.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn put(&self, put: Put<P>) -> Result<(), Error> {
        self.post(Instruction::Put(put))
    }

    /// Posts a get. Gets of one context from one endpoint are served in the order posted.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn get(&self, get: Get<P>) -> Result<(), Error> {
        self.post(Instruction::Get(get))
    }

    /// Posts a put into a memory region.
    ///
    /// # Errors
    /// [`Error::RegionTask`], [`Error::RegionRights`], [`Error::RegionBounds`]; as [`Context::post`].
    pub fn rput(&self, rput: Rput<P>) -> Result<(), Error> {
        let remote = check_region(
            &rput.region,
            rput.destination,
            (rput.region.rights.put, "puts"),
            rput.offset,
            rput.data.len(),
        )?;
        self.put(Put {
            destination: rput.destination,
            data: rput.data,
            remote,
            notify: rput.notify,
            local_done: rput.local_done,
            remote_done: rput.remote_done,
        })
    }

    /// Posts a get from a memory region.
    ///
    /// # Errors
    /// As [`Context::rput`].
    pub fn rget(&self, rget: Rget<P>) -> Result<(), Error> {
        let remote = check_region(
            &rget.region,
            rget.source,
            (rget.region.rights.get, "gets"),
            rget.offset,
            rget.into.len(),
        )?;
        self.get(Get {
            source: rget.source,
            remote,
            into: rget.into,
            routing: Routing::Fixed,
            done: rget.done,
        })
    }

    /// Posts a read-modify-write of a word of a memory region.
    ///
    /// # Errors
    /// [`Error::RmwAlignment`], [`Error::RmwResult`]; as [`Context::rput`].
    pub fn rmw(&self, rmw: Rmw<P>) -> Result<(), Error> {
        self.post(Instruction::Rmw(rmw))
    }

    /// Posts a fence.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn fence(&self, fence: Fence<P>) -> Result<(), Error> {
        self.post(Instruction::Fence(fence))
    }

    /// Posts a fence of every endpoint of the client; `done` is called when all have completed. All of
    /// them have to advance. It keeps a fixed number of fences under way.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn fence_all(&self, done: Option<DoneFn<P>>) -> Result<(), Error> {
        self.post(Instruction::FenceAll(done))
    }

    /// Remembers an operation that `peer` will acknowledge, and returns the cookie by which it does so:
    /// never 0. `done` is called when the acknowledgement comes.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`], [`Error::ForeignEndpoint`].
    pub fn expect_ack(&self, peer: Endpoint, done: DoneFn<P>) -> Result<u32, Error> {
        self.core().checked(peer)?;
        Ok(self.await_ack(peer, BufferRange::empty(), done))
    }

    /// Remembers an operation that `peer` will acknowledge, and keeps `data` alive until then; returns its cookie.
    pub(crate) fn await_ack(
        &self,
        peer: Endpoint,
        data: BufferRange<P::Buffer>,
        done: impl Into<Done<P>>,
    ) -> u32 {
        let done = lock(&self.shared().queue).done.insert(done.into());
        self.core().remember(Pending {
            peer,
            fenced: false,
            data,
            local_done: None,
            remote_done: Some(done),
        })
    }

    /// Forgets an operation that will not be acknowledged, and returns its callback.
    pub fn forget_ack(&self, cookie: u32) -> Option<DoneFn<P>> {
        let done = lock(&self.core().cookies).remove(cookie)?.remote_done?;
        let done = lock(&self.shared().queue).done.take(done)?;
        Some(done.into_function())
    }

    /// Acknowledges `cookie` to `peer`, at a time chosen by the acknowledgement dispatcher.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn acknowledge(&self, peer: Endpoint, cookie: u32) -> Result<(), Error> {
        self.post(Instruction::Acknowledge { peer, cookie })
    }

    /// Tells `peer` that the data that it sent with `cookie` has not been received: its callbacks get
    /// [`Error::NotFetched`].
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn refuse(&self, peer: Endpoint, cookie: u32) -> Result<(), Error> {
        self.post(Instruction::Refuse { peer, cookie })
    }
}
