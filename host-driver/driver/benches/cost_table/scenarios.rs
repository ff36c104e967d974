// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios to measure: uses of the driver in which every operation occurs, alone as far as it can be and in
//! whole protocols. Of a protocol each side is counted by itself.

mod collective;
mod combine;
mod contexts;
mod fences;
mod matched;
mod messages;
mod one_sided;
pub mod overheads;
mod world;

use world::{EACH, World, side};

/// One use of the driver, over and over.
type Body = Box<dyn FnMut()>;
type Make = Box<dyn Fn() -> Body>;

/// Uses that are counted.
const USES: usize = 16;
/// How often a protocol is used at once where it is not used once.
const BURST: usize = 8;
/// Both.
const SINGLE_AND_BURST: &[usize] = &[1, BURST];

/// A use of the driver by name.
pub struct Scenario {
    pub name: String,
    /// Whether the table is to fit it.
    pub fits: bool,
    /// Whether it is counted from a point inside its section on.
    pub from_inside: bool,
    /// How many uses are counted.
    pub uses: usize,
    /// Sets it up.
    pub make: Make,
}

/// Scenarios as they are collected.
struct List {
    scenarios: Vec<Scenario>,
    /// Kind of the next ones: [`Scenario::fits`].
    fits: bool,
}

impl List {
    fn add<B: FnMut() + 'static>(
        &mut self,
        name: impl Into<String>,
        make: impl Fn() -> B + 'static,
    ) {
        self.scenarios.push(Scenario {
            name: name.into(),
            fits: self.fits,
            from_inside: false,
            uses: USES,
            make: Box::new(move || Box::new(make())),
        });
    }

    /// One that calls [`crate::book::start_over`] in its section: of several uses the last is counted, so there is one.
    fn add_from_inside<B: FnMut() + 'static>(
        &mut self,
        name: impl Into<String>,
        make: impl Fn() -> B + 'static,
    ) {
        self.add(name, make);
        let added = self.scenarios.last_mut().expect("just added");
        (added.from_inside, added.uses) = (true, 1);
    }

    /// A use in a world with defaults.
    fn plain(&mut self, name: impl Into<String>, body: impl Fn(&World) + Clone + 'static) {
        self.add(name, move || {
            let (world, body) = (World::new(), body.clone());
            move || body(&world)
        });
    }

    /// A protocol that is posted once, or `many` times at once. `set_up` makes its world and the function that posts
    /// it.
    fn protocol<P: Fn(&World) + 'static>(
        &mut self,
        name: &str,
        many: &[usize],
        set_up: impl Fn() -> (World, P) + Clone + 'static,
    ) {
        self.protocol_of(EACH, name, many, set_up);
    }

    /// The scenario with these counted sides.
    fn protocol_of<P: Fn(&World) + 'static>(
        &mut self,
        sides: &[[bool; 2]],
        name: &str,
        many: &[usize],
        set_up: impl Fn() -> (World, P) + Clone + 'static,
    ) {
        for &many in many {
            for &counted in sides {
                let set_up = set_up.clone();
                let name = format!("{}{name}, {}", times(many), side(counted));
                self.add(name, move || {
                    let (world, post) = set_up();
                    move || {
                        world.post_and_run(counted, || (0..many).for_each(|_| post(&world)));
                    }
                });
            }
        }
    }
}

/// How often something is done, at the beginning of a name.
fn times(many: usize) -> String {
    match many {
        1 => String::new(),
        _ => format!("{many} x "),
    }
}

/// All uses with their names.
pub fn scenarios() -> Vec<Scenario> {
    let mut list = List {
        scenarios: Vec::new(),
        fits: true,
    };
    contexts::scenarios(&mut list);
    messages::scenarios(&mut list);
    one_sided::scenarios(&mut list);
    fences::scenarios(&mut list);
    matched::scenarios(&mut list);
    combine::scenarios(&mut list);
    // Measures the driver, and shows the layers above it for comparison.
    list.fits = false;
    collective::scenarios(&mut list);
    list.scenarios
}
