// SPDX-License-Identifier: MIT OR Apache-2.0
//! The in-memory form of a GOAL program.

use std::fmt;

/// Largest tag a message can carry.
pub const TAG_MAX: u32 = u32::MAX - 1;

/// Tag of a message sent with `tag -1`: every receive from its source matches it. Other tools store "any
/// tag" as the same number.
pub const ANY_TAG: u32 = u32::MAX;

/// Number of an operation within its rank: its position in the file, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

impl OpId {
    /// Position in a slice with one element per operation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Sends a message. It is finished once handed over (eager) or once the receive has matched
    /// (synchronous).
    Send {
        /// Payload in bytes.
        bytes: u64,
        /// Destination rank.
        to: u32,
        /// Tag, at most [`TAG_MAX`], or [`ANY_TAG`].
        tag: u32,
        /// Network interface named by the program; 0 unless given.
        nic: u8,
    },
    /// Receives a message: started when posted, finished when the data has arrived.
    Recv {
        /// Size of the buffer in bytes. The message may be shorter.
        bytes: u64,
        /// Source rank, or `None` for any source (`-1` in the text).
        from: Option<u32>,
        /// Tag, or `None` for any tag (`-1` in the text).
        tag: Option<u32>,
        /// Network interface named by the program; 0 unless given.
        nic: u8,
    },
    /// Occupies its processor for a time; a join of dependencies when the time is 0.
    Calc {
        /// Duration in nanoseconds.
        ns: u64,
    },
}

/// One operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Kind of operation.
    pub kind: OpKind,
    /// The rank's processor it runs on: a `calc` occupies it, a `send` or `recv` is charged to it.
    pub cpu: u8,
}

/// Which event of the operation depended on lets the dependent operation start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// `a requires b`: after `b` has finished.
    Requires,
    /// `a irequires b`: after `b` has started.
    Irequires,
}

/// For each operation a list of operations, in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpLists {
    starts: Vec<u32>,
    members: Vec<OpId>,
}

impl OpLists {
    /// Groups `(owner, member)` pairs by owner; each list is sorted and free of duplicates.
    pub(crate) fn new(ops: usize, mut pairs: Vec<(OpId, OpId)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0u32; ops + 1];
        for (owner, _) in &pairs {
            starts[owner.index() + 1] += 1;
        }
        for i in 0..ops {
            starts[i + 1] += starts[i];
        }
        let members = pairs.into_iter().map(|(_, member)| member).collect();
        Self { starts, members }
    }

    /// The list of one operation.
    pub(crate) fn of(&self, op: OpId) -> &[OpId] {
        let i = op.index();
        &self.members[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The same relation seen from the members.
    pub(crate) fn reversed(&self) -> Self {
        let ops = self.starts.len() - 1;
        let pairs = (0..ops as u32)
            .map(OpId)
            .flat_map(|owner| self.of(owner).iter().map(move |&member| (member, owner)))
            .collect();
        Self::new(ops, pairs)
    }
}

/// The operations of one rank and what each waits for.
///
/// Two rank programs are equal if they do the same; the source lines are not compared.
#[derive(Debug, Clone)]
pub struct RankProgram {
    pub(crate) rank: u32,
    pub(crate) ops: Vec<Op>,
    pub(crate) lines: Vec<u32>,
    pub(crate) requires: OpLists,
    pub(crate) irequires: OpLists,
}

impl PartialEq for RankProgram {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
            && self.ops == other.ops
            && self.requires == other.requires
            && self.irequires == other.irequires
    }
}

impl Eq for RankProgram {}

impl RankProgram {
    /// The number of this rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// All operations, in file order; [`OpId`] is the position.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// All operation numbers, in file order.
    pub fn op_ids(&self) -> impl Iterator<Item = OpId> + use<> {
        (0..self.ops.len() as u32).map(OpId)
    }

    /// One operation.
    ///
    /// # Panics
    /// If `op` is not an operation of this rank.
    pub fn op(&self, op: OpId) -> &Op {
        &self.ops[op.index()]
    }

    /// The line of the source text that defines `op`, from 1; `None` if the program was built in
    /// memory.
    pub fn line(&self, op: OpId) -> Option<u32> {
        Some(self.lines[op.index()]).filter(|&line| line != 0)
    }

    /// The operations that `op` waits for in one way, in file order, each once.
    pub fn dependencies(&self, op: OpId, dependency: Dependency) -> &[OpId] {
        match dependency {
            Dependency::Requires => self.requires.of(op),
            Dependency::Irequires => self.irequires.of(op),
        }
    }

    /// The processor numbers that the rank's operations name, ascending, each once.
    pub fn cpus(&self) -> Vec<u8> {
        let mut used = [false; 256];
        for op in &self.ops {
            used[usize::from(op.cpu)] = true;
        }
        (0..=u8::MAX).filter(|&c| used[usize::from(c)]).collect()
    }
}

/// Numbers of a text of which a program has the low bits alone, as LogGOPSim takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Name of the attribute.
    pub attribute: &'static str,
    /// Bits that it has.
    pub bits: u32,
    /// How many numbers.
    pub count: u64,
    /// Line of the first one, from 1.
    pub line: u32,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            attribute,
            bits,
            count,
            line,
        } = self;
        write!(
            f,
            "{line}: `{attribute}` of more than {bits} bits, {count} in all: its low {bits} bits count, as in LogGOPSim"
        )
    }
}

/// A whole program: one [`RankProgram`] for each rank, in rank order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    ranks: Vec<RankProgram>,
    cuts: Vec<Cut>,
}

impl Program {
    /// Puts ranks together.
    ///
    /// # Panics
    /// If the element at position `i` is not the program of rank `i`.
    pub fn new(ranks: Vec<RankProgram>) -> Self {
        for (i, rank) in ranks.iter().enumerate() {
            assert_eq!(rank.rank as usize, i, "ranks stand in rank order");
        }
        Self {
            ranks,
            cuts: Vec::new(),
        }
    }

    /// The same with what was cut from its text.
    pub(crate) fn with_cuts(self, cuts: Vec<Cut>) -> Self {
        Self { cuts, ..self }
    }

    /// Numbers that were cut from its text, an entry for each attribute.
    pub fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// The ranks; the position is the rank number.
    pub fn ranks(&self) -> &[RankProgram] {
        &self.ranks
    }

    /// Gives the ranks away, for example to hand one to each task.
    pub fn into_ranks(self) -> Vec<RankProgram> {
        self.ranks
    }
}
