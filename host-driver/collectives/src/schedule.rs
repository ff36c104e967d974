// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedules: graphs of the steps of a member in a collective.

mod all;
mod barrier;
mod broadcast;
pub(crate) mod builder;
mod collnet;
mod gather;
mod parallel;
mod reduce;
mod scatter;
mod shared;
pub(crate) mod steps;
mod torus;
mod tree;

use builder::{Arguments, Builder};
use steps::Schedule;

use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::geometry::Geometry;

/// The schedule of the member with rank `rank`, by an algorithm of the collective's default list.
pub(crate) fn schedule(
    geometry: &Geometry,
    rank: u32,
    algorithm: Algorithm,
    arguments: Arguments<'_>,
) -> Schedule {
    use Algorithm as A;
    let mut b = Builder::new(geometry, rank, arguments);
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
