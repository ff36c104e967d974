// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocols of sends, and one-sided transfers, on the test double.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, Arrival, BufferRange, Client, ClientConfig, Context, DoneFn, Error, Get, MAX_HEADER,
    MemoryRegion, Put, PutNotify, Receive, RegionRights, RemoteAddress, RemoteRegion, Rget, Rmw,
    RmwOp, RmwWidth, Rput, SendImmediate, SendMessage, TaskId, advancev,
};
use gyre_layout::ErrorReason;
use gyre_testkit::{Double, Process, config, contents, small};
use parking_lot::Mutex;

const SINK: u8 = 3;

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 31 + seed * 7 + i / 256 + 1) as u8)
        .collect()
}

struct Pair {
    machine: Double,
    clients: Vec<Client<Process>>,
    contexts: Vec<Context<Process>>,
}

impl Pair {
    fn new(seed: u64, change: impl Fn(&mut ClientConfig)) -> Self {
        let machine = Double::new(2, seed);
        let tasks = machine.tasks(&[0, 1]);
        let clients: Vec<_> = (0..2)
            .map(|task| {
                let mut config = ClientConfig {
                    eager_limit: 1024,
                    ack: AckConfig::immediate(),
                    ..config(&tasks, task, small())
                };
                change(&mut config);
                Client::create(&machine.process(task as usize), config)
                    .expect("the double has the resources")
            })
            .collect();
        let contexts = clients
            .iter()
            .map(|client| client.create_context(0).expect("free"))
            .collect();
        Self {
            machine,
            clients,
            contexts,
        }
    }

    fn settle(&self) {
        assert_eq!(self.errors(), []);
    }

    /// Runs until nothing happens, woken for errors too; returns the errors of `advance`.
    fn errors(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut idle = 0;
        while idle < 40 {
            let mut moved = self.machine.step();
            for context in &self.contexts {
                if idle > 0 {
                    context.wait(Some(1)).expect("not destroyed");
                }
                match context.advance(1) {
                    Ok(progress) => moved |= !progress.is_idle(),
                    Err(error) => {
                        errors.push(error);
                        moved = true;
                    }
                }
            }
            idle = if moved { 0 } else { idle + 1 };
        }
        errors
    }

    fn buffer(&self, task: usize, data: &[u8]) -> BufferRange<gyre_testkit::Memory> {
        self.machine.process(task).buffer(data)
    }

    fn send(&self, data: &[u8]) -> SendMessage<Process> {
        let to = self.contexts[0].endpoint(TaskId(1), 0).expect("exists");
        SendMessage::new(to, SINK, self.buffer(0, data))
    }
}

type Results = Arc<Mutex<Vec<Result<(), Error>>>>;

fn into(results: &Results) -> Option<DoneFn<Process>> {
    let results = Arc::clone(results);
    Some(Box::new(move |_, result| results.lock().push(result)))
}

/// A message that arrived: comm, tag, header, whether it was immediate, data.
type Log = Arc<Mutex<Vec<(u8, u32, Vec<u8>, bool, Vec<u8>)>>>;

fn log_messages(context: &Context<Process>) -> Log {
    let log = Log::default();
    let entries = Arc::clone(&log);
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        let (comm, tag, header) = (arrival.comm, arrival.tag, arrival.header.to_vec());
        if let Some(data) = arrival.immediate {
            entries
                .lock()
                .push((comm, tag, header, true, data.to_vec()));
            return Receive::Consumed;
        }
        let into = context.platform().buffer(&vec![0; arrival.length]);
        let (copy, log) = (into.clone(), Arc::clone(&entries));
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                result.expect("it fits");
                log.lock().push((comm, tag, header, false, contents(&copy)));
            })),
        }
    };
    context
        .set_dispatch(SINK, Box::new(dispatch))
        .expect("first use");
    log
}

