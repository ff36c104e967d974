// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process's side of a mailbox: one thread's requests, and their answers.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::panic::resume_unwind;

use gyre_driver::Note;

use crate::description::TaskDescription;
use crate::mailbox::{Ends, Mailbox, MailboxError};
use crate::native::Native;
use crate::protocol::{Answer, BATCH, INLINE_BYTES, MESSAGE_INLINE_BYTES, NOTES, Reply, Request};

thread_local! {
    /// The connection of this thread. It lasts as long as the process, so handles may refer to it.
    static OWN: Cell<Option<&'static Connection>> = const { Cell::new(None) };
}

/// Whether the machine serves this thread. Other threads that use a [`RemotePlatform`](crate::RemotePlatform) or its objects
/// panic.
#[must_use]
pub fn is_attached() -> bool {
    OWN.get().is_some()
}

/// Gives the connection of this thread up, in a child that has a copy of it.
pub fn leave() {
    OWN.set(None);
}

/// The connection of the thread that uses it.
#[derive(Clone, Copy)]
pub(crate) struct Link;

impl Deref for Link {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        OWN.get().expect(
            "this thread uses the machine, which serves those alone that were started since the task came to it",
        )
    }
}

/// One thread's end of its mailbox.
pub(crate) struct Connection {
    pub mailbox: Mailbox,
    /// Number of the thread in its task.
    pub thread: u32,
    /// Whether the machine is lost, or the thread has ended; no requests are made any more.
    pub lost: Cell<bool>,
    /// Requests without an answer, which are sent with the next one that has an answer. The machine stands still until then, so
    /// their effect is that of sending each at once.
    unsent: RefCell<Unsent>,
    /// The task's simulated time after all its requests, picoseconds, if it is known.
    pub now_ps: Cell<Option<u64>>,
    /// By how much the thread's own time is behind that, picoseconds ([`RemotePlatform::go_back_to`](crate::RemotePlatform::go_back_to)).
    pub behind_ps: Cell<u64>,
    /// Whether the thread has read a clock while it was behind.
    looked: Cell<bool>,
    /// Requests so far that do more than spend time.
    pub deeds: Cell<u64>,
    /// Data read by the last request, valid until the next one: no time has passed.
    pub ahead: RefCell<Ahead>,
    /// Description of the task, once it has asked.
    pub description: OnceCell<TaskDescription>,
}

/// Requests that are not sent yet.
#[derive(Default)]
struct Unsent {
    requests: Vec<Request>,
    /// Notes among them.
    notes: usize,
    /// Bytes that they write.
    inline_bytes: usize,
}

/// Bytes of a buffer.
#[derive(Default)]
pub(crate) struct Ahead {
    pub buffer: u64,
    pub offset: usize,
    pub bytes: Vec<u8>,
}

impl Ahead {
    /// The bytes of a buffer from `offset` on, if all were read ahead.
    pub fn get(&self, buffer: u64, offset: usize, bytes: usize) -> Option<&[u8]> {
        let start = offset.checked_sub(self.offset)?;
        let end = start.checked_add(bytes)?;
        let here = self.bytes.get(start..end);
        here.filter(|_| self.buffer == buffer && bytes > 0)
    }
}

impl Connection {
    /// A connection by the mailbox, for thread `thread` of its task.
    pub fn new(mailbox: Mailbox, thread: u32) -> Box<Self> {
        Box::new(Self {
            mailbox,
            thread,
            lost: Cell::new(false),
            unsent: RefCell::default(),
            now_ps: Cell::new(None),
            behind_ps: Cell::new(0),
            looked: Cell::new(false),
            deeds: Cell::new(0),
            ahead: RefCell::default(),
            description: OnceCell::new(),
        })
    }

