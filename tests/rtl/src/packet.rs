// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets as flits, and flits as packets again.

use gyre_layout::{CHUNK_BYTES, Coord, HEADER_BYTES, Header, Kind, VClass};

use crate::routes::{Shape, reference_route};

/// Virtual-channel classes of the torus.
pub const CLASSES: usize = 4;

/// 32-bit words of the widest flit.
pub const MAX_FLIT_WORDS: usize = 8;

/// Payload lengths at the edges of the packet format, in bytes.
pub const EDGE_LENGTHS: [u16; 6] = [0, 1, 31, 32, 33, 512];

/// A flit with its control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flit {
    /// Data, low word first; words beyond the flit width are zero.
    pub data: [u32; MAX_FLIT_WORDS],
    /// First flit of its packet.
    pub head: bool,
    /// Last flit of its packet.
    pub tail: bool,
    /// With `tail`: the packet was cut short.
    pub err: bool,
    /// Packet id of waves.
    pub dbg: u32,
}

impl Flit {
    /// The bits of `flit_ctl_t`.
    pub fn ctl(&self) -> u64 {
        u64::from(self.dbg)
            | u64::from(self.head) << 32
            | u64::from(self.tail) << 33
            | u64::from(self.err) << 34
    }

    /// A flit from `flit_ctl_t` and its data.
    pub fn from_ctl(ctl: u64, words: &[u32]) -> Self {
        let mut data = [0; MAX_FLIT_WORDS];
        data[..words.len()].copy_from_slice(words);
        Self {
            data,
            head: ctl >> 32 & 1 != 0,
            tail: ctl >> 33 & 1 != 0,
            err: ctl >> 34 & 1 != 0,
            dbg: ctl as u32,
        }
    }
}

/// A packet under way, as the scoreboard remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Unique number, also the debug id on its flits; not 0.
    pub id: u32,
    /// Number of the sending node.
    pub src: usize,
    /// Number of the receiving node.
    pub dst: usize,
    /// 0 request, 1 response, 2 priority, 3 system.
    pub class: usize,
    /// It may take any shortest way.
    pub dynamic: bool,
    /// Nodes on the way that get a copy.
    pub copies: Vec<usize>,
    /// Header and padded payload, as on the wire.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// A packet between two nodes of `shape` with `len` random payload bytes; with `deposit` it leaves a
    /// copy at every node on its way.
    ///
    /// # Panics
    /// If a value does not fit into the header.
    pub fn random(
        shape: &Shape,
        id: u32,
        (src, dst): (usize, usize),
        class: usize,
        len: u16,
        deposit: bool,
        rng: &mut fastrand::Rng,
    ) -> Self {
        let places = shape.places();
        let header = Header {
            dst: Coord(places[dst]),
            vclass: VClass::try_from(class as u8).expect("there are four classes"),
            src: Coord(places[src]),
            deposit,
            dynamic_route: false,
            kind: if class == 1 { Kind::Put } else { Kind::MemFifo },
            len,
            hint: 0,
            order: 0,
            flow: None,
            first: true,
            last: true,
            seq: (id % 1024) as u16,
            target: 0,
            offset: rng.u32(..),
            aux: rng.u32(..),
            sw0: rng.u32(..),
            sw1: id,
        };
        let mut bytes = header.encode().expect("every value fits").to_vec();
        bytes.extend((0..len).map(|_| rng.u8(..)));
        bytes.resize(
            HEADER_BYTES + usize::from(len).div_ceil(CHUNK_BYTES) * CHUNK_BYTES,
            0,
        );
        let mut place = places[src];
        let mut copies = Vec::new();
        if deposit {
            for port in reference_route(shape, &places[src], &places[dst]) {
                place = shape.neighbour(&place, port).unwrap_or(place);
                copies.push(shape.index(&place));
            }
            copies.pop();
        }
        Self {
            id,
            src,
            dst,
            class,
            copies,
            dynamic: false,
            bytes,
        }
    }

    /// The packet with leave to take any shortest way, by its hint and order.
    #[must_use]
    pub fn into_dynamic(mut self, hint: u16, order: u8) -> Self {
        let mut header: [u8; HEADER_BYTES] = [0; HEADER_BYTES];
        header.copy_from_slice(&self.bytes[..HEADER_BYTES]);
        let header = Header {
            dynamic_route: true,
            hint,
            order,
            ..Header::decode(&header).expect("a header of this packet")
        };
        let header = header.encode().expect("every value fits");
        self.bytes[..HEADER_BYTES].copy_from_slice(&header);
        self.dynamic = true;
        self
    }

    /// The packet cut into flits.
    pub fn flits(&self, flit_bytes: usize) -> Vec<Flit> {
        let count = self.bytes.len() / flit_bytes;
        (self.bytes.chunks(flit_bytes).enumerate())
            .map(|(index, bytes)| Flit {
                data: words(bytes),
                head: index == 0,
                tail: index + 1 == count,
                err: false,
                dbg: self.id,
            })
            .collect()
    }
}

/// Little-endian words of up to 32 bytes.
pub fn words(bytes: &[u8]) -> [u32; MAX_FLIT_WORDS] {
    let mut words = [0; MAX_FLIT_WORDS];
    for (index, &byte) in bytes.iter().enumerate() {
        words[index / 4] |= u32::from(byte) << (8 * (index % 4));
    }
    words
}

/// A packet taken from a queue of flits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Debug id of the head.
    pub id: u32,
    /// Bytes of all flits; of a packet cut short, those before the poisoned tail.
    pub bytes: Vec<u8>,
    /// The tail was marked as damaged.
    pub err: bool,
}

/// Flits that are no packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A head before the tail of the packet before.
    #[error("head of packet {0} inside packet {1}")]
    HeadInside(u32, u32),
    /// A flit that belongs to no packet.
    #[error("flit of packet {0} without a head")]
    NoHead(u32),
    /// The id changed inside a packet.
    #[error("flit of packet {0} inside packet {1}")]
    Mixed(u32, u32),
}

/// Puts flits of one queue together again.
#[derive(Debug, Default)]
pub struct Assembler {
    open: Option<Received>,
}

impl Assembler {
    /// Adds a flit of `flit_bytes` bytes; returns the packet that it ends.
    ///
    /// # Errors
    /// [`FramingError`] if flits are not head, body, tail of one packet after the other.
    pub fn push(
        &mut self,
        flit: &Flit,
        flit_bytes: usize,
    ) -> Result<Option<Received>, FramingError> {
        match &self.open {
            Some(open) if flit.head => return Err(FramingError::HeadInside(flit.dbg, open.id)),
            None if !flit.head => return Err(FramingError::NoHead(flit.dbg)),
            // The tail that closes a cut packet carries neither id nor data.
            Some(open) if flit.dbg != open.id && !flit.err => {
                return Err(FramingError::Mixed(flit.dbg, open.id));
            }
            _ => {}
        }
        let open = self.open.get_or_insert(Received {
            id: flit.dbg,
            bytes: Vec::new(),
            err: false,
        });
        open.err |= flit.err;
        if !flit.err {
            let bytes = flit.data.iter().flat_map(|word| word.to_le_bytes());
            open.bytes.extend(bytes.take(flit_bytes));
        }
        Ok(if flit.tail { self.open.take() } else { None })
    }

    /// Whether a packet has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}
