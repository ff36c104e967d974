//! Schedules: what a member does in a collective, as a graph of steps.

mod all;
mod barrier;
mod broadcast;
mod gather;
mod hardware;
mod parallel;
mod reduce;
mod scatter;
mod shared;
mod torus;
mod tree;

use core::ops::Range;

use gyre_driver::Routing;

use crate::algorithm::Algorithm;
use crate::geometry::Geometry;
use crate::node::{MemoryPlan, MemoryStep, Neighbours};
use crate::request::{Blocks, Collective};

/// Which buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Send,
    Receive,
    Scratch,
    /// The segment that the endpoints of the node share: copies and combinations alone use it.
    Memory,
}

/// Bytes of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub space: Space,
    pub offset: usize,
    pub len: usize,
}

impl Slice {
    pub fn new(space: Space, range: Range<usize>) -> Self {
        Self {
            space,
            offset: range.start,
            len: range.len(),
        }
    }

    /// No bytes.
    pub fn nothing() -> Self {
        Self::new(Space::Scratch, 0..0)
    }

    /// Bytes `range` of this.
    pub fn part(self, range: Range<usize>) -> Self {
        Self {
            offset: self.offset + range.start,
            len: range.len(),
            ..self
        }
    }
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send to the endpoint with rank `to`; `tag` tells the messages between two ranks apart.
    Send { to: u32, tag: u32, from: Slice },
    /// Receive from rank `from`; `routing` says how long data comes.
    Receive {
        from: u32,
        tag: u32,
        into: Slice,
        routing: Routing,
    },
    /// Receive from rank `from` and drop what comes: another endpoint of the task has it (EP-10).
    Discard { from: u32, tag: u32 },
    /// Copy between buffers.
    Copy { from: Slice, to: Slice },
    /// Combine both into `into`; `earlier` says whether `other` is the operation's first operand.
    Combine {
        other: Slice,
        into: Slice,
        earlier: bool,
    },
    /// Enter a barrier of the collective network.
    TreeBarrier,
    /// Transfer on the class route: contribute `from`, receive `into`. The result goes to the node of
    /// position `to`, or to all.
    TreeTransfer {
        from: Option<Slice>,
        into: Option<Slice>,
        to: Option<u32>,
    },
    /// A step in the memory of the node.
    Memory(MemoryStep),
}

/// A step and the steps that must have ended before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub action: Action,
    pub after: Vec<usize>,
}

/// What one member does. Steps only wait for steps before them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub steps: Vec<Step>,
    /// Bytes of the scratch buffer.
    pub scratch: usize,
    pub memory: MemoryPlan,
}

/// Tag of the message by which a task's leader tells the other endpoints that the task has its result.
const LOCAL: u32 = u32::MAX;
/// Tag of the message by which the other endpoints tell the leader that their share is done.
const SHARE: u32 = u32::MAX - 1;
/// Tags of a second phase start here.
const BACK: u32 = 1 << 16;

/// Arguments of [`schedule`], beside geometry and algorithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub collective: Collective,
    pub root: usize,
    pub send_blocks: &'a Blocks,
    pub receive_blocks: &'a Blocks,
    pub in_place: bool,
    /// Bytes of the receive buffer.
    pub receive: usize,
    /// Bytes of an element that is combined.
    pub unit: usize,
    /// Whether the root of a scatter leaves its block in its send buffer.
    pub keeps_block: bool,
    pub neighbours: &'a Neighbours,
}

/// Makes the schedule of one member.
pub(crate) struct Builder<'a> {
    geometry: &'a Geometry,
    rank: u32,
    /// Position of the member's task.
    me: usize,
    /// Number of tasks.
    tasks: usize,
    root: usize,
    arguments: Arguments<'a>,
    schedule: Schedule,
}

