// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes of the collective network that a geometry holds.

/// Routes of the collective network that a geometry holds: the same at all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutesTaken {
    /// A class route: transfers.
    pub class: bool,
    /// A barrier route.
    pub barrier: bool,
    /// At least one window, so that long results arrive in place.
    pub window: bool,
}

impl RoutesTaken {
    /// Every kind of route.
    pub(crate) const ALL: Self = Self {
        class: true,
        barrier: true,
        window: true,
    };
}
