// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of the driver's users: operations of each endpoint, round by round, and their results that no timing changes.
//!
//! Between two rounds nothing is under way. Contexts and regions come and go there. Within a round, operations without
//! an order touch different bytes, commute, or are explained by a search for an order.

use std::collections::{BTreeMap, BTreeSet};

use gyre_driver::matching::{MessagingConfig, Protocol};
use gyre_driver::{AckConfig, ClientConfig, Ordered, RegionRights, Resources, SameNode};

use crate::conformance::words::{Change, WORD};

/// An endpoint: a context of a task of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointId {
    pub client: usize,
    pub task: usize,
    pub context: usize,
}

/// Use of an active message at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Uses complete data in the dispatch callback; receives other data into a buffer.
    Data,
    /// Receives it into a buffer.
    Into,
    /// Receives it into a buffer that is too short.
    Short,
    /// Drops the data.
    Nothing,
    /// Reports the message as malformed.
    Refuse,
}

/// Memory of the target of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By the region: the driver checks it.
    Region(usize),
    /// By slot and offset: the hardware checks it.
    Address(usize),
    /// By the endpoint's previous region.
    Gone,
    /// By a slot without a region.
    NoSlot,
}

/// A post that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    LongImmediate,
    LongHeadedImmediate,
    LongHeader,
    ReservedDispatch,
    UnknownTask,
    UnknownContext,
    UnknownRank,
    BeyondRegion,
    OtherRegion,
    MisalignedWord,
    ResultLength,
    DispatchInUse,
    AdvanceInCallback,
    SecondContext,
}

/// Labels of the messages that a receive or a probe matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Place among the communicators.
    pub comm: usize,
    pub source: Option<usize>,
    pub tag: Option<u32>,
}

/// Something that an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Immediate {
        header: usize,
        length: usize,
        take: Take,
        /// The dispatch identifier has a callback.
        known: bool,
    },
    Send {
        header: usize,
        length: usize,
        /// Eager, whatever the length.
        eager: bool,
        take: Take,
        known: bool,
    },
    Put {
        length: usize,
        place: Place,
        /// There is a callback for the end at the target.
        told: bool,
    },
    Get {
        length: usize,
        place: Place,
    },
    Change(Change, Place),
    /// An acknowledgement that the program requests itself, or a refusal.
    Acknowledge {
        refuse: bool,
    },
    /// A matched message.
    Match {
        comm: usize,
        tag: u32,
        length: usize,
    },
    /// A receive of a matched message.
    Receive {
        pattern: Pattern,
        room: usize,
        /// It waits until its context is destroyed.
        left: bool,
    },
    Probe(Pattern),
    /// Cancels the receive with a number.
    Cancel(usize),
    Fence,
    FenceAll,
    Wrong(Wrong),
}

/// Expected end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Well,
    /// With an error, of its post or its callbacks.
    Badly,
    /// Either, the same on both machines.
    Either,
}

/// An operation of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// Its number in the program.
    pub number: usize,
    pub from: EndpointId,
    pub to: EndpointId,
    pub action: Action,
    pub end: End,
    /// The endpoint advances after it.
    pub advance: bool,
}

impl Op {
    /// Whether it changes a word that several endpoints change without an order.
    pub fn is_contended(&self) -> bool {
        matches!(self.action, Action::Change(_, Place::Region(0)) if self.end == End::Well)
    }
}

/// A change between two rounds.
#[derive(Debug, Clone)]
pub enum Turn {
    /// A context ends, with operations that have been posted and not begun.
    Destroy { at: EndpointId, posted: Vec<Op> },
    /// A context begins.
    Open { at: EndpointId },
    /// A region ends, by its drop or by its method.
    Revoke { at: EndpointId, dropped: bool },
    /// A region begins, with contents that depend on a number.
    Grant {
        at: EndpointId,
        rights: RegionRights,
        contents: usize,
    },
    /// A region that finds no slot.
    NoSlot { at: EndpointId },
}

