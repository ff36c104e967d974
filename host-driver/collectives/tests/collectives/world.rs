// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks on the driver's test double, their geometries, and a serial reference of every collective.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_collectives::{
    Algorithm, Collectives, DataType, Done, Error, Geometry, Initiator, Member, ReduceOp, Request,
};
use gyre_driver::{
    BufferRange, Client, ClientConfig, Context, Coord, Resources, TaskId, TaskMap, advancev,
};
pub use gyre_testkit::Double;
pub use gyre_testkit::contents;
use gyre_testkit::{Memory, Process, config};
use parking_lot::Mutex;

pub type Range = BufferRange<Memory>;
pub type Call = Request<Memory>;
pub type Place = Process;

/// Dispatch identifier of the collectives.
const DISPATCH: u8 = 9;

/// A client with `contexts` contexts in every task; those of parts of tasks on other nodes come last.
pub struct World {
    pub double: Double,
    pub clients: Vec<Client<Process>>,
    /// Of each task, by context.
    pub contexts: Vec<Vec<Context<Process>>>,
    pub collectives: Vec<Vec<Collectives<Process>>>,
    /// Whether `advance` may report wrong messages.
    pub tolerant: AtomicCell<bool>,
    /// Turns of all contexts in which nothing happens, after which the world is taken to hang.
    pub patience: AtomicCell<usize>,
}

/// How a collective ended at a member.
pub type Ends = Arc<Mutex<Vec<Option<Result<(), Error>>>>>;

impl World {
    /// Task `t` on node `nodes[t]` of a ring; packets overtake each other in an order picked by `seed`.
    pub fn new(nodes: &[usize], contexts: u8, seed: u64) -> Self {
        Self::with_away(nodes, contexts, &[], seed)
    }

    /// The same; contexts of some tasks live on nodes of their own: (task, contexts, node).
    pub fn with_away(
        nodes: &[usize],
        contexts: u8,
        away: &[(u32, core::ops::Range<u8>, usize)],
        seed: u64,
    ) -> Self {
        let away_nodes = away.iter().map(|(_, _, node)| node);
        let size = nodes.iter().chain(away_nodes).max().expect("a task") + 1;
        let double = Double::new(size, seed);
        double.reorder();
        let mut tasks = TaskMap::clone(&double.tasks(nodes));
        let at = |node: usize| Coord([node as u8, 0, 0, 0, 0]);
        for (task, contexts, node) in away {
            let added = tasks.with_away(TaskId(*task), contexts.clone(), at(*node));
            tasks = added.expect("a part of a task");
        }
        let tasks = Arc::new(tasks);
        let processes = (0..).zip(nodes.iter().copied());
        let processes = processes.chain(away.iter().map(|(task, _, node)| (*task, *node)));
        let clients: Vec<(u32, usize, Client<Process>)> = processes
            .map(|(task, node)| {
                let resources = Resources {
                    injection_ring: 4096,
                    remote_get_ring: 4096,
                    reception_ring: 8192,
                    counters: 8,
                    slots_per_process: 1,
                    ..Resources::default()
                };
                let config = ClientConfig {
                    contexts,
                    ..config(&tasks, task, resources)
                };
                let client = Client::create(&double.process(node), config);
                (task, node, client.expect("the double has the resources"))
            })
            .collect();
        let contexts: Vec<Vec<_>> = (0..nodes.len() as u32)
            .map(|task| {
                let open = |context| {
                    let place = tasks.place(TaskId(task), context).expect("a task");
                    let lives = |c: &&(u32, usize, Client<_>)| c.0 == task && at(c.1) == place.node;
                    let (_, _, client) = clients.iter().find(lives).expect("a process");
                    client.create_context(context).expect("it is free")
                };
                (0..contexts).map(open).collect()
            })
            .collect();
        let clients = clients.into_iter().map(|(_, _, client)| client).collect();
        let collectives = contexts
            .iter()
            .map(|task| {
                let attach = |c| Collectives::attach(c, DISPATCH).expect("the identifier is free");
                task.iter().map(attach).collect()
            })
            .collect();
        Self {
            double,
            clients,
            contexts,
            collectives,
            tolerant: AtomicCell::new(false),
            patience: AtomicCell::new(100),
        }
    }

    /// The members of a geometry, by rank.
    pub fn join(&self, geometry: &Geometry) -> Vec<Member<Process>> {
        let endpoints = geometry.endpoints().iter();
        endpoints
            .map(|e| {
                let task = &self.collectives[e.task().0 as usize];
                let member = task[usize::from(e.context_offset())].join(geometry);
                member.expect("an endpoint of the geometry")
            })
            .collect()
    }

    /// A geometry of (task, context) pairs.
    pub fn endpoints(&self, number: u16, endpoints: &[(u32, u8)]) -> Geometry {
        let of = |&(task, context): &(u32, u8)| self.clients[0].endpoint(TaskId(task), context);
        let list: Result<Vec<_>, _> = endpoints.iter().map(of).collect();
        let list = list.expect("endpoints of the client");
        Geometry::endpoint_list(&format!("geometry {number}"), number, list).expect("it is valid")
    }

    /// Memory of a task with contents.
    pub fn buffer(&self, task: TaskId, data: &[u8]) -> Range {
        self.contexts[task.0 as usize][0].platform().buffer(data)
    }

    /// Advances all contexts until all that was started has ended at all members, and nothing is left.
    pub fn run(&self, ends: &Ends) {
        self.run_until(|| ends.lock().iter().all(Option::is_some));
    }

