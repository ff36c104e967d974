// SPDX-License-Identifier: MIT OR Apache-2.0
//! Default lists of algorithms.

use super::condition::Condition;
use super::entry::Entry;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::node::segment::SLOT;

/// Bytes from which bandwidth matters more than the number of rounds.
const LONG: usize = 16 << 10;
/// Bytes up to which forwarding a block costs little.
const SHORT: usize = 256;

/// Bytes up to which a transfer on the collective network is worth its copies.
const COPIED: usize = 4 << 10;
/// Bytes up to which the tasks of a node combine faster in its memory than by messages: `gyre bench allreduce --shape
/// 1x1x1 --set tasks=2`, 4 and 8.
const SHARED: usize = 512;
/// Bytes for each endpoint from which a ring, with the most messages, is worthwhile.
const RING: usize = 256;

/// Bytes up to which a node's first combines the data of its node for the collective network faster than all tasks do
/// by messages: `gyre bench allreduce` with `--set tasks=2`, 4 and 8 on `--shape 2x1x1`, `2x2x1`, `2x2x2`, `4x4x1`.
const LITTLE: Condition = Condition::IntraNodeCombineAtMost(2500);

/// Elements that fit a slot of shared memory.
const FITS: Condition = Condition::ElementAtMost(SLOT);

/// Algorithms of a collective, in order of preference.
pub(super) fn defaults(collective: Collective) -> Vec<Entry> {
    use Algorithm as A;
    use Condition as C;
    let entry = |algorithm, requires: &[Condition], when: &[Condition]| Entry {
        algorithm,
        requires: requires.to_vec(),
        when: when.to_vec(),
    };
    match collective {
        Collective::Barrier => vec![
            entry(A::Tree, &[C::BarrierRoute], &[C::SeveralNodes]),
            entry(A::SharedMemory, &[C::SharedMemory], &[]),
            entry(A::Affinity, &[C::NodesShared], &[]),
            entry(A::Dissemination, &[], &[]),
        ],
        Collective::Broadcast => vec![
            entry(
                A::Tree,
                &[C::ClassRoute, C::BarrierRoute],
                &[C::SeveralNodes, C::Window(COPIED)],
            ),
            entry(A::DimensionPipelined, &[C::WholeTorus], &[C::AtLeast(LONG)]),
            entry(
                A::EndpointParallel,
                &[],
                &[C::SeveralNodes, C::RootEndpoints(2), C::AtLeast(LONG)],
            ),
            entry(A::SharedMemory, &[C::SharedMemory], &[C::AtMost(LONG)]),
            entry(A::Affinity, &[C::NodesShared], &[C::AtMost(SHORT)]),
            entry(A::Binomial, &[], &[]),
        ],
        Collective::Scatter | Collective::Gather => vec![
            entry(A::Binomial, &[C::EqualBlocks], &[C::AtMost(SHORT)]),
            entry(A::EndpointParallel, &[], &[]),
        ],
        Collective::Allgather => vec![
            entry(
                A::RecursiveDoubling,
                &[C::TasksPowerOfTwo, C::EqualBlocks],
                &[C::AtMost(LONG)],
            ),
            entry(A::ThereAndBack, &[C::EqualBlocks], &[C::AtMost(SHORT)]),
            entry(A::Ring, &[], &[]),
        ],
        Collective::Reduce => vec![
            entry(
                A::Tree,
                &[C::ClassRoute, C::TreeOperation],
                &[C::SeveralNodes, C::Window(COPIED), C::TreeNan],
            ),
            entry(
                A::SharedMemory,
                &[C::SharedMemory, C::Commutative, FITS],
                &[],
            ),
            entry(
                A::Affinity,
                &[C::NodesShared, C::Commutative],
                &[C::AtMost(SHORT)],
            ),
            entry(A::Binomial, &[C::Commutative], &[]),
            entry(A::Linear, &[], &[]),
        ],
        Collective::Allreduce => vec![
            entry(
                A::Tree,
                &[C::ClassRoute, C::TreeOperation],
                &[C::SeveralNodes, LITTLE, C::Window(COPIED), C::TreeNan],
            ),
            entry(
                A::SharedMemory,
                &[C::SharedMemory, C::Commutative, FITS],
                &[C::AtMost(SHARED)],
            ),
            entry(A::Ring, &[C::Commutative], &[C::AtLeastEach(RING)]),
            entry(
                A::Affinity,
                &[C::NodesShared, C::Commutative],
                &[C::AtMost(SHORT)],
            ),
            entry(A::RecursiveDoubling, &[], &[]),
            entry(A::ThereAndBack, &[], &[]),
        ],
        Collective::Alltoall => vec![
            entry(A::Linear, &[], &[C::AtMost(SHORT)]),
            entry(A::Pairwise, &[], &[]),
        ],
        Collective::Scan => vec![
            entry(A::RecursiveDoubling, &[], &[C::AtMost(LONG)]),
            entry(A::Linear, &[], &[]),
        ],
        Collective::ReduceScatter => vec![
            entry(A::Ring, &[C::Commutative], &[C::AtLeast(LONG)]),
            entry(A::Pairwise, &[], &[]),
        ],
    }
}
