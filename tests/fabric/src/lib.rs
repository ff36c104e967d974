//! A Verilated `gyre_fabric` of 2x2 nodes behind the wire-side code of `gyre-sim`'s nodes, so that what a
//! machine of single nodes was fed with can be played to it.

#[cxx::bridge(namespace = "gyre")]
mod ffi {
    unsafe extern "C++" {
        include!("gyre-fabric-tests/src/fabric.h");

        type Fabric;

        fn new_fabric(stall_seed: u64, stall_percent: u32) -> UniquePtr<Fabric>;
        fn load(self: Pin<&mut Fabric>, node: u32, words: &[u64]) -> Result<()>;
        fn run(self: Pin<&mut Fabric>, end: u64) -> Result<()>;
        fn outputs(self: &Fabric, node: u32) -> &[u64];
    }
}

/// Nodes of the fabric.
pub const NODES: usize = 4;

/// Sizes of its dimensions.
pub const DIMS: [u16; 2] = [2, 2];

/// Which of its dimensions are lines.
pub const MESH: [bool; 2] = [false, true];

/// Latency of its links, cycles.
pub const LINK_LATENCY: u64 = 4;

/// What a node did on its links, memory and register ports, interrupt and wake-up outputs.
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
/// the RTL leaves in them what its buffers happen to hold.
fn clear_unwritten(beat: &mut [u64]) {
    let (strobe, data) = (beat[1], &mut beat[2..]);
    for byte in (0..64).filter(|byte| strobe >> byte & 1 == 0) {
        data[byte / 8] &= !(0xff << (byte % 8 * 8));
    }
}

/// A fabric just out of reset.
pub struct Fabric(cxx::UniquePtr<ffi::Fabric>);

impl Fabric {
    /// `stall_seed` and `stall_percent` are those of the memory channels, as in `gyre-sim`.
    pub fn new(stall_seed: u64, stall_percent: u8) -> Self {
        Self(ffi::new_fabric(stall_seed, stall_percent.into()))
    }

    /// Hands input records, without those of links, to a node.
    ///
    /// # Errors
    /// What the wire side says about records that are none.
    pub fn load(&mut self, node: usize, words: &[u64]) -> Result<(), cxx::Exception> {
        self.0.pin_mut().load(node as u32, words)
    }

    /// Runs every cycle before `end`.
    ///
    /// # Errors
    /// A failed assertion of the RTL.
    pub fn run(&mut self, end: u64) -> Result<(), cxx::Exception> {
        self.0.pin_mut().run(end)
    }

    /// What a node has done since reset.
    pub fn outputs(&self, node: usize) -> Vec<Output> {
        outputs(0, self.0.outputs(node as u32))
    }
}