#[test]
fn ep4_every_protocol_delivers_and_calls_both_callbacks() {
    for seed in 1..6 {
        let pair = Pair::new(seed, |_| ());
        if seed > 1 {
            pair.machine.reorder();
        }
        let log = log_messages(&pair.contexts[1]);
        for length in [0, 1, 400, 501, 502, 512, 1000, 1024, 1025, 4000, 100_000] {
            for header in [0, 1, 100, MAX_HEADER] {
                let (local, remote) = (Results::default(), Results::default());
                let send = SendMessage {
                    comm: 5,
                    tag: 77,
                    header: pattern(header, 3),
                    local_done: into(&local),
                    remote_done: into(&remote),
                    ..pair.send(&pattern(length, 1))
                };
                pair.contexts[0].send(send).expect("valid");
                pair.settle();
                assert_eq!(*local.lock(), [Ok(())]);
                assert_eq!(*remote.lock(), [Ok(())]);
                let log = std::mem::take(&mut *log.lock());
                let [(comm, tag, got_header, immediate, data)] = &log[..] else {
                    panic!("one message of {length} bytes");
                };
                assert_eq!((*comm, *tag), (5, 77));
                assert_eq!(*got_header, pattern(header, 3));
                assert_eq!(*data, pattern(length, 1));
                assert!(!*immediate || length <= 512);
            }
        }
    }
}

#[test]
fn ep4_data_is_free_before_its_rendezvous_is_acknowledged() {
    let pair = Pair::new(1, |_| ());
    let _log = log_messages(&pair.contexts[1]);
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| -> Option<DoneFn<Process>> {
        let order = Arc::clone(&order);
        Some(Box::new(move |_, _| order.lock().push(name)))
    };
    let send = SendMessage {
        local_done: note("local"),
        remote_done: note("remote"),
        ..pair.send(&pattern(4000, 1))
    };
    pair.contexts[0].send(send).expect("valid");
    pair.settle();
    assert_eq!(*order.lock(), ["local", "remote"]);
}

#[test]
fn ep4_immediate_sends_copy_at_the_call() {
    let pair = Pair::new(1, |_| ());
    let log = log_messages(&pair.contexts[1]);
    let to = pair.contexts[0].endpoint(TaskId(1), 0).expect("exists");
    for (header, length) in [
        (0, 0),
        (0, 512),
        (1, SendImmediate::MAX_HEADED - 1),
        (300, 3),
    ] {
        let (mut head, mut data) = (pattern(header, 1), pattern(length, 2));
        pair.contexts[0]
            .send_immediate(&SendImmediate {
                comm: 1,
                tag: 2,
                header: &head,
                data: &data,
                ..SendImmediate::new(to, SINK)
            })
            .expect("valid");
        head.fill(0);
        data.fill(0);
        pair.settle();
        let expected = (1, 2, pattern(header, 1), true, pattern(length, 2));
        assert_eq!(std::mem::take(&mut *log.lock()), [expected]);
    }
}

#[test]
fn x5_what_does_not_fit_or_is_not_the_users_is_refused_when_posted() {
    let pair = Pair::new(1, |_| ());
    let context = &pair.contexts[0];
    let to = context.endpoint(TaskId(1), 0).expect("exists");
    let limit = |header: &[u8], data: &[u8]| {
        context.send_immediate(&SendImmediate {
            header,
            data,
            ..SendImmediate::new(to, SINK)
        })
    };
    let too_long = |what, bytes, limit| Err(Error::PacketLength { what, bytes, limit });
    assert_eq!(
        limit(&[], &[0; 513]),
        too_long("immediate message", 513, 512)
    );
    assert_eq!(
        limit(&[0], &[0; 501]),
        too_long("immediate message", 502, 501)
    );
    let send = SendMessage {
        header: vec![0; 449],
        ..pair.send(&[])
    };
    assert_eq!(context.send(send), too_long("header", 449, 448));
    let send = SendMessage {
        dispatch: 224,
        ..pair.send(&[])
    };
    assert_eq!(context.send(send), Err(Error::ReservedDispatch { id: 224 }));
    assert_eq!(
        context.set_dispatch(255, Box::new(|_, _| Receive::Consumed)),
        Err(Error::ReservedDispatch { id: 255 })
    );
    assert_eq!(
        context.send_immediate(&SendImmediate::new(to, 230)),
        Err(Error::ReservedDispatch { id: 230 })
    );
}

