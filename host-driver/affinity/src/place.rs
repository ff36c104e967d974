// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of hardware threads.

/// A unit of a node's hardware, smallest first. The distance of two hardware threads is the smallest unit that
/// contains both.
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
    /// Units that form domains (AF-2), smallest first; the node only if it has several processors.
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

/// Location of a hardware thread (AF-1). Each number counts within the enclosing unit.
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
    /// Smallest unit that contains both places.
    #[must_use]
    pub fn common(self, other: Self) -> Unit {
        let units = [Unit::Thread, Unit::Core, Unit::Module, Unit::Processor];
        let same = |unit: &Unit| self.within(*unit) == other.within(*unit);
        units.into_iter().find(same).unwrap_or(Unit::Node)
    }

    /// Enclosing unit, as the place of its first hardware thread.
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
