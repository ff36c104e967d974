// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor of a simulated node.

use serde::Deserialize;

use crate::place::{Place, Unit};

/// The processor of a node, as a machine file describes it in `[processor]` (AF-1). Costs are processor
/// cycles that a hardware thread waits for a 64-byte cache line written by another.
///
/// The reference processor has 4 modules of 4 cores of 4 threads. A core's threads share its first-level
/// cache (6 cycles, as loads take from that of the Blue Gene/Q core), a module's cores a second-level cache
/// (82 cycles, as loads take from that of the Blue Gene/Q chip). A line from another module comes from the other
/// second-level cache: twice that, an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Processor {
    /// Multi-chip modules.
    pub modules: u16,
    /// Cores of a module.
    pub cores: u16,
    /// Hardware threads of a core.
    pub threads: u16,
    /// Cycles for a line written by a thread of the same core.
    pub core_cycles: u32,
    /// Cycles for a line written by another core of the same module.
    pub module_cycles: u32,
    /// Cycles for a line written by another module.
    pub processor_cycles: u32,
}

/// Invalid field of a [`Processor`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}, expected {expected}")]
pub struct ProcessorError {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub value: u32,
    /// Valid values.
    pub expected: String,
}

impl Default for Processor {
    fn default() -> Self {
        Self {
            modules: 4,
            cores: 4,
            threads: 4,
            core_cycles: 6,
            module_cycles: 82,
            processor_cycles: 164,
        }
    }
}

impl Processor {
    /// Maximum modules of a processor, cores of a module, and threads of a core.
    pub const MAX: u16 = 64;
    /// Maximum cycles for a line.
    pub const MAX_CYCLES: u32 = 1_000_000;

    /// Refuses numbers out of range, and costs that fall with distance.
    ///
    /// # Errors
    /// [`ProcessorError`].
    pub fn validate(&self) -> Result<(), ProcessorError> {
        let refuse = |field, value: u32, least: u32, most: u32| ProcessorError {
            field,
            value,
            expected: format!("{least} to {most}"),
        };
        for (field, value) in [
            ("modules", self.modules),
            ("cores", self.cores),
            ("threads", self.threads),
        ] {
            if !(1..=Self::MAX).contains(&value) {
                return Err(refuse(field, value.into(), 1, Self::MAX.into()));
            }
        }
        let mut least = 0;
        for (field, value) in [
            ("core_cycles", self.core_cycles),
            ("module_cycles", self.module_cycles),
            ("processor_cycles", self.processor_cycles),
        ] {
            if !(least..=Self::MAX_CYCLES).contains(&value) {
                return Err(refuse(field, value, least, Self::MAX_CYCLES));
            }
            least = value;
        }
        Ok(())
    }

    /// Number of hardware threads.
    #[must_use]
    pub fn hardware_threads(&self) -> usize {
        usize::from(self.modules) * usize::from(self.cores) * usize::from(self.threads)
    }

    /// Place of hardware thread `number`, counted by threads of a core, then cores of a module. `None` if out of range.
    #[must_use]
    pub fn place(&self, number: usize) -> Option<Place> {
        if number >= self.hardware_threads() {
            return None;
        }
        let (cores, threads) = (usize::from(self.cores), usize::from(self.threads));
        // Each is less than a 16-bit field.
        Some(Place {
            processor: 0,
            module: (number / threads / cores) as u16,
            core: (number / threads % cores) as u16,
            thread: (number % threads) as u16,
        })
    }

    /// Cycles that a thread waits for a line written at distance `unit`.
    #[must_use]
    pub fn line_cycles(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Thread => 0,
            Unit::Core => self.core_cycles,
            Unit::Module => self.module_cycles,
            Unit::Processor | Unit::Node => self.processor_cycles,
        }
    }
}
