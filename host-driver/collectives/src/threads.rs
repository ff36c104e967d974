// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of the software threads of nodes, along their affinity domains (AF-4, AF-5).
//!
//! A [`Tree`] joins the threads of a node: usually that of their [`Domains`](gyre_affinity::Domains), in which only
//! leaders communicate between domains. Data moves along it through shared memory. With several nodes, the thread at
//! the root of each node's tree is a member of a geometry of leaders and takes part for its node, so that the network
//! carries each result once a node.
//!
//! * Reduce: up the tree, each thread combining its own data and then that of its children, in the tree's order;
//!   results repeat bit for bit. Then among the leaders, and down to the thread that is to have the result.
//! * Barrier: the same without data, and then down to all.
//! * Broadcast: from the root up to its leader, among the leaders, down to all.
//! * Allreduce: a reduction to the leaders, an allreduce among these, down to all.
//!
//! A thread waits by polling a cache line; it has no context to advance meanwhile.

mod lanes;
mod places;

use std::sync::Arc;

use gyre_affinity::{Domains, ThreadPlace, Tree};
use gyre_driver::{BufferRange, Completion, Op, Platform};

use crate::collective::Collective;
use crate::error::Error;
use crate::member::Member;
use crate::reduction::any::Reduction;
use crate::request::Request;

use lanes::{CHUNK, Direction, Kind, Lanes};

/// A group of software threads of a node for collectives. All threads make it alike; clones share it.
#[derive(Debug, Clone)]
pub struct ThreadGroup(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    name: String,
    number: u16,
    tree: Tree,
    node: usize,
    nodes: usize,
}

/// Source thread of a broadcast, or destination thread of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadRoot {
    /// Position of its node's leader in the geometry of leaders; 0 with a single node.
    pub node: usize,
    /// Its number on the node.
    pub thread: usize,
}

impl ThreadGroup {
    /// The threads `0..tree.len()` of one node, joined by `tree`. `number` tells the groups of a node apart.
    #[must_use]
    pub fn new(name: &str, number: u16, tree: Tree) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            number,
            tree,
            node: 0,
            nodes: 1,
        }))
    }

    /// The software threads of one node, joined by the tree of their affinity domains with up to `arity` children in
    /// each. Each of the `count` threads calls this with its number `thread`, finds its place (AF-1) and exchanges it
    /// with the others. Returns when all have called; the platform charges the memory traffic. A number is used once
    /// on a node.
    ///
    /// # Errors
    /// [`Error::ThreadPlace`] at all threads if the place of one is unknown; [`Error::Thread`], [`Error::Arity`],
    /// [`Error::Driver`] when there is no shared memory.
    pub fn gather<P: Platform + ThreadPlace>(
        platform: &P,
        (name, number): (&str, u16),
        (thread, count): (usize, usize),
        arity: usize,
    ) -> Result<Self, Error> {
        if thread >= count {
            return Err(Error::Thread {
                group: name.into(),
                field: "thread",
                value: thread as u64,
                expected: format!("below {count}"),
            });
        }
        let own = platform.thread_place();
        let places = places::exchange(platform, (name, number), (thread, count), &own)?;
        own.map_err(|source| Error::ThreadPlace {
            group: name.into(),
            source,
        })?;
        // There is a thread.
        let domains =
            Domains::new(&places, arity).map_err(|_| Error::Arity { name: name.into() })?;
        Ok(Self::new(name, number, domains.tree().clone()))
    }

    /// The same threads as part of a group over `nodes` nodes; this node's leader is at position `node` of their
    /// geometry.
    #[must_use]
    pub fn among(self, node: usize, nodes: usize) -> Self {
        Self(Arc::new(Inner {
            node,
            nodes,
            ..Arc::unwrap_or_clone(self.0)
        }))
    }

    /// Name, for errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The tree of the node's threads.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.0.tree
    }

    /// Joins the group as thread `thread`, and waits for all threads of the node. With several nodes, the thread at
    /// the tree's root passes its membership of the leaders' geometry.
    ///
    /// # Errors
    /// [`Error::Thread`], [`Error::Driver`] when there is no shared memory.
    pub fn join<P: Platform>(
        &self,
        platform: &P,
        thread: usize,
        leaders: Option<Member<P>>,
    ) -> Result<ThreadMember<P>, Error> {
        let Inner { tree, .. } = &*self.0;
        let refuse = |field, value: usize, expected: String| {
            Err(Error::Thread {
                group: self.name().into(),
                field,
                value: value as u64,
                expected,
            })
        };
        if thread >= tree.len() {
            return refuse("thread", thread, format!("below {}", tree.len()));
        }
        let needed = self.0.nodes > 1 && thread == tree.root();
        if needed != leaders.is_some() {
            let given = usize::from(leaders.is_some());
            return refuse(
                "memberships of the leaders",
                given,
                usize::from(needed).to_string(),
            );
        }
        if let Some(member) = &leaders {
            let tasks = member.geometry().tasks().len();
            if tasks != self.0.nodes {
                return refuse("leaders", tasks, format!("{}, one a node", self.0.nodes));
            }
            if member.position() != self.0.node {
                let expected = self.0.node.to_string();
                return refuse("position of the leader", member.position(), expected);
            }
        }
        let lanes = Lanes::open(platform, self.name(), self.0.number, tree, thread)?;
        let mut member = ThreadMember {
            platform: platform.clone(),
            group: self.clone(),
            thread,
            lanes,
            leaders,
        };
        // The segment lasts while a thread holds it, so no thread leaves before all hold it.
        let kind = member.kind(Collective::Barrier, None, &Reduction::NONE, 0);
        member.up(kind, &Reduction::NONE, &mut [], Path::All)?;
        member.down(kind, &mut [], Path::All)?;
        Ok(member)
    }
}