#[test]
fn fn3_rendezvous_data_stays_at_the_origin_until_the_target_asks() {
    let pair = Pair::new(1, |_| ());
    let results = Results::default();
    let send = SendMessage {
        local_done: into(&results),
        ..pair.send(&pattern(5000, 1))
    };
    let log = log_messages(&pair.contexts[1]);
    pair.contexts[0].send(send).expect("valid");
    for _ in 0..50 {
        pair.machine.settle();
        pair.contexts[0].advance(1).expect("no error");
    }
    assert_eq!(pair.machine.packets(), 1, "the request to send");
    assert_eq!(*results.lock(), []);
    assert!(!pair.contexts[0].is_at_rest());
    pair.contexts[1].advance(1).expect("no error");
    pair.machine.settle();
    // RTS, get, 10 packets of data. The data is in place before any software of the origin runs.
    assert_eq!(pair.machine.packets(), 12);
    pair.contexts[1].advance(1).expect("no error");
    assert_eq!(log.lock().len(), 1);
    pair.settle();
    assert_eq!(*results.lock(), [Ok(())]);
}

#[test]
fn fn3_rendezvous_that_is_not_received_ends_at_the_origin() {
    let pair = Pair::new(1, |_| ());
    let seen = Results::default();
    let short = pair.buffer(1, &[1; 100]);
    let (calls, done) = (Arc::new(AtomicCell::new(0_usize)), Arc::clone(&seen));
    let count = Arc::clone(&calls);
    let buffer = short.clone();
    pair.contexts[1]
        .set_dispatch(
            SINK,
            Box::new(move |_, _| {
                count.fetch_add(1);
                if count.load() == 1 {
                    return Receive::Consumed;
                }
                Receive::Into {
                    into: buffer.clone(),
                    done: into(&done),
                }
            }),
        )
        .expect("first use");
    let results = Results::default();
    for _ in 0..2 {
        let send = SendMessage {
            remote_done: into(&results),
            ..pair.send(&pattern(5000, 1))
        };
        pair.contexts[0].send(send).expect("valid");
    }
    pair.settle();
    assert_eq!(*results.lock(), [Ok(()), Ok(())]);
    assert_eq!(
        *seen.lock(),
        [Err(Error::MessageTooLong {
            message: 5000,
            receive: 100
        })]
    );
    assert_eq!(contents(&short), [1; 100]);

    // Without a dispatch callback the error is the target's.
    let send = SendMessage {
        dispatch: SINK + 1,
        remote_done: into(&results),
        ..pair.send(&pattern(5000, 1))
    };
    pair.contexts[0].send(send).expect("valid");
    let unknown = Error::UnknownDispatch {
        id: SINK + 1,
        origin: TaskId(0),
        length: 5000,
    };
    assert_eq!(pair.errors(), [unknown]);
    assert_eq!(results.lock().len(), 3);
}

#[test]
fn ep3_few_counters_and_small_rings_hold_back_and_lose_nothing() {
    for seed in 1..6 {
        let pair = Pair::new(seed, |config| config.resources.counters = 1);
        pair.machine.reorder();
        let log = log_messages(&pair.contexts[1]);
        let done = Results::default();
        for tag in 0..100 {
            let send = SendMessage {
                tag,
                local_done: into(&done),
                ..pair.send(&pattern(1100 + tag as usize, tag as usize))
            };
            pair.contexts[0].send(send).expect("valid");
        }
        pair.settle();
        assert_eq!(done.lock().len(), 100);
        let log = log.lock();
        for (tag, entry) in log.iter().enumerate() {
            assert_eq!(entry.1, tag as u32, "receives end in order");
            assert_eq!(entry.4, pattern(1100 + tag, tag));
        }
        assert_eq!(log.len(), 100);
    }
}

