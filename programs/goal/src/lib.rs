// SPDX-License-Identifier: MIT OR Apache-2.0
//! GOAL programs: traces of message-passing applications as dependency graphs of `send`, `recv`
//! and `calc` operations, one graph a rank.
//!
//! * [`parse`] reads the text format and refuses, with file, line, column and reason, whatever
//!   cannot run; [`Program`] is the compact result and its `Display` writes the text back.
//! * [`exec::RankState`] says which operation of a rank may start next. It knows no machine: a
//!   runner tells it what started and what finished.
//! * [`payload`] generates and checks the bytes of each message.
//! * [`mod@reference`] runs a program on a perfect network, as an oracle for tests.
//!
//! ```
//! let text = b"num_ranks 1\nrank 0 {\na: calc 40\nb: calc 2\nb requires a\n}\n";
//! let program = gyre_goal::parse("two-steps.goal", text)?;
//! assert_eq!(program.floor_ns(), Ok(42));
//! # Ok::<(), Box<gyre_goal::ParseError>>(())
//! ```
//!
//! Everything is a pure function of its input: no clock, no randomness, no hash-map order.

#![forbid(unsafe_code)]

mod balance;
mod build;
mod error;
mod excerpt;
pub mod exec;
mod lexer;
mod parse;
pub mod payload;
mod program;
pub mod reference;
mod totals;
mod write;

pub use balance::Imbalance;
pub use build::{Cycle, RankBuilder};
pub use error::{LoadError, ParseError, Reason};
pub use excerpt::Excerpt;
pub use parse::{parse, parse_file};
pub use program::{ANY_TAG, Cut, Dependency, Op, OpId, OpKind, Program, RankProgram, TAG_MAX};
pub use totals::{RankTotals, Totals};
