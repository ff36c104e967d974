// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acknowledgements by the path rule on the Verilated machine: one packet to the farthest recipient, of which
//! the routers leave a copy at every node on the way (AK-4).

#[path = "../../host-driver/driver/tests/driver/checked.rs"]
mod checked;

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::{Job, Process};
use gyre::placement::Placement;
use gyre::platform::SimPlatform;
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Context, CostTable, Error, Fence, Platform,
    Receive, SendImmediate, SendMessage, TaskId,
};
use gyre_layout::Kind;
use gyre_layout::registers::perf_sent;
use gyre_sim::{MachineConfig, Until};

use checked::into_checked;

const DATA: u8 = 1;
const END: u8 = 2;
const EAGER_LIMIT: usize = 2000;

/// One task, with what it has seen.
struct Task {
    context: Context<SimPlatform>,
    received: Arc<AtomicCell<usize>>,
    /// Tasks that are done.
    ended: Arc<AtomicCell<u32>>,
}

impl Task {
    /// Acknowledges by the path rule, groups of `minimum_group`.
    fn open(process: Process, minimum_group: u32) -> Result<Arc<Self>, Error> {
        let config = ClientConfig {
            eager_limit: EAGER_LIMIT,
            ack: AckConfig::by_path(minimum_group),
            ..process.client("path-ack")
        };
        let context = Client::create(&process.platform, config)?.create_context(0)?;
        let received = Arc::new(AtomicCell::new(0_usize));
        let count = Arc::clone(&received);
        let receive = move |context: &Context<SimPlatform>, arrival: &gyre_driver::Arrival<'_>| {
            let expected = pattern(arrival.origin.task().0, arrival.tag, arrival.length);
            let count = Arc::clone(&count);
            into_checked(context, expected, move || {
                count.fetch_add(1);
            })
        };
        context.set_dispatch(DATA, Box::new(receive))?;
        let ended = Arc::new(AtomicCell::new(0_u32));
        let count = Arc::clone(&ended);
        let end = move |_: &Context<SimPlatform>, _: &gyre_driver::Arrival<'_>| {
            count.fetch_add(1);
            Receive::Consumed
        };
        context.set_dispatch(END, Box::new(end))?;
        Ok(Arc::new(Self {
            context,
            received,
            ended,
        }))
    }

    /// Sends `length` bytes; the acknowledgement, which must come once, counts in `done`.
    fn send(
        &self,
        to: u32,
        tag: u32,
        length: usize,
        done: &Arc<AtomicCell<usize>>,
    ) -> Result<(), Error> {
        let data = BufferRange::whole(self.context.platform().alloc(length, 64)?);
        data.write(0, &pattern(self.context.task().0, tag, length))?;
        let done = Arc::clone(done);
        self.context.send(SendMessage {
            tag,
            remote_done: Some(Box::new(move |_, result| {
                result.expect("no error");
                done.fetch_add(1);
            })),
            ..SendMessage::new(self.context.endpoint(TaskId(to), 0)?, DATA, data)
        })
    }
}

fn pattern(origin: u32, tag: u32, length: usize) -> Vec<u8> {
    let start = (origin * 91 + tag * 31) as usize;
    (0..length)
        .map(|i| (start + i * 7 + i / 256) as u8)
        .collect()
}

fn job(dims: &[u16], mesh: bool) -> Job {
    let config = MachineConfig {
        dims: dims.to_vec(),
        mesh: vec![mesh; dims.len()],
        ..MachineConfig::default()
    };
    let ranks = dims.iter().map(|&size| usize::from(size)).product();
    let placement = Placement::new(ranks, dims, None).expect("one a node");
    Job::new(&config, &CostTable::default(), &placement, None).expect("a machine")
}