#[test]
fn ep4_puts_and_gets_reach_memory_without_the_targets_software() {
    let pair = Pair::new(1, |_| ());
    let peer = pair.contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let window = pair.buffer(1, &pattern(4000, 9));
    let address = window.remote_address().expect("a buffer");
    let (put, got) = (Results::default(), Results::default());
    let at = |offset| RemoteAddress {
        offset: address.offset + offset,
        ..address
    };
    pair.contexts[0]
        .put(Put {
            destination: peer,
            data: pair.buffer(0, &pattern(1500, 1)),
            remote: at(100),
            notify: PutNotify::None,
            local_done: into(&put),
            remote_done: None,
        })
        .expect("valid");
    let copy = pair.buffer(0, &[0; 1000]);
    pair.contexts[0]
        .get(Get {
            source: peer,
            remote: at(2500),
            into: copy.clone(),
            routing: gyre_driver::Routing::Fixed,
            done: into(&got),
        })
        .expect("valid");
    for _ in 0..20 {
        pair.machine.settle();
        pair.contexts[0].advance(1).expect("no error");
    }
    assert_eq!(*put.lock(), [Ok(())]);
    assert_eq!(*got.lock(), [Ok(())]);
    assert_eq!(contents(&copy), pattern(4000, 9)[2500..3500]);
    assert_eq!(contents(&window)[100..1600], pattern(1500, 1));
    assert_eq!(contents(&window)[..100], pattern(4000, 9)[..100]);

    // That the put has arrived takes the target's software, and a get of no bytes.
    let remote = Results::default();
    pair.contexts[0]
        .put(Put {
            destination: peer,
            data: pair.buffer(0, &[3; 600]),
            remote: at(0),
            notify: PutNotify::None,
            local_done: None,
            remote_done: into(&remote),
        })
        .expect("valid");
    pair.settle();
    assert_eq!(*remote.lock(), [Ok(())]);
    assert_eq!(contents(&window)[..600], [3; 600]);
}

