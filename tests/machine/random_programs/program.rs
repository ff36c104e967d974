// SPDX-License-Identifier: MIT OR Apache-2.0
//! What random programs are made of.

use gyre_driver::{AckConfig, AckMethod, Ordered, RmwOp, RmwWidth, SameNode, SendImmediate};
use proptest::prelude::*;
use proptest::sample::select;

/// Words at the start of each region that read-modify-writes change, of 8 bytes.
pub const WORDS: usize = 2;

/// An endpoint: a context of a task of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointId {
    pub client: usize,
    pub task: usize,
    pub context: usize,
}

/// A read-modify-write of one of the words of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub op: RmwOp,
    pub width: RmwWidth,
    pub word: usize,
    /// Which half of the word, when it is one of 4 bytes.
    pub upper: bool,
    pub value: u64,
    pub test: Option<u64>,
    pub fetch: bool,
}

impl Change {
    /// First byte in the region.
    pub fn offset(&self) -> u64 {
        let half = self.width == RmwWidth::Four && self.upper;
        self.word as u64 * 8 + if half { 4 } else { 0 }
    }
}

/// A communicator of a client: what receives of it leave open, and the group of its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommId {
    pub any_rank: bool,
    pub any_tag: bool,
    pub group: Group,
}

/// The tasks of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All, by their numbers.
    World,
    /// All, the last one first.
    Reversed,
    /// The second and the first.
    Pair,
}

impl CommId {
    /// Every communicator.
    pub fn all() -> impl Iterator<Item = Self> {
        let groups = [Group::World, Group::Reversed, Group::Pair];
        groups.into_iter().flat_map(|group| {
            (0..4).map(move |open| Self {
                any_rank: open & 1 != 0,
                any_tag: open & 2 != 0,
                group,
            })
        })
    }

    /// Its number. Low bytes are those of other groups.
    pub fn number(self) -> u32 {
        let open = u32::from(self.any_rank) + 2 * u32::from(self.any_tag);
        open + match self.group {
            Group::World => 0,
            Group::Reversed => 0x100,
            Group::Pair => 0xffff_0000,
        }
    }

    /// The task of each rank, of `tasks` in all.
    pub fn tasks(self, tasks: usize) -> Vec<usize> {
        match self.group {
            Group::World => (0..tasks).collect(),
            Group::Reversed => (0..tasks).rev().collect(),
            Group::Pair => (0..tasks.min(2)).rev().collect(),
        }
    }
}

/// What a program does in one step, from one endpoint to another.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    Immediate {
        header: usize,
        length: usize,
    },
    /// Eager or rendezvous, by its length.
    Send {
        header: usize,
        length: usize,
    },
    /// By slot and offset, or into a memory region.
    Put {
        length: usize,
        region: bool,
    },
    Get {
        length: usize,
        region: bool,
    },
    Change(Change),
    /// An acknowledgement that the program asks for itself.
    Acknowledge,
    /// A matched message.
    Match {
        comm: CommId,
        tag: u32,
        length: usize,
        /// The receive is posted before anything is sent.
        early: bool,
    },
    Fence,
    FenceAll,
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub from: EndpointId,
    pub to: EndpointId,
    pub action: Action,
}

/// How a client works, in all tasks.
#[derive(Debug, Clone)]
pub struct ClientShape {
    pub contexts: usize,
    pub same_node: SameNode,
    pub ordered: Ordered,
    pub shared_injection: bool,
    pub injection_per_context: u16,
    pub eager_limit: usize,
    pub ack: AckConfig,
}

#[derive(Debug, Clone)]
pub struct Program {
    pub dims: Vec<u16>,
    pub mesh: bool,
    pub tasks_per_node: usize,
    /// Most cycles by which the latency of memory varies.
    pub jitter: u64,
    pub clients: Vec<ClientShape>,
    pub steps: Vec<Step>,
}

impl Program {
    pub fn tasks(&self) -> usize {
        let nodes: usize = self.dims.iter().map(|&size| usize::from(size)).product();
        nodes * self.tasks_per_node
    }

    /// Every endpoint of one client.
    pub fn endpoints(&self, client: usize) -> impl Iterator<Item = EndpointId> + use<> {
        let contexts = self.clients[client].contexts;
        (0..self.tasks()).flat_map(move |task| {
            (0..contexts).map(move |context| EndpointId {
                client,
                task,
                context,
            })
        })
    }

    /// Every endpoint of a task, those of the first client first.
    pub fn endpoints_of_task(&self, task: usize) -> Vec<EndpointId> {
        (0..self.clients.len())
            .flat_map(|client| self.endpoints(client))
            .filter(|endpoint| endpoint.task == task)
            .collect()
    }
}

/// Data of step `number`: its number, then bytes that depend on it.
pub fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length)
        .map(|i| (number * 37 + i * 13 + i / 256 + 1) as u8)
        .collect();
    for (byte, number) in bytes.iter_mut().zip((number as u32).to_le_bytes()) {
        *byte = number;
    }
    bytes
}