/// Acknowledgement packets of `target`, by its node's performance counter, when every other task has sent it
/// a message of `length` bytes before it looks.
fn packets(dims: &[u16], mesh: bool, target: u32, length: usize) -> u64 {
    let mut job = job(dims, mesh);
    let open = |process: Process| Task::open(process, 1000);
    let (tasks, _) = job.each("opens", Until::Done, open).expect("all open");
    let others = tasks.len() - 1;
    let done = Arc::new(AtomicCell::new(0));
    let (all, acknowledged) = (tasks.clone(), Arc::clone(&done));
    let send = move |process: Process| {
        let task = &all[process.task.0 as usize];
        if process.task.0 == target {
            return Ok(());
        }
        task.send(target, 0, length, &acknowledged)?;
        // The message leaves; its acknowledgement comes in the next phase.
        task.context.advance(4).map(|_| ())
    };
    job.each("sends", Until::Quiet, send).expect("all send");
    let run = move |process: Process| {
        let task = &tasks[process.task.0 as usize];
        let context = &task.context;
        if process.task.0 == target {
            context.advance_until(|| task.received.load() == others)?;
        }
        context.advance_until(|| context.is_at_rest())?;
        let sent = context
            .platform()
            .read_reg(perf_sent(u8::from(Kind::MemFifo).into()))?;
        Ok::<_, Error>(sent)
    };
    let (sent, _) = job.each("runs", Until::Quiet, run).expect("all end");
    assert_eq!(done.load(), others);
    sent[target as usize]
}

#[test]
fn ak4_one_packet_a_path_acknowledges_every_recipient() {
    let eager = 64;
    // A line has one path from its end and two from the middle; a ring has two.
    assert_eq!(packets(&[5], true, 0, eager), 1);
    assert_eq!(packets(&[5], true, 2, eager), 2);
    assert_eq!(packets(&[5], false, 3, eager), 2);
    assert_eq!(packets(&[6], false, 1, EAGER_LIMIT + 1), 2);
    // Paths go along a first: eight recipients lie on two paths of two, and four that pass acknowledged ones.
    assert_eq!(packets(&[3, 3], false, 4, eager), 6);
}

#[test]
fn fn1_ak4_ak5_copies_are_not_lost_doubled_or_fenced_early() {
    const LENGTHS: [usize; 6] = [16, 1500, 2500, 40, 700, 16];
    let mut job = job(&[5], true);
    let open = |process: Process| Task::open(process, 3);
    let (tasks, _) = job.each("opens", Until::Done, open).expect("all open");
    let count = tasks.len() as u32;
    let all = tasks.clone();
    let run = move |process: Process| {
        let me = process.task.0;
        let task = &all[me as usize];
        let fences = Arc::new(AtomicCell::new(0_u32));
        for peer in (0..count).map(|step| (me + step) % count) {
            let done = Arc::new(AtomicCell::new(0_usize));
            for (tag, length) in (0..).zip(LENGTHS) {
                task.send(peer, tag, length, &done)?;
            }
            let fenced = Arc::clone(&fences);
            task.context.fence(Fence {
                destination: task.context.endpoint(TaskId(peer), 0)?,
                done: Some(Box::new(move |_, result| {
                    result.expect("the target advances");
                    // FENCE_ACK may overtake copies; the fence does not.
                    assert_eq!(done.load(), LENGTHS.len());
                    fenced.fetch_add(1);
                })),
            })?;
        }
        let expected = LENGTHS.len() * count as usize;
        task.context.advance_until(|| fences.load() == count)?;
        for peer in 0..count {
            let destination = task.context.endpoint(TaskId(peer), 0)?;
            task.context
                .send_immediate(&SendImmediate::new(destination, END))?;
        }
        let at_rest = || task.ended.load() == count && task.context.is_at_rest();
        task.context.advance_until(at_rest)?;
        assert_eq!(task.received.load(), expected);
        task.context.ack_stats()
    };
    let (stats, _) = job.each("runs", Until::Quiet, run).expect("all end");
    let messages: u64 = stats.iter().map(|stats| stats.messages).sum();
    assert_eq!(messages, u64::from(count * count) * LENGTHS.len() as u64);
    assert!(
        stats
            .iter()
            .any(|stats| stats.looked_at > 0 && stats.packets < stats.messages)
    );
}