/// The schedule of the member with rank `rank`, by an algorithm of the collective's default list.
pub(crate) fn schedule(
    geometry: &Geometry,
    rank: u32,
    algorithm: Algorithm,
    arguments: Arguments<'_>,
) -> Schedule {
    use Algorithm as A;
    let mut b = Builder {
        geometry,
        rank,
        me: geometry.position(rank),
        tasks: geometry.tasks().len(),
        root: arguments.root,
        arguments,
        schedule: Schedule::default(),
    };
    match (arguments.collective, algorithm) {
        (Collective::Barrier, A::Affinity) => b.tree_barrier(&b.along_domains(0)),
        (Collective::Barrier, A::Tree) => b.hardware_barrier(),
        (Collective::Barrier, A::SharedMemory) => b.shared_barrier(),
        (Collective::Barrier, _) => b.dissemination_barrier(),
        (Collective::Broadcast, A::EndpointParallel) => b.endpoint_parallel_broadcast(),
        (Collective::Broadcast, A::DimensionPipelined) => b.dimension_pipelined_broadcast(),
        (Collective::Broadcast, A::SharedMemory) => b.shared_broadcast(),
        (Collective::Broadcast, A::Tree) => b.hardware_broadcast(),
        (Collective::Broadcast, A::Affinity) => {
            b.leaders(|b| b.broadcast(&b.along_domains(b.root)))
        }
        (Collective::Broadcast, _) => b.leaders(|b| b.broadcast(&b.binomial(b.root))),
        (Collective::Scatter, A::Binomial) => b.leaders(Builder::binomial_scatter),
        (Collective::Scatter, _) => b.endpoint_parallel_scatter(),
        (Collective::Gather, A::Binomial) => b.leaders(|b| b.binomial_gather(b.root)),
        (Collective::Gather, _) => b.endpoint_parallel_gather(),
        (Collective::Allgather, A::RecursiveDoubling) => {
            b.leaders(Builder::recursive_doubling_allgather);
        }
        (Collective::Allgather, A::ThereAndBack) => b.leaders(Builder::there_and_back_allgather),
        (Collective::Allgather, _) => b.leaders(Builder::ring_allgather),
        (Collective::Reduce, A::Affinity) => b.leaders(|b| b.reduce_up(&b.along_domains(b.root))),
        (Collective::Reduce, A::Binomial) => b.leaders(|b| b.reduce_up(&b.binomial(b.root))),
        (Collective::Reduce, A::SharedMemory) => b.shared_reduce(),
        (Collective::Reduce, A::Tree) => b.hardware_reduce(),
        (Collective::Reduce, _) => b.leaders(Builder::linear_reduce),
        (Collective::Allreduce, A::Ring) => b.leaders(Builder::ring_allreduce),
        (Collective::Allreduce, A::Affinity) => {
            b.leaders(|b| b.there_and_back_allreduce(&b.along_domains(0)));
        }
        (Collective::Allreduce, A::ThereAndBack) => {
            b.leaders(|b| b.there_and_back_allreduce(&b.binomial(0)));
        }
        (Collective::Allreduce, A::SharedMemory) => b.shared_allreduce(),
        (Collective::Allreduce, A::Tree) => b.hardware_allreduce(),
        (Collective::Allreduce, _) => b.leaders(Builder::recursive_doubling_allreduce),
        (Collective::Alltoall, A::Pairwise) => b.leaders(|b| b.alltoall(true)),
        (Collective::Alltoall, _) => b.leaders(|b| b.alltoall(false)),
        (Collective::Scan, A::RecursiveDoubling) => b.leaders(Builder::recursive_doubling_scan),
        (Collective::Scan, _) => b.leaders(Builder::linear_scan),
        (Collective::ReduceScatter, A::Ring) => b.leaders(Builder::ring_reduce_scatter),
        (Collective::ReduceScatter, _) => b.leaders(Builder::pairwise_reduce_scatter),
    }
    b.schedule
}

