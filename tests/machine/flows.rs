// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordered-dynamic flows on the Verilated machine (HW-4): what has to stay in order takes ways beside the fixed one,
//! and stays in order.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, CostTable, Endpoint, Error, Fence,
    Ordered, Platform, Put, PutNotify, Receive, SendMessage, TaskId,
};
use gyre_layout::registers::{FLOW, flow_page, flow_source};
use gyre_sim::{MachineConfig, Until};
use parking_lot::Mutex;

const DATA: u8 = 1;
const MESSAGES: u32 = 40;
/// Bytes of a message: four packets.
const MESSAGE: usize = 2000;
/// Bytes of a put.
const PUT: usize = 20_000;

/// A task that sends, or one that receives.
struct Task {
    context: Context<SimPlatform>,
    window: BufferRange<NodeBuffer>,
    /// Tags in the order in which they came.
    received: Arc<Mutex<Vec<u32>>>,
    fenced: Arc<AtomicCell<bool>>,
}

/// Ends of flows that are open at a node.
fn open_flows(platform: &SimPlatform) -> Result<usize, Error> {
    let count = flow_page::params::FLOWS.get(platform.read_reg(FLOW + flow_page::PARAMS)?);
    let mut open = 0;
    for flow in 0..count {
        for end in [flow_page::source(flow), flow_page::target(flow)] {
            let ctrl = platform.read_reg(FLOW + end + flow_source::CTRL)?;
            open += usize::from(flow_source::ctrl::OPEN.is_set(ctrl));
        }
    }
    Ok(open)
}

fn bytes(tag: u32) -> Vec<u8> {
    (0..MESSAGE).map(|i| (i as u32 * 7 + tag) as u8).collect()
}

fn client(process: &Process, ordered: Ordered) -> Result<Client<SimPlatform>, Error> {
    let config = ClientConfig {
        ordered,
        ..process.client("flows")
    };
    Client::create(&process.platform, config)
}

/// A machine of 3x3 nodes without wrap-around, with a task on each.
fn mesh() -> Job {
    let config = MachineConfig {
        dims: vec![3, 3],
        mesh: vec![true, true],
        ..MachineConfig::default()
    };
    let placement = Placement::new(9, &config.dims, None).expect("one a node");
    Job::new(&config, &CostTable::default(), &placement, None).expect("a machine")
}

impl Task {
    fn open(client: &Client<SimPlatform>) -> Result<Arc<Self>, Error> {
        let context = client.create_context(0)?;
        let received = Arc::<Mutex<Vec<u32>>>::default();
        let (log, platform) = (Arc::clone(&received), context.platform().clone());
        let sink = move |_: &Context<SimPlatform>, arrival: &Arrival<'_>| {
            let into = BufferRange::zeroed(&platform, arrival.length).expect("there is memory");
            let (tag, copy, log) = (arrival.tag, into.clone(), Arc::clone(&log));
            Receive::Into {
                into,
                done: Some(Box::new(move |_, result| {
                    result.expect("it fits");
                    let mut data = vec![0; MESSAGE];
                    copy.read(0, &mut data).expect("inside");
                    assert_eq!(data, bytes(tag));
                    log.lock().push(tag);
                })),
            }
        };
        context.set_dispatch(DATA, Box::new(sink))?;
        let window = BufferRange::zeroed(context.platform(), PUT)?;
        Ok(Arc::new(Self {
            context,
            window,
            received,
            fenced: Arc::default(),
        }))
    }

    fn messages(&self, destination: Endpoint) -> Result<(), Error> {
        for tag in 0..MESSAGES {
            let data = BufferRange::zeroed(self.context.platform(), MESSAGE)?;
            data.write(0, &bytes(tag))?;
            self.context.send(SendMessage {
                tag,
                ..SendMessage::new(destination, DATA, data)
            })?;
        }
        Ok(())
    }

    /// Until all messages have come.
    fn receive(&self) -> Result<(), Error> {
        let all_came = || self.received.lock().len() == MESSAGES as usize;
        let context = &self.context;
        context.advance_until(|| all_came() && context.is_at_rest())?;
        assert!(self.received.lock().iter().copied().eq(0..MESSAGES));
        Ok(())
    }

    /// Messages, then a put and a fence.
    fn send(&self, target: &Self) -> Result<(), Error> {
        let (context, platform) = (&self.context, self.context.platform());
        let destination = target.context.query().endpoint;
        self.messages(destination)?;
        let data = BufferRange::zeroed(platform, PUT)?;
        data.write(0, &[7; PUT])?;
        context.put(Put {
            destination,
            data,
            remote: target.window.remote_address().expect("a buffer"),
            notify: PutNotify::None,
            local_done: None,
            remote_done: None,
        })?;
        let fenced = Arc::clone(&self.fenced);
        context.fence(Fence {
            destination,
            done: Some(Box::new(move |_, result| {
                result.expect("nothing is refused");
                fenced.store(true);
            })),
        })?;
        context.advance_until(|| self.fenced.load() && context.is_at_rest())?;
        Ok(())
    }
}

