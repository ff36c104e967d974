// SPDX-License-Identifier: MIT OR Apache-2.0
//! Destinations of messages: pieces of the program's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A piece of the program's memory, by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Address of its first byte.
    pub address: usize,
    /// Bytes.
    pub bytes: usize,
}

/// A buffer for several messages.
#[derive(Debug, Default)]
pub struct Multi {
    /// Messages in transit into it.
    under_way: AtomicUsize,
    /// It takes no further messages.
    full: AtomicBool,
}

/// A receive: its context, which is an address, whether it asks for a completion, and its number for traces.
pub type Receive = (usize, bool, u32);

/// The place of one message.
#[derive(Debug)]
pub struct Landing {
    /// Context of the receive, an address.
    pub context: usize,
    /// Whether the receive asks for a completion.
    pub wants: bool,
    /// Number of the receive for traces.
    pub number: u32,
    pieces: Vec<Piece>,
    multi: Option<Arc<Multi>>,
}

impl Landing {
    /// The place of a receive into these pieces.
    pub fn new((context, wants, number): Receive, pieces: Vec<Piece>) -> Self {
        Self {
            context,
            wants,
            number,
            pieces,
            multi: None,
        }
    }

    /// A place in a multi-receive buffer.
    pub fn within((context, wants, number): Receive, piece: Piece, multi: &Arc<Multi>) -> Self {
        multi.under_way.fetch_add(1, Ordering::Relaxed);
        Self {
            context,
            wants,
            number,
            pieces: vec![piece],
            multi: Some(Arc::clone(multi)),
        }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.pieces.first().map_or(0, |piece| piece.address)
    }

    /// Address for a message of this many bytes, if it fits in one piece.
    pub fn direct(&self, bytes: usize) -> Option<*mut u8> {
        match self.pieces.as_slice() {
            [piece] if piece.bytes >= bytes => Some(piece.address as *mut u8),
            _ => None,
        }
    }

    /// Copies the part of a message that fits; returns its bytes.
    ///
    /// # Safety
    /// The pieces are the program's memory, which is not in use.
    pub unsafe fn fill(&self, mut message: &[u8]) -> usize {
        let mut filled = 0;
        for piece in &self.pieces {
            let (here, rest) = message.split_at(piece.bytes.min(message.len()));
            // SAFETY: what the caller promises.
            unsafe {
                (piece.address as *mut u8).copy_from(here.as_ptr(), here.len());
            }
            filled += here.len();
            message = rest;
        }
        filled
    }

    /// Notes that the message is in place; returns whether it was the last one of a multi-receive buffer.
    pub fn ends(&self) -> bool {
        self.multi.as_ref().is_some_and(|multi| {
            let others = multi.under_way.fetch_sub(1, Ordering::Relaxed) - 1;
            others == 0 && multi.full.load(Ordering::Relaxed)
        })
    }
}

/// Destination of a receive.
#[derive(Debug)]
pub enum Buffer {
    /// One message.
    One(Vec<Piece>),
    /// Several messages.
    Many {
        /// Unused rest.
        left: Piece,
        /// The buffer.
        multi: Arc<Multi>,
    },
}

/// Alignment of messages in a multi-receive buffer, bytes.
const ALIGN: usize = 8;

impl Buffer {
    /// The place of the next message, and whether it is the last.
    pub fn claim(&mut self, receive: Receive, bytes: usize, least_room: usize) -> (Landing, bool) {
        match self {
            Self::One(pieces) => {
                let pieces = std::mem::take(pieces);
                (Landing::new(receive, pieces), true)
            }
            Self::Many { left, multi } => {
                let taken = bytes.min(left.bytes);
                let piece = Piece {
                    address: left.address,
                    bytes: taken,
                };
                let landing = Landing::within(receive, piece, multi);
                let next = taken.next_multiple_of(ALIGN).min(left.bytes);
                left.address += next;
                left.bytes -= next;
                let full = left.bytes < least_room.max(1);
                multi.full.store(full, Ordering::Relaxed);
                (landing, full)
            }
        }
    }
}
