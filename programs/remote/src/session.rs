// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's side: carries a task's requests out on the node's platform.

use std::cell::RefCell;
use std::time::Instant;

use gyre_driver::{AllocError, BusError, DmaBuffer, Op, Platform, SharedSegment, WakeReason};

use crate::activity::Activity;
use crate::error::SessionError;
use crate::host::TaskHost;
use crate::mailbox::{Ends, Mailbox, MailboxError, WINDOW_BYTES};
use crate::pmi::PmiError;
use crate::process_memory::ProcessRange;
use crate::protocol::{Answer, INLINE_BYTES, Refusal, Reply, Request, clip};
use crate::resources::NodeResources;
use crate::watch::{Rang, Watch};

/// How a task has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has reported its end, with its error if it failed.
    Finished(Option<String>),
    /// Its process has ended.
    Gone {
        /// Whether it had buffers, locks or segments of the node then.
        amid: bool,
    },
}

/// The thread of a session.
pub(crate) struct Host<'a, P: Platform> {
    /// Number of the thread in its task.
    pub thread: u32,
    /// Services for it.
    pub services: &'a dyn TaskHost<P>,
    /// Starts another thread of the task, of this number; returns the process's side of its mailbox, or the reason of a refusal.
    pub start_thread: &'a dyn Fn(u32) -> Result<Ends, String>,
}

/// Limit of a task's time, picoseconds: 53 days.
const MOST_PS: u64 = 1 << 62;

/// A thread of a task, with the task's resources of the node.
struct Session<'a, P: Platform> {
    platform: &'a P,
    mailbox: &'a Mailbox,
    host: &'a Host<'a, P>,
    resources: &'a NodeResources<P>,
}

