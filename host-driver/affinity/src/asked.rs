//! Software threads that ask where they run (AF-1).

use crate::host::Host;
use crate::place::Place;

/// Nobody knows on which hardware thread the calling software thread runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hardware thread of the calling thread is not known: {reason}")]
pub struct PlaceError {
    /// Why.
    pub reason: String,
}

/// A machine that says where its software threads run: a simulated node by the processor of its machine file, a real
/// machine by its operating system.
pub trait ThreadPlace {
    /// Processor, module, core and hardware thread of the calling software thread. One that is bound to none may be
    /// elsewhere the next time.
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