#[test]
fn ep4_regions_travel_in_messages_and_are_checked_when_posted() {
    let pair = Pair::new(1, |_| ());
    let memory = pair.buffer(1, &pattern(5000, 4));
    let part = memory.part(1000, 3000).expect("inside");
    let region = pair.clients[1]
        .create_region(&part, RegionRights::ALL)
        .expect("a slot is free");
    let remote = RemoteRegion::decode(&region.remote().encode()).expect("it is one");
    assert_eq!((remote.task(), remote.len()), (TaskId(1), 3000));
    let context = &pair.contexts[0];
    let peer = context.endpoint(TaskId(1), 0).expect("exists");
    let done = Results::default();
    let rput = |region, destination, offset, bytes: &[u8]| {
        context.rput(Rput {
            destination,
            data: pair.buffer(0, bytes),
            region,
            offset,
            notify: PutNotify::None,
            local_done: into(&done),
            remote_done: into(&done),
        })
    };
    let copy = pair.buffer(0, &[0; 500]);
    let rget = |region, source, offset| {
        context.rget(Rget {
            source,
            region,
            offset,
            into: copy.clone(),
            done: into(&done),
        })
    };
    rput(remote, peer, 2600, &[1; 400]).expect("valid");
    rget(remote, peer, 0).expect("valid");
    pair.settle();
    assert_eq!(*done.lock(), [Ok(()), Ok(()), Ok(())]);
    assert_eq!(contents(&copy), pattern(5000, 4)[1000..1500]);
    assert_eq!(contents(&memory)[3600..4000], [1; 400]);
    assert_eq!(contents(&memory)[4000..], pattern(5000, 4)[4000..]);

    let bounds = |offset, bytes| {
        Err(Error::RegionBounds {
            task: TaskId(1),
            offset,
            bytes,
            len: 3000,
        })
    };
    assert_eq!(rput(remote, peer, 2601, &[1; 400]), bounds(2601, 400));
    assert_eq!(rget(remote, peer, u64::MAX), bounds(u64::MAX, 500));
    let own = context.endpoint(TaskId(0), 0).expect("exists");
    assert_eq!(
        rget(remote, own, 0),
        Err(Error::RegionTask {
            expected: TaskId(0),
            found: TaskId(1)
        })
    );
    region.destroy().expect("nothing is under way");
    let only = |get, put| RegionRights {
        get,
        put,
        rmw: false,
    };
    let create = |rights| pair.clients[1].create_region(&part, rights);
    let kept = [only(true, false), only(false, true)]
        .map(|rights| create(rights).expect("a slot is free"));
    let [read, write] = kept.each_ref().map(MemoryRegion::remote);
    let denied = |what| {
        Err(Error::RegionRights {
            task: TaskId(1),
            what,
        })
    };
    assert_eq!(rput(read, peer, 0, &[1]), denied("puts"));
    assert_eq!(rget(write, peer, 0), denied("gets"));
    let _others = [(); 2].map(|()| create(RegionRights::ALL).expect("four slots a process"));
    assert!(matches!(
        create(RegionRights::ALL),
        Err(Error::RegionSlots { slots: 4, .. })
    ));
    assert!(matches!(
        pair.clients[1].create_region(&BufferRange::empty(), RegionRights::ALL),
        Err(Error::EmptyRegion)
    ));
}

#[test]
fn x5_a_get_refused_by_the_peer_fails_and_the_next_completes() {
    let pair = Pair::new(1, |_| ());
    let memory = pair.buffer(1, &pattern(3000, 4));
    let gone = pair.clients[1]
        .create_region(&memory, RegionRights::ALL)
        .expect("a slot is free");
    let remote = gone.remote();
    gone.destroy().expect("nothing is under way");
    let context = &pair.contexts[0];
    let source = context.endpoint(TaskId(1), 0).expect("exists");
    let done = Results::default();
    let copy = pair.buffer(0, &[0; 100]);
    context
        .rget(Rget {
            source,
            region: remote,
            offset: 0,
            into: copy.clone(),
            done: into(&done),
        })
        .expect("valid");
    context
        .get(Get {
            source,
            remote: memory.remote_address().expect("a buffer"),
            into: copy.clone(),
            routing: gyre_driver::Routing::Fixed,
            done: into(&done),
        })
        .expect("valid");
    let fenced = Results::default();
    context
        .fence(gyre_driver::Fence {
            destination: source,
            done: into(&fenced),
        })
        .expect("valid");
    let refused = Error::RemoteDescriptor {
        fifo: 16,
        reason: Ok(ErrorReason::DescSlot),
    };
    assert_eq!(pair.errors(), [refused]);
    let error = Error::RemoteRefused {
        peer: TaskId(1),
        reason: Ok(ErrorReason::DescSlot),
    };
    assert_eq!(done.lock().len(), 2);
    assert!(done.lock().contains(&Err(error)));
    assert!(done.lock().contains(&Ok(())));
    assert_eq!(contents(&copy), pattern(3000, 4)[..100]);
    assert_eq!(*fenced.lock(), [Ok(())]);
}

