// SPDX-License-Identifier: MIT OR Apache-2.0
//! The application messaging module: sends and receives that are paired by match data (CT-1 to CT-8).
//!
//! Match data is (origin rank, tag, communicator); a receive may leave rank or tag open. Messages
//! of one origin match in the order sent, receives in the order posted, as in MPI. Ranks are those of the
//! [`Communicator`]'s group; packets name their origin by its task, so they carry the communicator's number alone.
//!
//! From the switch-over size on a message waits at its origin until it has a receive, and no payload is
//! ever buffered at the target:
//!
//! 1. The send transmits an RTS: match data, where the data is, its size.
//! 2. The target matches it with a receive, or puts it into its pending queue until there is one.
//! 3. The target issues a remote get. The origin's DMA engine reads the data and sends it by direct put;
//!    no processor has a part in that.
//! 4. The target's byte counter goes from the size down to zero: the receive's callback runs.
//! 5. The target acknowledges: the send's callback runs at the origin.
//!
//! A shorter message travels at once; if no receive waits for it, it is held in a buffer, which [`MessagingStats`]
//! counts, and whose memory is kept for later ones up to a bound. [`Protocol::TemporaryBuffer`] is the prior art for
//! long messages, for comparison: the target requests the data at once, and holds it if no receive waits.

mod arrive;
mod communicator;
mod deliver;
mod format;
mod label;
mod match_data;
mod module;
pub mod primitives;
mod state;
pub mod table;

pub use communicator::Communicator;
pub use label::Label;
pub use match_data::{ANY_TAG, Received};
pub use module::Messaging;
pub use state::{MessagingConfig, MessagingStats, Protocol, ReceiveDone, Request};
