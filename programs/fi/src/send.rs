// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends.

use std::sync::Arc;

use gyre_driver::{DEFAULT_EAGER_LIMIT, DoneFn, SendImmediate, SendMessage, SendProtocol};
use gyre_interpose::Staging;
use gyre_note::{OtherStep, ProgramStep};
use gyre_remote::RemotePlatform;

use crate::abi::{Addr, flags};
use crate::arrival::map;
use crate::boundary::Refusal;
use crate::cq::Completion;
use crate::destination::Piece;
use crate::message::{Header, Kind, Protocol};
use crate::port::{Port, wants_completion};
use crate::send_data::{copy, staged, total};

/// Longest message that is sent at once, bytes: with its header in one packet.
pub const INJECT: usize = SendImmediate::MAX_HEADED - Header::BYTES;

/// Bits of a tag that are an MPI program's own: those that MPICH and Open MPI both leave to it.
const SHOWN_TAG: u32 = (1 << 20) - 1;

/// A message to be sent.
pub struct Send {
    /// Its kind.
    pub kind: Kind,
    /// Destination.
    pub to: Addr,
    /// Its tag.
    pub tag: u64,
    /// Remote CQ data.
    pub data: Option<u64>,
    /// Its data.
    pub pieces: Vec<Piece>,
    /// Context of the operation, an address.
    pub context: usize,
    /// Its flags.
    pub flags: u64,
    /// Its number for traces.
    pub number: u32,
}

impl Send {
    /// Starts it.
    ///
    /// # Errors
    /// `FI_EINVAL` for an invalid destination; errors of the driver.
    ///
    /// # Safety
    /// The pieces are memory that the program does not touch until the operation has ended.
    pub unsafe fn start(self, port: &Arc<Port>) -> Result<(), Refusal> {
        let bytes = total(&self.pieces);
        let injects = self.flags & flags::INJECT != 0;
        if injects && bytes > INJECT {
            return Err(Refusal::INVALID);
        }
        self.note(port, bytes)?;
        if bytes <= INJECT {
            // SAFETY: what the caller promises.
            return unsafe { self.inject(port, bytes) };
        }
        let protocol = match bytes > DEFAULT_EAGER_LIMIT {
            true => Protocol::Rendezvous,
            false => Protocol::Eager,
        };
        // Contiguous data is read in place.
        let (range, keep) = match self.pieces.as_slice() {
            [piece] => (map(port, piece.address as *mut u8, bytes)?, None),
            pieces => {
                // SAFETY: what the caller promises.
                let staging = unsafe { staged(port, pieces)? };
                (map(port, staging.address(), bytes)?, Some(staging))
            }
        };
        let (header, comm) = self.header().encode();
        let destination = port.peer(self.to)?;
        let dispatch = self.kind.dispatch(protocol);
        let tag = self.shown_tag();
        let done = self.done(port, keep);
        port.context.send(SendMessage {
            comm,
            tag,
            header: header.to_vec(),
            protocol: match protocol {
                Protocol::Eager => SendProtocol::Eager,
                Protocol::Rendezvous => SendProtocol::Rendezvous,
            },
            local_done: Some(done),
            ..SendMessage::new(destination, dispatch, range)
        })?;
        Ok(())
    }

    /// Sends a short message at once.
    ///
    /// # Safety
    /// As [`Self::start`].
    unsafe fn inject(self, port: &Arc<Port>, bytes: usize) -> Result<(), Refusal> {
        let mut data = [0; INJECT];
        // SAFETY: what the caller promises; there is room.
        unsafe { copy(&self.pieces, data.as_mut_ptr()) };
        let (header, comm) = self.header().encode();
        let destination = port.peer(self.to)?;
        port.context.send_immediate(&SendImmediate {
            comm,
            tag: self.shown_tag(),
            header: &header,
            data: &data[..bytes],
            ..SendImmediate::new(destination, self.kind.dispatch(Protocol::Eager))
        })?;
        self.end(port, Ok(()));
        Ok(())
    }

    /// Notes it for traces.
    fn note(&self, port: &Port, bytes: usize) -> Result<(), Refusal> {
        let step = match self.kind {
            Kind::Untagged => ProgramStep::Other(OtherStep::Untagged),
            Kind::Tagged => ProgramStep::Send {
                number: self.number,
                to: port.peer(self.to)?.task().0,
                tag: self.tag,
                // The driver takes no longer ones.
                bytes: bytes as u32,
            },
        };
        port.step(step).take();
        Ok(())
    }

    fn header(&self) -> Header {
        Header {
            tag: self.tag,
            data: self.data,
        }
    }

    /// The tag that timelines show: the low bits are those of an MPI program's tag. Nothing is matched by it.
    const fn shown_tag(&self) -> u32 {
        self.tag as u32 & SHOWN_TAG
    }

    /// Callback that ends the send; it holds `keep` until then.
    fn done(self, port: &Arc<Port>, keep: Option<Staging>) -> DoneFn<RemotePlatform> {
        let port = Arc::clone(port);
        Box::new(move |_, outcome| {
            drop(keep);
            self.end(&port, outcome);
        })
    }

    fn end(&self, port: &Port, outcome: Result<(), gyre_driver::Error>) {
        let number = self.number;
        let mut completion = Completion {
            step: Some(port.step(ProgramStep::Sent { number })),
            ..Completion::new(self.context, flags::SEND | self.kind.flag())
        };
        if let Err(error) = outcome {
            eprintln!("libgyre-fi: {error}");
            completion = completion.failed(libc::EIO);
        }
        if let Some(bound) = port.bindings.get() {
            let injected = self.flags & flags::INJECT != 0 && !wants_completion(self.flags);
            if !injected {
                port.complete(&bound.sends, wants_completion(self.flags), completion);
            }
        }
    }
}