#[test]
fn ep4_x5_a_region_that_is_dropped_is_reached_by_nobody() {
    let pair = Pair::new(1, |_| ());
    let memory = pair.buffer(1, &pattern(3000, 4));
    let create = || pair.clients[1].create_region(&memory, RegionRights::ALL);
    // As many as there are slots, again and again: each gives its slot back.
    for _ in 0..3 {
        let mut regions = Vec::new();
        while let Ok(region) = create() {
            regions.push(region);
        }
        assert!(regions.len() > 1);
    }
    let region = create().expect("a slot is free").remote();
    let context = &pair.contexts[0];
    let done = Results::default();
    let get = Rget {
        source: context.endpoint(TaskId(1), 0).expect("exists"),
        region,
        offset: 0,
        into: pair.buffer(0, &[0; 100]),
        done: into(&done),
    };
    context.rget(get).expect("valid");
    assert_eq!(pair.errors().len(), 1);
    assert!(matches!(
        done.lock()[..],
        [Err(Error::RemoteRefused { .. })]
    ));
}

#[test]
fn x5_refused_gets_give_their_counters_back() {
    const COUNTERS: u16 = 2;
    let pair = Pair::new(1, |config| config.resources.counters = COUNTERS);
    let memory = pair.buffer(1, &pattern(3000, 4));
    let gone = pair.clients[1]
        .create_region(&memory, RegionRights::ALL)
        .expect("a slot is free");
    let region = gone.remote();
    gone.destroy().expect("nothing is under way");
    let context = &pair.contexts[0];
    let source = context.endpoint(TaskId(1), 0).expect("exists");
    // More than the ring of the remote-get FIFO holds, so that every place of it has a refused descriptor.
    for _ in 0..4096 / 64 + 8 {
        let done = Results::default();
        let refused = Rget {
            source,
            region,
            offset: 0,
            into: pair.buffer(0, &[0; 100]),
            done: into(&done),
        };
        context.rget(refused).expect("valid");
        assert_eq!(pair.errors().len(), 1);
        assert!(matches!(
            done.lock()[..],
            [Err(Error::RemoteRefused { .. })]
        ));
    }
    let done = Results::default();
    let copy = pair.buffer(0, &[0; 100]);
    let good = Get {
        source,
        remote: memory.remote_address().expect("a buffer"),
        into: copy.clone(),
        routing: gyre_driver::Routing::Fixed,
        done: into(&done),
    };
    context.get(good).expect("valid");
    pair.settle();
    assert_eq!(*done.lock(), [Ok(())]);
    assert_eq!(contents(&copy), pattern(3000, 4)[..100]);
}

#[test]
fn x5_a_locally_refused_send_fails_both_callbacks_once() {
    for length in [100, 1000, 5000] {
        let pair = Pair::new(1, |_| ());
        let _log = log_messages(&pair.contexts[1]);
        let (local, remote) = (Results::default(), Results::default());
        let peer = pair.contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let foreign = pair.machine.process(0).alloc_in_slot(length, 9);
        let target = pair.buffer(1, &vec![0; length]);
        pair.contexts[0]
            .put(Put {
                destination: peer,
                data: BufferRange::whole(foreign),
                remote: target.remote_address().expect("a buffer"),
                notify: PutNotify::None,
                local_done: into(&local),
                remote_done: into(&remote),
            })
            .expect("valid");
        pair.settle();
        let refused = Err(Error::Descriptor {
            fifo: 0,
            reason: Ok(ErrorReason::DescSlot),
        });
        assert_eq!(*local.lock(), std::slice::from_ref(&refused));
        assert_eq!(*remote.lock(), [refused]);
        assert!(pair.contexts[0].is_at_rest());
    }
}

