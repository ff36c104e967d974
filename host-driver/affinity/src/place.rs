//! Places of hardware threads.

/// A unit of a node's hardware, from the smallest to the largest. As a distance: the smallest unit that has
/// both hardware threads in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A hardware thread.
    Thread,
    /// A core.
    Core,
    /// A multi-chip module.
    Module,
    /// A processor.
    Processor,
    /// A node.
    Node,
}

impl Unit {
    /// The units that are domains (AF-2), the smallest first. A node is one where it has several processors.
    pub const DOMAINS: [Self; 4] = [Self::Core, Self::Module, Self::Processor, Self::Node];

    /// Name, for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Core => "core",
            Self::Module => "module",
            Self::Processor => "processor",
            Self::Node => "node",
        }
    }
}

/// Where a hardware thread is (AF-1). Every number counts within the unit above.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Processor of the node.
    pub processor: u16,
    /// Module of the processor.
    pub module: u16,
    /// Core of the module.
    pub core: u16,
    /// Hardware thread of the core.
    pub thread: u16,
}

impl Place {
    /// The smallest unit that has both places in it.
    #[must_use]
    pub fn common(self, other: Self) -> Unit {
        let units = [Unit::Thread, Unit::Core, Unit::Module, Unit::Processor];
        let same = |unit: &Unit| self.within(*unit) == other.within(*unit);
        units.into_iter().find(same).unwrap_or(Unit::Node)
    }

    /// The unit that the place is in, as the place of its first hardware thread.
    #[must_use]
    pub fn within(self, unit: Unit) -> Self {
        let keep = |kept: Unit, number: u16| if unit <= kept { number } else { 0 };
        Self {
            processor: keep(Unit::Processor, self.processor),
            module: keep(Unit::Module, self.module),
            core: keep(Unit::Core, self.core),
            thread: keep(Unit::Thread, self.thread),
        }
    }
}