/// From one corner of a 3x3 mesh to the other. Gives the flits that left the first node by each port.
fn corner_to_corner(ordered: Ordered) -> Vec<u64> {
    let mut job = mesh();
    let open = move |process| Task::open(&client(&process, ordered)?);
    let (tasks, _) = job.each("opens", Until::Done, open).expect("all open");
    let all = tasks.clone();
    let run = move |process: Process| -> Result<usize, Error> {
        let task = &all[process.task.0 as usize];
        match process.task {
            TaskId(0) => task.send(&all[8])?,
            TaskId(8) => {
                task.receive()?;
                // Nothing wakes a task for what happens at another one.
                while !all[0].fenced.load() {
                    task.context.advance(1)?;
                }
                let mut there = vec![0; PUT];
                task.window.read(0, &mut there)?;
                assert_eq!(there, [7; PUT]);
            }
            _ => {}
        }
        let open = open_flows(&process.platform)?;
        task.context.destroy()?;
        assert_eq!(open_flows(&process.platform)?, 0);
        Ok(open)
    };
    let (open, _) = job.each("runs", Until::Quiet, run).expect("all end");
    // One each way for messages, and one for puts.
    let flows = usize::from(ordered == Ordered::Flow);
    assert_eq!((open[0], open[8]), (3 * flows, 3 * flows));
    job.machine().link_flits(0)
}

#[test]
fn hw4_ordered_messages_use_links_off_the_fixed_route() {
    let packets = u64::from(MESSAGES) * MESSAGE.div_ceil(512) as u64;
    let fixed = corner_to_corner(Ordered::Fixed);
    assert!(fixed[0] > 32 * packets, "{fixed:?}");
    assert_eq!(fixed[1..].iter().sum::<u64>(), 0, "{fixed:?}");
    let flow = corner_to_corner(Ordered::Flow);
    let all: u64 = flow.iter().sum();
    assert!(flow[0] > all / 4 && flow[2] > all / 4, "{flow:?}");
}

#[test]
fn hw4_ep3_a_reopened_context_reuses_the_orphaned_flow() {
    let mut job = mesh();
    let create = |process: Process| client(&process, Ordered::Flow);
    let (clients, _) = job.each("creates", Until::Done, create).expect("all are");
    let clients = Arc::new(clients);
    let here = Arc::clone(&clients);
    let open = move |process: Process| Task::open(&here[process.task.0 as usize]);
    let (mut tasks, _) = job.each("opens", Until::Done, open).expect("all open");
    for _ in 0..3 {
        let (all, here) = (tasks, Arc::clone(&clients));
        let run = move |process: Process| -> Result<(Arc<Task>, usize), Error> {
            let mut task = Arc::clone(&all[process.task.0 as usize]);
            match process.task {
                TaskId(0) => {
                    task.messages(all[8].context.query().endpoint)?;
                    task.context.advance_until(|| task.context.is_at_rest())?;
                }
                TaskId(8) => {
                    task.receive()?;
                    task.context.destroy()?;
                    task = Task::open(&here[8])?;
                }
                _ => {}
            }
            Ok((task, open_flows(&process.platform)?))
        };
        let (ran, _) = job.each("runs", Until::Quiet, run).expect("all end");
        let open: Vec<usize> = ran.iter().map(|(_, open)| *open).collect();
        assert_eq!((open[0], open[8]), (1, 1), "the same flow");
        tasks = ran.into_iter().map(|(task, _)| task).collect();
    }
}

/// Task 0 requests a flow of a context that does not advance and is destroyed; a reopened one gets the messages.
#[test]
fn hw4_ep3_a_flow_request_lost_with_its_context_is_repeated() {
    let mut job = mesh();
    let create = |process: Process| client(&process, Ordered::Flow);
    let (clients, _) = job.each("creates", Until::Done, create).expect("all are");
    let here = Arc::new(clients);
    let clients = Arc::clone(&here);
    let open = move |process: Process| Task::open(&clients[process.task.0 as usize]);
    let (all, _) = job.each("opens", Until::Done, open).expect("all open");
    let run = move |process: Process| -> Result<usize, Error> {
        let task = &all[process.task.0 as usize];
        match process.task {
            TaskId(0) => {
                task.messages(all[8].context.query().endpoint)?;
                task.context.advance_until(|| task.context.is_at_rest())?;
            }
            TaskId(8) => {
                // The request has come long before.
                let until = process.platform.now_ps() + 50_000_000;
                while process.platform.now_ps() < until {
                    // Time goes on with the accesses.
                    open_flows(&process.platform)?;
                }
                task.context.destroy()?;
                Task::open(&here[8])?.receive()?;
            }
            _ => {}
        }
        open_flows(&process.platform)
    };
    let (open, _) = job.each("runs", Until::Quiet, run).expect("all end");
    assert_eq!((open[0], open[8]), (0, 0), "the fixed route");
}
