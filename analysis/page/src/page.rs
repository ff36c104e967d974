// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contents of a page.

use gyre_timeline::{Messages, Recording};
use gyre_why::Analysis;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Contents of a page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Title of the run, such as `run lulesh`.
    pub title: &'a str,
    /// Nodes in each dimension of the machine.
    pub shape: &'a [u16],
    /// Dimensions that are lines; those that are missing are rings.
    pub mesh: &'a [bool],
    /// The command that does the same, as a shell reads it, without options that write files.
    pub command: &'a str,
    /// Whether it takes `--trace-machine`, the number of the machine whose waveform it writes.
    pub numbers_machines: bool,
    /// Figures of the run, by name; none if it has none.
    pub figures: Option<&'a Map<String, Value>>,
    /// Why it has failed, if it has.
    pub failure: Option<&'a Failure>,
    /// Its machines, in the order in which they ended.
    pub runs: &'a [Run<'a>],
}

/// A machine that has run.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its events.
    pub recording: &'a Recording,
    /// The messages of those.
    pub messages: &'a Messages,
    /// Analysis of the run; none where no program ran.
    pub analysis: Option<&'a Analysis>,
    /// Why there is none, in a few words, where a program ran.
    pub unanalysed: Option<&'a str>,
}
