// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver log: a line for each step of a message, with its simulated time.
//!
//! Lines are written from the recording of a run, in the order of simulated time, so that logging costs a run nothing but
//! the recording, and gives the same file for any number of threads.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gyre_collectives::{Algorithm, Collective};
use gyre_driver::control_message;
use gyre_files::Output;
use gyre_layout::{ErrorReason, Kind};
use gyre_timeline::{
    CollectiveStep, Context, Event, FenceStep, Lane, Messages, Note, Packets, ProgramStep,
    Recording, Role, What,
};
use parking_lot::Mutex;
use tracing::{Level, debug, info, trace, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;

use crate::spool::is_whole;

/// Targets of the lines, by which a filter selects them.
const TARGETS: [&str; 16] = [
    "machine",
    "driver::post",
    "driver::eager",
    "driver::rndv",
    "driver::control",
    "driver::packet",
    "driver::dispatch",
    "driver::matching",
    "driver::fence",
    "driver::ack",
    "driver::refusal",
    "driver::done",
    "driver::collective",
    "program",
    "dma",
    "link",
];

/// A log as `--log FILE[:FILTER]` asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogOption {
    /// The file.
    pub path: PathBuf,
    /// Selects lines by target and level.
    filter: Targets,
}

impl LogOption {
    /// Parses `FILE` or `FILE:FILTER`; the file's name ends at the first colon. Without a filter the lines of the driver
    /// up to level `debug` are written, and a line for each machine.
    ///
    /// # Errors
    /// The expected value: for a missing file name, a malformed filter, and a target without lines.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected FILE or FILE:FILTER, FILTER as TARGET=LEVEL joined by commas; targets: driver, {}; \
                 levels: off, error, warn, info, debug, trace",
                TARGETS.join(", ")
            )
        };
        let (path, filter) = match text.split_once(':') {
            Some((path, filter)) => (path, filter),
            None => (text, "machine=info,driver=debug"),
        };
        let parsed = Targets::from_str(filter).map_err(|_| expected())?;
        // A name without a level selects all levels; misspelt levels and targets would select nothing.
        let known = |name: &str| TARGETS.iter().any(|target| target.starts_with(name));
        let all_known = parsed.iter().all(|(name, _)| known(name));
        if path.is_empty() || filter.is_empty() || !all_known {
            return Err(expected());
        }
        Ok(Self {
            path: path.into(),
            filter: parsed,
        })
    }

    /// Writes the lines of the machines of a run. Returns a summary for people.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, recordings: &[Recording]) -> io::Result<String> {
        let whole = is_whole(recordings);
        let file = gyre_files::create(&self.path)?;
        let lines = Lines(Arc::new(Mutex::new(Sink {
            file: BufWriter::new(file),
            count: 0,
            failed: None,
        })));
        let clock = Clock::default();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_timer(clock.clone())
            .log_internal_errors(false)
            .with_writer({
                let lines = lines.clone();
                move || lines.clone()
            });
        let subscriber = tracing_subscriber::registry()
            .with(self.filter.clone())
            .with(layer);
        tracing::subscriber::with_default(subscriber, || {
            for (number, recording) in (1..).zip(recordings) {
                clock.set(recording.start_ps);
                let (nodes, threads) = (recording.nodes, recording.threads.len());
                info!(target: "machine", number, nodes, threads, "recording begins");
                log(recording, &clock);
            }
        });
        let sink = Arc::into_inner(lines.0).expect("the subscriber is gone");
        let Sink {
            file,
            count,
            failed,
        } = sink.into_inner();
        if let Some(error) = failed {
            return Err(error);
        }
        // That of a run that lost events is written as far as it goes.
        if let (true, Some(error)) = (whole, recordings.iter().find_map(Recording::error)) {
            return Err(error.into());
        }
        file.into_inner()
            .map_err(IntoInnerError::into_error)?
            .finish()?;
        Ok(format!("log of {count} lines: {}", self.path.display()))
    }
}

/// The file of a log.
struct Sink {
    file: BufWriter<Output>,
    /// Lines written.
    count: u64,
    /// The first error, which `tracing` does not pass on.
    failed: Option<io::Error>,
}

/// Handle of the file of a log.
#[derive(Clone)]
struct Lines(Arc<Mutex<Sink>>);