    /// Makes this thread use it.
    pub fn begin(self: Box<Self>) -> &'static Self {
        let connection = Box::leak(self);
        OWN.set(Some(connection));
        connection
    }

    /// Ends the service of this thread.
    pub fn close() {
        OWN.set(None);
    }

    /// Waits until the machine runs this thread for the first time.
    pub fn await_start(&self) -> Result<(), MailboxError> {
        let reply = self.mailbox.receive::<Reply>()?;
        self.now_ps.set(reply.now_ps);
        Ok(())
    }

    /// Asks for another thread of the task; returns its number and mailbox, or the reason of a refusal.
    pub fn start_thread(&self) -> Result<(u32, Ends), MailboxError> {
        let (answer, ends) = self.exchange_by(&Request::StartThread, |mailbox| {
            mailbox.receive_ends::<Reply>()
        })?;
        match (answer, ends) {
            (Answer::Value(number), Some(ends)) => {
                let number = u32::try_from(number)
                    .map_err(|_| MailboxError::Malformed(format!("thread {number}")))?;
                Ok((number, ends))
            }
            (Answer::NoMemory { reason }, None) => Err(MailboxError::NoThread(reason)),
            (answer, _) => Err(unasked(&Request::StartThread, &answer)),
        }
    }

    /// Sends a request with those that are queued; returns its answer. A thread that is behind has come to its time on the machine then.
    pub fn exchange(&self, request: &Request) -> Result<Answer, MailboxError> {
        let receive = |mailbox: &Mailbox| Ok((mailbox.receive::<Reply>()?, ()));
        Ok(self.exchange_by(request, receive)?.0)
    }

    fn exchange_by<E>(
        &self,
        request: &Request,
        receive: impl FnOnce(&Mailbox) -> Result<(Reply, E), MailboxError>,
    ) -> Result<(Answer, E), MailboxError> {
        self.catch_up();
        self.deeds.set(self.deeds.get() + 1);
        self.send(request, receive)
    }

    /// Sends the queued requests, and one that does nothing.
    fn send_queued(&self, nothing: &Request) {
        let receive = |mailbox: &Mailbox| Ok((mailbox.receive::<Reply>()?, ()));
        // The next request finds out that the machine is lost.
        let _ = self.send(nothing, receive);
    }

    fn send<E>(
        &self,
        request: &Request,
        receive: impl FnOnce(&Mailbox) -> Result<(Reply, E), MailboxError>,
    ) -> Result<(Answer, E), MailboxError> {
        if self.lost.get() {
            return Err(MailboxError::Closed);
        }
        let _native = Native::begin();
        self.ahead.borrow_mut().bytes.clear();
        let mut unsent = self.unsent.borrow_mut();
        unsent.requests.push(request.clone());
        let reply = self
            .mailbox
            .send(unsent.requests.as_slice())
            .and_then(|()| receive(&self.mailbox));
        unsent.requests.clear();
        unsent.notes = 0;
        unsent.inline_bytes = 0;
        self.lost.set(reply.is_err());
        let (reply, more) = reply?;
        self.now_ps.set(reply.now_ps);
        Ok((reply.answer, more))
    }

    /// Queues a request, which is sent with the next one that has an answer.
    pub fn add(&self, request: Request) {
        if self.lost.get() {
            return;
        }
        let request = match self.time_of(&request) {
            Some(ps) if self.behind_ps.get() > 0 => match self.spend_behind(&request, ps) {
                Some(rest) => rest,
                None => return,
            },
            Some(_) => request,
            None => {
                self.catch_up();
                self.deeds.set(self.deeds.get() + 1);
                request
            }
        };
        self.ahead.borrow_mut().bytes.clear();
        self.now_ps.set(self.time_after(&request));
        let full = {
            let mut unsent = self.unsent.borrow_mut();
            if let Request::WriteInline { data, .. } = &request {
                unsent.inline_bytes += data.len();
            }
            unsent.requests.push(request);
            // Room for a note of a clock that was read, and for the request that has an answer.
            unsent.requests.len() - unsent.notes + 2 >= BATCH
                || unsent.inline_bytes + INLINE_BYTES > MESSAGE_INLINE_BYTES
        };
        if full {
            self.send_queued(&Request::Flush);
        }
    }

    /// Ends the time in which the thread is behind.
    fn catch_up(&self) {
        self.behind_ps.set(0);
        if self.looked.take() {
            let mut unsent = self.unsent.borrow_mut();
            unsent.requests.push(Request::Look { ps: 0 });
        }
    }

    /// Lets a thread that is behind spend time; returns the request for what is left of it, if something is.
    fn spend_behind(&self, request: &Request, ps: u64) -> Option<Request> {
        let behind_ps = self.behind_ps.get();
        if matches!(request, Request::Look { .. }) {
            self.looked.set(true);
        }
        self.behind_ps.set(behind_ps.saturating_sub(ps));
        let rest_ps = ps.checked_sub(behind_ps).filter(|&ps| ps > 0)?;
        self.catch_up();
        Some(match request {
            Request::Poll { .. } => Request::Poll { ps: rest_ps },
            _ => Request::Compute { ps: rest_ps },
        })
    }

    /// Sends a note with the next request, if the machine records events. Nothing else changes: what was read ahead and
    /// the known time stay.
    pub fn note(&self, note: Note) {
        let recorded = |task: &TaskDescription| task.recorded;
        if self.lost.get() || !self.description.get().is_some_and(recorded) {
            return;
        }
        let full = self.unsent.borrow().notes == NOTES;
        if full {
            let ahead = self.ahead.take();
            let now_ps = self.now_ps.get();
            self.send_queued(&Request::Note { note });
            self.ahead.replace(ahead);
            self.now_ps.set(now_ps);
            return;
        }
        let mut unsent = self.unsent.borrow_mut();
        unsent.requests.push(Request::Note { note });
        unsent.notes += 1;
    }

    /// The time that a request spends, if it does nothing else and the time is known.
    fn time_of(&self, request: &Request) -> Option<u64> {
        match *request {
            Request::Charge { op, count } => {
                let operations = &self.description.get()?.operation_ps;
                operations.get(usize::from(op))?.checked_mul(count)
            }
            Request::Compute { ps } | Request::Poll { ps } | Request::Look { ps } => Some(ps),
            _ => None,
        }
    }

    /// The task's time on the machine after a request without an answer, if it is known.
    fn time_after(&self, request: &Request) -> Option<u64> {
        let now_ps = self.now_ps.get()?;
        match request {
            // Copies are charged by their caller.
            Request::WriteInline { .. } | Request::Free { .. } => Some(now_ps),
            _ => now_ps.checked_add(self.time_of(request)?),
        }
    }

    /// The thread's time, picoseconds.
    pub fn time_ps(&self) -> u64 {
        let known = self.now_ps.get();
        let now_ps = known.unwrap_or_else(|| self.value(&Request::Now));
        now_ps.saturating_sub(self.behind_ps.get())
    }

    /// Asks the machine; unwinds to [`run_on`] when it is lost.
    pub fn ask(&self, request: &Request) -> Answer {
        self.exchange(request).unwrap_or_else(|lost| lose(lost))
    }

    /// Makes a request with one kind of answer.
    pub fn tell(&self, request: &Request) {
        match self.ask(request) {
            Answer::Done => {}
            answer => self.unasked(request, &answer),
        }
    }

    pub fn value(&self, request: &Request) -> u64 {
        match self.ask(request) {
            Answer::Value(value) => value,
            answer => self.unasked(request, &answer),
        }
    }

    pub fn truth(&self, request: &Request) -> bool {
        match self.ask(request) {
            Answer::Truth(truth) => truth,
            answer => self.unasked(request, &answer),
        }
    }

    /// Lets the machine end the task for a misuse of the platform.
    pub fn misuse(&self, reason: &str) -> ! {
        let request = Request::Misuse {
            reason: reason.into(),
        };
        let answer = self.ask(&request);
        self.unasked(&request, &answer)
    }

    pub fn unasked(&self, request: &Request, answer: &Answer) -> ! {
        self.lost.set(true);
        lose(unasked(request, answer))
    }
}

pub(crate) fn unasked(request: &Request, answer: &Answer) -> MailboxError {
    MailboxError::Malformed(format!("{answer:?} in answer to {request:?}"))
}

/// Unwinds the task without a message; [`run_on`] reports.
fn lose(lost: MailboxError) -> ! {
    resume_unwind(Box::new(lost))
}