impl Turn {
    /// The endpoint.
    pub fn at(&self) -> EndpointId {
        match *self {
            Self::Destroy { at, .. }
            | Self::Open { at }
            | Self::Revoke { at, .. }
            | Self::Grant { at, .. }
            | Self::NoSlot { at } => at,
        }
    }
}

/// A round: changes before it, and its operations.
#[derive(Debug, Clone, Default)]
pub struct Round {
    pub turns: Vec<Turn>,
    pub ops: Vec<Op>,
    /// Timing decides which receive gets which message.
    pub free: bool,
    /// Endpoints with a context.
    pub open: BTreeSet<EndpointId>,
    /// The regions at its end; contended words are zero.
    pub memory: BTreeMap<EndpointId, Vec<u8>>,
    /// Bytes that gets and fetching read-modify-writes bring, by operation.
    pub results: BTreeMap<usize, Vec<u8>>,
}

impl Round {
    /// Operations of an endpoint, in order.
    pub fn of(&self, from: EndpointId) -> impl Iterator<Item = &Op> {
        self.ops.iter().filter(move |op| op.from == from)
    }

    /// Active messages that reach an endpoint.
    pub fn arrivals(&self, at: EndpointId) -> usize {
        let active = |op: &&Op| {
            let active = matches!(
                op.action,
                Action::Immediate { .. } | Action::Send { .. } | Action::Acknowledge { .. }
            );
            op.to == at && active
        };
        self.ops.iter().filter(active).count()
    }

    /// Matched messages to an endpoint, in order.
    pub fn matched(&self, at: EndpointId) -> impl Iterator<Item = &Op> {
        let to = move |op: &&Op| op.to == at && matches!(op.action, Action::Match { .. });
        self.ops.iter().filter(to)
    }
}

/// A client, the same in all tasks.
#[derive(Debug, Clone)]
pub struct ClientShape {
    pub contexts: usize,
    pub same_node: SameNode,
    pub ordered: Ordered,
    pub shared_injection: bool,
    pub injection_per_context: u16,
    pub eager_limit: usize,
    pub counters: u16,
    pub ack: AckConfig,
}

/// A program.
#[derive(Debug, Clone)]
pub struct Program {
    pub seed: u64,
    pub dims: Vec<u16>,
    pub mesh: bool,
    pub tasks_per_node: usize,
    /// Most cycles by which the latency of the machine's memory varies.
    pub jitter: u64,
    /// Packets overtake on the double.
    pub reorder: bool,
    pub clients: Vec<ClientShape>,
    pub protocol: Protocol,
    pub switch_over: usize,
    pub rounds: Vec<Round>,
}

impl Program {
    pub fn nodes(&self) -> usize {
        self.dims.iter().map(|&size| usize::from(size)).product()
    }

    pub fn tasks(&self) -> usize {
        self.nodes() * self.tasks_per_node
    }

