// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hardware thread of the calling software thread (AF-1).

use crate::host::Host;
use crate::place::Place;

/// The hardware thread of the calling software thread is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hardware thread of the calling thread is not known: {reason}")]
pub struct PlaceError {
    /// Reason.
    pub reason: String,
}

/// A source of the calling software thread's place: the processor of the machine file on a simulated node, the
/// operating system on a real machine.
pub trait ThreadPlace {
    /// Processor, module, core and hardware thread of the calling software thread. An unbound thread may have moved by
    /// the next call.
    ///
    /// # Errors
    /// [`PlaceError`].
    fn thread_place(&self) -> Result<Place, PlaceError>;
}

impl ThreadPlace for Host {
    fn thread_place(&self) -> Result<Place, PlaceError> {
        let affinity = self.affinity().map_err(|error| PlaceError {
            reason: error.to_string(),
        })?;
        Ok(affinity.place)
    }
}
