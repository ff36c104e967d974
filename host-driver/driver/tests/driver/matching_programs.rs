// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs of matched messages on the test double, against an executable reference of MPI's matching
//! (CT-1, CT-6, CT-8).

mod history;
mod program;
mod run;

use std::panic::{AssertUnwindSafe, catch_unwind};

use gyre_testkit::Fault;
use proptest::prelude::*;

use program::{Setting, Step, program, setting, settings, step};
use run::Run;

/// Runs a program, and says what is wrong.
fn run(setting: Setting, steps: &[Step]) -> Result<(), String> {
    // Two tasks share node 0, two share node 2.
    let mut run = Run::new(&[0, 1, 2, 0, 2], setting);
    for step in steps {
        run.take(step)?;
    }
    run.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ct1_ct8_random_programs_do_what_the_reference_says(
        setting in setting(),
        steps in proptest::collection::vec(step(5), 1..100),
    ) {
        prop_assert_eq!(run(setting, &steps), Ok(()));
    }
}

#[test]
fn ct8_messages_and_receives_of_one_kind_match_in_their_order() {
    for setting in settings() {
        assert_eq!(run(setting, &program()), Ok(()), "{setting:?}");
    }
}

/// Not one packet of the whole program, RTS, CTS, get, put, acknowledgement or data, can be lost or come
/// twice without being noticed.
#[test]
fn ct6_every_packet_that_is_lost_or_comes_twice_is_caught() {
    let steps = &program()[..70];
    for setting in settings() {
        let packets = {
            let mut run = Run::new(&[0, 1], setting);
            let taken = steps.iter().try_for_each(|step| run.take(step));
            assert_eq!(taken.and_then(|()| run.end()), Ok(()));
            run.machine.packets()
        };
        assert!(packets > 10, "{packets} packets");
        for number in 0..packets {
            for fault in [Fault::LosePacket(number), Fault::DoublePacket(number)] {
                // The double stops the test when a counter goes below zero: noticed as well.
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let mut run = Run::new(&[0, 1], setting);
                    run.machine.plant(fault);
                    steps.iter().try_for_each(|step| run.take(step))?;
                    run.end()
                }));
                let noticed = outcome.is_err() || outcome.is_ok_and(|o| o.is_err());
                assert!(noticed, "{fault:?} goes unnoticed: {setting:?}");
            }
        }
    }
}