impl Write for Lines {
    /// Writes a whole line, or keeps the error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sink = self.0.lock();
        match sink.file.write_all(bytes) {
            Ok(()) => sink.count += 1,
            Err(error) => sink.failed = sink.failed.take().or(Some(error)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().file.flush()
    }
}

/// Simulated time of the line being written, picoseconds.
#[derive(Debug, Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn set(&self, ps: u64) {
        self.0.store(ps, Ordering::Relaxed);
    }
}

impl FormatTime for Clock {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        let ps = self.0.load(Ordering::Relaxed);
        write!(line, "{:>9}.{:03} ns", ps / 1000, ps % 1000)
    }
}

/// A context as `TASK.CONTEXT`, with the client in front unless it is the first.
struct Place(Context);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Context {
            task,
            client,
            offset,
        } = self.0;
        match client {
            0 => write!(f, "{task}.{offset}"),
            _ => write!(f, "client {client} {task}.{offset}"),
        }
    }
}

/// Writes the events of a recording.
fn log(recording: &Recording, clock: &Clock) {
    let messages = Messages::of(recording);
    let mut ids = Ids::default();
    for (number, event) in recording.events().enumerate() {
        clock.set(event.ps);
        let packets = messages.of_event(number);
        let packets = packets.map(|packets| &messages.packets()[packets]);
        match event.what {
            What::Note(note) => log_note(&event, note, ids.of(note, packets), packets),
            What::Fetch {
                fifo,
                kind,
                id,
                bytes,
                ..
            } => {
                let (node, kind) = (event.node, packet_kind(kind.0));
                trace!(target: "dma", node, id, fifo, %kind, bytes, "descriptor read");
            }
            What::Written { bytes, id } => {
                trace!(target: "dma", node = event.node, id, bytes, "memory written");
            }
            What::Hop {
                kind, flits, id, ..
            } => {
                if let Lane::Link(port) = event.lane {
                    let (node, kind) = (event.node, packet_kind(kind.0));
                    trace!(target: "link", node, id, port, %kind, flits, "packet on link");
                }
            }
            _ => {}
        }
    }
}

/// Message ids of notes that do not carry one.
#[derive(Default)]
struct Ids {
    /// Of the packet that a context handles.
    handled: BTreeMap<Context, u32>,
    /// Of messages without a receive, by number.
    unexpected: BTreeMap<(Context, u64), u32>,
    /// Of matched messages, by number of the receive.
    matched: BTreeMap<(Context, u64), u32>,
    /// Of messages that stay at their origin, by origin and cookie.
    announced: BTreeMap<(Context, u32), u32>,
}

impl Ids {
    /// Message id of a note; `packets` are those of its event.
    fn of(&mut self, note: Note, packets: Option<&Packets>) -> Option<u32> {
        match note {
            Note::Message { id, .. }
            | Note::Put { id, .. }
            | Note::Asked { id, .. }
            | Note::Sent { id, .. }
            | Note::Withdrawn { id, .. } => Some(id),
            Note::Packet { at, .. } => {
                self.handled.remove(&at);
                let id = packets?.id;
                self.handled.insert(at, id);
                Some(id)
            }
            Note::Handled { at } => self.handled.remove(&at),
            Note::Announced { at, from, cookie } => {
                let id = *self.handled.get(&at)?;
                self.announced.insert((from, cookie), id);
                Some(id)
            }
            Note::Fetched { from, cookie, .. } => self.announced.get(&(from, cookie)).copied(),
            Note::Acknowledged { at, cookie } => self.announced.remove(&(at, cookie)),
            Note::Unexpected { at, number } => {
                let id = *self.handled.get(&at)?;
                self.unexpected.insert((at, number), id);
                Some(id)
            }
            Note::Matched { at, request } => {
                let id = *self.handled.get(&at)?;
                self.matched.insert((at, request), id);
                Some(id)
            }
            Note::Paired {
                at,
                number,
                request,
            } => {
                let id = self.unexpected.remove(&(at, number))?;
                self.matched.insert((at, request), id);
                Some(id)
            }
            Note::Finished { at, request } => self.matched.remove(&(at, request)),
            Note::Posted { .. }
            | Note::Started { .. }
            | Note::Injecting { .. }
            | Note::Fence { .. }
            | Note::Refused { .. }
            | Note::Completed { .. }
            | Note::Collective { .. }
            | Note::Program { .. } => None,
        }
    }
}

