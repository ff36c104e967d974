//! Leaf cells for benches that compare them with a small model in every cycle.

use fastrand::Rng;

use crate::Unit;

/// What a bench found: nothing, or the first difference as text.
pub type Verdict = Result<(), String>;

/// A unit by the names of its ports.
pub struct Cell(pub Unit);

impl Cell {
    /// A unit of `build/models.rs` in reset state, with random registers.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn new(name: &str) -> Self {
        Self(Unit::new(name, 7))
    }

    /// Sets an input.
    pub fn set(&mut self, port: &str, value: u64) {
        self.0.set(self.0.port(port), 0, value);
    }

    /// Sets an element of an input that is an array.
    pub fn set_at(&mut self, port: &str, element: usize, value: u64) {
        self.0.set(self.0.port(port), element, value);
    }

    /// An output of at most 64 bits.
    pub fn get(&self, port: &str) -> u64 {
        self.0.get(self.0.port(port), 0)
    }

    /// Whether an output is not zero.
    pub fn is(&self, port: &str) -> bool {
        self.get(port) != 0
    }

    /// Outputs follow the inputs of this cycle.
    ///
    /// # Errors
    /// What an assertion of the RTL says.
    pub fn settle(&mut self) -> Verdict {
        self.0.settle().map_err(|failure| failure.to_string())
    }

    /// The clock's rising edge.
    ///
    /// # Errors
    /// What an assertion of the RTL says.
    pub fn edge(&mut self) -> Verdict {
        self.0.edge().map_err(|failure| failure.to_string())
    }

    /// Compares what was found with what should be.
    ///
    /// # Errors
    /// Cycle, `what` and both values, if they differ.
    pub fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        found: T,
        wanted: T,
    ) -> Verdict {
        if found == wanted {
            return Ok(());
        }
        Err(format!(
            "{:?}: {what} {found:?}, expected {wanted:?}",
            self.0
        ))
    }
}

/// The bench passes with the unit `name`, and fails with `fault_name`, where `build/models.rs` plants a fault.
///
/// # Panics
/// If not.
pub fn with_and_without_fault(name: &str, bench: fn(&mut Cell, &mut Rng) -> Verdict) {
    let run = |name: &str| bench(&mut Cell::new(name), &mut Rng::with_seed(1));
    run(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let found = run(&format!("fault_{name}"));
    assert!(found.is_err(), "{name}: the planted fault is not found");
}

/// True in `percent` of 100 cases.
pub fn chance(random: &mut Rng, percent: u8) -> bool {
    random.u8(0..100) < percent
}
