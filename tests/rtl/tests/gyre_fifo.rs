// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre_fifo` against a queue in Rust.

use std::collections::VecDeque;

use gyre_rtl_tests::{Failure, Unit};
use proptest::prelude::*;

const FIFOS: [(&str, usize); 5] = [
    ("fifo1", 1),
    ("fifo2", 2),
    ("fifo3", 3),
    ("fifo5", 5),
    ("fifo64", 64),
];

/// Requests to a FIFO in one cycle.
#[derive(Clone, Copy, Debug)]
struct Ask {
    push: Option<u128>,
    pop: bool,
    clear: bool,
}

/// A FIFO and the queue it must behave as.
struct Bench {
    fifo: Unit,
    queue: VecDeque<u128>,
    depth: usize,
    width: usize,
}

impl Bench {
    fn new(name: &str, depth: usize, seed: u32) -> Self {
        let fifo = Unit::new(name, seed);
        let width = fifo.port("data_i").bits;
        Self {
            fifo,
            queue: VecDeque::new(),
            depth,
            width,
        }
    }

    /// Applies a cycle to both; what the FIFO must refuse is the caller's business.
    fn cycle(&mut self, ask: Ask) -> Result<(), Failure> {
        let fifo = &mut self.fifo;
        let data = ask.push.unwrap_or(0) & (u128::MAX >> (128 - self.width));
        fifo.set(fifo.port("push_i"), 0, ask.push.is_some().into());
        fifo.set_u128(fifo.port("data_i"), 0, data);
        fifo.set(fifo.port("pop_i"), 0, ask.pop.into());
        fifo.set(fifo.port("clear_i"), 0, ask.clear.into());
        fifo.tick()?;
        if ask.clear {
            self.queue.clear();
        } else {
            if ask.pop {
                self.queue.pop_front();
            }
            if ask.push.is_some() {
                self.queue.push_back(data);
            }
        }
        Ok(())
    }

    /// The first difference between the FIFO's outputs and the queue.
    fn difference(&self) -> Option<String> {
        let get = |name| self.fifo.get(self.fifo.port(name), 0);
        let outputs = (get("level_o"), get("empty_o"), get("full_o"));
        let level = self.queue.len();
        let expected = (
            level as u64,
            u64::from(level == 0),
            u64::from(level == self.depth),
        );
        if outputs != expected {
            return Some(format!(
                "level, empty, full: {outputs:?}, expected {expected:?}"
            ));
        }
        let oldest = *self.queue.front()?;
        let data = self.fifo.get_u128(self.fifo.port("data_o"), 0);
        (data != oldest).then(|| format!("data_o {data:#x}, expected {oldest:#x}"))
    }

    /// `ask` without what a FIFO must not be asked for.
    fn legal(&self, mut ask: Ask) -> Ask {
        ask.pop &= !self.queue.is_empty();
        if self.queue.len() == self.depth && !ask.pop {
            ask.push = None;
        }
        ask
    }
}

/// Cycles with more pushes than pops or the reverse, so that FIFOs run full and empty.
fn asks() -> impl Strategy<Value = Vec<Ask>> {
    (1u32..10, 1u32..10).prop_flat_map(|(pushes, pops)| {
        let bit = |of_ten: u32| prop::bool::weighted(f64::from(of_ten) / 10.0);
        let ask = (
            prop::option::weighted(f64::from(pushes) / 10.0, any::<u128>()),
            bit(pops),
            prop::bool::weighted(0.01),
        );
        prop::collection::vec(
            ask.prop_map(|(push, pop, clear)| Ask { push, pop, clear }),
            1..400,
        )
    })
}

proptest! {
    #![proptest_config(gyre_rtl_tests::cases(40))]
    #[test]
    fn fifo_behaves_as_a_queue(asks in asks(), seed: u32) {
        for (name, depth) in FIFOS {
            let mut bench = Bench::new(name, depth, seed);
            for (cycle, &ask) in asks.iter().enumerate() {
                let ask = bench.legal(ask);
                let run = bench.cycle(ask);
                prop_assert!(run.is_ok(), "{name} cycle {cycle}: {ask:?}: {run:?}");
                let difference = bench.difference();
                prop_assert!(difference.is_none(), "{name} cycle {cycle}: {ask:?}: {difference:?}");
            }
        }
    }
}

const PUSH: Ask = Ask {
    push: Some(0x5a),
    pop: false,
    clear: false,
};
const POP: Ask = Ask {
    push: None,
    pop: true,
    clear: false,
};

#[test]
fn push_into_a_full_fifo_trips_its_assertion() {
    for (name, depth) in FIFOS {
        let mut bench = Bench::new(name, depth, 1);
        for _ in 0..depth {
            bench.cycle(PUSH).expect("there is room");
        }
        let failure = bench.cycle(PUSH).expect_err("it is full");
        assert!(failure.text.contains("push into a full FIFO"), "{failure}");
        assert!(failure.text.contains("gyre_fifo.sv"), "{failure}");
    }
}

#[test]
fn pop_from_an_empty_fifo_trips_its_assertion() {
    for (name, depth) in FIFOS {
        let mut bench = Bench::new(name, depth, 1);
        bench.cycle(PUSH).expect("there is room");
        bench.cycle(POP).expect("there is an entry");
        let failure = bench.cycle(POP).expect_err("it is empty");
        assert!(failure.text.contains("pop from an empty FIFO"), "{failure}");
        assert!(bench.cycle(PUSH).is_err(), "a failed unit stays failed");
    }
}

#[test]
fn full_fifo_takes_an_entry_when_one_leaves() {
    for (name, depth) in FIFOS {
        let mut bench = Bench::new(name, depth, 1);
        for value in 0..depth {
            let push = Some(value as u128);
            bench.cycle(Ask { push, ..PUSH }).expect("there is room");
        }
        for value in 100..110 {
            let ask = Ask {
                push: Some(value),
                ..POP
            };
            bench.cycle(ask).expect("one leaves");
            assert_eq!(bench.difference(), None);
        }
    }
}

#[test]
fn scoreboard_reports_a_lost_a_doubled_and_a_changed_entry() {
    type Fault = fn(&mut VecDeque<u128>);
    let faults: [(&str, Fault); 3] = [
        ("lost", |queue| queue.truncate(2)),
        ("doubled", |queue| queue.push_front(7)),
        ("changed", |queue| queue[0] ^= 1),
    ];
    for (fault, plant) in faults {
        let mut bench = Bench::new("fifo5", 5, 1);
        for value in 0..3 {
            let push = Some(value);
            bench.cycle(Ask { push, ..PUSH }).expect("there is room");
        }
        assert_eq!(bench.difference(), None);
        plant(&mut bench.queue);
        assert!(bench.difference().is_some(), "{fault} entry not noticed");
    }
}