/// A line about a note: level, target, further fields, text.
macro_rules! line {
    ($level:ident, $target:literal, $by:ident, { $($fields:tt)* }, $text:literal) => {
        $level!(
            target: $target,
            node = $by.node,
            task = $by.at.task,
            context = $by.at.offset,
            client = ($by.at.client > 0).then_some($by.at.client),
            id = $by.id,
            $($fields)*
            $text
        )
    };
}

/// Common fields of the lines of notes.
struct By {
    node: u32,
    at: Context,
    id: Option<u32>,
}

fn log_note(event: &Event, note: Note, id: Option<u32>, packets: Option<&Packets>) {
    let by = By {
        node: event.node,
        at: note.at(),
        id,
    };
    match note {
        Note::Posted { .. } => line!(trace, "driver::post", by, {}, "instruction queued"),
        Note::Started { .. } => line!(trace, "driver::post", by, {}, "instruction started"),
        Note::Injecting { .. } => line!(trace, "driver::post", by, {}, "injection at the call"),
        Note::Withdrawn { .. } => line!(
            debug,
            "driver::post",
            by,
            {},
            "injection at the call refused: queued"
        ),
        Note::Message { to, tag, bytes, .. } => {
            let peer = Place(to);
            line!(info, "driver::post", by, { %peer, tag, bytes, }, "message posted");
        }
        Note::Put { to, bytes, .. } => {
            let peer = Place(to);
            line!(info, "driver::post", by, { %peer, bytes, }, "put posted");
        }
        Note::Asked {
            from,
            bytes,
            cookie,
            program,
            ..
        } => {
            let peer = Place(from);
            match cookie {
                Some(cookie) => {
                    line!(debug, "driver::rndv", by, { %peer, cookie, bytes, }, "data requested")
                }
                None if program => line!(info, "driver::post", by, { %peer, bytes, }, "get posted"),
                None => {
                    line!(debug, "driver::control", by, { %peer, bytes, }, "get of the driver sent")
                }
            }
        }
        Note::Sent {
            to, dispatch, tag, ..
        } => {
            let peer = Place(to);
            match packets.map(|packets| packets.role) {
                Some(Role::RequestToSend) => {
                    line!(debug, "driver::rndv", by, { %peer, tag, }, "rendezvous: request to send")
                }
                Some(Role::Acknowledgement) => {
                    line!(debug, "driver::ack", by, { %peer, }, "acknowledgement sent")
                }
                Some(Role::Eager) => {
                    line!(debug, "driver::eager", by, { %peer, dispatch, tag, }, "eager message sent")
                }
                _ => {
                    let control = control_message(dispatch);
                    line!(debug, "driver::control", by, { %peer, control, }, "control message sent");
                }
            }
        }
        Note::Packet {
            from,
            dispatch,
            tag,
            first,
            last,
            ..
        } => {
            let peer = Place(from);
            line!(trace, "driver::packet", by, { %peer, dispatch, tag, first, last, }, "packet received");
            match control_message(dispatch) {
                _ if !first => {}
                // A message of the program with a header.
                None | Some("HEADED") => {
                    line!(debug, "driver::dispatch", by, { %peer, dispatch, tag, }, "message dispatched")
                }
                Some(control) => {
                    line!(debug, "driver::control", by, { %peer, control, }, "control message received")
                }
            }
        }
        Note::Handled { .. } => line!(trace, "driver::packet", by, {}, "packet handled"),
        Note::Announced { from, cookie, .. } => {
            let peer = Place(from);
            line!(debug, "driver::rndv", by, { %peer, cookie, }, "request to send received");
        }
        Note::Fetched { from, cookie, .. } => {
            let peer = Place(from);
            line!(debug, "driver::rndv", by, { %peer, cookie, }, "data fetched");
        }
        Note::Unexpected { number, .. } => {
            line!(info, "driver::matching", by, { number, }, "unexpected message")
        }
        Note::Matched { request, .. } => {
            line!(debug, "driver::matching", by, { request, }, "message matched")
        }
        Note::Paired {
            number, request, ..
        } => {
            line!(debug, "driver::matching", by, { number, request, }, "receive matched an unexpected message")
        }
        Note::Finished { request, .. } => {
            line!(debug, "driver::matching", by, { request, }, "receive completed")
        }
        Note::Acknowledged { cookie, .. } => {
            line!(debug, "driver::ack", by, { cookie, }, "message acknowledged")
        }
        Note::Fence {
            peer, cookie, step, ..
        } => {
            let peer = Place(peer);
            let (level, text) = match step {
                FenceStep::Begun => (Level::INFO, "fence begun"),
                FenceStep::Requested => (Level::DEBUG, "fence requested by peer"),
                FenceStep::Synchronising => {
                    (Level::DEBUG, "waiting for puts and gets before the fence")
                }
                FenceStep::Answering => (Level::DEBUG, "fence answered"),
                FenceStep::Answered => (Level::DEBUG, "answer received"),
                FenceStep::OwnGetsLanded => (Level::DEBUG, "own gets landed"),
                FenceStep::Ended => (Level::INFO, "fence ended"),
                FenceStep::Failed => (Level::WARN, "fence failed"),
            };
            // The level of a line is part of its code.
            match level {
                Level::WARN => {
                    line!(warn, "driver::fence", by, { %peer, fence = cookie, }, "{text}")
                }
                Level::INFO => {
                    line!(info, "driver::fence", by, { %peer, fence = cookie, }, "{text}")
                }
                _ => line!(debug, "driver::fence", by, { %peer, fence = cookie, }, "{text}"),
            }
        }
        Note::Refused {
            source,
            kind,
            reason,
            ..
        } => {
            let kind = packet_kind(kind);
            let reason = ErrorReason::try_from(reason)
                .map_or_else(|_| reason.to_string(), |reason| format!("{reason:?}"));
            line!(warn, "driver::refusal", by, { ?source, %kind, %reason, }, "packets refused by this node");
        }
        Note::Completed { failed: false, .. } => {
            line!(debug, "driver::done", by, {}, "done callback")
        }
        Note::Completed { failed: true, .. } => {
            line!(warn, "driver::done", by, {}, "done callback with an error")
        }
        Note::Program { step, .. } => log_step(&by, step),
        Note::Collective {
            geometry,
            sequence,
            collective,
            algorithm,
            step,
            ..
        } => {
            let collective = Collective::ALL
                .get(usize::from(collective))
                .map(|one| one.name());
            let algorithm = Algorithm::ALL
                .get(usize::from(algorithm))
                .map(|one| one.name());
            match step {
                CollectiveStep::Begun => {
                    line!(info, "driver::collective", by, { collective, algorithm, geometry, sequence, }, "collective begun")
                }
                CollectiveStep::Ended => {
                    line!(info, "driver::collective", by, { collective, algorithm, geometry, sequence, }, "collective ended")
                }
                CollectiveStep::Failed => {
                    line!(warn, "driver::collective", by, { collective, algorithm, geometry, sequence, }, "collective failed")
                }
            }
        }
    }
}

/// Writes a step of an MPI program.
fn log_step(by: &By, step: ProgramStep) {
    match step {
        ProgramStep::Begun => line!(debug, "program", by, {}, "MPI ready"),
        ProgramStep::Send {
            number,
            to,
            tag,
            bytes,
        } => {
            line!(debug, "program", by, { number, to, tag, bytes, }, "send")
        }
        ProgramStep::Receive { number } => {
            line!(debug, "program", by, { number, }, "receive posted")
        }
        ProgramStep::Sent { number } => line!(debug, "program", by, { number, }, "send ended"),
        ProgramStep::Received {
            number,
            from,
            tag,
            bytes,
        } => {
            line!(debug, "program", by, { number, from, tag, bytes, }, "receive ended")
        }
        ProgramStep::Other(other) => {
            let other = other.words();
            line!(debug, "program", by, { other, }, "other communication");
        }
        ProgramStep::Ending => line!(debug, "program", by, {}, "MPI ends"),
    }
}

/// Name of a packet kind, or its code.
fn packet_kind(code: u8) -> String {
    Kind::try_from(code).map_or_else(|_| code.to_string(), |kind| format!("{kind:?}"))
}
