// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limit of open descriptors: the machine has about ten for each task.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that this process was started with, once it is raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of this process to the hard one. Processes of tasks have the limit that this one was started with.
pub fn raise_descriptor_limit() {
    let before = *BEFORE.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // Where that is refused, a descriptor too many is an error of its own.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// The limit for the process of a task, if this one's is raised.
pub(crate) fn before() -> Option<Rlimit> {
    BEFORE.get().copied()
}
