//! Any Verilated unit behind one type: ports by name, values by element.

use std::fmt;

#[cxx::bridge]
mod ffi {
    unsafe extern "C++" {
        include!("gyre-rtl-tests/src/unit.h");

        type Unit;

        fn new_unit(unit: &str, seed: i32) -> Result<UniquePtr<Unit>>;
        fn ports(self: &Unit) -> usize;
        fn port_name(self: &Unit, port: usize) -> String;
        fn port_bits(self: &Unit, port: usize) -> usize;
        fn port_elements(self: &Unit, port: usize) -> usize;
        fn write(self: Pin<&mut Unit>, port: usize, element: usize, words: &[u32]) -> Result<()>;
        fn read(self: &Unit, port: usize, element: usize, words: &mut [u32]) -> Result<()>;
        fn eval(self: Pin<&mut Unit>) -> Result<()>;
        fn state(self: &Unit) -> u64;
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
    model: cxx::UniquePtr<ffi::Unit>,
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
    /// The unit `name` of `build/`, in reset for two cycles, all inputs zero. Registers and
    /// memories without reset hold noise of `seed`.
    ///
    /// # Panics
    /// If there is no such unit or it fails in reset.
    pub fn new(name: &str, seed: u32) -> Self {
        let model = match ffi::new_unit(name, (seed >> 1) as i32 | 1) {
            Ok(model) => model,
            Err(error) => panic!("{error}"),
        };
        let names: Vec<String> = (0..model.ports())
            .map(|port| model.port_name(port))
            .collect();
        let ports: Vec<Port> = (0..model.ports())
            .map(|index| Port {
                index,
                bits: model.port_bits(index),
                elements: model.port_elements(index),
            })
            .collect();
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
        let written = self
            .model
            .pin_mut()
            .write(port.index, element, &full[..port.words()]);
        if let Err(error) = written {
            panic!("{}: {error}", self.name);
        }
    }

    /// The low 64 bits of an element.
    pub fn get(&self, port: Port, element: usize) -> u64 {
        let mut words = [0; MAX_WORDS];
        self.read(port, element, &mut words);
        u64::from(words[0]) | u64::from(words[1]) << 32
    }

    /// An element as little-endian 32-bit words, as many as its bits need.
    pub fn get_wide(&self, port: Port, element: usize) -> Vec<u32> {
        let mut words = [0; MAX_WORDS];
        self.read(port, element, &mut words);
        words[..port.bits.div_ceil(32)].to_vec()
    }

    /// The low 128 bits of an element.
    pub fn get_u128(&self, port: Port, element: usize) -> u128 {
        let mut words = [0; MAX_WORDS];
        self.read(port, element, &mut words);
        (0..4)
            .rev()
            .fold(0, |value, i| value << 32 | u128::from(words[i]))
    }

    /// Sets the low 128 bits of an element.
    pub fn set_u128(&mut self, port: Port, element: usize, value: u128) {
        let words: [u32; 4] = std::array::from_fn(|i| (value >> (32 * i)) as u32);
        self.set_wide(port, element, &words[..port.words().min(4)]);
    }

    fn read(&self, port: Port, element: usize, words: &mut [u32; MAX_WORDS]) {
        if let Err(error) = self
            .model
            .read(port.index, element, &mut words[..port.words()])
        {
            panic!("{}: {error}", self.name);
        }
    }

    /// Lets combinational outputs follow the inputs.
    ///
    /// # Errors
    /// [`Failure`] if an assertion fails, now or in an earlier call.
    pub fn eval(&mut self) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.model.pin_mut().eval().map_err(|error| {
            let failure = Failure {
                cycle: self.cycle,
                text: error.what().to_owned(),
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