/// Threads that take part in one direction of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    All,
    /// Threads between the tree's root and this thread.
    To(usize),
}

/// A software thread of a group. All threads of all nodes call the same collectives in the same order; each call
/// returns when it has ended for the caller. The platform charges its memory traffic.
pub struct ThreadMember<P: Platform> {
    platform: P,
    group: ThreadGroup,
    thread: usize,
    lanes: Lanes<P>,
    leaders: Option<Member<P>>,
}

impl<P: Platform> ThreadMember<P> {
    /// Number of the thread.
    #[must_use]
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// Number of nodes whose threads work together.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.group.0.nodes
    }

    /// The platform as the thread sees it.
    #[must_use]
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// Waits until all threads have arrived.
    ///
    /// # Errors
    /// [`Error::Disagreement`], and those of the leaders' geometry.
    pub fn barrier(&mut self) -> Result<(), Error> {
        let kind = self.kind(Collective::Barrier, None, &Reduction::NONE, 0);
        self.up(kind, &Reduction::NONE, &mut [], Path::All)?;
        self.among_leaders(Request::barrier())?;
        self.down(kind, &mut [], Path::All)
    }

    /// `data` of `root` goes to `data` of all others.
    ///
    /// # Errors
    /// [`Error::Thread`], [`Error::Disagreement`], and those of the leaders' geometry.
    pub fn broadcast(&mut self, root: ThreadRoot, data: &mut [u8]) -> Result<(), Error> {
        self.check_root(root)?;
        let nothing = Reduction::NONE;
        let kind = self.kind(Collective::Broadcast, Some(root), &nothing, data.len());
        if root.node == self.group.0.node {
            self.up(kind, &nothing, data, Path::To(root.thread))?;
        }
        if self.leaders.is_some() {
            let buffer = self.copied(data)?;
            self.among_leaders(Request::broadcast(root.node, buffer.clone()))?;
            buffer.read(0, data)?;
        }
        self.down(kind, data, Path::All)
    }

    /// Combines `data` of all into `data` of `root`; that of the others is unchanged.
    ///
    /// # Errors
    /// As [`ThreadMember::allreduce`].
    pub fn reduce(
        &mut self,
        root: ThreadRoot,
        reduction: impl Into<Reduction>,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let reduction = reduction.into();
        self.check_root(root)?;
        self.check(&reduction, data.len())?;
        let kind = self.kind(Collective::Reduce, Some(root), &reduction, data.len());
        let mut sum = data.to_vec();
        self.up(kind, &reduction, &mut sum, Path::All)?;
        let here = root.node == self.group.0.node;
        if self.leaders.is_some() {
            let send = self.copied(&sum)?;
            let receive = self.copied(&sum)?;
            let parts = Some(send);
            self.among_leaders(Request::reduce(
                root.node,
                reduction,
                parts,
                receive.clone(),
            ))?;
            receive.read(0, &mut sum)?;
        }
        if here {
            self.down(kind, &mut sum, Path::To(root.thread))?;
            if root.thread == self.thread {
                data.copy_from_slice(&sum);
            }
        }
        Ok(())
    }

    /// Combines `data` of all into `data` of all.
    ///
    /// # Errors
    /// [`Error::Operation`]; [`Error::Thread`] also for [`ReduceOp::Copy`](crate::ReduceOp::Copy) and operations that
    /// are not commutative, since trees do not keep the order of threads, and for elements of more than 992 bytes;
    /// [`Error::Disagreement`], and those of the leaders' geometry.
    pub fn allreduce(
        &mut self,
        reduction: impl Into<Reduction>,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let reduction = reduction.into();
        self.check(&reduction, data.len())?;
        let kind = self.kind(Collective::Allreduce, None, &reduction, data.len());
        self.up(kind, &reduction, data, Path::All)?;
        if self.leaders.is_some() {
            let buffer = self.copied(data)?;
            self.among_leaders(Request::allreduce(reduction, None, buffer.clone()))?;
            buffer.read(0, data)?;
        }
        self.down(kind, data, Path::All)
    }

    fn kind(
        &self,
        collective: Collective,
        root: Option<ThreadRoot>,
        reduction: &Reduction,
        bytes: usize,
    ) -> Kind {
        Kind {
            collective,
            reduction: reduction.kind(),
            root: root.map_or((0, 0), |root| (root.node, root.thread)),
            bytes,
        }
    }

    fn refuse(&self, field: &'static str, value: usize, expected: String) -> Error {
        Error::Thread {
            group: self.group.name().into(),
            field,
            value: value as u64,
            expected,
        }
    }

    fn check_root(&self, root: ThreadRoot) -> Result<(), Error> {
        let Inner { tree, nodes, .. } = &*self.group.0;
        if root.node >= *nodes {
            return Err(self.refuse("node of the root", root.node, format!("below {nodes}")));
        }
        if root.thread >= tree.len() {
            let expected = format!("below {}", tree.len());
            return Err(self.refuse("thread of the root", root.thread, expected));
        }
        Ok(())
    }

    fn check(&self, reduction: &Reduction, bytes: usize) -> Result<(), Error> {
        reduction.check()?;
        let kind = reduction.kind();
        if !kind.is_commutative() {
            let [_, op, ..] = kind.fields();
            let expected = "an operation whose operands may change places".into();
            return Err(self.refuse("operation", op as usize, expected));
        }
        let element = kind.bytes();
        if element > CHUNK {
            let expected = format!("at most {CHUNK}");
            return Err(self.refuse("bytes of an element", element, expected));
        }
        if !bytes.is_multiple_of(element) {
            let expected = format!("a multiple of {element}");
            return Err(self.refuse("bytes", bytes, expected));
        }
        Ok(())
    }

    /// Up the tree: combines `data` of the threads into the root's, or moves up that of the thread at the path's end.
    fn up(
        &mut self,
        kind: Kind,
        reduction: &Reduction,
        data: &mut [u8],
        path: Path,
    ) -> Result<(), Error> {
        let tree = &self.group.0.tree;
        let on_path = |thread: usize| match path {
            Path::All => true,
            Path::To(end) => tree.is_above(thread, end),
        };
        let from: Vec<usize> = (0..tree.children(self.thread).len())
            .filter(|&child| on_path(tree.children(self.thread)[child]))
            .collect();
        let sends = self.thread != tree.root() && on_path(self.thread);
        let mut part = [0; CHUNK];
        for range in chunks(data.len(), kind.reduction.bytes()) {
            let data = &mut data[range];
            let part = &mut part[..data.len()];
            for &child in &from {
                self.lanes.receive(Direction::Up, child, kind, part)?;
                match path {
                    Path::To(_) => data.copy_from_slice(part),
                    Path::All => {
                        let elements = data.len() / kind.reduction.bytes();
                        self.platform.charge(Op::Combine, elements as u64);
                        reduction.combine(part, data, false);
                    }
                }
            }
            self.lanes.taken(Direction::Up)?;
            if sends {
                self.lanes.publish(Direction::Up, kind, data)?;
            }
            self.lanes.next(Direction::Up);
        }
        Ok(())
    }

    /// Down the tree: `data` of its root goes to all, or to the thread at the path's end.
    fn down(&mut self, kind: Kind, data: &mut [u8], path: Path) -> Result<(), Error> {
        let tree = &self.group.0.tree;
        let on_path = |thread: usize| match path {
            Path::All => true,
            Path::To(end) => tree.is_above(thread, end),
        };
        let receives = self.thread != tree.root() && on_path(self.thread);
        let children = tree.children(self.thread);
        let sends = children.iter().any(|&child| on_path(child));
        for range in chunks(data.len(), kind.reduction.bytes()) {
            let data = &mut data[range];
            if receives {
                self.lanes.receive(Direction::Down, 0, kind, data)?;
            }
            self.lanes.taken(Direction::Down)?;
            if sends {
                self.lanes.publish(Direction::Down, kind, data)?;
            }
            self.lanes.next(Direction::Down);
        }
        Ok(())
    }

    /// The leaders' part, at the leader of a node among several.
    fn among_leaders(&self, request: Request<P::Buffer>) -> Result<(), Error> {
        let Some(member) = &self.leaders else {
            return Ok(());
        };
        let end = Completion::new();
        member.post(request, Some(end.callback()))?;
        let context = member.context();
        context.advance_until(|| end.is_complete())?;
        // The thread stops advancing after this, but other leaders may still wait for its answers.
        context.advance_until(|| context.is_at_rest())?;
        end.take_result()
    }

    fn copied(&self, data: &[u8]) -> Result<BufferRange<P::Buffer>, Error> {
        self.platform.charge(Op::Allocate, 1);
        self.charge_copies(data.len());
        Ok(BufferRange::copied(&self.platform, data)?)
    }

    fn charge_copies(&self, bytes: usize) {
        lanes::charge_copies(&self.platform, bytes);
    }
}

/// Parts of `bytes` bytes in whole elements; one empty part for no bytes.
fn chunks(bytes: usize, element: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
    let most = CHUNK / element * element;
    let count = bytes.div_ceil(most).max(1);
    (0..count).map(move |i| i * most..bytes.min((i + 1) * most))
}
