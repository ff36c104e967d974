//! What is measured: uses of the driver in which every operation occurs, alone as far as it can be and in
//! whole protocols.

mod collective;
mod combine;

use std::sync::Arc;

use core::hint::black_box;

use gyre_driver::matching::{Communicator, Messaging, MessagingConfig};
use gyre_driver::{
    AckConfig, AckMethod, Arrival, BufferRange, Client, ClientConfig, Context, DmaBuffer, DoneFn,
    Endpoint, Fence, Instruction, MemoryRegion, Op, Platform, PutNotify, Rank, Receive,
    RegionRights, Resources, Rget, Rmw, RmwOp, RmwWidth, Rput, SameNode, SendImmediate,
    SendMessage, TaskId,
};

use gyre_firmware::Register;

use crate::platform::{Access, Account, Counted, CountedMemory};
use gyre_testkit::{Double, config};

/// One use of the driver, over and over.
type Body = Box<dyn FnMut()>;
type Make = Box<dyn Fn(&Arc<Account>) -> Body>;

/// A use of the driver by name.
pub struct Scenario {
    pub name: String,
    /// Whether the table is to fit it.
    pub fits: bool,
    /// Sets it up.
    pub make: Make,
}

const CONSUME: u8 = 1;
const STORE: u8 = 2;
const MATCHED: u8 = 3;
const ANSWER: u8 = 100;

/// Two tasks on two nodes.
struct World {
    machine: Double,
    account: Arc<Account>,
    clients: Vec<Client<Counted>>,
    contexts: Vec<Context<Counted>>,
    /// The second task's endpoint.
    peer: Endpoint,
    /// Kept, so that no memory is freed where instructions are counted.
    data: [BufferRange<CountedMemory>; 2],
}

/// Whose instructions are counted.
const ORIGIN: [bool; 2] = [true, false];
const TARGET: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [true, true];

const BYTES: usize = 64 << 10;

impl World {
    fn new(account: &Arc<Account>, change: impl Fn(&mut ClientConfig)) -> Arc<Self> {
        Self::on([0, 1], account, change)
    }

    fn on(
        nodes: [usize; 2],
        account: &Arc<Account>,
        change: impl Fn(&mut ClientConfig),
    ) -> Arc<Self> {
        let machine = Double::new(2, 1);
        let tasks = machine.tasks(&nodes);
        let platforms = nodes.map(|node| Counted {
            process: machine.process(node),
            account: Arc::clone(account),
        });
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
        Arc::new(Self {
            machine,
            account: Arc::clone(account),
            clients,
            contexts,
            peer,
            data,
        })
    }

    /// Runs both tasks until nothing happens any more, as a thread does that sleeps when it has nothing to
    /// do; what the tasks of `counted` do is counted.
    fn run(&self, counted: [bool; 2]) {
        loop {
            self.machine.settle();
            let mut idle = true;
            for (context, counted) in self.contexts.iter().zip(counted) {
                let turn = || {
                    context.wait(Some(1)).expect("not destroyed");
                    context.advance(1).expect("no faults")
                };
                let progress = if counted {
                    self.account.count(turn)
                } else {
                    turn()
                };
                idle &= progress.is_idle();
            }
            if idle {
                return;
            }
        }
    }

    /// Posts, counted, and runs.
    fn post_and_run(&self, counted: [bool; 2], post: impl Fn()) {
        if counted[0] {
            self.account.count(post);
        } else {
            post();
        }
        self.run(counted);
    }

    fn advance(&self, side: usize) {
        self.account
            .count(|| self.contexts[side].advance(1).expect("no faults"));
    }

    fn immediate(&self, dispatch: u8, header: usize, length: usize) {
        static DATA: [u8; 512] = [7; 512];
        self.contexts[0]
            .send_immediate(&SendImmediate {
                header: &DATA[..header],
                data: &DATA[..length],
                ..SendImmediate::new(self.peer, dispatch)
            })
            .expect("valid");
    }

    fn send(&self, length: usize, header: usize, remote: bool) {
        let data = self.data[0].part(0, length).expect("inside");
        let send = SendMessage {
            header: vec![7; header],
            local_done: done(),
            remote_done: remote.then(done).flatten(),
            ..SendMessage::new(self.peer, STORE, data)
        };
        self.contexts[0].send(send).expect("valid");
    }
}

fn done() -> Option<DoneFn<Counted>> {
    Some(Box::new(|_, result| result.expect("no faults")))
}

fn answer(context: &Context<Counted>, arrival: &Arrival<'_>) -> Receive<Counted> {
    let answer = SendImmediate::new(arrival.origin, CONSUME);
    context.send_immediate(&answer).expect("valid");
    Receive::Consumed
}

