// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hard hints of a dispatch: honoured or refused.

use crate::abi::{Bits, DispatchHint, Hint};
use crate::failure::Failure;

/// Hints that a program has given for a dispatch.
#[derive(Clone, Copy)]
pub struct Dispatch {
    /// Its hard hints.
    pub hints: DispatchHint,
}

impl Dispatch {
    /// Whether a hint has this value.
    pub fn has(&self, hint: Bits, value: Hint) -> bool {
        hint.get(self.hints.bits) == value.0
    }
}

/// Refuses hints that cannot be honoured.
pub fn check(hints: DispatchHint) -> Result<Dispatch, Failure> {
    let dispatch = Dispatch { hints };
    if dispatch.has(DispatchHint::BUFFER_REGISTERED, Hint::ENABLE)
        && dispatch.has(DispatchHint::USE_RDMA, Hint::DISABLE)
    {
        return Err(Failure::invalid("buffer_registered needs use_rdma"));
    }
    let refused = [
        (DispatchHint::REMOTE_ASYNC_PROGRESS, "remote_async_progress"),
        (DispatchHint::USE_SHMEM, "use_shmem"),
    ];
    for (hint, name) in refused {
        if dispatch.has(hint, Hint::ENABLE) {
            return Err(Failure::error(format!(
                "the hint {name} cannot be honoured"
            )));
        }
    }
    Ok(dispatch)
}
