// SPDX-License-Identifier: MIT OR Apache-2.0
//! A case: a machine and its stimuli.

use std::fmt;

use gyre_layout::ErrorReason;
use gyre_layout::fields::descriptor::SW0;
use gyre_sim::{MachineConfig, MemoryConfig, Topology};
use serde::{Deserialize, Serialize};

use crate::map;

/// The machine of a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Nodes in each dimension, 1 to 5 dimensions.
    pub dims: Vec<u16>,
    /// Cycles of a link, 1 to 60.
    pub link_latency: u64,
    /// Cycles from a read address to its first data, 2 or more.
    pub read_latency: u64,
    /// Cycles from the last write beat to its response, 1 or more.
    pub write_latency: u64,
    /// Most additional cycles of a burst.
    pub jitter: u64,
    /// Percentage of cycles in which memory channels are not ready, 0 to 90.
    pub stall_percent: u8,
    /// Whether bursts of different ids may overtake each other.
    pub reorder: bool,
    /// Seed of jitter, stalls and what memories without a reset hold.
    pub seed: u32,
}

impl Shape {
    /// Configuration of the machine.
    pub fn config(&self) -> MachineConfig {
        MachineConfig {
            dims: self.dims.clone(),
            link_latency: self.link_latency,
            memory: MemoryConfig {
                read_latency: self.read_latency,
                write_latency: self.write_latency,
                reorder: self.reorder,
                jitter: self.jitter,
                stall_percent: self.stall_percent,
                seed: u64::from(self.seed),
                error_ranges: Vec::new(),
            },
            // Noise on an output that stalls hold would be an offer that the reset withdraws.
            noise: (self.stall_percent == 0).then_some(self.seed),
            watchdog: 0,
            ..MachineConfig::default()
        }
    }

    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.dims.iter().map(|&size| usize::from(size)).product()
    }

    /// The machine's wiring; all dimensions are rings.
    pub fn topology(&self) -> Topology {
        Topology::new(&self.dims, &[])
    }

    /// `2x2`.
    pub fn name(&self) -> String {
        let sizes: Vec<String> = self.dims.iter().map(u16::to_string).collect();
        sizes.join("x")
    }

    /// Ports of the torus of a node's model.
    pub fn torus_ports(&self) -> usize {
        if self.dims.len() > 3 { 10 } else { 6 }
    }
}

/// Purpose of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendKind {
    /// Into a reception FIFO.
    Message,
    /// Into a base slot.
    Put,
    /// Puts that another node carries out.
    RemoteGet,
    /// Adds to a word of the counters' slot.
    Add,
}

/// A put that a remote get carries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// Bytes.
    pub length: u32,
    /// Byte offset in the source slot.
    pub source: u64,
    /// Base slot.
    pub target: u16,
    /// Byte offset in it.
    pub offset: u64,
    /// Bits of the descriptor that are flipped, 0 to 511.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoil: Vec<u16>,
}

/// A descriptor posted in an injection FIFO.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Injection FIFO, 0 to 2.
    pub fifo: u16,
    /// Kind.
    pub kind: SendKind,
    /// Node.
    pub to: usize,
    /// Virtual-channel class, 0 to 3.
    pub class: u8,
    /// Bytes; of an addition the number added.
    pub length: u32,
    /// Base slot of the payload.
    pub slot: u16,
    /// Byte offset in it.
    pub source: u64,
    /// Reception FIFO, base slot or injection FIFO of the target.
    pub target: u16,
    /// Byte offset in the target's slot.
    pub offset: u64,
    /// Counter, by its word in the counters' slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<u32>,
    /// By any shortest way.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dynamic: bool,
    /// By the node's ordered-dynamic flow, to the next node.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flow: bool,
    /// Leaves copies on its way.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deposit: bool,
    /// Puts that a remote get carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<Carried>,
    /// Bits of the descriptor that are flipped, 0 to 511.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoil: Vec<u16>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// When a wire flips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlipWhen {
    /// At the stimulus's cycle.
    Now,
    /// With the next flit or barrier pulse.
    Flit,
    /// With the next last flit of a packet.
    Tail,
    /// With the next credit.
    Credit,
}