fn call(context: &Context<Counted>) {
    let call = Instruction::Call(Box::new(|_: &Context<Counted>| ()));
    context.post(call).expect("not destroyed");
}

struct List(Vec<Scenario>);

impl List {
    fn add<B: FnMut() + 'static>(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&Arc<Account>) -> B + 'static,
    ) {
        self.0.push(Scenario {
            name: name.into(),
            fits: true,
            make: Box::new(move |account| Box::new(make(account))),
        });
    }

    /// A use in a world with defaults.
    fn plain(&mut self, name: impl Into<String>, body: impl Fn(&World) + Clone + 'static) {
        self.add(name, move |account| {
            let world = World::new(account, |_| ());
            let body = body.clone();
            move || body(&world)
        });
    }
}

/// All uses, each with a name of its own.
pub fn scenarios() -> Vec<Scenario> {
    let mut list = List(Vec::new());
    contexts(&mut list);
    messages(&mut list);
    same_node(&mut list);
    one_sided(&mut list);
    fences(&mut list);
    matched(&mut list);
    let fitted = list.0.len();
    collective::scenarios(&mut list);
    // The driver is measured; what is above it is shown beside.
    list.0[fitted..]
        .iter_mut()
        .for_each(|scenario| scenario.fits = false);
    combine::scenarios(&mut list);
    list.0
}

/// The calls of `charge`, of which hardware knows nothing: `calls` of them.
pub fn charges(account: &Arc<Account>, calls: usize) {
    let platform = Counted {
        process: Double::new(1, 1).process(0),
        account: Arc::clone(account),
    };
    account.count(|| {
        // Eight a turn, so that the loop hardly counts.
        for _ in 0..calls / 8 {
            for op in [Op::Advance; 8] {
                platform.charge(op, 1);
            }
        }
    });
}

/// Accesses of kind `kind`, of no bytes where it is memory: `calls` of them.
pub fn accesses(account: &Arc<Account>, kind: Access, calls: usize) {
    let machine = Double::new(1, 1);
    let platform = Counted {
        process: machine.process(0),
        account: Arc::clone(account),
    };
    let memory = platform.alloc(64, 64).expect("there is memory");
    let register = black_box(Register::injection_tail(0).address);
    account.count(|| {
        for _ in 0..calls / 8 {
            for place in [0, 8, 16, 24, 32, 40, 48, 56] {
                match kind {
                    Access::ReadRegister => drop(black_box(platform.read_reg(register))),
                    Access::WriteRegister => drop(black_box(platform.write_reg(register, 0))),
                    Access::ReadMemory => drop(black_box(memory.read(place, &mut []))),
                    Access::WriteMemory => drop(black_box(memory.write(place, &[]))),
                }
            }
        }
    });
}

/// Post, advance, wait, lock.
fn contexts(list: &mut List) {
    list.plain("post a call", |w| {
        w.account.count(|| call(&w.contexts[0]));
        w.run([false; 2]);
    });
    for calls in [0, 1, 8] {
        list.plain(format!("advance over {calls} calls"), move |w| {
            for _ in 0..calls {
                call(&w.contexts[0]);
            }
            w.advance(0);
        });
    }
    list.plain("advance 64 times over nothing", |w| {
        w.account.count(|| {
            for _ in 0..64 {
                w.contexts[0].advance(1).expect("no faults");
            }
        });
    });
    list.plain("64 turns of advance over nothing", |w| {
        w.account
            .count(|| w.contexts[0].advance(64).expect("no faults"));
    });
    list.plain("wait over nothing", |w| {
        w.account
            .count(|| w.contexts[0].wait(Some(1)).expect("not destroyed"));
        w.run([false; 2]);
    });
    list.plain("lock and unlock", |w| {
        w.account.count(|| drop(w.contexts[0].lock()));
    });
    list.plain("try_lock and unlock", |w| {
        w.account.count(|| {
            let locked = w.contexts[0].try_lock();
            assert!(locked.is_some());
        });
    });
}

