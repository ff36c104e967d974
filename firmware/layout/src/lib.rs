// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bit layout of packets, descriptors, links and registers, shared between RTL and software.
//!
//! `rtl/pkg/gyre_pkg.sv` declares the same structs for the hardware; a test compares every field and
//! every code with it (`tests/rtl`). Registers come from `rtl/csr/gyre.rdl` (HW-1, X-5).
#![no_std]
#![forbid(unsafe_code)]

mod codes;
mod coll;
mod coord;
mod descriptor;
mod error;
mod field;
pub mod fields;
mod header;
mod link;
pub mod registers;
mod rmw;

pub use codes::{CollOp, CollType, ErrorReason, Kind, RmwOp, VClass};
pub use coll::Collective;
pub use coord::{Coord, PackedCoord};
pub use descriptor::{Area, Descriptor, Message, MessageTemplate, Source, Transfer};
pub use error::LayoutError;
pub use field::{BitField, Field};
pub use header::{CounterRef, FlowPlace, Header, MessageHeader, PutTarget, WholeMessage};
pub use link::LinkState;
pub use rmw::Rmw;

/// Dimensions that every header has room for.
pub const MAX_DIM: usize = 5;
/// Bytes of a packet header.
pub const HEADER_BYTES: usize = 32;
/// Payload granule on the wire and in a reception FIFO, in bytes.
pub const CHUNK_BYTES: usize = 32;
/// Most payload bytes of a packet.
pub const MAX_PAYLOAD_BYTES: usize = 512;
/// Bytes of an injection descriptor.
pub const DESCRIPTOR_BYTES: usize = 64;
/// Most descriptors that one remote get carries.
pub const MAX_REMOTE_DESCRIPTORS: usize = MAX_PAYLOAD_BYTES / DESCRIPTOR_BYTES;
/// Virtual channels in use on a link: class * 2 + dateline.
pub const NUM_VC: usize = 4;
/// Virtual channels that the register map and the link word have room for.
pub const MAX_VC: usize = 8;
/// Most link ports of a node: port 2d is + of dimension d, port 2d+1 is -.
pub const MAX_PORTS: usize = 2 * MAX_DIM;
/// Value of `registers::node::id::MAGIC`.
pub const ID_MAGIC: u64 = 0x4759_5245;
/// Version of the register map that this crate describes.
pub const ID_VERSION: u64 = 1;

/// Bytes that a packet with `len` payload bytes takes on the wire and in a reception FIFO.
#[must_use]
pub const fn packet_bytes(len: usize) -> usize {
    HEADER_BYTES + len.div_ceil(CHUNK_BYTES) * CHUNK_BYTES
}

/// Events: bits of `WAKE_MASK` and `WAKE_CAUSE`.
pub mod event {
    /// Reception FIFO `fifo` (0..16) committed a packet.
    #[must_use]
    pub const fn reception(fifo: u32) -> u64 {
        1 << fifo
    }
    /// Injection FIFO `fifo` (0..32), if its `CTRL.IRQ_COMPLETE` is set, completed a descriptor.
    #[must_use]
    pub const fn injection(fifo: u32) -> u64 {
        1 << (16 + fifo)
    }
    /// A byte counter reached zero.
    pub const COUNTER: u64 = 1 << 48;
    /// A barrier completed: see BARRIER_DONE of the collective network.
    pub const BARRIER: u64 = 1 << 49;
    /// An error was raised.
    pub const ERROR: u64 = 1 << 63;
}