/// Reason why a request is invalid.
enum Fault {
    Invalid(String),
    Answer(BusError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

/// Carries out requests of a thread until it ends, or its task.
pub(crate) fn serve<P: Platform>(
    mailbox: &Mailbox,
    watch: &RefCell<Watch>,
    host: &Host<'_, P>,
    resources: &NodeResources<P>,
    platform: &P,
) -> Result<End, SessionError> {
    let session = Session {
        platform,
        mailbox,
        host,
        resources,
    };
    if host.thread > 0 {
        // It begins when it gets an answer.
        resources.drop_thread(host.thread);
        session.reply(Answer::Done)?;
    }
    loop {
        let received = match session.await_request(watch) {
            Ok(()) => mailbox.receive(),
            Err(SessionError::Mailbox(error)) => Err(error),
            Err(error) => return Err(error),
        };
        let requests: Vec<Request> = match received {
            Ok(requests) => requests,
            Err(MailboxError::Closed) => {
                let amid = resources.has_something();
                return Ok(End::Gone { amid });
            }
            Err(error) => return Err(error.into()),
        };
        let Some((last, before)) = requests.split_last() else {
            return Err(MailboxError::Malformed("no request".into()).into());
        };
        let within = host.services.check_limit();
        within.map_err(SessionError::Stuck)?;
        for request in before {
            if session.carry_out(request)? != Answer::Done {
                return Err(SessionError::Invalid {
                    request: format!("{request:?}"),
                    reason: "it has an answer, and another request follows".into(),
                });
            }
        }
        match last {
            Request::Finish { error } => {
                session.reply(Answer::Done)?;
                return Ok(End::Finished(error.clone()));
            }
            Request::StartThread => session.start_thread()?,
            _ => {
                let answer = session.carry_out(last)?;
                session.reply(answer)?;
            }
        }
    }
}

/// Answers the received start-up lines; returns whether there was one.
pub(crate) fn answer_lines<P: Platform>(
    watch: &RefCell<Watch>,
    services: &dyn TaskHost<P>,
) -> Result<bool, PmiError> {
    let mut any = false;
    // Other threads of the task are watched while this one's start-up waits.
    while let Some(line) = next_line(watch)? {
        any = true;
        if let Some(answer) = services.start_up(&line)?
            && let Some(wire) = watch.borrow_mut().wire()
        {
            wire.send(&answer)?;
        }
    }
    Ok(any)
}

fn next_line(watch: &RefCell<Watch>) -> Result<Option<String>, PmiError> {
    let mut watch = watch.borrow_mut();
    let Some(wire) = watch.wire() else {
        return Ok(None);
    };
    wire.read()?;
    let line = wire.line()?;
    if line.is_some() {
        // Output before the line is passed on before the answer, after which others print.
        watch.pass_output_on();
    }
    Ok(line)
}

impl<P: Platform> Session<'_, P> {
    fn reply(&self, answer: Answer) -> Result<(), MailboxError> {
        self.mailbox.send(&self.about(answer))
    }

    /// An answer with the task's time.
    fn about(&self, answer: Answer) -> Reply {
        self.host.services.count_request();
        let knows_costs = !self.resources.description.operation_ps.is_empty();
        let now_ps = knows_costs.then(|| self.platform.now_ps());
        Reply { answer, now_ps }
    }

    fn notice(&self, activity: Activity) -> Result<(), SessionError> {
        let noticed = self.host.services.notice(activity);
        noticed.map_err(SessionError::Stuck)
    }

    fn carry_out(&self, request: &Request) -> Result<Answer, SessionError> {
        match request {
            Request::Wait {
                deadline_ps: None, ..
            }
            | Request::Park { deadline_ps: None } => self.notice(Activity::Parks)?,
            _ if request.acts() => self.notice(Activity::Acts)?,
            _ => {}
        }
        let answer = self.perform(request);
        if let Request::Wait { .. } | Request::Park { .. } | Request::HaveArrived = request {
            match (&answer, request) {
                (Ok(Answer::Truth(true)), _) => self.notice(Activity::Acts)?,
                (Ok(_), Request::HaveArrived) => self.notice(Activity::Meets)?,
                (Ok(_), _) => self.notice(Activity::Polls)?,
                (Err(_), _) => {}
            }
        }
        answer.map_err(|fault| match fault {
            Fault::Answer(error) => SessionError::Answer(error),
            Fault::Invalid(reason) => SessionError::Invalid {
                request: format!("{request:?}"),
                reason,
            },
        })
    }

    /// Waits for the next message, answers start-up lines meanwhile, and lets the machine continue if none comes for too long.
    fn await_request(&self, watch: &RefCell<Watch>) -> Result<(), SessionError> {
        let mut since = Instant::now();
        loop {
            let rang = watch.borrow_mut().await_bell(self.mailbox.bell(), since);
            match rang? {
                Rang::Yes => return Ok(()),
                Rang::NotYet => self.host.services.go_on_without(),
                Rang::Wire => {
                    if answer_lines(watch, self.host.services)? {
                        since = Instant::now();
                    }
                }
            }
        }
    }

    /// Lets the machine run another thread of the task.
    fn start_thread(&self) -> Result<(), SessionError> {
        self.notice(Activity::Acts)?;
        let thread = self.resources.next_thread();
        match (self.host.start_thread)(thread) {
            Ok(ends) => {
                let reply = self.about(Answer::Value(thread.into()));
                self.mailbox.send_with_ends(&reply, &ends)?;
            }
            Err(reason) => {
                self.resources.drop_thread(thread);
                let reason = clip(&reason);
                self.reply(Answer::NoMemory { reason })?;
            }
        }
        Ok(())
    }

    fn perform(&self, request: &Request) -> Result<Answer, Fault> {
        let platform = self.platform;
        let answer = match *request {
            Request::Describe => {
                let bytes = postcard::to_allocvec(&self.resources.description);
                let bytes = bytes.map_err(|error| error.to_string())?;
                window(bytes.len() as u64)?;
                self.mailbox.fill_window(&bytes);
                Answer::Value(bytes.len() as u64)
            }
            Request::Flush => {
                self.host.services.catch_up();
                Answer::Done
            }
            Request::Arrive => {
                self.host.services.arrive();
                Answer::Done
            }
            Request::HaveArrived => {
                self.host.services.catch_up();
                Answer::Truth(self.host.services.have_arrived()?)
            }
            Request::Sleep { until_ps } => {
                self.host.services.sleep_until(until_ps);
                Answer::Done
            }
            Request::ReadRegister { address } => match platform.read_reg(address) {
                Ok(value) => Answer::Value(value),
                Err(error) => refused(error)?,
            },
            Request::WriteRegister { address, value } => match platform.write_reg(address, value) {
                Ok(()) => Answer::Done,
                Err(error) => refused(error)?,
            },
            Request::Allocate { bytes, align } => {
                let buffer = platform.alloc(size(bytes)?, size(align)?);
                self.keep(buffer)
            }
            Request::Map { address, bytes } => {
                let memory = &self.resources.memory;
                let range = ProcessRange::new(memory, size(address)?, size(bytes)?);
                let buffer = self.host.services.map(range, None);
                self.keep(buffer)
            }
            Request::Share { number, bytes } => match platform.share(number, size(bytes)?) {
                Ok(segment) => {
                    let address = segment.address();
                    Answer::Segment {
                        segment: self.resources.keep_segment(segment),
                        address,
                    }
                }
                Err(error) => Answer::NoMemory {
                    reason: clip(&error.reason),
                },
            },
            Request::Free { buffer } => {
                self.resources.free(buffer)?;
                Answer::Done
            }
            Request::ReadBuffer {
                buffer,
                offset,
                bytes,
            } => {
                let mut window = vec![0; window(bytes)?];
                self.resources
                    .read(buffer, size(offset)?, &mut window)?
                    .map_err(|error| error.to_string())?;
                self.mailbox.fill_window(&window);
                Answer::Done
            }
            Request::WriteBuffer {
                buffer,
                offset,
                bytes,
            } => {
                let mut window = vec![0; window(bytes)?];
                self.mailbox.take_window(&mut window);
                self.resources
                    .write(buffer, size(offset)?, &window)?
                    .map_err(|error| error.to_string())?;
                Answer::Done
            }
            Request::WriteInline {
                buffer,
                offset,
                ref data,
            } => {
                if data.len() > INLINE_BYTES {
                    return Err(format!("more than {INLINE_BYTES} bytes").into());
                }
                self.resources
                    .write(buffer, size(offset)?, data)?
                    .map_err(|error| error.to_string())?;
                Answer::Done
            }
            Request::Now => Answer::Value(platform.now_ps()),
            Request::Note { note } => {
                platform.note(note);
                Answer::Done
            }
            Request::Charge { op, count } => {
                let number = usize::from(op);
                let op = Op::ALL.get(number);
                let op = *op.ok_or_else(|| "no such operation".to_owned())?;
                if count > u64::from(u32::MAX) {
                    return Err(format!("more than {} operations", u32::MAX).into());
                }
                // Where costs are unknown, operations take no time.
                if let Some(ps) = self.resources.description.operation_ps.get(number) {
                    self.check_time(ps.saturating_mul(count))?;
                }
                platform.charge(op, count);
                Answer::Done
            }
            Request::Compute { ps } | Request::Poll { ps } | Request::Look { ps } => {
                self.check_time(ps)?;
                self.host.services.compute(ps);
                Answer::Done
            }
            Request::Wait { group, deadline_ps } => {
                Answer::Truth(platform.wait(group, deadline_ps) == WakeReason::Wake)
            }
            Request::Notify { group } => {
                platform.notify(group);
                Answer::Done
            }
            Request::Yield => {
                platform.yield_now();
                Answer::Done
            }
            Request::Lock { segment } => self.resources.segment(segment)?.lock(self.host.thread)?,
            Request::TryLock { segment } => {
                self.resources.segment(segment)?.trylock(self.host.thread)
            }
            Request::Unlock { segment } => {
                self.resources.segment(segment)?.unlock(self.host.thread)?
            }
            Request::Park { deadline_ps } => Answer::Truth(self.host.services.park(deadline_ps)),
            Request::Unpark { thread } => {
                self.host.services.unpark(thread);
                Answer::Done
            }
            Request::DropThread { thread } => {
                // One that has begun ends by itself.
                if !self.resources.drop_thread(thread) {
                    return Err("no such thread, or it has begun".to_owned().into());
                }
                self.host.services.end_thread(thread);
                Answer::Done
            }
            Request::Misuse { ref reason } => return Err(reason.clone().into()),
            // `serve` takes it where it may stand.
            Request::Finish { .. } | Request::StartThread => {
                return Err("another request follows".to_owned().into());
            }
        };
        Ok(answer)
    }

    /// Refuses to let so much time pass that it would overflow.
    fn check_time(&self, ps: u64) -> Result<(), String> {
        let end_ps = self.platform.now_ps().checked_add(ps);
        match end_ps.is_some_and(|end_ps| end_ps < MOST_PS) {
            true => Ok(()),
            false => Err(format!("time would be beyond {MOST_PS} ps")),
        }
    }

    fn keep(&self, buffer: Result<P::Buffer, AllocError>) -> Answer {
        match buffer {
            Ok(buffer) => {
                let (slot, offset, address) = (buffer.slot(), buffer.offset(), buffer.address());
                Answer::Buffer {
                    buffer: self.resources.keep_buffer(buffer),
                    slot,
                    offset,
                    address,
                }
            }
            Err(error) => Answer::NoMemory {
                reason: clip(&error.reason),
            },
        }
    }
}

fn refused(error: BusError) -> Result<Answer, Fault> {
    match Refusal::new(&error) {
        Some(refusal) => Ok(Answer::Refused(refusal)),
        None => Err(Fault::Answer(error)),
    }
}

fn size(value: u64) -> Result<usize, String> {
    usize::try_from(value).map_err(|_| format!("{value} is more than this host can count"))
}

fn window(bytes: u64) -> Result<usize, String> {
    match size(bytes)? {
        bytes @ 0..=WINDOW_BYTES => Ok(bytes),
        bytes => Err(format!(
            "{bytes} bytes where a window has {WINDOW_BYTES} bytes"
        )),
    }
}