/// Sends, by part and by protocol.
fn messages(list: &mut List) {
    for length in [0, 32, 128, 512] {
        list.plain(format!("post an immediate send of {length} B"), move |w| {
            w.account.count(|| w.immediate(CONSUME, 0, length));
            w.run([false; 2]);
        });
        list.plain(format!("advance over {length} B immediate"), move |w| {
            w.immediate(CONSUME, 0, length);
            w.advance(0);
            w.run([false; 2]);
        });
        list.plain(format!("advance until {length} B have left"), move |w| {
            w.immediate(CONSUME, 0, length);
            w.run(ORIGIN);
        });
        for (what, dispatch) in [("consume", CONSUME), ("store", STORE)] {
            list.plain(format!("{what} {length} B"), move |w| {
                w.immediate(dispatch, 0, length);
                w.contexts[0].advance(1).expect("no faults");
                w.machine.settle();
                w.advance(1);
                w.run([false; 2]);
            });
        }
        list.plain(format!("immediate {length} B, both ends"), move |w| {
            w.post_and_run(BOTH, || w.immediate(CONSUME, 0, length));
        });
    }
    for count in [4, 16] {
        list.plain(format!("consume {count} of 0 B in one advance"), move |w| {
            (0..count).for_each(|_| w.immediate(CONSUME, 0, 0));
            w.contexts[0].advance(1).expect("no faults");
            w.machine.settle();
            w.advance(1);
            w.run([false; 2]);
        });
    }
    list.add("answer an immediate send in its callback", |account| {
        let world = World::new(account, |_| ());
        world.contexts[1]
            .set_dispatch(ANSWER, Box::new(answer))
            .expect("first use");
        move || {
            world.immediate(ANSWER, 0, 0);
            world.contexts[0].advance(1).expect("no faults");
            world.machine.settle();
            world.advance(1);
            world.run([false; 2]);
        }
    });
    list.plain("8 immediate sends, both ends", |w| {
        w.post_and_run(BOTH, || (0..8).for_each(|_| w.immediate(CONSUME, 0, 32)));
    });
    list.plain("8 immediate sends with headers, both ends", |w| {
        w.post_and_run(BOTH, || (0..8).for_each(|_| w.immediate(CONSUME, 32, 32)));
    });
    for (what, counted) in [("origin", ORIGIN), ("target", TARGET)] {
        for (length, header, remote) in [
            (64, 0, false),
            (64, 32, false),
            (512, 0, false),
            (512, 32, true),
            (2048, 0, false),
            (4096, 0, true),
            (8192, 0, false),
            (8192, 32, true),
        ] {
            let protocol = if length > 4096 { "rendezvous" } else { "eager" };
            let acknowledged = if remote { ", remote done" } else { "" };
            let name = format!("{protocol} {length} + {header} B{acknowledged}, {what}");
            list.plain(name, move |w| {
                w.post_and_run(counted, || w.send(length, header, remote));
            });
        }
        list.plain(format!("8 rendezvous, {what}"), move |w| {
            w.post_and_run(counted, || (0..8).for_each(|_| w.send(8192, 0, true)));
        });
        list.add(
            format!("8 rendezvous acknowledged together, {what}"),
            move |account| {
                let world = World::new(account, |config| {
                    config.ack = AckConfig {
                        method: AckMethod::Coalesce,
                        ..AckConfig::default()
                    };
                });
                move || {
                    world.post_and_run(counted, || {
                        (0..8).for_each(|_| world.send(8192, 0, true));
                    });
                }
            },
        );
        list.add(format!("shared FIFOs, 64 B, {what}"), move |account| {
            let world = World::new(account, |config| config.resources.shared_injection = true);
            move || world.post_and_run(counted, || world.send(64, 0, false))
        });
    }
}

/// Messages through shared memory.
fn same_node(list: &mut List) {
    for length in [0, 32, 512] {
        for (what, counted) in [("origin", ORIGIN), ("target", TARGET)] {
            list.add(format!("same node, {length} B, {what}"), move |account| {
                let world = World::on([0, 0], account, |config| {
                    config.same_node = SameNode::SharedMemory;
                });
                move || world.post_and_run(counted, || world.immediate(CONSUME, 0, length))
            });
        }
    }
}

