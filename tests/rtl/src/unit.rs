// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any Verilated unit behind one type: ports by name, values by element.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::slice;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::library::{failure, load};
use crate::units;

/// A port, as `cpp/unit.cpp` describes it.
#[repr(C)]
struct RawPort {
    name: *const c_char,
    bits: usize,
    elements: usize,
    data: *mut u8,
    stride: usize,
}

/// Functions of a unit's library, as `cpp/unit.cpp` describes them.
#[repr(C)]
struct Entry {
    make: extern "C" fn(i32) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
    ports: unsafe extern "C" fn(*mut c_void, *mut usize) -> *const RawPort,
    eval: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    state: unsafe extern "C" fn(*mut c_void) -> u64,
}

const WRAPPER: &[(&str, &str)] = &[("unit.cpp", include_str!("../cpp/unit.cpp"))];

/// The functions of the unit `name`, compiled and loaded unless they are.
fn entry(name: &str) -> &'static Entry {
    static LOADED: Mutex<BTreeMap<String, Arc<OnceLock<&Entry>>>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let unit = Arc::clone(loaded.entry(name.to_owned()).or_default());
    // Other units are compiled at the same time.
    drop(loaded);
    unit.get_or_init(|| {
        let library = units::library(name, "gyre_unit").wrapper(WRAPPER);
        // SAFETY: `cpp/unit.cpp` defines this entry.
        unsafe { load(&library, "gyre_unit") }
    })
}

/// A unit behind its functions.
struct Model {
    entry: &'static Entry,
    /// Made by `entry.make`, freed when this is dropped.
    unit: *mut c_void,
    /// Places of the ports in the unit: an address and bytes for each element.
    places: Vec<(*mut u8, usize)>,
}

impl Model {
    /// A new unit with the names and kinds of its ports.
    fn new(name: &str, seed: i32) -> (Self, Vec<String>, Vec<Port>) {
        let entry = entry(name);
        let unit = (entry.make)(seed);
        let mut count = 0;
        // SAFETY: `unit` is one of this library; the array has `count` elements and lives as long as the unit.
        let raw = unsafe { slice::from_raw_parts((entry.ports)(unit, &raw mut count), count) };
        let names = raw.iter().map(|port| {
            // SAFETY: names are string literals.
            let name = unsafe { CStr::from_ptr(port.name) };
            name.to_string_lossy().into_owned()
        });
        let ports = raw.iter().enumerate().map(|(index, port)| Port {
            index,
            bits: port.bits,
            elements: port.elements,
        });
        let model = Self {
            entry,
            unit,
            places: raw.iter().map(|port| (port.data, port.stride)).collect(),
        };
        (model, names.collect(), ports.collect())
    }

    /// Bytes of an element of a port, and their address.
    fn place(&self, port: Port, element: usize) -> (*mut u8, usize) {
        assert!(element < port.elements, "element {element} of {port:?}");
        let (data, stride) = self.places[port.index];
        // SAFETY: a port has as many elements of `stride` bytes one behind the other.
        (unsafe { data.add(element * stride) }, stride)
    }

    fn write(&mut self, port: Port, element: usize, words: &[u32; MAX_WORDS]) {
        let (to, bytes) = self.place(port, element);
        assert!(bytes <= size_of_val(words), "{port:?}");
        // SAFETY: `to` has `bytes` bytes, and so has `words`. Nothing else refers to the unit's ports.
        unsafe { to.copy_from(words.as_ptr().cast(), bytes) };
    }

    fn read(&self, port: Port, element: usize, words: &mut [u32; MAX_WORDS]) {
        let (from, bytes) = self.place(port, element);
        assert!(bytes <= size_of_val(words), "{port:?}");
        // SAFETY: as in `write`.
        unsafe { from.copy_to(words.as_mut_ptr().cast(), bytes) };
    }

    fn eval(&mut self) -> Result<(), String> {
        // SAFETY: the unit is one of this library; the text lives until the next call.
        unsafe { failure((self.entry.eval)(self.unit)) }
    }

    fn state(&self) -> u64 {
        // SAFETY: the unit is one of this library.
        unsafe { (self.entry.state)(self.unit) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the unit is one of this library and used no more.
        unsafe { (self.entry.drop)(self.unit) };
    }
}

/// A port, found once by [`Unit::port`].
#[derive(Clone, Copy, Debug)]
pub struct Port {
    index: usize,
    /// Bits of one element.
    pub bits: usize,
    /// Elements of an unpacked array in order of their indices, last dimension fastest; else 1.
    pub elements: usize,
}

/// Most 32-bit words that a port element may have.
const MAX_WORDS: usize = 32;

impl Port {
    /// 32-bit words that hold one element, at least two (Verilator's 33- to 64-bit values).
    fn words(&self) -> usize {
        self.bits.div_ceil(32).max(2)
    }
}

/// An assertion of the RTL failed. The unit cannot be used further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cycle {cycle}: {text}")]
pub struct Failure {
    /// Cycle of the failed evaluation, counted from the unit's construction.
    pub cycle: u64,
    /// Verilator's message, which names file, line and instance.
    pub text: String,
}

/// A Verilated unit. Misuse by a test (a port that does not exist, a value too wide) panics.
pub struct Unit {
    model: Model,
    name: String,
    names: Vec<String>,
    ports: Vec<Port>,
    clocks: Vec<Port>,
    reset: Port,
    cycle: u64,
    failure: Option<Failure>,
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in cycle {}", self.name, self.cycle)
    }
}

