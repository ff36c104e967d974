// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signatures of collectives, by which members find out whether they agree.

use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::initiator::Initiator;
use crate::reduction::kind::ReduceKind;

/// Signature of a collective: the same at all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    pub collective: Collective,
    pub algorithm: Algorithm,
    pub initiator: Initiator,
    pub reduction: ReduceKind,
    /// Position.
    pub root: u32,
    /// Bytes of a block or of the combined vector; `u64::MAX` if not known to every member.
    pub bytes: u64,
}

impl Signature {
    /// Whether the collective uses the collective network.
    pub fn is_on_tree(&self) -> bool {
        self.algorithm == Algorithm::Tree
    }

    /// Whether members wait for each other by other means than messages, which would carry signatures.
    pub fn is_silent(&self) -> bool {
        self.is_on_tree() || self.algorithm == Algorithm::SharedMemory
    }

    /// Names of the fields, in order of comparison.
    fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let kinds = [
            ("collective", self.collective as u64),
            ("algorithm", self.algorithm as u64),
            ("initiator", self.initiator as u64),
        ];
        let rest = [("root", self.root.into()), ("bytes", self.bytes)];
        let reduction = ReduceKind::FIELDS.into_iter().zip(self.reduction.fields());
        kinds.into_iter().chain(reduction).chain(rest)
    }

    /// Fields as written to the memory of a node.
    pub fn words(&self) -> [u32; 5] {
        let (flags, reduction) = self.reduction.pack();
        let kinds = [
            self.collective as u8,
            self.algorithm as u8,
            self.initiator as u8,
            flags,
        ];
        [
            u32::from_le_bytes(kinds),
            reduction,
            self.root,
            self.bytes as u32,
            (self.bytes >> 32) as u32,
        ]
    }

    /// First field that differs, with both values.
    pub fn difference(&self, other: &Self) -> Option<(&'static str, u64, u64)> {
        // Tests the equal case first: every message is compared.
        if self == other {
            return None;
        }
        self.first_difference(other.fields().map(|(_, value)| value))
    }

    /// The same against another signature's words.
    pub fn difference_to_words(
        &self,
        [kinds, reduction, root, low, high]: [u32; 5],
    ) -> Option<(&'static str, u64, u64)> {
        let [collective, algorithm, initiator, flags] = kinds.to_le_bytes();
        let kinds = [collective, algorithm, initiator].map(u64::from);
        // An undecodable reduction differs from every reduction.
        let unknown = |_| [u64::from(reduction); 4];
        let reduction =
            ReduceKind::unpack(flags, reduction).map_or_else(unknown, ReduceKind::fields);
        let rest = [root.into(), u64::from(low) | u64::from(high) << 32];
        self.first_difference(kinds.into_iter().chain(reduction).chain(rest))
    }

    fn first_difference(
        &self,
        theirs: impl Iterator<Item = u64>,
    ) -> Option<(&'static str, u64, u64)> {
        let fields = self.fields().zip(theirs);
        fields
            .map(|((name, ours), theirs)| (name, ours, theirs))
            .find(|(_, ours, theirs)| ours != theirs)
    }
}