#[test]
fn ct7_modules_use_get_and_acknowledge_as_primitives() {
    let pair = Pair::new(1, |_| ());
    let origin = pair.contexts[1].endpoint(TaskId(0), 0).expect("exists");
    let target = pair.contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let done = Results::default();
    let expect = || {
        pair.contexts[0]
            .expect_ack(target, into(&done).expect("a callback"))
            .expect("exists")
    };
    let (first, second, third) = (expect(), expect(), expect());
    assert!(first != second && first != 0);
    pair.contexts[1].acknowledge(origin, second).expect("valid");
    pair.settle();
    assert_eq!(done.lock().len(), 1);
    pair.contexts[1].acknowledge(origin, first).expect("valid");
    assert!(pair.contexts[0].forget_ack(third).is_some());
    pair.settle();
    assert_eq!(done.lock().len(), 2);
    // Twice, or without a request.
    for cookie in [first, third] {
        pair.contexts[1].acknowledge(origin, cookie).expect("valid");
        let unknown = Error::UnknownCookie {
            origin: TaskId(1),
            cookie,
        };
        assert_eq!(pair.errors(), [unknown]);
    }
}

#[test]
fn ak5_nothing_is_left_unacknowledged_when_traffic_stops() {
    let pair = Pair::new(4, |config| config.ack = AckConfig::default());
    let log = log_messages(&pair.contexts[1]);
    let done = Results::default();
    for tag in 0..40 {
        let send = SendMessage {
            tag,
            remote_done: into(&done),
            ..pair.send(&pattern(200, tag as usize))
        };
        pair.contexts[0].send(send).expect("valid");
    }
    pair.machine.run_by_wake_ups(&pair.contexts);
    assert_eq!((log.lock().len(), done.lock().len()), (40, 40));
    advancev(&pair.contexts, 1).expect("no error");
    assert!(pair.contexts.iter().all(Context::is_at_rest));
}

/// The word after a read-modify-write.
fn reference(op: RmwOp, width: RmwWidth, word: u64, value: u64, test: Option<u64>) -> u64 {
    let mask = u64::MAX >> (64 - 8 * width.bytes());
    if test.is_some_and(|test| test & mask != word) {
        return word;
    }
    let new = match op {
        RmwOp::Set => value,
        RmwOp::Add => word.wrapping_add(value),
        RmwOp::Or => word | value,
        RmwOp::And => word & value,
        RmwOp::Xor => word ^ value,
    };
    new & mask
}

