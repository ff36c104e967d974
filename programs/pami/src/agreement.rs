// SPDX-License-Identifier: MIT OR Apache-2.0
//! Agreement of the tasks of a geometry on its number in messages: 16 bits, unique in the client.
//!
//! The root, the task of the geometry's first endpoint, assigns numbers from its own share. Every task asks it; when all have
//! asked, it sends the number to all, so no task uses a geometry before all have created it. A number is reused when all tasks
//! have left its geometry.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use gyre_driver::{Arrival, Context, Endpoint, Error, Receive, SendImmediate};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

/// Dispatch of the messages.
pub const DISPATCH: u8 = 222;

/// Dispatch of the messages of collectives.
pub const COLLECTIVES: u8 = 223;

/// Name of a geometry before it has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Its number as the program gives it.
    pub id: u32,
    /// Hash of its endpoints.
    pub members: u64,
}

/// Called with the assigned number; `None`: none is left.
pub type Settled = Box<dyn FnOnce(Option<u16>) + Send>;

/// Content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// A task has created the geometry and asks for its number.
    Asks = 0,
    /// The number, or 0.
    Gives = 1,
    /// A task has left the geometry with the number.
    Leaves = 2,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    says: Says,
    number: u16,
    /// Tasks of the geometry.
    tasks: u32,
    name: Name,
}

impl Message {
    const BYTES: usize = 24;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = self.says as u8;
        out[2..4].copy_from_slice(&self.number.to_le_bytes());
        out[4..8].copy_from_slice(&self.tasks.to_le_bytes());
        out[8..12].copy_from_slice(&self.name.id.to_le_bytes());
        out[16..24].copy_from_slice(&self.name.members.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let [
            says,
            _,
            n0,
            n1,
            t0,
            t1,
            t2,
            t3,
            i0,
            i1,
            i2,
            i3,
            _,
            _,
            _,
            _,
            members @ ..,
        ]: [u8; Self::BYTES] = bytes.try_into().ok()?;
        Some(Self {
            says: [Says::Asks, Says::Gives, Says::Leaves]
                .into_iter()
                .find(|&known| known as u8 == says)?,
            number: u16::from_le_bytes([n0, n1]),
            tasks: u32::from_le_bytes([t0, t1, t2, t3]),
            name: Name {
                id: u32::from_le_bytes([i0, i1, i2, i3]),
                members: u64::from_le_bytes(members),
            },
        })
    }
}

/// The agreements of a client in one task.
pub struct Agreement(Mutex<State>);

struct State {
    /// Requests of this task that are unanswered.
    waiting: BTreeMap<Name, Settled>,
    /// Requests of others to this task as root.
    asked: BTreeMap<Name, Vec<Endpoint>>,
    /// Numbers of this task that were never assigned.
    fresh: Range<u16>,
    /// Numbers that can be reused, the oldest first.
    free: VecDeque<u16>,
    /// Tasks that have left the geometry of each number.
    left: BTreeMap<u16, u32>,
}

impl State {
    fn number(&mut self) -> Option<u16> {
        self.fresh.next().or_else(|| self.free.pop_front())
    }
}

impl Agreement {
    /// Without agreements, in task number `task` of `tasks`. Number 0 is the geometry of all tasks.
    pub fn new(task: u32, tasks: usize) -> Arc<Self> {
        let share = u32::from(u16::MAX) / u32::try_from(tasks).unwrap_or(u32::MAX).max(1);
        // A task below the number of tasks: the shares end below 2^16.
        let first = (1 + task * share) as u16;
        Arc::new(Self(Mutex::new(State {
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            fresh: first..first.saturating_add(share as u16),
            free: VecDeque::new(),
            left: BTreeMap::new(),
        })))
    }

    /// Sets the dispatch of a context.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn attach(self: &Arc<Self>, context: &Context<RemotePlatform>) -> Result<(), Error> {
        let this = Arc::clone(self);
        context.set_dispatch(
            DISPATCH,
            Box::new(
                move |context, arrival| match this.arrive(context, arrival) {
                    Ok(()) => Receive::Consumed,
                    Err(error) => Receive::Refused(Box::new(error)),
                },
            ),
        )
    }

    /// Asks `root` for the number of a geometry of `tasks` tasks. `settled` is called by the advance of `context`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn ask(
        &self,
        context: &Context<RemotePlatform>,
        (name, root, tasks): (Name, Endpoint, u32),
        settled: Settled,
    ) -> Result<(), Error> {
        self.0.lock().waiting.insert(name, settled);
        let asks = Message {
            says: Says::Asks,
            number: 0,
            tasks,
            name,
        };
        let sent = send(context, root, asks);
        if sent.is_err() {
            self.0.lock().waiting.remove(&name);
        }
        sent
    }

    /// Tells `root` that this task has left the geometry with `number`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn leave(
        &self,
        context: &Context<RemotePlatform>,
        (name, root, tasks): (Name, Endpoint, u32),
        number: u16,
    ) -> Result<(), Error> {
        let leaves = Message {
            says: Says::Leaves,
            number,
            tasks,
            name,
        };
        send(context, root, leaves)
    }

    fn arrive(
        &self,
        context: &Context<RemotePlatform>,
        arrival: &Arrival<'_>,
    ) -> Result<(), Error> {
        let bytes = arrival.immediate.unwrap_or(&[]);
        let Some(message) = Message::decode(bytes) else {
            return Err(Error::ControlMessage {
                origin: arrival.origin.task(),
                message: "message about a geometry",
                field: "length",
                value: bytes.len() as u64,
                expected: "24 bytes that make sense",
            });
        };
        let name = message.name;
        match message.says {
            Says::Asks => {
                let (number, all) = {
                    let mut state = self.0.lock();
                    let asked = state.asked.entry(name).or_default();
                    asked.push(arrival.origin);
                    if asked.len() < message.tasks as usize {
                        return Ok(());
                    }
                    let all = state.asked.remove(&name).unwrap_or_default();
                    (state.number().unwrap_or(0), all)
                };
                let gives = Message {
                    says: Says::Gives,
                    number,
                    ..message
                };
                all.into_iter().try_for_each(|to| send(context, to, gives))
            }
            Says::Gives => {
                let settled = self.0.lock().waiting.remove(&name);
                if let Some(settled) = settled {
                    settled(Some(message.number).filter(|&number| number > 0));
                }
                Ok(())
            }
            Says::Leaves => {
                let mut state = self.0.lock();
                let left = state.left.entry(message.number).or_default();
                *left += 1;
                if *left == message.tasks {
                    state.left.remove(&message.number);
                    state.free.push_back(message.number);
                }
                Ok(())
            }
        }
    }
}

fn send(
    context: &Context<RemotePlatform>,
    destination: Endpoint,
    message: Message,
) -> Result<(), Error> {
    let bytes = message.encode();
    context.send_immediate(&SendImmediate::new(destination, DISPATCH).with_data(&bytes))
}
