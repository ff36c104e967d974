// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cost of counting itself: calls of `charge`, accesses to memory of no bytes, and empty sections.

use core::hint::black_box;

use gyre_driver::{DmaBuffer, Op, Platform};
use gyre_testkit::Double;

use super::{List, Scenario};
use crate::book::{self, Access};
use crate::platform::Counted;

/// Names: empty sections; the rest of a section that is counted from a point inside it on; calls of `charge`.
pub const SECTIONS: &str = "sections";
pub const REST: &str = "rest";
pub const CHARGES: &str = "charges";

/// Calls of `charge` in a section.
const CALLS: usize = 1000;

/// The overhead of a name.
pub fn find(name: &str) -> Option<Scenario> {
    let mut list = List {
        scenarios: Vec::new(),
        fits: false,
    };
    list.add(SECTIONS, || || book::count(|| ()));
    list.add_from_inside(REST, || || book::count(book::start_over));
    list.add(CHARGES, || {
        let platform = black_box(Counted(Double::new(1, 1).process(0)));
        move || {
            book::count(|| {
                // Eight a turn, so that the loop hardly counts.
                for _ in 0..CALLS / 8 {
                    for op in [Op::Advance; 8] {
                        platform.charge(op, 1);
                    }
                }
            });
        }
    });
    for access in Access::ALL {
        list.add(access.name(), move || {
            let platform = Counted(Double::new(1, 1).process(0));
            let memory = platform.alloc(64, 64).expect("there is memory");
            move || {
                book::count(|| {
                    for _ in 0..CALLS / 8 {
                        for place in [0, 8, 16, 24, 32, 40, 48, 56] {
                            match access {
                                Access::Read => drop(black_box(memory.read(place, &mut []))),
                                Access::Write => drop(black_box(memory.write(place, &[]))),
                            }
                        }
                    }
                });
            }
        });
    }
    list.scenarios
        .into_iter()
        .find(|scenario| scenario.name == name)
}
