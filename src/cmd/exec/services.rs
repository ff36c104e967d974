// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services of the machine for the threads of a program's tasks, beside the platform of their nodes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use gyre::job::Process;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre_driver::AllocError;
use gyre_remote::{
    Activity, PmiError, PmiReply, ProcessError, ProcessRange, ServeThread, Stuck, TaskEnd, TaskHost,
};
use gyre_sim::{ActorId, Cpu, Notify, OutsideMemory, WakeReason};

use super::screen::Screen;
use super::shared::JobWide;

/// Bytes of a memory beat. What is aligned in a process is aligned for the DMA engine.
const BEAT: usize = 64;

/// Simulated time that passes at once without a silent task, picoseconds.
const STEP_PS: u64 = 10_000_000;

/// Simulated time between polls of a barrier of the start-up protocol, picoseconds.
const LEAST_LOOK_PS: u64 = 1_000_000;
const MOST_LOOK_PS: u64 = 16_000_000;

/// Most threads of a task at a time.
const MOST_THREADS: usize = 1024;

/// Services of the machine for a thread of a task.
#[derive(Clone)]
pub struct Services {
    /// The task, and where it is.
    at: Process,
    job: Rc<JobWide>,
    screen: Rc<RefCell<Screen>>,
    /// Number of the thread in its task.
    thread: u32,
    /// All threads of the task, by number.
    threads: Rc<RefCell<BTreeMap<u32, Thread>>>,
}

/// A thread of a task.
#[derive(Clone)]
struct Thread {
    actor: ActorId,
    parked: Rc<Parked>,
}

/// Where a thread waits for others of its task.
struct Parked {
    /// Woken since it waited last.
    woken: Cell<bool>,
    news: Notify,
}

impl Parked {
    fn new(cpu: &Cpu) -> Self {
        Self {
            woken: Cell::new(false),
            news: Notify::new(cpu),
        }
    }

    /// Waits until it is woken, or the deadline; whether it was woken.
    fn wait(&self, cpu: &Cpu, deadline_ps: Option<u64>) -> bool {
        // Who wakes it before its own time has done so when it looks, and nobody runs between the look and the wait.
        cpu.catch_up();
        let mut reason = WakeReason::Wake;
        while !self.woken.get() && reason == WakeReason::Wake {
            reason = self.news.wait(deadline_ps);
        }
        self.woken.replace(false)
    }

    fn wake(&self) {
        self.woken.set(true);
        self.news.notify_all();
    }
}

impl Services {
    /// For the first thread of a task, which runs.
    pub fn of_first(at: &Process, job: &Rc<JobWide>, screen: &Rc<RefCell<Screen>>) -> Self {
        let cpu = at.platform.cpu();
        let first = Thread {
            actor: cpu.running().expect("a task runs"),
            parked: Rc::new(Parked::new(cpu)),
        };
        Self {
            at: at.clone(),
            job: Rc::clone(job),
            screen: Rc::clone(screen),
            thread: 0,
            threads: Rc::new(RefCell::new(BTreeMap::from([(0, first)]))),
        }
    }

    fn task(&self) -> u32 {
        self.at.task.0
    }

    /// A thread, not the last of the task, has ended.
    fn thread_ended(&self, thread: u32) {
        self.threads.borrow_mut().remove(&thread);
        self.job.polls.end_thread(self.task(), thread);
    }

    /// The task has ended so, which this thread has seen: others do not wait for it.
    ///
    /// # Errors
    /// What it has ended with.
    pub fn task_ended(&self, end: Result<TaskEnd, ProcessError>) -> Result<(), ProcessError> {
        let task = self.task();
        self.job.barrier.end(task);
        self.job.start_up.end(task);
        let end = end?;
        self.job.polls.end(task, end == TaskEnd::Amid);
        if end == TaskEnd::Amid {
            self.screen.borrow_mut().amid.push(task);
        }
        Ok(())
    }

    /// Comes to a barrier of the start-up protocol, and waits in simulated time until all have.
    fn await_others(&self) -> Result<(), PmiError> {
        let cpu = self.at.platform.cpu();
        let start_ps = cpu.now_ps();
        self.job.start_up.arrive(self.task(), start_ps);
        loop {
            let now_ps = cpu.now_ps();
            let all = self.job.start_up.have_arrived(self.task(), now_ps);
            if all.map_err(PmiError::Barrier)? {
                return Ok(());
            }
            self.notice(Activity::Meets).map_err(PmiError::Stuck)?;
            // Who has waited for long looks less often.
            let pause_ps = ((now_ps - start_ps) / 8).clamp(LEAST_LOOK_PS, MOST_LOOK_PS);
            cpu.sleep_until(now_ps + pause_ps);
        }
    }
}

impl TaskHost<SimPlatform> for Services {
    fn map(&self, range: ProcessRange, offset: Option<u64>) -> Result<NodeBuffer, AllocError> {
        let outside = Box::new(InProcess {
            range: range.clone(),
            task: self.task(),
            trouble: Rc::clone(&self.job.trouble),
        });
        match offset {
            Some(offset) => self.at.platform.map_at(offset, range.len(), outside),
            None => {
                let skew = range.address() % BEAT;
                self.at.platform.map(range.len(), skew, outside)
            }
        }
    }