/// Wires of a link that flip for a cycle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flip {
    /// Sending port: torus, tree (parent, child 0, child 1), barrier wires of these.
    pub port: usize,
    /// When.
    pub when: FlipWhen,
    /// Bits of the control word.
    pub word: u32,
    /// Bits of the data, as two hexadecimal numbers.
    pub data: [String; 2],
}

impl Flip {
    /// The data bits; none where they are no hexadecimal numbers of 64 bits.
    pub fn mask(&self) -> Option<[u64; 2]> {
        Some([hex(&self.data[0])?, hex(&self.data[1])?])
    }
}

/// A packet on a link gets another header, and check bits to go with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// Sending port: torus, tree (parent, child 0, child 1).
    pub port: usize,
    /// Bits of the header that are other ones, as four hexadecimal numbers, the lowest bits first.
    pub header: [String; 4],
}

impl Forge {
    /// The bits; none where they are no hexadecimal numbers of 64 bits.
    pub fn mask(&self) -> Option<[u64; 4]> {
        let [a, b, c, d] = &self.header;
        Some([hex(a)?, hex(b)?, hex(c)?, hex(d)?])
    }
}

/// A stimulus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A descriptor is posted.
    Send(Send),
    /// All nodes contribute to a sum of 32-bit words on class route 0.
    Reduce {
        /// Bytes, a multiple of 4.
        length: u32,
        /// Byte offset of the contribution in the source slot.
        source: u64,
        /// Byte offset of the result in the landing slot.
        offset: u64,
    },
    /// All nodes enter the barrier of barrier route 0.
    Barrier {},
    /// A register is read.
    Read {
        /// Register port: 0 host, 1 debugger.
        port: u8,
        /// Byte address, 24 bits.
        addr: u32,
    },
    /// A register is written.
    Write {
        /// Register port: 0 host, 1 debugger.
        port: u8,
        /// Byte address, 24 bits.
        addr: u32,
        /// Value, as a hexadecimal number.
        value: String,
    },
    /// STATUS of an injection FIFO is written, which skips an erroneous descriptor.
    Skip {
        /// Injection FIFO.
        fifo: u16,
    },
    /// TAIL of an injection FIFO moves over descriptors of zeros.
    Blank {
        /// Injection FIFO, 0 to 2.
        fifo: u16,
        /// Descriptors, 1 to 4.
        count: u8,
    },
    /// Software takes the packets of a reception FIFO.
    Consume {
        /// Reception FIFO, 0 or 5.
        fifo: u16,
    },
    /// A base slot is granted for writing and counters.
    Grant {
        /// Base slot, 8 to 11.
        slot: u16,
        /// Byte address, as a hexadecimal number.
        base: String,
        /// Bytes, as a hexadecimal number.
        limit: String,
    },
    /// Memory answers a byte range with slave errors.
    FailMemory {
        /// First byte.
        start: u32,
        /// Bytes.
        bytes: u32,
    },
    /// All memory answers well again.
    RepairMemory {},
    /// Memory channels are not ready.
    StallMemory {
        /// 0 read addresses, 1 write addresses, 2 write data, 3 all.
        channel: u8,
        /// Cycles.
        cycles: u32,
    },
    /// Memory answers nothing.
    WithholdMemory {
        /// Cycles.
        cycles: u32,
    },
    /// The node is reset, and set up again.
    ResetNode {},
    /// DMA engine and network are reset by software, and set up again.
    SoftReset {},
    /// Links of the torus are switched off and on again.
    CutLinks {
        /// A bit a port.
        ports: u16,
        /// Cycles in between.
        cycles: u32,
    },
    /// Wires flip.
    Flip(Flip),
    /// The next packet that starts on a link is another one.
    Forge(Forge),
    /// An error is raised by software.
    RaiseError {
        /// Reason code.
        reason: u8,
    },
}