#[test]
fn ep4_every_read_modify_write_needs_no_software_at_the_target() {
    let pair = Pair::new(3, |_| ());
    let memory = pair.buffer(1, &[0; 64]);
    let kept = pair.clients[1].create_region(&memory, RegionRights::ALL);
    let kept = kept.expect("a slot is free");
    let region = kept.remote();
    let context = &pair.contexts[0];
    let destination = context.endpoint(TaskId(1), 0).expect("exists");
    let before = 0x0123_4567_89ab_cdef_u64;
    for op in [RmwOp::Set, RmwOp::Add, RmwOp::Or, RmwOp::And, RmwOp::Xor] {
        for (width, offset) in [
            (RmwWidth::Eight, 8),
            (RmwWidth::Four, 8),
            (RmwWidth::Four, 12),
        ] {
            for test in [None, Some(1), Some(before), Some(before >> 32)] {
                for fetch in [false, true] {
                    memory.write(8, &before.to_le_bytes()).expect("inside");
                    let result = pair.buffer(0, &[0xee; 8]);
                    let result = result.part(0, width.bytes()).expect("inside");
                    let done = Results::default();
                    let value = 0xf0f0_1122_3344_5566;
                    context
                        .rmw(Rmw {
                            destination,
                            region,
                            offset,
                            op,
                            width,
                            value,
                            test,
                            result: fetch.then(|| result.clone()),
                            done: into(&done),
                        })
                        .expect("valid");
                    for _ in 0..10 {
                        pair.machine.settle();
                        context.advance(1).expect("no error");
                    }
                    assert_eq!(*done.lock(), [Ok(())]);
                    let bytes = width.bytes();
                    let at = offset as usize - 8;
                    let mut word = [0; 8];
                    word[..bytes].copy_from_slice(&before.to_le_bytes()[at..at + bytes]);
                    let new = reference(op, width, u64::from_le_bytes(word), value, test);
                    let mut expected = before.to_le_bytes();
                    expected[at..at + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
                    assert_eq!(
                        contents(&memory)[8..16],
                        expected,
                        "{op} {width:?} {test:?}"
                    );
                    let old = if fetch {
                        &word[..bytes]
                    } else {
                        &[0xee; 8][..bytes]
                    };
                    assert_eq!(contents(&result), old);
                }
            }
        }
    }
}

#[test]
fn fn1_read_modify_writes_of_many_are_counted_once_each_and_fenced() {
    for seed in 1..10 {
        let pair = Pair::new(seed, |config| config.resources.counters = 3);
        pair.machine.reorder();
        let memory = pair.buffer(1, &[0; 64]);
        let kept = pair.clients[1].create_region(&memory, RegionRights::ALL);
        let kept = kept.expect("a slot is free");
        let region = kept.remote();
        let fenced = Arc::new(AtomicCell::new(0_usize));
        for context in &pair.contexts {
            let destination = context.endpoint(TaskId(1), 0).expect("exists");
            let done = Arc::new(AtomicCell::new(0_usize));
            for _ in 0..50 {
                let count = Arc::clone(&done);
                context
                    .rmw(Rmw {
                        destination,
                        region,
                        offset: 24,
                        op: RmwOp::Add,
                        width: RmwWidth::Eight,
                        value: 1,
                        test: None,
                        result: None,
                        done: Some(Box::new(move |_, result| {
                            result.expect("the region allows it");
                            count.fetch_add(1);
                        })),
                    })
                    .expect("valid");
            }
            let all = Arc::clone(&fenced);
            context
                .fence(gyre_driver::Fence {
                    destination,
                    done: Some(Box::new(move |_, result| {
                        result.expect("the target advances");
                        assert_eq!(done.load(), 50);
                        all.fetch_add(1);
                    })),
                })
                .expect("valid");
        }
        pair.settle();
        assert_eq!(fenced.load(), 2);
        assert_eq!(contents(&memory)[24..32], 100_u64.to_le_bytes());
    }
}

#[test]
fn x5_invalid_read_modify_writes_are_refused_when_posted() {
    let pair = Pair::new(1, |_| ());
    let memory = pair.buffer(1, &[0; 100]);
    let create = |range: &BufferRange<gyre_testkit::Memory>, rmw| {
        pair.clients[1].create_region(
            range,
            RegionRights {
                get: true,
                put: true,
                rmw,
            },
        )
    };
    let odd = memory.remote_address().expect("a buffer").offset % 8;
    let from = (8 - odd as usize) % 8;
    let even = memory.part(from, 64).expect("inside");
    let region = create(&even, true).expect("a slot is free").remote();
    let without = create(&even, false).expect("a slot is free").remote();
    let moved = memory.part(from + 4, 32).expect("inside");
    assert!(matches!(
        create(&moved, true),
        Err(Error::RegionAlignment { .. })
    ));
    let context = &pair.contexts[0];
    let destination = context.endpoint(TaskId(1), 0).expect("exists");
    let rmw = |region, offset, bytes: usize| {
        context.rmw(Rmw {
            destination,
            region,
            offset,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 1,
            test: None,
            result: Some(pair.buffer(0, &vec![0; bytes])),
            done: None,
        })
    };
    assert_eq!(
        rmw(region, 4, 8),
        Err(Error::RmwAlignment {
            offset: 4,
            width: 8
        })
    );
    assert_eq!(
        rmw(region, 0, 4),
        Err(Error::RmwResult { bytes: 4, width: 8 })
    );
    assert!(matches!(
        rmw(region, 64, 8),
        Err(Error::RegionBounds { .. })
    ));
    assert_eq!(
        rmw(without, 0, 8),
        Err(Error::RegionRights {
            task: TaskId(1),
            what: "read-modify-writes"
        })
    );
}
