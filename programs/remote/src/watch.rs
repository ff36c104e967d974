// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a task's process: for its next request, a start-up line or its end, within a limit, while its output is passed on.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;

use crate::mailbox::MailboxError;
use crate::start_up_lines::Wire;

/// Bytes of output that are taken at once.
const PIECE: usize = 4096;

/// Most bytes that a pipe holds: all that was printed before a moment is there when so much is passed on after it.
const PIPE: usize = 1 << 20;

/// One of the two streams that a program prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Takes what a process prints, as it comes.
pub(crate) type Sink = Box<dyn FnMut(Stream, &[u8])>;

/// Limits of the time without a request of a process, in host time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this time the machine continues in small steps: the process may poll for data that the machine writes into its memory.
    /// The run then no longer repeats.
    pub slice: Duration,
    /// After this time the process counts as hung.
    pub end: Duration,
}

impl Limits {
    /// A slice of 5 s, and an end of 600 s, which only a hung process reaches.
    pub const DEFAULT: Self = Self {
        slice: Duration::from_secs(5),
        end: Duration::from_secs(600),
    };

    /// The machine does not continue without the process before that counts as hung.
    #[must_use]
    pub const fn end_after(end: Duration) -> Self {
        Self { slice: end, end }
    }
}

/// Between two steps of the machine without the process.
const STEP: Duration = Duration::from_millis(5);

/// Reason why a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rang {
    /// The process makes a request.
    Yes,
    /// It has made no request for a slice; the machine runs a step.
    NotYet,
    /// Its [`Wire`] has data, or has ended.
    Wire,
}

/// State of the process on the other side of a mailbox.
pub(crate) struct Watch {
    limits: Limits,
    /// Can be read once the process has ended, though others hold its side of the doorbell.
    ended: Option<OwnedFd>,
    outputs: Vec<(Stream, File)>,
    sink: Sink,
    /// Where its lines of start-up come from.
    wire: Option<Wire>,
}

impl Watch {
    /// Watches the process behind the descriptor, if it is one of its own.
    pub fn new(limits: Limits, ended: Option<OwnedFd>) -> Self {
        Self {
            limits,
            ended,
            outputs: Vec::new(),
            sink: Box::new(|_, _| {}),
            wire: None,
        }
    }

    /// The same, with lines of start-up.
    pub fn with_wire(self, wire: Option<Wire>) -> Self {
        Self { wire, ..self }
    }

    /// The lines of start-up.
    pub fn wire(&mut self) -> Option<&mut Wire> {
        self.wire.as_mut()
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Passes the data of `outputs` to `sink` from now on.
    pub fn collect(&mut self, outputs: Vec<(Stream, OwnedFd)>, sink: Sink) -> io::Result<()> {
        for (_, output) in &outputs {
            rustix::fs::fcntl_setfl(output, OFlags::NONBLOCK)?;
        }
        let outputs = outputs.into_iter();
        self.outputs = outputs
            .map(|(stream, fd)| (stream, File::from(fd)))
            .collect();
        self.sink = sink;
        Ok(())
    }

    /// Waits for the doorbell or a line of start-up; the process has been silent since `since`. All that it has printed before
    /// it rang or ended is passed on before this returns, so what several processes print in turn keeps its order; and lines
    /// that it has written before it rang or ended come before that.
    pub fn await_bell(
        &mut self,
        bell: BorrowedFd<'_>,
        since: Instant,
    ) -> Result<Rang, MailboxError> {
        let Limits { slice, end } = self.limits;
        // A first slice, then step by step.
        let until = if since.elapsed() < slice {
            slice.min(end)
        } else {
            (since.elapsed() + STEP).min(end)
        };
        loop {
            let left = until.saturating_sub(since.elapsed());
            // The doorbell is polled first, so output printed before it rang is seen.
            let mut ready = vec![PollFd::from_borrowed_fd(bell, PollFlags::IN)];
            ready.extend(self.ended.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
            ready.extend(
                self.outputs
                    .iter()
                    .map(|(_, file)| PollFd::new(file, PollFlags::IN)),
            );
            let outputs = 1 + usize::from(self.ended.is_some());
            let wire = outputs + self.outputs.len();
            let lines = self.wire.as_ref().and_then(Wire::ready);
            ready.extend(lines.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let timeout = Timespec::try_from(left).ok();
            let events = match rustix::event::poll(&mut ready, timeout.as_ref()) {
                Ok(events) => events,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
            let rang = is_ready(&ready[0]);
            let has_ended = self.ended.is_some() && is_ready(&ready[1]);
            let prints = ready[outputs..wire].iter().any(is_ready);
            let has_lines = ready[wire..].iter().any(is_ready);
            if prints {
                self.pass_output_on();
            }
            if has_lines {
                return Ok(Rang::Wire);
            }
            if rang {
                return Ok(Rang::Yes);
            }
            if has_ended {
                return Err(MailboxError::Closed);
            }
            // A process that prints all the time asks for nothing, too.
            if events == 0 || since.elapsed() >= until {
                return match since.elapsed() < end {
                    true => Ok(Rang::NotYet),
                    false => Err(MailboxError::Silent),
                };
            }
        }
    }

    /// Passes on available output; drops the streams that have ended.
    pub fn pass_output_on(&mut self) {
        let sink = &mut self.sink;
        self.outputs.retain_mut(|(stream, file)| {
            let mut piece = [0; PIECE];
            let mut passed = 0;
            // A process may print faster than this reads.
            while passed < PIPE {
                match file.read(&mut piece) {
                    Ok(0) => return false,
                    Ok(bytes) => {
                        sink(*stream, &piece[..bytes]);
                        passed += bytes;
                    }
                    Err(error) => match error.kind() {
                        ErrorKind::Interrupted => {}
                        kind => return kind == ErrorKind::WouldBlock,
                    },
                }
            }
            true
        });
    }
}
