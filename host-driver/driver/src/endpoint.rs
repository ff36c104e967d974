// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints.

use gyre_note::Context;

use crate::task::TaskId;

/// An address for communication: (client, task, context offset). Opaque and copyable, usable by any
/// local context of the client (EP-1). Made by [`Client::endpoint`](crate::Client::endpoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub(crate) client: u8,
    pub(crate) context: u8,
    pub(crate) task: TaskId,
}

impl From<Endpoint> for Context {
    /// Its context, as notes name it.
    fn from(endpoint: Endpoint) -> Self {
        Self {
            task: endpoint.task.0,
            client: endpoint.client,
            offset: endpoint.context,
        }
    }
}

impl Endpoint {
    /// Identifier of the client.
    #[must_use]
    pub fn client(self) -> u8 {
        self.client
    }

    /// Task of the endpoint.
    #[must_use]
    pub fn task(self) -> TaskId {
        self.task
    }

    /// Offset of its context among the contexts of the task.
    #[must_use]
    pub fn context_offset(self) -> u8 {
        self.context
    }
}