    fn sleep_until(&self, ps: u64) {
        self.at.platform.cpu().sleep_until(ps);
    }

    fn catch_up(&self) {
        self.at.platform.cpu().catch_up();
    }

    fn compute(&self, ps: u64) {
        self.at.platform.cpu().charge_ps(ps);
    }

    fn go_on_without(&self) {
        let task = self.task();
        self.screen.borrow_mut().alone.get_or_insert(task);
        let now_ps = self.at.platform.cpu().now_ps();
        self.at.platform.cpu().sleep_until(now_ps + STEP_PS);
    }

    fn arrive(&self) {
        let now_ps = self.at.platform.cpu().now_ps();
        self.job.barrier.arrive(self.task(), now_ps);
    }

    fn have_arrived(&self) -> Result<bool, String> {
        let now_ps = self.at.platform.cpu().now_ps();
        self.job.barrier.have_arrived(self.task(), now_ps)
    }

    fn start_thread(&self, number: u32, serve: ServeThread<SimPlatform>) -> Result<(), String> {
        if self.threads.borrow().len() == MOST_THREADS {
            return Err(format!("a task has at most {MOST_THREADS} at a time"));
        }
        let services = Self {
            thread: number,
            ..self.clone()
        };
        let name = format!("task {} thread {number}", self.task());
        // It runs, as far as others may wait for it.
        let cpu = self.at.platform.cpu();
        let noted = self
            .job
            .polls
            .note((self.task(), number), Activity::Acts, cpu.now_ps());
        noted.map_err(|stuck| stuck.text)?;
        let parked = Rc::new(Parked::new(cpu));
        let place = self.at.hardware_thread(number as usize);
        let actor = cpu.spawn(&name, move |cpu| {
            cpu.run_on(place);
            match serve(&services.at.platform, &services) {
                Ok(None) => {
                    services.thread_ended(number);
                    Ok(())
                }
                Ok(Some(end)) => services.task_ended(Ok(end)),
                Err(error) => services.task_ended(Err(error)),
            }
        });
        let thread = Thread { actor, parked };
        self.threads.borrow_mut().insert(number, thread);
        Ok(())
    }

    fn end_thread(&self, thread: u32) {
        let Some(known) = self.threads.borrow().get(&thread).cloned() else {
            return;
        };
        self.at.platform.cpu().end(known.actor);
        self.thread_ended(thread);
    }

    fn end_others(&self) {
        let others: Vec<u32> = self.threads.borrow().keys().copied().collect();
        for other in others.into_iter().filter(|&other| other != self.thread) {
            self.end_thread(other);
        }
    }

    fn park(&self, deadline_ps: Option<u64>) -> bool {
        let parked = Rc::clone(&self.threads.borrow()[&self.thread].parked);
        let cpu = self.at.platform.cpu();
        cpu.describe_wait("another thread of its task");
        parked.wait(cpu, deadline_ps)
    }

    fn unpark(&self, thread: u32) {
        let known = self.threads.borrow().get(&thread).cloned();
        if let Some(known) = known {
            known.parked.wake();
        }
    }

    fn count_request(&self) {
        self.job.requests.set(self.job.requests.get() + 1);
    }

    fn check_limit(&self) -> Result<(), Stuck> {
        self.job.polls.check_limit(self.job.limit)
    }

    fn notice(&self, activity: Activity) -> Result<(), Stuck> {
        if let Some(text) = &*self.job.trouble.borrow() {
            return Err(Stuck {
                text: text.clone(),
                since_ps: None,
            });
        }
        let now_ps = self.at.platform.cpu().now_ps();
        self.job
            .polls
            .note((self.task(), self.thread), activity, now_ps)
    }

    fn start_up(&self, line: &str) -> Result<Option<String>, PmiError> {
        // While the task waits, others use the server.
        let reply = self.job.pmi.borrow_mut().ask(self.task(), line)?;
        match reply {
            PmiReply::Answer(answer) => Ok(Some(answer)),
            PmiReply::Nothing => Ok(None),
            PmiReply::Barrier => {
                self.await_others()?;
                self.notice(Activity::Acts).map_err(PmiError::Stuck)?;
                Ok(Some(self.job.pmi.borrow_mut().pass(self.task())))
            }
        }
    }
}

/// Memory of a process that node memory stands for.
struct InProcess {
    range: ProcessRange,
    task: u32,
    trouble: Rc<RefCell<Option<String>>>,
}

impl InProcess {
    /// Notes the result of an access; where no other will succeed, the run ends.
    fn noted(&self, done: bool) -> bool {
        if !done && let Some(text) = self.range.trouble() {
            let text = || format!("task {}: {text}", self.task);
            self.trouble.borrow_mut().get_or_insert_with(text);
        }
        done
    }
}

impl OutsideMemory for InProcess {
    fn read(&self, offset: u64, out: &mut [u8]) -> bool {
        self.noted(self.range.read(offset, out))
    }

    fn write(&self, offset: u64, data: &[u8]) -> bool {
        self.noted(self.range.write(offset, data))
    }
}
