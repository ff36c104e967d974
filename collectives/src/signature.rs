//! What members compare to find out whether they agree.

use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::initiator::Initiator;
use crate::reduction::{DataType, ReduceOp};

/// What a collective is: the same at all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    pub collective: Collective,
    pub algorithm: Algorithm,
    pub initiator: Initiator,
    pub data: DataType,
    pub op: ReduceOp,
    /// Position.
    pub root: u32,
    /// Bytes of a block or of the combined vector; `u64::MAX` when not every member knows them.
    pub bytes: u64,
}

impl Signature {
    /// Whether it is a collective of the tree.
    pub fn is_on_tree(&self) -> bool {
        self.algorithm == Algorithm::Tree
    }

    /// Whether members wait for each other by other means than messages, which would tell them what the others
    /// are doing.
    pub fn is_silent(&self) -> bool {
        self.is_on_tree() || self.algorithm == Algorithm::SharedMemory
    }

    const FIELDS: [&str; 7] = [
        "collective",
        "algorithm",
        "initiator",
        "type",
        "operation",
        "root",
        "bytes",
    ];

    fn fields(&self) -> [u64; 7] {
        [
            self.collective as u64,
            self.algorithm as u64,
            self.initiator as u64,
            self.data as u64,
            self.op as u64,
            u64::from(self.root),
            self.bytes,
        ]
    }

    /// The fields, as members of a node write them into its memory.
    pub fn words(&self) -> [u32; 5] {
        let kinds = [
            self.collective as u8,
            self.algorithm as u8,
            self.initiator as u8,
        ];
        [
            u32::from_le_bytes([kinds[0], kinds[1], kinds[2], 0]),
            u32::from(self.data as u8) | u32::from(self.op as u8) << 8,
            self.root,
            self.bytes as u32,
            (self.bytes >> 32) as u32,
        ]
    }

    /// The first field in which two differ, with both values.
    pub fn difference(&self, other: &Self) -> Option<(&'static str, u64, u64)> {
        self.first_difference(other.fields())
    }

    /// The same against the words of another.
    pub fn difference_to_words(
        &self,
        [kinds, data, root, low, high]: [u32; 5],
    ) -> Option<(&'static str, u64, u64)> {
        let [collective, algorithm, initiator, _] = kinds.to_le_bytes();
        let [data, op, ..] = data.to_le_bytes();
        self.first_difference([
            collective.into(),
            algorithm.into(),
            initiator.into(),
            data.into(),
            op.into(),
            root.into(),
            u64::from(low) | u64::from(high) << 32,
        ])
    }

    fn first_difference(&self, theirs: [u64; 7]) -> Option<(&'static str, u64, u64)> {
        let fields = Self::FIELDS.into_iter().zip(self.fields()).zip(theirs);
        fields
            .map(|((name, ours), theirs)| (name, ours, theirs))
            .find(|(_, ours, theirs)| ours != theirs)
    }
}
