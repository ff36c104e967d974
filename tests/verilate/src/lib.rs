//! A bench of counters, Verilated from `rtl/counter.sv`: the smallest user of `gyre-verilate`.

#[cxx::bridge]
#[allow(missing_docs)]
mod ffi {
    unsafe extern "C++" {
        include!("gyre-verilate-tests/src/counter.h");

        type Bench;

        fn new_bench(
            names: &[String],
            traced: bool,
            randomize: bool,
            seed: i32,
        ) -> UniquePtr<Bench>;
        fn open_trace(self: Pin<&mut Bench>, file: &str);
        fn close_trace(self: Pin<&mut Bench>);
        fn cycle(self: Pin<&mut Bench>, enabled: u32) -> Result<()>;
        fn count(self: &Bench, index: usize) -> u64;
        fn noise(self: &Bench, index: usize) -> u64;
    }
}

/// Several counters on one clock.
pub struct Counters(cxx::UniquePtr<ffi::Bench>);

impl Counters {
    /// Counters out of reset, one a name. `seed` fills memories with noise; without, with zeros.
    pub fn new(names: &[&str], traced: bool, seed: Option<i32>) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self(ffi::new_bench(
            &names,
            traced,
            seed.is_some(),
            seed.unwrap_or(0),
        ))
    }

    /// Starts a VCD file with the signals of all counters.
    pub fn open_trace(&mut self, file: &str) {
        self.0.pin_mut().open_trace(file);
    }

    /// Ends the VCD file.
    pub fn close_trace(&mut self) {
        self.0.pin_mut().close_trace();
    }

    /// Runs one cycle; bit i of `enabled` enables counter i. Fails with an assertion's text.
    pub fn cycle(&mut self, enabled: u32) -> Result<(), cxx::Exception> {
        self.0.pin_mut().cycle(enabled)
    }

    /// A counter's value.
    pub fn count(&self, index: usize) -> u64 {
        self.0.count(index)
    }

    /// What a counter's memory held at the start.
    pub fn noise(&self, index: usize) -> u64 {
        self.0.noise(index)
    }
}
