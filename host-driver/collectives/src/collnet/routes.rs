//! What a geometry has of the collective network.

/// What a geometry has of the collective network: the same at all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutesTaken {
    /// A class route: transfers.
    pub class: bool,
    /// A barrier route.
    pub barrier: bool,
    /// A window at least: long results arrive where they belong.
    pub window: bool,
}

impl RoutesTaken {
    /// All there can be.
    pub(crate) const ALL: Self = Self {
        class: true,
        barrier: true,
        window: true,
    };
}
