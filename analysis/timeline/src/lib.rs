// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a run of the machine, and the messages, stages and files made of them.
//!
//! * An [`Event`] is a record of fixed size: when, on which node, on which lane, what. Who records gives them in the order
//!   of each lane; a [`Recording`] has them all, in an order that is a function of the simulated run alone.
//! * A [`Spool`] takes them while the machine runs: those that are too many for memory go to disk as they come.
//! * [`Messages`] are the messages of a recording: all that the driver and the hardware did for one message of a program,
//!   whatever packets it took. Each has a serial of its own and [`Stages`] that add up, to the picosecond, to its time
//!   from post to done.
//! * [`perfetto`] writes a recording as a trace that Perfetto opens.
//!
//! Nothing here knows the simulator or the driver: they fill in the records.

#![forbid(unsafe_code)]

mod event;
mod events;
mod messages;
pub mod perfetto;
mod recording;
mod spool;
mod stages;

pub use event::{Event, Lane, PacketKind, What, Why};
pub use events::{Sink, Spool};
pub use gyre_note::{CollectiveStep, Context, FenceStep, Note, OtherStep, ProgramStep};
pub use messages::{How, Message, Messages, Packets, Role};
pub use recording::{Link, Recording, Thread};
pub use spool::SpoolError;
pub use stages::{Stage, Stages};
