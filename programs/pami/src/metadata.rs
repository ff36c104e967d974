// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata of the algorithms of geometries.

use std::ffi::{CStr, c_uint};

use gyre_collectives::Algorithm;

use crate::abi::{self, Bits, CheckCorrect, CheckPerf, MetadataFunction, XferType};

/// Version of all algorithms.
const VERSION: c_uint = 1;

fn name(algorithm: Option<Algorithm>) -> &'static CStr {
    use Algorithm as A;
    match algorithm {
        None => c"chosen",
        Some(A::Dissemination) => c"dissemination",
        Some(A::Binomial) => c"binomial",
        Some(A::EndpointParallel) => c"endpoint_parallel",
        Some(A::DimensionPipelined) => c"dimension_pipelined",
        Some(A::Ring) => c"ring",
        Some(A::RecursiveDoubling) => c"recursive_doubling",
        Some(A::ThereAndBack) => c"there_and_back",
        Some(A::Pairwise) => c"pairwise",
        Some(A::Linear) => c"linear",
        Some(A::Affinity) => c"affinity",
        Some(A::Tree) => c"tree",
        Some(A::SharedMemory) => c"shared_memory",
    }
}

/// Metadata of an algorithm for a kind; `checked`: `check` must be called first.
pub fn metadata(
    kind: XferType,
    algorithm: Option<Algorithm>,
    checked: bool,
    check: MetadataFunction,
) -> abi::Metadata {
    let in_place = [
        XferType::ALLREDUCE,
        XferType::REDUCE,
        XferType::SCAN,
        XferType::REDUCE_SCATTER,
        XferType::ALLTOALL,
        XferType::ALLTOALLV,
        XferType::ALLTOALLV_INT,
    ]
    .contains(&kind);
    let hardware = algorithm == Some(Algorithm::Tree);
    let set = |bit: Bits, on: bool| bit.set(0, c_uint::from(on));
    abi::Metadata {
        name: name(algorithm).as_ptr().cast_mut(),
        version: VERSION,
        check_fn: check,
        range_lo: 0,
        range_hi: usize::MAX,
        send_min_align: 1,
        recv_min_align: 1,
        check_correct: CheckCorrect {
            bits: set(CheckCorrect::CHECKREQUIRED, checked)
                | set(CheckCorrect::ALLDTOP, !checked)
                | set(CheckCorrect::INPLACE, in_place)
                | set(CheckCorrect::ASYNCFLOWCTL, true),
        },
        check_perf: CheckPerf {
            bits: set(CheckPerf::HW_ACCEL, hardware),
        },
        range_lo_perf: 0,
        range_hi_perf: usize::MAX,
        min_align_perf: 1,
    }
}
