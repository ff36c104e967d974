// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same random programs of a driver's user on the test double and on the Verilated machine: contexts, sends of
//! every kind, puts, gets, read-modify-writes, fences, matched messages, accesses and posts that are refused, regions
//! and contexts that come and go. Messages, ends of callbacks, errors and memory must be the same on both, and as the
//! program demands. `GYRE_PROGRAMS` says how many programs, `GYRE_PROGRAM` which one alone.

mod double;
mod log;
mod machine;
mod member;
mod program;

use gyre_testkit::Fault;

use program::Program;

/// Programs that a test runs if nothing else is said.
const PROGRAMS: u64 = 100;
/// Differences that a report shows of a program.
const SHOWN: usize = 6;

/// What is wrong with a program on the double, with a fault if one is given, or on the RTL.
fn check(seed: u64, fault: Option<Fault>) -> Result<(), String> {
    let program = Program::new(seed);
    let on_double = double::run(&program, fault).map_err(|error| format!("double: {error}"))?;
    let on_rtl = machine::run(&program).map_err(|error| format!("RTL: {error}"))?;
    let mut wrong = on_double.differences(&on_rtl);
    wrong.extend(on_rtl.wrong(&program));
    if wrong.is_empty() {
        return Ok(());
    }
    let more = wrong.len().saturating_sub(SHOWN);
    wrong.truncate(SHOWN);
    Err(format!("{}\n  and {more} more", wrong.join("\n  ")))
}

/// A number in the environment.
fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value}")),
    )
}

#[test]
fn ep2_ep3_ep4_fn1_ct1_x5_random_programs_do_the_same_on_the_double_and_on_the_rtl() {
    let one = variable("GYRE_PROGRAM");
    let seeds = match one {
        Some(seed) => seed..seed + 1,
        None => 0..variable("GYRE_PROGRAMS").unwrap_or(PROGRAMS),
    };
    if let Some(seed) = one {
        eprintln!("{:#?}", Program::new(seed));
    }
    let wrong: Vec<_> = seeds
        .filter_map(|seed| Some(format!("program {seed}: {}", check(seed, None).err()?)))
        .collect();
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} programs:\n{}", wrong.join("\n"));
}

#[test]
fn x5_a_double_that_does_not_as_the_rtl_does_is_caught() {
    for fault in [
        Fault::LosePacket(40),
        Fault::DoublePacket(40),
        Fault::FlipByte(40),
        Fault::RefuseSync(0),
        Fault::CutRmw,
    ] {
        let caught = (0..40).any(|seed| check(seed, Some(fault)).is_err());
        assert!(caught, "{fault:?}");
    }
}