/// Operands are few, so that comparisons often hold. What a word of 4 bytes has no room for must not matter.
fn changes() -> impl Strategy<Value = Change> {
    let op = select(vec![
        RmwOp::Set,
        RmwOp::Add,
        RmwOp::Or,
        RmwOp::And,
        RmwOp::Xor,
    ]);
    let operand = (0..4_u64).prop_map(|small| small * 0x4000_0001_0000_0001);
    let test = proptest::option::of(operand.clone());
    (
        op,
        any::<bool>(),
        0..WORDS,
        any::<bool>(),
        operand,
        test,
        any::<bool>(),
    )
        .prop_map(|(op, wide, word, upper, value, test, fetch)| Change {
            op,
            width: if wide {
                RmwWidth::Eight
            } else {
                RmwWidth::Four
            },
            word,
            upper,
            value,
            test,
            fetch,
        })
}

fn actions() -> impl Strategy<Value = Action> {
    let length = || select(vec![0, 1, 31, 64, 512, 513, 2000, 4096, 4097, 9000]);
    let some = || select(vec![1, 8, 63, 512, 1500, 6000]);
    let immediate = select(vec![
        (0, 0),
        (0, 5),
        (0, SendImmediate::MAX),
        (7, 64),
        (100, 400),
    ]);
    prop_oneof![
        2 => immediate.prop_map(|(header, length)| Action::Immediate { header, length }),
        4 => (select(vec![0, 3, 100]), length())
            .prop_map(|(header, length)| Action::Send { header, length }),
        3 => (some(), any::<bool>()).prop_map(|(length, region)| Action::Put { length, region }),
        3 => (some(), any::<bool>()).prop_map(|(length, region)| Action::Get { length, region }),
        5 => changes().prop_map(Action::Change),
        2 => Just(Action::Acknowledge),
        4 => (select(CommId::all().collect::<Vec<_>>()), 0..2_u32, select(vec![4, 64, 600, 5000]), any::<bool>())
            .prop_map(|(comm, tag, length, early)| Action::Match { comm, tag, length, early }),
        3 => Just(Action::Fence),
        1 => Just(Action::FenceAll),
    ]
}

fn method(method: AckMethod) -> AckConfig {
    AckConfig {
        method,
        ..AckConfig::default()
    }
}

fn clients() -> impl Strategy<Value = ClientShape> {
    (
        1..=2_usize,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..=2_u16,
        select(vec![0, 512, 4096]),
        select(vec![
            AckConfig::immediate(),
            method(AckMethod::Threshold),
            method(AckMethod::Coalesce),
            AckConfig::default(),
            AckConfig::by_path(2),
        ]),
    )
        .prop_map(
            |(
                contexts,
                memory,
                flow,
                shared_injection,
                injection_per_context,
                eager_limit,
                ack,
            )| {
                ClientShape {
                    contexts,
                    same_node: if memory {
                        SameNode::SharedMemory
                    } else {
                        SameNode::Loopback
                    },
                    ordered: if flow { Ordered::Flow } else { Ordered::Fixed },
                    shared_injection,
                    injection_per_context,
                    eager_limit,
                    ack,
                }
            },
        )
}

/// A step of one of the clients. Half of all steps meet at the first two tasks.
fn steps(clients: Vec<ClientShape>, tasks: usize) -> impl Strategy<Value = Step> {
    let task = || prop_oneof![0..tasks.min(2), 0..tasks];
    let client = 0..clients.len();
    let context = || any::<proptest::sample::Index>();
    (client, (task(), context()), (task(), context()), actions()).prop_map(
        move |(client, (from, of), (to, at), mut action)| {
            if let Action::Match { comm, .. } = &mut action
                && comm.group == Group::Pair
                && from.max(to) > 1
            {
                comm.group = Group::Reversed;
            }
            let contexts = clients[client].contexts;
            let from = EndpointId {
                client,
                task: from,
                context: of.index(contexts),
            };
            // Matched messages go between contexts of the same offset.
            let context = match action {
                Action::Match { .. } => from.context,
                _ => at.index(contexts),
            };
            let to = EndpointId {
                client,
                task: to,
                context,
            };
            Step { from, to, action }
        },
    )
}

/// Programs of one or two clients on machines of one to six nodes.
pub fn programs() -> impl Strategy<Value = Program> {
    let dims = select(vec![
        vec![1],
        vec![2],
        vec![3],
        vec![2, 1],
        vec![2, 2],
        vec![1, 2, 2],
        vec![3, 1, 2],
        vec![2, 1, 1, 2],
    ]);
    let clients = proptest::collection::vec(clients(), 1..=2);
    (dims, any::<bool>(), 1..=2_usize, 0..40_u64, clients).prop_flat_map(
        |(dims, mesh, tasks_per_node, jitter, clients)| {
            let program = Program {
                dims,
                mesh,
                tasks_per_node,
                jitter,
                clients,
                steps: Vec::new(),
            };
            let step = steps(program.clients.clone(), program.tasks());
            proptest::collection::vec(step, 1..80).prop_map(move |steps| Program {
                steps,
                ..program.clone()
            })
        },
    )
}