impl Builder<'_> {
    /// Adds a step that waits for `after`.
    fn add(&mut self, action: Action, after: &[usize]) -> usize {
        self.schedule.steps.push(Step {
            action,
            after: after.to_vec(),
        });
        self.schedule.steps.len() - 1
    }

    /// Sends to the leader of the task at `position`.
    fn send(&mut self, position: usize, tag: u32, from: Slice, after: &[usize]) -> usize {
        self.send_to(self.leader(position), tag, from, after)
    }

    /// Sends to the endpoint with rank `to`.
    fn send_to(&mut self, to: u32, tag: u32, from: Slice, after: &[usize]) -> usize {
        self.add(Action::Send { to, tag, from }, after)
    }

    /// Receives from the leader of the task at `position`.
    fn receive(&mut self, position: usize, tag: u32, into: Slice, after: &[usize]) -> usize {
        self.receive_of(self.leader(position), tag, into, after)
    }

    /// Receives from the endpoint with rank `from`, by its fixed route.
    fn receive_of(&mut self, from: u32, tag: u32, into: Slice, after: &[usize]) -> usize {
        self.receive_from((from, Routing::Fixed), tag, into, after)
    }

    /// Receives from the endpoint with rank `from`.
    fn receive_from(
        &mut self,
        (from, routing): (u32, Routing),
        tag: u32,
        into: Slice,
        after: &[usize],
    ) -> usize {
        let action = Action::Receive {
            from,
            tag,
            into,
            routing,
        };
        self.add(action, after)
    }

    /// Copies; gives the step, none if there is nothing to do.
    fn copy(&mut self, from: Slice, to: Slice, after: &[usize]) -> Option<usize> {
        debug_assert_eq!(from.len, to.len);
        (from.len > 0 && from != to).then(|| self.add(Action::Copy { from, to }, after))
    }

    fn combine(&mut self, other: Slice, into: Slice, earlier: bool, after: &[usize]) -> usize {
        let action = Action::Combine {
            other,
            into,
            earlier,
        };
        self.add(action, after)
    }

    /// Takes `bytes` bytes of scratch memory, at a multiple of 64.
    fn scratch(&mut self, bytes: usize) -> Slice {
        let start = self.schedule.scratch.next_multiple_of(64);
        self.schedule.scratch = start + bytes;
        Slice::new(Space::Scratch, start..start + bytes)
    }

    /// Block of the send buffer, or of the receive buffer that serves as one in place.
    fn input(&self, position: usize) -> Slice {
        let block = self.arguments.send_blocks.block(position);
        let space = match self.arguments.in_place {
            true => Space::Receive,
            false => Space::Send,
        };
        Slice::new(space, block)
    }

    /// Block of the receive buffer.
    fn output(&self, position: usize) -> Slice {
        Slice::new(
            Space::Receive,
            self.arguments.receive_blocks.block(position),
        )
    }

    /// All of the receive buffer.
    fn received(&self) -> Slice {
        Slice::new(Space::Receive, 0..self.arguments.receive)
    }

    /// Rank of the leader of a task.
    fn leader(&self, position: usize) -> u32 {
        self.geometry.ranks_of(position)[0]
    }

    /// Whether this member is its task's leader.
    fn is_leader(&self) -> bool {
        self.leader(self.me) == self.rank
    }

    /// All steps so far.
    fn all(&self) -> Vec<usize> {
        (0..self.schedule.steps.len()).collect()
    }

    /// An algorithm among the leaders of the tasks; the other endpoints hear from theirs when it is done.
    fn leaders(&mut self, algorithm: impl FnOnce(&mut Self)) {
        if self.is_leader() {
            algorithm(self);
        }
        self.tell_endpoints();
    }

    /// The leader tells the other endpoints of its task when all its steps so far have ended, and they wait
    /// for that.
    fn tell_endpoints(&mut self) {
        let leader = self.leader(self.me);
        let nothing = Slice::nothing();
        if leader != self.rank {
            self.receive_from((leader, Routing::Fixed), LOCAL, nothing, &[]);
            return;
        }
        let all = self.all();
        for &to in &self.geometry.ranks_of(self.me)[1..] {
            let action = Action::Send {
                to,
                tag: LOCAL,
                from: nothing,
            };
            self.add(action, &all);
        }
    }

    /// Number of this endpoint among those of its task.
    fn endpoint(&self) -> usize {
        let ranks = self.geometry.ranks_of(self.me);
        ranks.iter().take_while(|&&rank| rank != self.rank).count()
    }

    /// No endpoint of the task ends before all have done their share: the buffers are the same.
    fn meet(&mut self) {
        let ranks = self.geometry.ranks_of(self.me);
        let nothing = Slice::nothing();
        if self.is_leader() {
            for &from in &ranks[1..] {
                self.receive_from((from, Routing::Fixed), SHARE, nothing, &[]);
            }
        } else {
            let action = Action::Send {
                to: ranks[0],
                tag: SHARE,
                from: nothing,
            };
            let all = self.all();
            self.add(action, &all);
        }
        self.tell_endpoints();
    }

    /// Position `distance` behind the root, round the geometry.
    fn behind(&self, root: usize, distance: usize) -> usize {
        (root + distance) % self.tasks
    }

    /// How far this member is behind the root.
    fn distance(&self, root: usize) -> usize {
        (self.me + self.tasks - root) % self.tasks
    }

    /// The lowest bit of a distance, below which its subtree in a binomial tree lies: all of the tree for
    /// the root.
    fn reach(&self, distance: usize) -> usize {
        reach(self.tasks, distance)
    }
}

/// As [`Builder::reach`], in a tree of `count`.
fn reach(count: usize, distance: usize) -> usize {
    match distance {
        0 => count.next_power_of_two(),
        _ => distance & distance.wrapping_neg(),
    }
}
