// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software threads of all nodes of a job as groups, each thread bound to a hardware thread (AF-1, AF-5).

use std::cell::RefCell;
use std::rc::Rc;

use gyre_affinity::{Place, Processor, Tree};
use gyre_collectives::{Collectives, Error, Geometry, Member, ThreadGroup, ThreadMember};
use gyre_driver::{Client, TaskId};
use gyre_sim::{ActorError, RunReport, SimError, Until};

use crate::job::{Job, Process};
use crate::platform::{SimPlatform, Transfers};

/// Dispatch identifier of the collectives of leaders.
const DISPATCH: u8 = 8;

/// A software thread for every hardware thread of every node: a process for each core, as many threads in
/// it as the core has. Software thread `s` of a node is thread `s % threads` of the node's process
/// `s / threads`.
pub struct ThreadTeam {
    job: Job,
    /// Software threads of a process, and processes of a node.
    threads: usize,
    processes: usize,
    layout: Rc<ThreadLayout>,
    members: Rc<Vec<RefCell<ThreadMember<SimPlatform>>>>,
}

/// Which hardware thread each software thread of each node runs on, and by which tree a node's threads are
/// joined.
pub struct ThreadLayout {
    /// By node, then by number of the software thread.
    pub hardware: Vec<Vec<usize>>,
    /// By node.
    pub trees: Vec<Tree>,
}

impl ThreadLayout {
    /// The layout of `hardware` with the trees that `tree` makes of the places of each node's threads.
    ///
    /// # Errors
    /// Those of `tree`.
    ///
    /// # Panics
    /// When the processor has no such hardware thread.
    pub fn new<E>(
        processor: &Processor,
        hardware: Vec<Vec<usize>>,
        tree: impl Fn(&[Place]) -> Result<Tree, E>,
    ) -> Result<Self, E> {
        let trees = hardware.iter().map(|node| {
            let place = |&thread: &usize| processor.place(thread).expect("a hardware thread");
            tree(&node.iter().map(place).collect::<Vec<_>>())
        });
        Ok(Self {
            trees: trees.collect::<Result<_, _>>()?,
            hardware,
        })
    }

    /// Has the software thread that calls this, number `thread` of its node, run where the layout says.
    fn bind(&self, process: &Process, thread: usize) {
        let bound = process.platform.run_on(self.hardware[process.node][thread]);
        assert!(bound, "the layout was made for the processor");
    }
}

impl ThreadTeam {
    /// Makes the software threads of every node of `job` a group, along with those of the other nodes. The job has
    /// as many tasks on every node as its processor has cores, in the order of the nodes.
    ///
    /// # Errors
    /// The first thread's error, or a machine that stopped.
    ///
    /// # Panics
    /// When `layout` has not one hardware thread for every software thread.
    pub fn open(mut job: Job, layout: ThreadLayout) -> Result<Self, SimError> {
        let processor = job.processor();
        let threads = usize::from(processor.threads);
        let processes = usize::from(processor.modules) * usize::from(processor.cores);
        let nodes = layout.trees.len();
        let layout = Rc::new(layout);
        let leaders: Vec<TaskId> = (0..nodes)
            .map(|node| TaskId((node * processes + layout.trees[node].root() / threads) as u32))
            .collect();
        let enter = move |process: Process| {
            if nodes == 1 || !leaders.contains(&process.task) {
                return Ok(None);
            }
            let client = Client::create(&process.platform, process.client("leaders"))?;
            let geometry = Geometry::task_list(&client, "leaders", 1, leaders.clone(), 1)?;
            let context = client.create_context(0)?;
            let member = Collectives::attach(&context, DISPATCH)?.join(&geometry)?;
            Ok::<_, Error>(Some(member))
        };
        let (leaders, _) = job.each("opens its context", Until::Quiet, enter)?;
        let leaders: Vec<RefCell<Option<Member<SimPlatform>>>> =
            leaders.into_iter().map(RefCell::new).collect();
        let hardware = Rc::clone(&layout);
        let join = move |process: Process, number: usize| {
            let task = process.task.0 as usize;
            let thread = task % processes * threads + number;
            let tree = &hardware.trees[process.node];
            hardware.bind(&process, thread);
            let leader = match thread == tree.root() {
                true => leaders[task].take(),
                false => None,
            };
            let group = ThreadGroup::new("threads", 1, tree.clone()).among(process.node, nodes);
            group
                .join(&process.platform, thread, leader)
                .map(RefCell::new)
        };
        let (members, _) = job.threads("joins", threads, Until::Quiet, join)?;
        Ok(Self {
            job,
            threads,
            processes,
            layout,
            members: Rc::new(members),
        })
    }

    /// Runs `body` in every software thread. Gives what they returned, by node and then by thread, and the machine's
    /// report.
    ///
    /// # Errors
    /// The first thread's error, or a machine that stopped.
    pub fn run<T, E>(
        &mut self,
        name: &str,
        body: impl Fn(usize, &mut ThreadMember<SimPlatform>) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, RunReport), SimError>
    where
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        let members = Rc::clone(&self.members);
        let layout = Rc::clone(&self.layout);
        let (threads, processes) = (self.threads, self.processes);
        let body = move |process: Process, number: usize| {
            let task = process.task.0 as usize;
            layout.bind(&process, task % processes * threads + number);
            let member = &members[task * threads + number];
            body(process.node, &mut member.borrow_mut())
        };
        self.job.threads(name, threads, Until::Quiet, body)
    }

    /// Cache lines that have gone from one hardware thread to another since the machine began, of every node.
    #[must_use]
    pub fn transfers(&self) -> Vec<Transfers> {
        let nodes = self.job.tasks() as usize / self.processes;
        let first = |node: usize| TaskId((node * self.processes) as u32);
        (0..nodes).map(|n| self.job.transfers(first(n))).collect()
    }
}
