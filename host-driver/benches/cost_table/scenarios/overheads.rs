//! What counting itself costs: calls of `charge`, and sections with nothing in them.

use core::hint::black_box;

use gyre_driver::{Op, Platform};
use gyre_testkit::Double;

use super::{List, Scenario};
use crate::book;
use crate::platform::Counted;

/// Names: empty sections; what is left of one that is counted from a point inside it on; calls of `charge`.
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
    list.scenarios
        .into_iter()
        .find(|scenario| scenario.name == name)
}
