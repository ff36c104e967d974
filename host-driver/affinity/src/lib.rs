//! Affinity of software threads to the hardware threads of a node (AF-1 to AF-4).
//!
//! * A [`Place`] is a hardware thread: its processor, multi-chip module, core and number in the core. On a
//!   simulated node the [`Processor`] of the machine description gives the places; on a real machine the
//!   operating system does ([`Host`]). A [`ThreadPlace`] tells the calling thread its own.
//! * [`Domains`] are the software threads of each core, module and processor, each with a leader and an n-ary
//!   tree. Together they are one [`Tree`], in which threads of different domains are joined by leaders alone.

#![forbid(unsafe_code)]

mod asked;
mod domain;
mod host;
mod place;
mod processor;
mod tree;

pub use asked::{PlaceError, ThreadPlace};
pub use domain::{Domain, Domains};
pub use host::{Affinity, Host, HostError};
pub use place::{Place, Unit};
pub use processor::{Processor, ProcessorError};
pub use tree::{Tree, TreeError};
