// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives.

use std::sync::Arc;

use gyre_driver::Op;
use gyre_note::ProgramStep;

use crate::abi::{Addr, flags};
use crate::arrival::{described, give};
use crate::boundary::Refusal;
use crate::cq::Completion;
use crate::destination::{Buffer, Landing, Multi, Piece};
use crate::matcher::{Body, Pattern, Posted};
use crate::message::Kind;
use crate::port::{Port, wants_completion};
use gyre_driver::Platform as _;

/// A receive that the program posts, or a probe.
pub struct Receive {
    /// Kind of the messages.
    pub kind: Kind,
    /// Source.
    pub from: Addr,
    /// The tag.
    pub tag: u64,
    /// Bits of the tag that are ignored.
    pub ignore: u64,
    /// Destination.
    pub pieces: Vec<Piece>,
    /// Context of the operation, an address.
    pub context: usize,
    /// Its flags.
    pub flags: u64,
    /// Its number for traces.
    pub number: u32,
}

impl Receive {
    /// Starts it.
    ///
    /// # Errors
    /// `FI_EINVAL` for an invalid source, and for a message that was not claimed; `FI_ENOMSG` for a probe that finds
    /// nothing.
    ///
    /// # Safety
    /// The pieces are memory that the program does not touch until the operation has ended.
    pub unsafe fn start(self, port: &Arc<Port>) -> Result<(), Refusal> {
        let pattern = Pattern {
            source: port.source(self.from)?,
            tag: self.tag,
            ignore: self.ignore,
        };
        match self.flags & (flags::PEEK | flags::CLAIM | flags::DISCARD) {
            0 => self.post(port, pattern),
            asked if asked & flags::PEEK != 0 => self.probe(port, pattern),
            asked if asked & flags::DISCARD != 0 => {
                let dropped = self.matcher(port).discard(self.context, &pattern);
                dropped.map(discard).ok_or(Refusal::INVALID)?;
                let completion = Completion::new(self.context, flags::RECV | self.kind.flag());
                port.received(wants_completion(self.flags), completion);
                Ok(())
            }
            _ => self.take_claimed(port),
        }
    }

    fn matcher<'a>(&self, port: &'a Port) -> parking_lot::MutexGuard<'a, crate::matcher::Matcher> {
        port.matchers[self.kind as usize].lock()
    }

    fn post(self, port: &Arc<Port>, pattern: Pattern) -> Result<(), Refusal> {
        let (kind, wants) = (self.kind, wants_completion(self.flags));
        let buffer = match (self.flags & flags::MULTI_RECV != 0, self.pieces.as_slice()) {
            (true, &[left]) => Buffer::Many {
                left,
                multi: Arc::<Multi>::default(),
            },
            (true, _) => return Err(Refusal::INVALID),
            (false, _) => Buffer::One(self.pieces),
        };
        let posted = Posted {
            context: self.context,
            wants,
            number: self.number,
            buffer,
        };
        note(port, kind, self.number);
        let least_room = port.least_room();
        let (attempts, found) = port.matchers[kind as usize]
            .lock()
            .post(pattern, posted, least_room);
        port.charge_matching(attempts, found.is_empty());
        for kept in found {
            give(port, kind, kept);
        }
        Ok(())
    }

    fn take_claimed(self, port: &Arc<Port>) -> Result<(), Refusal> {
        let (kind, wants) = (self.kind, wants_completion(self.flags));
        let landing = Landing::new((self.context, wants, self.number), self.pieces);
        let mut matcher = port.matchers[kind as usize].lock();
        let found = matcher.take_claimed(self.context, landing);
        drop(matcher);
        for kept in found.ok_or(Refusal::INVALID)? {
            give(port, kind, kept);
        }
        Ok(())
    }

    /// Looks for a message; the result is a completion, also if there is none.
    fn probe(self, port: &Arc<Port>, pattern: Pattern) -> Result<(), Refusal> {
        let (attempts, found) = self.matcher(port).probe(&pattern);
        port.charge_matching(attempts, false);
        let wants = wants_completion(self.flags);
        let Some(message) = found else {
            let flags = flags::RECV | self.kind.flag();
            let none = Completion::new(self.context, flags).failed(libc::ENOMSG);
            port.received(wants, none);
            return Ok(());
        };
        if self.flags & flags::CLAIM != 0 {
            // Other receives pass it from now on, as if it had its own.
            note(port, self.kind, self.number);
            let claim = (self.context, self.number);
            self.matcher(port).claim(&pattern, claim);
        }
        if self.flags & flags::DISCARD != 0 {
            let dropped = self.matcher(port).discard(self.context, &pattern);
            if let Some(dropped) = dropped {
                discard(dropped);
            }
        }
        port.platform().charge(Op::Callback, 1);
        port.received(wants, described(port, self.kind, self.context, &message));
        Ok(())
    }
}

/// Notes a receive for traces.
fn note(port: &Port, kind: Kind, number: u32) {
    if let Kind::Tagged = kind {
        port.step(ProgramStep::Receive { number }).take();
    }
}

/// Discards a message.
fn discard(body: Body) {
    if let Body::AtOrigin(deferred) = body
        && let Err(error) = deferred.discard()
    {
        eprintln!("libgyre-fi: {error}");
    }
}

/// Cancels the last waiting receive with this context.
///
/// # Errors
/// `FI_ENOENT` if there is none, as it has its message.
pub fn cancel(port: &Port, context: usize) -> Result<(), Refusal> {
    for kind in [Kind::Untagged, Kind::Tagged] {
        let cancelled = port.matchers[kind as usize].lock().cancel(context);
        if let Some(posted) = cancelled {
            let flags = flags::RECV | kind.flag();
            let completion = Completion::new(context, flags).failed(libc::ECANCELED);
            port.received(posted.wants, completion);
            return Ok(());
        }
    }
    Err(Refusal(libc::ENOENT))
}