impl Action {
    /// Class for the coverage of pairs.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Send(send) if !send.spoil.is_empty() => "spoilt",
            Self::Send(Send { flow: true, .. }) => "flow",
            Self::Send(send) => match send.kind {
                SendKind::Message => "message",
                SendKind::Put => "put",
                SendKind::RemoteGet => "get",
                SendKind::Add => "add",
            },
            Self::Reduce { .. } => "reduce",
            Self::Barrier {} => "barrier",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Skip { .. } => "skip",
            Self::Blank { .. } => "blank",
            Self::Consume { .. } => "consume",
            Self::Grant { .. } => "grant",
            Self::FailMemory { .. } => "fail",
            Self::RepairMemory {} => "repair",
            Self::StallMemory { .. } => "stall",
            Self::WithholdMemory { .. } => "withhold",
            Self::ResetNode {} => "reset",
            Self::SoftReset {} => "soft-reset",
            Self::CutLinks { .. } => "cut",
            Self::Flip(_) => "flip",
            Self::Forge(_) => "packet",
            Self::RaiseError { .. } => "error",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(send) => {
                let what = match send.kind {
                    SendKind::Message => "message to reception FIFO",
                    SendKind::Put => "put to slot",
                    SendKind::RemoteGet => "remote get by injection FIFO",
                    SendKind::Add => "addition in slot",
                };
                write!(
                    f,
                    "injection FIFO {}: {what} {} of node {}, {} B from slot {} + {:#x}, offset {:#x}, class {}",
                    send.fifo,
                    send.target,
                    send.to,
                    send.length,
                    send.slot,
                    send.source,
                    send.offset,
                    send.class
                )?;
                if let Some(counter) = send.counter {
                    write!(f, ", counter {counter}")?;
                }
                for (set, text) in [
                    (send.dynamic, ", dynamic"),
                    (send.flow, ", by flow"),
                    (send.deposit, ", leaving copies"),
                ] {
                    if set {
                        f.write_str(text)?;
                    }
                }
                if !send.spoil.is_empty() {
                    write!(f, ", bits {:?} flipped", send.spoil)?;
                }
                for put in &send.carries {
                    write!(
                        f,
                        "; carries a put of {} B from {:#x} to slot {} + {:#x}",
                        put.length, put.source, put.target, put.offset
                    )?;
                    if !put.spoil.is_empty() {
                        write!(f, ", bits {:?} flipped", put.spoil)?;
                    }
                }
                Ok(())
            }
            Self::Reduce {
                length,
                source,
                offset,
            } => write!(
                f,
                "all nodes add {length} B from {source:#x}, result at landing + {offset:#x}"
            ),
            Self::Barrier {} => f.write_str("all nodes enter barrier 0"),
            Self::Read { port, addr } => write!(f, "read of register {addr:#x} on port {port}"),
            Self::Write { port, addr, value } => {
                write!(f, "write of {value} to register {addr:#x} on port {port}")
            }
            Self::Skip { fifo } => write!(f, "injection FIFO {fifo}: STATUS = 1"),
            Self::Blank { fifo, count } => {
                write!(
                    f,
                    "injection FIFO {fifo}: TAIL moves over {count} descriptors of zeros"
                )
            }
            Self::Consume { fifo } => write!(f, "reception FIFO {fifo}: HEAD = TAIL"),
            Self::Grant { slot, base, limit } => {
                write!(f, "slot {slot} grants {limit} B at {base}")
            }
            Self::FailMemory { start, bytes } => {
                write!(f, "memory {start:#x} + {bytes:#x} answers with errors")
            }
            Self::RepairMemory {} => f.write_str("memory answers well again"),
            Self::StallMemory { channel, cycles } => {
                write!(f, "memory channel {channel} not ready for {cycles} cycles")
            }
            Self::WithholdMemory { cycles } => {
                write!(f, "memory answers nothing for {cycles} cycles")
            }
            Self::ResetNode {} => f.write_str("reset of the node"),
            Self::SoftReset {} => f.write_str("soft reset"),
            Self::CutLinks { ports, cycles } => {
                write!(f, "links {ports:#x} off for {cycles} cycles")
            }
            Self::Flip(flip) => write!(
                f,
                "port {}: control bits {:#010x}, data bits {} {} flip {}",
                flip.port,
                flip.word,
                flip.data[1],
                flip.data[0],
                match flip.when {
                    FlipWhen::Now => "now",
                    FlipWhen::Flit => "with the next flit",
                    FlipWhen::Tail => "with the next last flit",
                    FlipWhen::Credit => "with the next credit",
                }
            ),
            Self::Forge(forge) => {
                let [a, b, c, d] = &forge.header;
                write!(
                    f,
                    "port {}: header of the next packet is another one in bits {d} {c} {b} {a}",
                    forge.port
                )
            }
            Self::RaiseError { reason } => match ErrorReason::try_from(*reason) {
                Ok(name) => write!(f, "error {reason:#04x} is raised ({name})"),
                Err(_) => write!(f, "error {reason:#04x} is raised"),
            },
        }
    }
}

