// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messaging module.

use gyre_driver::matching::{Communicator, Messaging, MessagingConfig};
use gyre_driver::{BufferRange, Context, Rank, SendImmediate};

use super::world::{EACH, NOBODY, TARGET, World, done, side};
use super::{BURST, List, times};
use crate::book;
use crate::platform::{Counted, CountedMemory};

/// Dispatch identifier of the module.
const DISPATCH: u8 = 3;
/// Tag of the messages that are counted, and the first of those that stand before them.
const TAG: u32 = 1;
const OTHERS: u32 = 1000;

/// Bytes of the messages that are sent eagerly though they are long.
const EAGER: usize = 16384;

pub fn scenarios(list: &mut List) {
    // So many receives, or messages, do not match and stand before the ones that do. Of the origin there is one for each
    // protocol: to it these are sends.
    for (length, many, before, sides) in [
        (0, 1, 0, &[TARGET][..]),
        (64, 1, 0, EACH),
        (512, 1, 0, EACH),
        (2048, 1, 0, &[TARGET]),
        (8192, 1, 0, EACH),
        (64, 1, 16, &[TARGET]),
        (64, BURST, 0, EACH),
        (2048, BURST, 0, EACH),
        (8192, BURST, 0, EACH),
        // Memory held for such a message is not reused.
        (EAGER, 1, 0, &[TARGET]),
    ] {
        for first in [First::Receive, First::Message] {
            for &counted in sides {
                let matched = format!("{}matched {length} B", times(many));
                let side = side(counted);
                let name = format!("{matched}, {} first behind {before}, {side}", first.name());
                list.add(name, move || {
                    let matched = Matched::new(length);
                    (0..before).for_each(|other| matched.part(first, OTHERS + other));
                    matched.world.run(NOBODY);
                    move || matched.pass(first, many, counted)
                });
            }
        }
    }
}

/// Event that comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Receive,
    Message,
}

impl First {
    fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Message => "message",
        }
    }
}

/// Two tasks with messaging modules.
struct Matched {
    world: World,
    modules: [Messaging<Counted>; 2],
    data: [BufferRange<CountedMemory>; 2],
}

impl Matched {
    fn new(length: usize) -> Self {
        let world = World::new();
        let modules = [0, 1].map(|side| {
            let mut config = MessagingConfig::new(DISPATCH);
            if length == EAGER {
                config.switch_over = usize::MAX;
            }
            Messaging::create(&world.contexts[side], config).expect("first use")
        });
        let data = [0, 1].map(|side| world.data[side].part(0, length).expect("inside"));
        Self {
            world,
            modules,
            data,
        }
    }

    /// Sends a message, or posts a receive.
    fn part(&self, part: First, tag: u32) {
        let [from, into] = &self.modules;
        match part {
            First::Message => {
                let data = self.data[0].clone();
                // Without a function to call, a message of one packet is copied.
                let done = (data.len() > SendImmediate::MAX).then(done).flatten();
                let sent = from.send(Rank(1), tag, &Communicator::WORLD, data, done);
                sent.expect("valid");
            }
            First::Receive => {
                let done = |_: &Context<Counted>, result: Result<_, _>| {
                    result.map(drop).expect("no faults");
                };
                let (done, data) = (Some(Box::new(done) as _), self.data[1].clone());
                let posted = into.receive(None, Some(tag), &Communicator::WORLD, data, done);
                posted.expect("valid");
            }
        }
    }

    /// Has `many` messages sent and received.
    fn pass(&self, first: First, many: usize, counted: [bool; 2]) {
        let post = |part: First| {
            let side = usize::from(part == First::Receive);
            book::count_if(counted[side], || {
                (0..many).for_each(|_| self.part(part, TAG));
            });
        };
        match first {
            First::Receive => post(First::Receive),
            First::Message => {
                post(First::Message);
                self.world.run(counted);
            }
        }
        post(match first {
            First::Receive => First::Message,
            First::Message => First::Receive,
        });
        self.world.run(counted);
    }
}
