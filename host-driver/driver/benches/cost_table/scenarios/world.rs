// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two tasks that communicate with each other.

use gyre_driver::{
    AckConfig, AckMethod, Arrival, BufferRange, Client, ClientConfig, Context, DoneFn, Endpoint,
    Instruction, MemoryRegion, Platform, Receive, RegionRights, Resources, SendImmediate,
    SendMessage, TaskId,
};

use crate::book;
use crate::platform::{Counted, CountedMemory};
use gyre_testkit::{Double, config};

/// Dispatch identifiers of messages that are consumed, and of those that are stored.
pub const CONSUME: u8 = 1;
pub const STORE: u8 = 2;

/// Side whose instructions are counted.
pub const ORIGIN: [bool; 2] = [true, false];
pub const TARGET: [bool; 2] = [false, true];
pub const BOTH: [bool; 2] = [true, true];
pub const NOBODY: [bool; 2] = [false, false];

/// Sides that are counted each by itself.
pub const EACH: &[[bool; 2]] = &[ORIGIN, TARGET];

/// The name of the counted side.
pub fn side(counted: [bool; 2]) -> &'static str {
    match counted {
        ORIGIN => "origin",
        TARGET => "target",
        BOTH => "both",
        NOBODY => "nobody",
    }
}

const BYTES: usize = 64 << 10;

/// Two tasks, on two nodes or on one.
pub struct World {
    pub machine: Double,
    clients: Vec<Client<Counted>>,
    pub contexts: Vec<Context<Counted>>,
    /// The second task's endpoint.
    pub peer: Endpoint,
    /// Kept, so that no memory is freed where instructions are counted.
    pub data: [BufferRange<CountedMemory>; 2],
}

impl World {
    /// On two nodes, with defaults.
    pub fn new() -> Self {
        Self::on([0, 1], |_| ())
    }

    /// A world whose tasks acknowledge several messages together.
    pub fn coalescing() -> Self {
        Self::on([0, 1], |config| {
            config.ack = AckConfig {
                method: AckMethod::Coalesce,
                ..AckConfig::default()
            };
        })
    }

    pub fn on(nodes: [usize; 2], change: impl Fn(&mut ClientConfig)) -> Self {
        let machine = Double::new(2, 1);
        let tasks = machine.tasks(&nodes);
        let platforms = nodes.map(|node| Counted(machine.process(node)));
        let clients: Vec<_> = (0..2)
            .map(|task| {
                let mut config = ClientConfig {
                    ack: AckConfig::immediate(),
                    ..config(&tasks, task as u32, Resources::default())
                };
                change(&mut config);
                Client::create(&platforms[task], config).expect("the double has the resources")
            })
            .collect();
        let contexts: Vec<_> = clients
            .iter()
            .map(|client| client.create_context(0).expect("free"))
            .collect();
        let data = platforms.map(|platform| {
            BufferRange::whole(platform.alloc(BYTES, 64).expect("the double has memory"))
        });
        for (context, data) in contexts.iter().zip(&data) {
            let consume = |_: &Context<Counted>, _: &Arrival<'_>| Receive::Consumed;
            let into = data.clone();
            let store = move |_: &Context<Counted>, arrival: &Arrival<'_>| Receive::Into {
                into: into.part(0, arrival.length).expect("inside"),
                done: done(),
            };
            context
                .set_dispatch(CONSUME, Box::new(consume))
                .and_then(|()| context.set_dispatch(STORE, Box::new(store)))
                .expect("first use");
        }
        let peer = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        Self {
            machine,
            clients,
            contexts,
            peer,
            data,
        }
    }

    /// The second task's buffer as a region.
    pub fn region(&self) -> MemoryRegion<Counted> {
        let region = self.clients[1].create_region(&self.data[1], RegionRights::ALL);
        region.expect("a slot is free")
    }

    /// Runs both tasks until nothing happens any more, as a thread does that sleeps when it has nothing to do; the work
    /// of the tasks of `counted` is counted.
    pub fn run(&self, counted: [bool; 2]) {
        loop {
            self.machine.settle();
            let mut idle = true;
            for (context, counted) in self.contexts.iter().zip(counted) {
                let progress = book::count_if(counted, || {
                    context.wait(Some(1)).expect("not destroyed");
                    context.advance(1).expect("no faults")
                });
                idle &= progress.is_idle();
            }
            if idle {
                return;
            }
        }
    }

    /// Posts, as the first task, and runs.
    pub fn post_and_run(&self, counted: [bool; 2], post: impl Fn()) {
        book::count_if(counted[0], post);
        self.run(counted);
    }

    /// Has the first task send what `post` posts, and counts one `advance` of the second, which finds it.
    pub fn arrive(&self, post: impl Fn()) {
        post();
        self.advance(0, 1);
        self.machine.settle();
        book::count(|| self.advance(1, 1));
        self.run(NOBODY);
    }

    pub fn advance(&self, side: usize, turns: usize) {
        self.contexts[side].advance(turns).expect("no faults");
    }

    pub fn call(&self) {
        let call = Instruction::Call(Box::new(|_: &Context<Counted>| ()));
        self.contexts[0].post(call).expect("not destroyed");
    }

    pub fn immediate(&self, dispatch: u8, length: usize, header: usize) {
        static DATA: [u8; SendImmediate::MAX] = [7; SendImmediate::MAX];
        self.contexts[0]
            .send_immediate(&SendImmediate {
                header: &DATA[..header],
                data: &DATA[..length],
                ..SendImmediate::new(self.peer, dispatch)
            })
            .expect("valid");
    }

    pub fn send(&self, length: usize, header: usize, remote: bool) {
        let send = SendMessage {
            header: vec![7; header],
            local_done: done(),
            remote_done: remote.then(done).flatten(),
            ..SendMessage::new(self.peer, STORE, self.part(length))
        };
        self.contexts[0].send(send).expect("valid");
    }

    /// The first bytes of the first task's buffer.
    pub fn part(&self, length: usize) -> BufferRange<CountedMemory> {
        self.data[0].part(0, length).expect("inside")
    }
}

pub fn done() -> Option<DoneFn<Counted>> {
    Some(Box::new(|_, result| result.expect("no faults")))
}