    /// Every endpoint, in order.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointId> {
        let clients = self.clients.iter().enumerate();
        clients.flat_map(|(client, shape)| {
            (0..self.tasks()).flat_map(move |task| {
                (0..shape.contexts).map(move |context| EndpointId {
                    client,
                    task,
                    context,
                })
            })
        })
    }

    /// Endpoints of a task, by client.
    pub fn endpoints_of(&self, task: usize) -> Vec<EndpointId> {
        self.endpoints().filter(|e| e.task == task).collect()
    }

    /// Configuration of one client of a task: its resources lie behind those of the clients before it.
    pub fn client(&self, number: usize, base: ClientConfig) -> ClientConfig {
        /// First remote-get FIFO and first base slot of the first client.
        const FIRST: u16 = 16;
        let processes = self.tasks_per_node as u16;
        let contexts = |shape: &ClientShape| shape.contexts as u16 * processes;
        let earlier = &self.clients[..number];
        let before: u16 = earlier.iter().map(contexts).sum();
        let injection = earlier.iter().map(|shape| {
            let users = match shape.shared_injection {
                true => processes,
                false => contexts(shape),
            };
            users * shape.injection_per_context
        });
        let shape = &self.clients[number];
        ClientConfig {
            name: format!("conformance {number}"),
            // At most 2 clients and 2 contexts.
            id: number as u8,
            contexts: shape.contexts as u8,
            resources: Resources {
                injection_first: injection.sum(),
                shared_injection: shape.shared_injection,
                injection_per_context: shape.injection_per_context,
                injection_ring: 4096,
                remote_get_first: FIRST + before,
                remote_get_ring: 4096,
                counters: shape.counters,
                slot_first: FIRST + before,
                // One region a context.
                slots_per_process: shape.contexts as u16,
                reception_first: before,
                reception_ring: 8192,
                shared_ring: 4096,
                wake_first: before as u8,
                ..base.resources
            },
            eager_limit: shape.eager_limit,
            ack: shape.ack.clone(),
            same_node: shape.same_node,
            ordered: shape.ordered,
            ..base
        }
    }

    /// The module for matched messages of each context.
    pub fn messaging(&self, dispatch: u8) -> MessagingConfig {
        MessagingConfig {
            dispatch,
            protocol: self.protocol,
            switch_over: self.switch_over,
        }
    }

    /// First byte of the word of a region that one endpoint changes alone.
    pub fn own_word(&self, of: EndpointId) -> usize {
        let contexts = self.clients[of.client].contexts;
        WORD * (2 + of.task * contexts + of.context)
    }

    /// Bytes of the words at the start of a region of a client: one contended, one that all add to, one an endpoint.
    pub fn words(&self, client: usize) -> usize {
        WORD * (2 + self.tasks() * self.clients[client].contexts)
    }

    /// Contents of a region at its start.
    pub fn region_contents(&self, client: usize, contents: usize) -> Vec<u8> {
        let words = self.words(client);
        let mut bytes = bytes_of(contents, words + 2 * HALF);
        bytes[..words].fill(0);
        bytes
    }

    /// The operation with a number.
    pub fn op(&self, number: usize) -> Option<&Op> {
        let mut ops = self.rounds.iter().flat_map(|round| &round.ops);
        ops.find(|op| op.number == number)
    }

    /// Whether a matched message completes without its receive.
    pub fn is_buffered(&self, length: usize) -> bool {
        self.protocol == Protocol::TemporaryBuffer || length < self.switch_over
    }

    /// Whether no receive can match a message: its origin is outside the communicator's group.
    pub fn is_foreign(&self, op: &Op) -> bool {
        match op.action {
            Action::Match { comm, .. } => rank(comm, op.from.task, self.tasks()).is_none(),
            _ => false,
        }
    }
}

/// First byte of the word that all endpoints of a client add to.
pub const SUM: usize = WORD;

/// Numbers of the communicators; low bytes and halves are those of others.
pub const COMMS: [u32; 5] = [0, 1, 0x100, 0xffff_0001, 200];
/// Communicators of every task.
pub const COMPLETE: [usize; 3] = [0, 1, 2];

/// Tasks of a communicator by rank; `None`: all, by their numbers. Some groups lack tasks.
pub fn group(comm: usize, tasks: usize) -> Option<Vec<usize>> {
    match comm {
        0 | 1 => None,
        2 => Some((0..tasks).rev().collect()),
        3 => Some((0..tasks).step_by(2).collect()),
        _ => Some((1..tasks).chain([0]).skip(1).collect()),
    }
}

/// Rank of a task in a communicator.
pub fn rank(comm: usize, task: usize, tasks: usize) -> Option<u32> {
    let rank = match group(comm, tasks) {
        None => Some(task),
        Some(group) => group.iter().position(|&member| member == task),
    };
    rank.map(|rank| rank as u32)
}

/// Bytes of each half of a region: in a round one is written, the other read.
pub const HALF: usize = 12 << 10;

/// Data that depends on a number.
pub fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (number * 37 + i * 13 + i / 256 + 1) as u8)
        .collect()
}