/// Something done at a node at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stimulus {
    /// Cycles after the machine is up.
    pub cycle: u32,
    /// Node.
    pub node: usize,
    /// Stimulus.
    pub action: Action,
}

/// A machine and its stimuli.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The machine.
    pub machine: Shape,
    /// Stimuli in order of time.
    pub stimulus: Vec<Stimulus>,
}

impl Case {
    /// Checks every field. An error names the stimulus (`None`: the machine), field, value and expected values.
    pub fn check(&self) -> Result<(), (Option<usize>, String)> {
        let config = self.machine.config();
        config
            .validate()
            .map_err(|error| (None, format!("machine.{error}")))?;
        let nodes = self.machine.nodes();
        if !(2..=32).contains(&nodes) {
            let text = format!("machine.dims = {:?}: expected 2 to 32 nodes", config.dims);
            return Err((None, text));
        }
        for (number, stimulus) in self.stimulus.iter().enumerate() {
            stimulus
                .check(&self.machine)
                .map_err(|text| (Some(number), format!("stimulus[{number}].{text}")))?;
        }
        Ok(())
    }

    /// The case in words, a line a stimulus.
    pub fn in_words(&self) -> Vec<String> {
        let shape = &self.machine;
        let mut lines = vec![format!(
            "{} nodes ({}), links of {} cycles, memory {} / {} cycles, jitter {}, stalls {} %{}",
            shape.nodes(),
            shape.name(),
            shape.link_latency,
            shape.read_latency,
            shape.write_latency,
            shape.jitter,
            shape.stall_percent,
            if shape.reorder { ", reordered" } else { "" },
        )];
        lines.extend(self.stimulus.iter().map(|stimulus| {
            format!(
                "cycle {:5}, node {}: {}",
                stimulus.cycle, stimulus.node, stimulus.action
            )
        }));
        lines
    }
}