    /// Advances all contexts until `over` holds and nothing is left.
    pub fn run_until(&self, over: impl Fn() -> bool) {
        const MOST: usize = 1_000_000;
        let all: Vec<_> = self.contexts.iter().flatten().cloned().collect();
        let mut idle = 0;
        for _ in 0..MOST {
            self.double.wind_up();
            let progress = advancev(&all, 1);
            if let Err(error) = &progress {
                assert!(self.tolerant.load(), "{error}");
            }
            let moved = self.double.step();
            if moved || progress.map_or(true, |progress| !progress.is_idle()) {
                idle = 0;
                continue;
            }
            if over() && all.iter().all(Context::is_at_rest) {
                return;
            }
            idle += 1;
            assert!(idle < self.patience.load(), "hangs");
        }
        panic!("no end after {MOST} turns of all contexts");
    }
}

/// A place to note the end of `count` operations.
pub fn ends(count: usize) -> Ends {
    Arc::new(Mutex::new(vec![None; count]))
}

/// A done callback that notes the end of operation `number`.
pub fn note(ends: &Ends, number: usize) -> Option<Done<Process>> {
    let ends = Arc::clone(ends);
    Some(Box::new(move |_, result| {
        let before = ends.lock()[number].replace(result);
        assert_eq!(before, None, "operation {number} ended twice");
    }))
}

/// Buffers of every member of a collective, before and after: the bytes of each task, by position.
pub struct Case {
    /// The request of a position on its buffers: (send, receive).
    pub request: Box<dyn Fn(usize, Range, Range) -> Call>,
    /// Contents of send buffers before.
    pub send: Vec<Vec<u8>>,
    /// Contents of receive buffers before.
    pub before: Vec<Vec<u8>>,
    /// Contents of receive buffers after.
    pub after: Vec<Vec<u8>>,
}

impl Case {
    /// A broadcast from `root` where receive buffers hold `before`.
    pub fn broadcast(root: usize, before: Vec<Vec<u8>>) -> Self {
        Self {
            request: Box::new(move |_, _, receive| Request::broadcast(root, receive)),
            send: vec![vec![]; before.len()],
            after: vec![before[root].clone(); before.len()],
            before,
        }
    }
}

/// Runs a case on all members and checks what came out; send buffers must be as before. The first endpoint of a task
/// that hears of the end finds the result there, and may use the task's buffers for something else from then on.
pub fn check(
    world: &World,
    members: &[Member<Process>],
    algorithm: Option<Algorithm>,
    case: &Case,
    what: &str,
) {
    let ends = ends(members.len());
    let geometry = members[0].geometry().clone();
    let buffers: Vec<(Range, Range)> = (0..geometry.tasks().len())
        .map(|position| {
            let task = geometry.tasks()[position];
            let send = world.buffer(task, &case.send[position]);
            (send, world.buffer(task, &case.before[position]))
        })
        .collect();
    let found: Found = Arc::new(Mutex::new(vec![None; buffers.len()]));
    let mut away = BTreeMap::new();
    for (number, member) in members.iter().enumerate() {
        let position = member.position();
        let (send, receive) = buffers[position].clone();
        let endpoint = geometry.endpoints()[number];
        let context = usize::from(endpoint.context_offset());
        let platform = world.contexts[endpoint.task().0 as usize][context].platform();
        let home = world.contexts[endpoint.task().0 as usize][0].platform();
        let (send, receive) = match platform.node == home.node {
            true => (send, receive),
            // Memory of its own node, which is not checked.
            false => {
                let new = || {
                    let (send, receive) = (vec![0xaa; send.len()], vec![0xbb; receive.len()]);
                    (platform.buffer(&send), platform.buffer(&receive))
                };
                away.entry((position, platform.node))
                    .or_insert_with(new)
                    .clone()
            }
        };
        let request = (case.request)(position, send, receive);
        let done = find(note(&ends, number), &found, position, &buffers[position]);
        let posted = member.post_as(Initiator::All, algorithm, request, done);
        posted.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    world.run(&ends);
    for (rank, end) in ends.lock().iter().enumerate() {
        assert_eq!(end, &Some(Ok(())), "{what}: rank {rank}");
    }
    for (position, found) in found.lock().iter_mut().enumerate() {
        let (send, receive) = found.take().expect("an endpoint has ended");
        let right = receive == case.after[position];
        assert!(right, "{what}: position {position}");
        let same = send == case.send[position];
        assert!(same, "{what}: send buffer {position}");
    }
}

/// Contents of the send and receive buffers of each position when the first of its endpoints had ended.
type Found = Arc<Mutex<Vec<Option<(Vec<u8>, Vec<u8>)>>>>;

/// A done callback that notes what a position's buffers hold, and writes over them, before it calls `done`.
fn find(
    done: Option<Done<Process>>,
    found: &Found,
    position: usize,
    (send, receive): &(Range, Range),
) -> Option<Done<Process>> {
    let (found, send, receive) = (Arc::clone(found), send.clone(), receive.clone());
    Some(Box::new(move |context, result| {
        let found = &mut found.lock()[position];
        if found.is_none() {
            *found = Some((contents(&send), contents(&receive)));
            for used in [&send, &receive] {
                used.write(0, &vec![0x5a; used.len()]).expect("inside");
            }
        }
        if let Some(done) = done {
            done(context, result);
        }
    }))
}

/// Bytes that tell where they come from.
pub fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (seed * 89 + i * 7 + i / 251 + 1) as u8)
        .collect()
}

/// Combines in the order of positions, element by element: the serial reference.
pub fn reduced(data: DataType, op: ReduceOp, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut result = inputs[0].clone();
    for input in &inputs[1..] {
        op.combine(data, input, &mut result, false);
    }
    result
}
