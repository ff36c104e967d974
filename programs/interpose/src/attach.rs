// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attachment of the process to its job, after which its system calls are the machine's.

use crate::job::{Job, NoJob};
use crate::system_calls;

impl Job {
    /// The job of this process.
    ///
    /// # Errors
    /// [`NoJob`] when no machine has started the process.
    pub fn get() -> Result<&'static Self, NoJob> {
        Self::get_or_attach(|job| {
            system_calls::children::follow();
            system_calls::dispatch(job.description.task == 0);
        })
    }
}
