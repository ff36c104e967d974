// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells for benches that compare them with a small model in every cycle.

use std::fmt;
use std::ops::{Index, IndexMut};

use fastrand::Rng;

use crate::Unit;

/// Result of a bench: success, or the first difference as text.
pub type Verdict = Result<(), String>;

/// A packed struct of the RTL: its fields with their bits, 64 at most, the uppermost first. Fields of structs inside it
/// stand in their place.
#[derive(PartialEq, Eq)]
pub struct Packed(pub &'static [(&'static str, u32)]);

impl Packed {
    fn bits(&self) -> usize {
        self.0.iter().map(|field| field.1 as usize).sum()
    }

    /// All fields zero.
    pub fn zero(&'static self) -> Record {
        Record {
            of: self,
            values: vec![0; self.0.len()],
        }
    }

    /// All fields at random.
    pub fn random(&'static self, random: &mut Rng) -> Record {
        let values = self
            .0
            .iter()
            .map(|&(_, bits)| random.u64(..) >> (64 - bits));
        Record {
            of: self,
            values: values.collect(),
        }
    }

    fn position(&self, name: &str) -> usize {
        match self.0.iter().position(|field| field.0 == name) {
            Some(position) => position,
            None => panic!("no field {name} in {:?}", self.0),
        }
    }
}

/// A value of a packed struct; fields by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    of: &'static Packed,
    values: Vec<u64>,
}

impl Record {
    /// The same with other values of some fields.
    pub fn with(mut self, fields: &[(&str, u64)]) -> Self {
        for &(name, value) in fields {
            self[name] = value;
        }
        self
    }

    fn words(&self) -> Vec<u32> {
        let mut words = vec![0; self.of.bits().div_ceil(32)];
        let mut low = 0;
        for (&(name, bits), &value) in self.of.0.iter().zip(&self.values).rev() {
            assert!(bits == 64 || value >> bits == 0, "{name}: {value:#x}");
            for bit in (0..bits as usize).filter(|bit| value >> bit & 1 != 0) {
                words[(low + bit) / 32] |= 1 << ((low + bit) % 32);
            }
            low += bits as usize;
        }
        words
    }
}

impl Index<&str> for Record {
    type Output = u64;

    fn index(&self, name: &str) -> &u64 {
        &self.values[self.of.position(name)]
    }
}

impl IndexMut<&str> for Record {
    fn index_mut(&mut self, name: &str) -> &mut u64 {
        &mut self.values[self.of.position(name)]
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.of.0.iter().zip(&self.values);
        f.debug_map()
            .entries(fields.map(|(field, value)| (field.0, value)))
            .finish()
    }
}

/// A unit by the names of its ports.
pub struct Cell(pub Unit);

impl Cell {
    /// A unit of `build/` in reset state, with random registers.
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

    /// An element of an output that is an array, of at most 64 bits.
    pub fn get_at(&self, port: &str, element: usize) -> u64 {
        self.0.get(self.0.port(port), element)
    }

    /// Sets an input that is a packed struct.
    ///
    /// # Panics
    /// If the struct has not the port's size.
    pub fn set_record(&mut self, port: &str, value: &Record) {
        self.set_record_at(port, 0, value);
    }

    /// Sets an element of an input that is an array of packed structs.
    ///
    /// # Panics
    /// If the struct has not the element's size.
    pub fn set_record_at(&mut self, port: &str, element: usize, value: &Record) {
        let found = self.0.port(port);
        assert_eq!(found.bits, value.of.bits(), "{port}");
        self.0.set_wide(found, element, &value.words());
    }

    /// An output that is a packed struct.
    ///
    /// # Panics
    /// If the struct has not the port's size.
    pub fn record(&self, port: &str, of: &'static Packed) -> Record {
        let found = self.0.port(port);
        assert_eq!(found.bits, of.bits(), "{port}");
        let words = self.0.get_wide(found, 0);
        let mut record = of.zero();
        let mut low = 0;
        for (&(_, bits), value) in of.0.iter().zip(&mut record.values).rev() {
            for bit in 0..bits as usize {
                let set = words[(low + bit) / 32] >> ((low + bit) % 32) & 1;
                *value |= u64::from(set) << bit;
            }
            low += bits as usize;
        }
        record
    }

    /// Sets an element of an input to bytes, the lowest first; missing ones are zero.
    pub fn set_bytes_at(&mut self, port: &str, element: usize, value: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = bytes.iter().rev();
            bytes.fold(0, |all, &byte| all << 8 | u32::from(byte))
        };
        let words: Vec<u32> = value.chunks(4).map(word).collect();
        self.0.set_wide(self.0.port(port), element, &words);
    }

    /// An output as bytes, the lowest first.
    pub fn bytes(&self, port: &str) -> Vec<u8> {
        let words = self.0.get_wide(self.0.port(port), 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
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

    /// Compares a found value with the expected one.
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

/// The bench passes with the unit `name`, and fails with `fault_name`, where `build/cells.rs` plants a fault.
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

/// Bytes at random.
pub fn random_bytes(random: &mut Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.u8(..)).collect()
}
