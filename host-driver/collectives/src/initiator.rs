// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints that post a collective.

/// Endpoints that post a collective (EP-9). The others follow by their [`Member::on_call`](crate::Member::on_call)
/// callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Initiator {
    /// Every endpoint of the geometry.
    All,
    /// The endpoints of the root task.
    Root,
    /// All endpoints but those of the root task.
    NonRoot,
}

impl Initiator {
    pub(crate) const ALL: [Self; 3] = [Self::All, Self::Root, Self::NonRoot];
}
