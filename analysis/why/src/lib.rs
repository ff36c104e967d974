// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time of a program went.
//!
//! All is derived from a [`Recording`](gyre_timeline::Recording): nothing here knows the simulator or the driver.

#![forbid(unsafe_code)]

mod analysis;
mod causes;
mod explain;
mod graph;
mod lanes;
mod path;
mod ranks;
mod replay;
mod segment;
mod streams;

pub use analysis::{Analysis, explain};
pub use causes::{Cause, Culprit, LEAST_LINK_CYCLES, LEAST_MEMORY_CYCLES};
pub use explain::{Explained, ExplainedStage};
pub use ranks::RankTime;
pub use segment::{Kind, Place, Segment};