/// A hexadecimal number of a case.
pub(crate) fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl Stimulus {
    fn check(&self, shape: &Shape) -> Result<(), String> {
        let nodes = shape.nodes() as u64;
        let within = |field: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(format!("{field} = {value}: expected {low} to {high}"))
        };
        let number = |field: &str, text: &str| {
            hex(text).map(|_| ()).ok_or_else(|| {
                format!("{field} = \"{text}\": expected a hexadecimal number of up to 64 bits, such as \"0x10\"")
            })
        };
        within("cycle", self.cycle.into(), 0, 100_000)?;
        within("node", self.node as u64, 0, nodes - 1)?;
        match &self.action {
            Action::Send(send) => {
                within("action.send.fifo", send.fifo.into(), 0, 2)?;
                within("action.send.to", send.to as u64, 0, nodes - 1)?;
                within("action.send.class", send.class.into(), 0, 3)?;
                within("action.send.slot", send.slot.into(), 0, 1023)?;
                within("action.send.target", send.target.into(), 0, 1023)?;
                within("action.send.source", send.source, 0, (1 << 40) - 1)?;
                within("action.send.offset", send.offset, 0, (1 << 40) - 1)?;
                let counter = send.counter.unwrap_or(0);
                within("action.send.counter", counter.into(), 0, (1 << 22) - 1)?;
                within("action.send.carries", send.carries.len() as u64, 0, 8)?;
                let mut bits = send.spoil.iter();
                bits.try_for_each(|&bit| within("action.send.spoil", bit.into(), 0, 511))?;
                // The scoreboard knows messages by software word 0.
                if let Some(bit) = send
                    .spoil
                    .iter()
                    .find(|&&bit| SW0.range().contains(&bit.into()))
                {
                    return Err(format!(
                        "action.send.spoil = {bit}: expected no bit of software word 0, 256 to 287"
                    ));
                }
                for put in &send.carries {
                    within("action.send.carries.target", put.target.into(), 0, 1023)?;
                    within("action.send.carries.source", put.source, 0, (1 << 40) - 1)?;
                    within("action.send.carries.offset", put.offset, 0, (1 << 40) - 1)?;
                    let mut bits = put.spoil.iter();
                    bits.try_for_each(|&bit| {
                        within("action.send.carries.spoil", bit.into(), 0, 511)
                    })?;
                }
                Ok(())
            }
            Action::Reduce {
                length,
                source,
                offset,
            } => {
                within("action.reduce.length", (*length).into(), 4, 2048)?;
                if !length.is_multiple_of(4) {
                    return Err(format!(
                        "action.reduce.length = {length}: expected a multiple of 4"
                    ));
                }
                within("action.reduce.source", *source, 0, map::SOURCE.bytes - 2048)?;
                within(
                    "action.reduce.offset",
                    *offset,
                    0,
                    map::LANDING.bytes - 2048,
                )
            }
            Action::Read { port, addr } => {
                within("action.read.port", (*port).into(), 0, 1)?;
                within("action.read.addr", (*addr).into(), 0, (1 << 24) - 1)
            }
            Action::Write { port, addr, value } => {
                within("action.write.port", (*port).into(), 0, 1)?;
                within("action.write.addr", (*addr).into(), 0, (1 << 24) - 1)?;
                number("action.write.value", value)
            }
            Action::Skip { fifo } => within("action.skip.fifo", (*fifo).into(), 0, 31),
            Action::Blank { fifo, count } => {
                within("action.blank.fifo", (*fifo).into(), 0, 2)?;
                within("action.blank.count", (*count).into(), 1, 4)
            }
            Action::Consume { fifo } => match map::RECEPTION.iter().any(|r| r.fifo == *fifo) {
                true => Ok(()),
                false => Err(format!("action.consume.fifo = {fifo}: expected 0 or 5")),
            },
            Action::Grant { slot, base, limit } => {
                within("action.grant.slot", (*slot).into(), 8, 11)?;
                number("action.grant.base", base)?;
                number("action.grant.limit", limit)
            }
            Action::StallMemory { channel, cycles } => {
                within("action.stall_memory.channel", (*channel).into(), 0, 3)?;
                within("action.stall_memory.cycles", (*cycles).into(), 1, 2000)
            }
            Action::WithholdMemory { cycles } => {
                within("action.withhold_memory.cycles", (*cycles).into(), 1, 20_000)
            }
            Action::CutLinks { cycles, .. } => {
                within("action.cut_links.cycles", (*cycles).into(), 1, 2000)
            }
            Action::Flip(flip) => {
                let ports = shape.torus_ports() as u64 + 6;
                within("action.flip.port", flip.port as u64, 0, ports - 1)?;
                number("action.flip.data", &flip.data[0])?;
                number("action.flip.data", &flip.data[1])
            }
            Action::Forge(forge) => {
                let ports = shape.torus_ports() as u64 + 3;
                within("action.forge.port", forge.port as u64, 0, ports - 1)?;
                let mut header = forge.header.iter();
                header.try_for_each(|text| number("action.forge.header", text))
            }
            Action::FailMemory { bytes, .. } => within(
                "action.fail_memory.bytes",
                (*bytes).into(),
                1,
                u32::MAX.into(),
            ),
            Action::Barrier {}
            | Action::RepairMemory {}
            | Action::ResetNode {}
            | Action::SoftReset {}
            | Action::RaiseError { .. } => Ok(()),
        }
    }
}