/// Put, get, read-modify-write.
fn one_sided(list: &mut List) {
    type Operation = fn(&World, &MemoryRegion<Counted>, usize);
    let rput: Operation = |w, region, length| {
        let put = Rput {
            destination: w.peer,
            data: w.data[0].part(0, length).expect("inside"),
            region: region.remote(),
            offset: 0,
            notify: PutNotify::None,
            local_done: done(),
            remote_done: None,
        };
        w.contexts[0].rput(put).expect("valid");
    };
    let rput_remote: Operation = |w, region, length| {
        let put = Rput {
            destination: w.peer,
            data: w.data[0].part(0, length).expect("inside"),
            region: region.remote(),
            offset: 0,
            notify: PutNotify::None,
            local_done: None,
            remote_done: done(),
        };
        w.contexts[0].rput(put).expect("valid");
    };
    let rget: Operation = |w, region, length| {
        let get = Rget {
            source: w.peer,
            region: region.remote(),
            offset: 0,
            into: w.data[0].part(0, length).expect("inside"),
            done: done(),
        };
        w.contexts[0].rget(get).expect("valid");
    };
    let rmw: Operation = |w, region, length| {
        let rmw = Rmw {
            destination: w.peer,
            region: region.remote(),
            offset: 0,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 1,
            test: None,
            result: Some(w.data[0].part(0, length).expect("inside")),
            done: done(),
        };
        w.contexts[0].rmw(rmw).expect("valid");
    };
    for (what, operation, length) in [
        ("rput", rput, 4096),
        ("rput, remote done", rput_remote, 4096),
        ("rget", rget, 4096),
        ("rmw", rmw, 8),
    ] {
        for many in [1, 8] {
            list.add(format!("{many} {what}, both ends"), move |account| {
                let world = World::new(account, |_| ());
                let region = world.clients[1]
                    .create_region(&world.data[1], RegionRights::ALL)
                    .expect("a slot is free");
                move || {
                    world.post_and_run(BOTH, || {
                        (0..many).for_each(|_| operation(&world, &region, length));
                    });
                }
            });
        }
    }
    for many in [1, 16] {
        list.add(
            format!("advance while {many} gets are under way"),
            move |account| {
                let world = World::new(account, |_| ());
                let region = world.clients[1]
                    .create_region(&world.data[1], RegionRights::ALL)
                    .expect("a slot is free");
                move || {
                    (0..many).for_each(|_| rget(&world, &region, 64));
                    world.contexts[0].advance(1).expect("no faults");
                    world.account.count(|| {
                        for _ in 0..8 {
                            world.contexts[0].advance(1).expect("no faults");
                        }
                    });
                    world.run([false; 2]);
                }
            },
        );
    }
}

fn fences(list: &mut List) {
    let fence = |w: &World| {
        let fence = Fence {
            destination: w.peer,
            done: done(),
        };
        w.contexts[0].fence(fence).expect("valid");
    };
    for (what, counted) in [("origin", ORIGIN), ("target", TARGET)] {
        for many in [1, 8] {
            list.plain(format!("{many} fences, {what}"), move |w| {
                w.post_and_run(counted, || (0..many).for_each(|_| fence(w)));
            });
        }
    }
    list.plain("fence of all endpoints, both ends", |w| {
        w.post_and_run(BOTH, || w.contexts[0].fence_all(done()).expect("valid"));
    });
}

/// The messaging module.
fn matched(list: &mut List) {
    const PLAIN: MessagingConfig = MessagingConfig::new(MATCHED);
    // Memory for what is held of such a message is not kept for the next.
    const EAGER: MessagingConfig = MessagingConfig {
        switch_over: usize::MAX,
        ..PLAIN
    };
    for (length, eager, config) in [
        (64, "", PLAIN),
        (2048, "", PLAIN),
        (8192, "", PLAIN),
        (8192, " eager", EAGER),
    ] {
        for (what, counted) in [("origin", ORIGIN), ("target", TARGET)] {
            for first in ["receive", "message"] {
                // So many receives, or messages, do not match and stand before the one that does.
                for before in [0, 16] {
                    let name =
                        format!("matched {length} B{eager}, {first} first behind {before}, {what}");
                    list.add(name, move |account| {
                        let world = World::new(account, |_| ());
                        let modules: Vec<_> = world
                            .contexts
                            .iter()
                            .map(|context| Messaging::create(context, config))
                            .collect::<Result<_, _>>()
                            .expect("first use");
                        let send = {
                            let (module, data) = (modules[0].clone(), world.data[0].clone());
                            move |tag| {
                                let data = data.part(0, length).expect("inside");
                                let sent =
                                    module.send(Rank(1), tag, &Communicator::WORLD, data, done());
                                sent.expect("valid");
                            }
                        };
                        let receive = {
                            let (module, into) = (modules[1].clone(), world.data[1].clone());
                            move |tag| {
                                let done = |_: &Context<Counted>, result: Result<_, _>| {
                                    result.map(drop).expect("no faults");
                                };
                                let into = into.clone();
                                let done = Some(Box::new(done) as _);
                                module
                                    .receive(None, Some(tag), &Communicator::WORLD, into, done)
                                    .expect("valid");
                            }
                        };
                        let receives = first == "receive";
                        for tag in 0..before {
                            if receives {
                                receive(1000 + tag);
                            } else {
                                send(1000 + tag);
                            }
                        }
                        world.run([false; 2]);
                        move || {
                            let at = |side: usize, work: &dyn Fn(u32)| {
                                if counted[side] {
                                    world.account.count(|| work(1));
                                } else {
                                    work(1);
                                }
                            };
                            if receives {
                                at(1, &receive);
                                at(0, &send);
                                world.run(counted);
                            } else {
                                at(0, &send);
                                world.run(counted);
                                at(1, &receive);
                                world.run(counted);
                            }
                        }
                    });
                }
            }
        }
    }
}