impl Unit {
    /// The unit `name` of [`units`], in reset for two cycles, all inputs zero. Registers and
    /// memories without reset hold noise of `seed`.
    ///
    /// # Panics
    /// If there is no such unit or it fails in reset.
    pub fn new(name: &str, seed: u32) -> Self {
        let (model, names, ports) = Model::new(name, (seed >> 1) as i32 | 1);
        let find = |wanted: &str| {
            names
                .iter()
                .position(|found| found == wanted)
                .map(|index| ports[index])
        };
        // A unit without clock is combinational and has neither port; one of parts with clocks of their own has more ports or
        // bits, all of which go on.
        let none = Port {
            index: usize::MAX,
            bits: 1,
            elements: 1,
        };
        let reset = find("rst_ni").unwrap_or(none);
        let is_clock = |name: &String| name == "clk_i" || name.ends_with("_clk_i");
        let clocks = ports
            .iter()
            .filter(|port| is_clock(&names[port.index]))
            .copied()
            .collect();
        let mut unit = Self {
            model,
            name: name.to_owned(),
            names,
            ports,
            clocks,
            reset,
            cycle: 0,
            failure: None,
        };
        for port in unit.ports.clone() {
            for element in 0..port.elements {
                unit.set(port, element, 0);
            }
        }
        unit.reset();
        unit
    }

    /// Two cycles of reset, with the inputs as they are.
    ///
    /// # Panics
    /// If an assertion fails.
    pub fn reset(&mut self) {
        if self.reset.index == usize::MAX {
            return;
        }
        self.set(self.reset, 0, 0);
        for _ in 0..2 {
            if let Err(failure) = self.tick() {
                panic!("{} in reset: {failure}", self.name);
            }
        }
        self.set(self.reset, 0, 1);
    }

    /// The port `name`.
    ///
    /// # Panics
    /// If the unit has no such port.
    pub fn port(&self, name: &str) -> Port {
        match self.names.iter().position(|found| found == name) {
            Some(index) => self.ports[index],
            None => panic!("{} has no port {name}: {:?}", self.name, self.names),
        }
    }

    /// Sets the low 64 bits of an element; further bits become zero.
    pub fn set(&mut self, port: Port, element: usize, value: u64) {
        self.set_wide(port, element, &[value as u32, (value >> 32) as u32]);
    }

    /// Sets an element to little-endian 32-bit words; missing words are zero.
    ///
    /// # Panics
    /// If the value is wider than the port.
    pub fn set_wide(&mut self, port: Port, element: usize, words: &[u32]) {
        let mut full = [0; MAX_WORDS];
        full[..words.len()].copy_from_slice(words);
        let top = port.bits / 32;
        let beyond = full[top] >> (port.bits % 32) != 0 || full[top + 1..].iter().any(|&w| w != 0);
        assert!(
            !beyond,
            "{}: {words:x?} does not fit into {} ({} bits)",
            self.name, self.names[port.index], port.bits
        );
        self.model.write(port, element, &full);
    }

    /// The low 64 bits of an element.
    pub fn get(&self, port: Port, element: usize) -> u64 {
        let mut words = [0; MAX_WORDS];
        self.model.read(port, element, &mut words);
        u64::from(words[0]) | u64::from(words[1]) << 32
    }

    /// An element as little-endian 32-bit words, as many as its bits need.
    pub fn get_wide(&self, port: Port, element: usize) -> Vec<u32> {
        let mut words = [0; MAX_WORDS];
        self.model.read(port, element, &mut words);
        words[..port.bits.div_ceil(32)].to_vec()
    }

    /// The low 128 bits of an element.
    pub fn get_u128(&self, port: Port, element: usize) -> u128 {
        let mut words = [0; MAX_WORDS];
        self.model.read(port, element, &mut words);
        (0..4)
            .rev()
            .fold(0, |value, i| value << 32 | u128::from(words[i]))
    }

    /// Sets the low 128 bits of an element.
    pub fn set_u128(&mut self, port: Port, element: usize, value: u128) {
        let words: [u32; 4] = std::array::from_fn(|i| (value >> (32 * i)) as u32);
        self.set_wide(port, element, &words[..port.words().min(4)]);
    }

    /// Lets combinational outputs follow the inputs.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn eval(&mut self) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.model.eval().map_err(|text| {
            let failure = Failure {
                cycle: self.cycle,
                text,
            };
            self.failure = Some(failure.clone());
            failure
        })
    }

    /// First half of a clock cycle: inputs settle with the clock low. Outputs read now are those that the
    /// rising edge will see.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn settle(&mut self) -> Result<(), Failure> {
        self.set_clocks(0);
        self.eval()
    }

    /// Second half of a clock cycle: the rising edge.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn edge(&mut self) -> Result<(), Failure> {
        self.edge_of(u64::MAX)
    }

    /// The same for some of the clocks, by bit of the clock port.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn edge_of(&mut self, clocks: u64) -> Result<(), Failure> {
        self.set_clocks(clocks);
        self.eval()?;
        self.cycle += 1;
        Ok(())
    }

    /// Sets each clock port to the bits of `clocks` that it has.
    fn set_clocks(&mut self, clocks: u64) {
        for index in 0..self.clocks.len() {
            let port = self.clocks[index];
            self.set(port, 0, clocks & (u64::MAX >> (64 - port.bits)));
        }
    }

    /// One clock cycle. Inputs settle before the edge: assertions sample the wires behind them. Outputs
    /// are those after the rising edge.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn tick(&mut self) -> Result<(), Failure> {
        self.settle()?;
        self.edge()
    }

    /// A hash of all that the unit holds: registers, memories and wires, its inputs included. It stays the
    /// same as long as no register changes under constant inputs.
    pub fn state(&self) -> u64 {
        self.model.state()
    }

    /// Clock cycles so far, those of reset included.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }
}
