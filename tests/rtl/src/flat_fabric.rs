// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Verilated `gyre_fabric` of 2x2 nodes behind the wire-side code of `gyre-sim`'s nodes, so that what a
//! machine of single nodes was fed with can be played to it.

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::OnceLock;

use gyre_verilate::{Library, Model};

use crate::library::{failure, load, small};

/// Functions of the fabric's library, as `cpp/flat_fabric.cpp` describes them.
#[repr(C)]
struct Entry {
    make: extern "C" fn(u64, u32) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
    load: unsafe extern "C" fn(*mut c_void, u32, *const u64, usize) -> *const c_char,
    run: unsafe extern "C" fn(*mut c_void, u64) -> *const c_char,
    outputs: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> *const u64,
}

/// A file of `gyre-sim`: the wires of each node are driven by the code that drives a single node.
macro_rules! of_sim {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../sim-harness/sim/cpp/", $file)))),*]
    };
}

const WRAPPER: &[(&str, &str)] = &[("flat_fabric.cpp", include_str!("../cpp/flat_fabric.cpp"))];
const SIM: &[(&str, &str)] = of_sim! {
    "axi_slave.h" "barrier_ports.h" "bits.h" "link_ports.h" "link_records.h" "node_wires.h" "out_buffer.h" "pins.h" "records.h"
    "register_master.h"
};

fn entry() -> &'static Entry {
    static LOADED: OnceLock<&Entry> = OnceLock::new();
    LOADED.get_or_init(|| {
        // A ring in dimension 0 and a line in dimension 1; the nodes are those of `gyre-sim`'s model of 3 dimensions.
        let model = Model::new("gyre_fabric")
            .file_list("rtl/gyre.f")
            .parameter("NDim", 3)
            .parameter("Ring", "5'b00001")
            .prefix("Vfabric");
        let library = small(Library::new("fabric", model, "gyre_fabric"))
            .opt_level(0)
            .wrapper(WRAPPER)
            .wrapper(SIM);
        // SAFETY: `cpp/flat_fabric.cpp` defines this entry.
        unsafe { load(&library, "gyre_fabric") }
    })
}

/// Nodes of the fabric.
pub const NODES: usize = 4;

/// Sizes of its dimensions.
pub const DIMS: [u16; 2] = [2, 2];

/// Which of its dimensions are lines.
pub const MESH: [bool; 2] = [false, true];

/// Latency of its links, cycles.
pub const LINK_LATENCY: u64 = 4;

/// Output of a node on its links, memory and register ports, interrupt or wake-up outputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Output {
    /// Cycle.
    pub cycle: u64,
    /// Tag, port and flags: the lower half of a record's first word.
    pub head: u32,
    /// The record's other words.
    pub words: Vec<u64>,
}

impl Output {
    /// A word on a link.
    pub fn is_link(&self) -> bool {
        self.head & 0xff == LINK_WORD
    }
}

const LINK_WORD: u32 = 1;
const WRITE_DATA: u32 = 4;
const END: u32 = 8;

/// The outputs in records that `cpp/records.h` of `gyre-sim` describes, of a run that began in cycle `start`.
///
/// # Panics
/// If they are no such records.
pub fn outputs(start: u64, mut records: &[u64]) -> Vec<Output> {
    let mut outputs = Vec::new();
    while let Some((&head, rest)) = records.split_first() {
        let tag = head as u32 & 0xff;
        let length = match tag {
            LINK_WORD => 3,
            2 | 3 => 2,
            WRITE_DATA => 10,
            5 | 6 => 1,
            END => 2,
            tag => panic!("record {tag}: cpp/records.h and this file disagree"),
        };
        let (words, rest) = rest.split_at(length);
        records = rest;
        let mut words = words.to_vec();
        if tag == WRITE_DATA {
            clear_unwritten(&mut words);
        }
        // The end of a run is no output.
        if tag != END {
            outputs.push(Output {
                cycle: start + (head >> 32),
                head: head as u32,
                words,
            });
        }
    }
    outputs
}

/// Clears the bytes of a write beat, {packet id, strobe, data}, that its strobes leave out: AXI gives them no meaning, and
/// the RTL leaves stale buffer content in them.
fn clear_unwritten(beat: &mut [u64]) {
    let (strobe, data) = (beat[1], &mut beat[2..]);
    for byte in (0..64).filter(|byte| strobe >> byte & 1 == 0) {
        data[byte / 8] &= !(0xff << (byte % 8 * 8));
    }
}

/// A fabric just out of reset.
pub struct Fabric(*mut c_void);

impl Fabric {
    /// `stall_seed` and `stall_percent` are those of the memory channels, as in `gyre-sim`.
    pub fn new(stall_seed: u64, stall_percent: u8) -> Self {
        Self((entry().make)(stall_seed, stall_percent.into()))
    }

    /// Hands input records, without those of links, to a node.
    ///
    /// # Errors
    /// The wire side's message about malformed records.
    pub fn load(&mut self, node: usize, words: &[u64]) -> Result<(), String> {
        // SAFETY: the fabric is one of the library, which copies the words; the text lives until the next call.
        unsafe {
            failure((entry().load)(
                self.0,
                node as u32,
                words.as_ptr(),
                words.len(),
            ))
        }
    }

    /// Runs every cycle before `end`.
    ///
    /// # Errors
    /// A failed assertion of the RTL.
    pub fn run(&mut self, end: u64) -> Result<(), String> {
        // SAFETY: the fabric is one of the library; the text lives until the next call.
        unsafe { failure((entry().run)(self.0, end)) }
    }

    /// Outputs of a node since reset.
    pub fn outputs(&self, node: usize) -> Vec<Output> {
        assert!(node < NODES, "node {node}");
        let mut length = 0;
        // SAFETY: the fabric is one of the library; the words stay as they are until it runs again.
        let words = unsafe {
            slice::from_raw_parts(
                (entry().outputs)(self.0, node as u32, &raw mut length),
                length,
            )
        };
        outputs(0, words)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        // SAFETY: the fabric is one of the library and used no more.
        unsafe { (entry().drop)(self.0) };
    }
}
