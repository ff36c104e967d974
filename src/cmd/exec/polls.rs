// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that wait for what never comes: each poll takes simulated time, so that the machine never stands still.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use gyre_remote::{Activity, Stuck};
use gyre_sim::ReadableTime;

/// Polls in a row that find nothing, of every task that polls, after which the job is stuck. A program that gives up
/// polling does so earlier.
const MANY: u32 = 10_000;

/// Simulated time without an action after which a job of which nobody polls is stuck, picoseconds: messages are on their way
/// for less.
const LONG_PS: u64 = 1_000_000_000_000;

/// Looks at a barrier between two checks of all threads.
const CHECKS: u32 = 16;

/// Requests between two looks at the host's clock.
const LIMIT_CHECKS: u32 = 1024;

/// States of the threads of a job's tasks.
pub struct Polls(RefCell<Threads>);

struct Threads {
    /// By task and number in it.
    states: BTreeMap<(u32, u32), State>,
    /// Actions of all threads, and the time of the last one, picoseconds.
    actions: u64,
    last_ps: u64,
    /// The same in host time, and requests since it was looked at.
    last: Instant,
    requests: u32,
    /// Tasks that have ended with open clients.
    amid: BTreeSet<u32>,
}

#[derive(Clone, Copy)]
enum State {
    Runs,
    /// It has polled this often since so many actions.
    Polls(u32, u64),
    /// It sleeps until it is woken.
    Parked,
    /// It has looked this often whether all have come to a barrier.
    Meets(u32),
}

impl Threads {
    /// Whether a thread in this state needs an action of another one to go on.
    fn waits(&self, state: State) -> bool {
        match state {
            State::Runs => false,
            State::Polls(polls, actions) => polls >= MANY && actions == self.actions,
            State::Parked | State::Meets(_) => true,
        }
    }

    /// Tasks with a thread that is in such a state.
    fn such(&self, is: impl Fn(State) -> bool) -> BTreeSet<u32> {
        let such = self.states.iter().filter(|&(_, &state)| is(state));
        such.map(|(&(task, _), _)| task).collect()
    }

    /// Names who waits for what.
    fn stuck(&self) -> Stuck {
        let poll = self.such(|state| matches!(state, State::Polls(..)));
        // Of a task whose threads do several of these, the first.
        let meet = &self.such(|state| matches!(state, State::Meets(_))) - &poll;
        let sleep = &(&self.such(|state| matches!(state, State::Parked)) - &poll) - &meet;
        let vain = format!(
            "in {MANY} polls in a row nothing has come, and nobody has sent anything or looked at a clock: tasks "
        );
        let all = [
            (vain.as_str(), poll),
            ("sleep until they are woken: tasks ", sleep),
            (
                "wait for all tasks, at the start or end of a client or of MPI: tasks ",
                meet,
            ),
        ];
        let named = all.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        let named = named.map(|(what, tasks)| format!("{what}{}", listed(&tasks)));
        let named: Vec<String> = named.collect();
        let amid = match self.amid.is_empty() {
            true => String::new(),
            false => format!(
                "; tasks that have ended without destroying their clients: {}",
                listed(&self.amid)
            ),
        };
        Stuck {
            text: format!(
                "deadlock: {}{amid}; the last progress was at {}",
                named.join("; others "),
                ReadableTime(self.last_ps)
            ),
            since_ps: Some(self.last_ps),
        }
    }
}

impl Polls {
    /// Tasks of one thread each that have not begun.
    pub fn new(tasks: usize) -> Self {
        // A job has fewer than 2^32.
        let first = (0..tasks as u32).map(|task| ((task, 0), State::Runs));
        Self(RefCell::new(Threads {
            states: first.collect(),
            actions: 0,
            last_ps: 0,
            last: Instant::now(),
            requests: 0,
            amid: BTreeSet::new(),
        }))
    }

    /// The task has ended, and with it all its threads; `amid`: with open clients.
    pub fn end(&self, task: u32, amid: bool) {
        let threads = &mut *self.0.borrow_mut();
        threads.states.retain(|&(of, _), _| of != task);
        if amid {
            threads.amid.insert(task);
        }
    }

    /// Looks at the host's clock now and then: requests alone are no progress.
    ///
    /// # Errors
    /// Whether no task has acted for this host time.
    pub fn check_limit(&self, limit: Duration) -> Result<(), Stuck> {
        let threads = &mut *self.0.borrow_mut();
        threads.requests = threads.requests.wrapping_add(1);
        if !threads.requests.is_multiple_of(LIMIT_CHECKS) || threads.last.elapsed() < limit {
            return Ok(());
        }
        Err(Stuck {
            text: format!(
                "nobody has sent anything or looked at a clock for {} s of the host's time; the last progress was at {}",
                limit.as_secs(),
                ReadableTime(threads.last_ps)
            ),
            since_ps: Some(threads.last_ps),
        })
    }

    /// A thread of a task has ended.
    pub fn end_thread(&self, task: u32, thread: u32) {
        self.0.borrow_mut().states.remove(&(task, thread));
    }

    /// Notes the activity of a thread at its time.
    ///
    /// # Errors
    /// Whether all tasks wait for events that never come.
    pub fn note(
        &self,
        (task, thread): (u32, u32),
        activity: Activity,
        now_ps: u64,
    ) -> Result<(), Stuck> {
        let threads = &mut *self.0.borrow_mut();
        let state = threads.states.entry((task, thread)).or_insert(State::Runs);
        *state = match (activity, *state) {
            (Activity::Acts, _) => {
                threads.actions += 1;
                threads.last_ps = threads.last_ps.max(now_ps);
                threads.last = Instant::now();
                State::Runs
            }
            (Activity::Parks, _) => State::Parked,
            (Activity::Meets, State::Meets(looks)) => State::Meets(looks.saturating_add(1)),
            (Activity::Meets, _) => State::Meets(1),
            // Between two looks at the barrier.
            (Activity::Polls, State::Meets(looks)) => State::Meets(looks),
            (Activity::Polls, State::Polls(polls, actions)) if actions == threads.actions => {
                State::Polls(polls.saturating_add(1), actions)
            }
            (Activity::Polls, _) => State::Polls(1, threads.actions),
        };
        // All are looked at when this one has just come so far, and now and then after that.
        let due = match (activity, *state) {
            (_, State::Polls(polls, _)) => polls >= MANY && polls % CHECKS == 0,
            (Activity::Meets, State::Meets(looks)) => {
                looks % CHECKS == 0 && now_ps.saturating_sub(threads.last_ps) >= LONG_PS
            }
            _ => false,
        };
        match due && threads.states.values().all(|&state| threads.waits(state)) {
            true => Err(threads.stuck()),
            false => Ok(()),
        }
    }
}

fn listed(tasks: &BTreeSet<u32>) -> String {
    let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
    tasks.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(polls: &Polls, task: u32, activity: Activity) -> Result<(), Stuck> {
        polls.note((task, 0), activity, 0)
    }

    fn poll(polls: &Polls, task: u32, count: u32) -> Result<(), Stuck> {
        (0..count).try_for_each(|_| note(polls, task, Activity::Polls))
    }

    #[test]
    fn x6_tasks_are_stuck_when_all_poll_in_vain_or_sleep() {
        let polls = Polls::new(5);
        polls.end(3, true);
        polls
            .note((4, 0), Activity::Acts, 12_345_000)
            .expect("others run");
        note(&polls, 4, Activity::Meets).expect("others run");
        note(&polls, 2, Activity::Parks).expect("others run");
        poll(&polls, 0, 3 * MANY).expect("task 1 runs");
        poll(&polls, 1, MANY - 1).expect("not so often yet");
        let stuck = poll(&polls, 1, 16).expect_err("all wait");
        assert_eq!(stuck.since_ps, Some(12_345_000));
        let text = stuck.text;
        assert!(text.starts_with("deadlock: in 10000 polls"), "{text}");
        for words in [
            "tasks 0, 1; others sleep until they are woken: tasks 2; ",
            "others wait for all tasks, at the start or end of a client or of MPI: tasks 4; ",
            "tasks that have ended without destroying their clients: 3; ",
            "the last progress was at 12.345 us",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn x6_who_acts_has_all_begin_to_count_again() {
        let polls = Polls::new(2);
        poll(&polls, 0, 2 * MANY).expect("task 1 runs");
        poll(&polls, 1, MANY - 1).expect("not so often yet");
        note(&polls, 1, Activity::Acts).expect("it acts");
        poll(&polls, 1, 2 * MANY).expect("task 0 may find what has been sent");
        poll(&polls, 0, MANY - 16).expect("not so often since");
        note(&polls, 0, Activity::Acts).expect("it acts");
        poll(&polls, 1, MANY).expect("task 0 has acted");
    }

    #[test]
    fn x6_requests_without_an_action_end_at_the_limit_of_host_time() {
        let polls = Polls::new(1);
        let ask = |limit| (0..LIMIT_CHECKS).try_for_each(|_| polls.check_limit(limit));
        ask(Duration::from_secs(600)).expect("not so long yet");
        let stuck = ask(Duration::ZERO).expect_err("nobody acts").text;
        assert!(stuck.contains("for 0 s of the host's time"), "{stuck}");
    }

    #[test]
    fn x6_a_task_is_stuck_when_all_its_threads_are() {
        let polls = Polls::new(2);
        let note = |of, activity| polls.note(of, activity, 0);
        note((0, 1), Activity::Parks).expect("others run");
        note((1, 3), Activity::Acts).expect("it acts");
        poll(&polls, 0, 3 * MANY).expect("task 1 runs");
        poll(&polls, 1, 3 * MANY).expect("its other thread runs");
        polls.end_thread(1, 3);
        let stuck = poll(&polls, 1, 16).expect_err("all wait").text;
        assert!(stuck.contains("tasks 0, 1; the last"), "{stuck}");
    }

    #[test]
    fn x6_a_task_that_waits_for_all_at_a_barrier_is_stuck_when_nobody_else_can_come() {
        let polls = Polls::new(3);
        let meet = |now_ps| {
            let look = |_| {
                polls.note((0, 0), Activity::Meets, now_ps)?;
                polls.note((0, 0), Activity::Polls, now_ps)
            };
            (0..2 * CHECKS).try_for_each(look)
        };
        polls.note((1, 0), Activity::Acts, 5).expect("others run");
        polls.note((1, 0), Activity::Parks, 5).expect("others run");
        meet(3 * LONG_PS).expect("task 2 runs");
        polls.note((2, 0), Activity::Parks, 7).expect("others run");
        meet(LONG_PS).expect("a message may be on its way");
        let stuck = meet(LONG_PS + 5).expect_err("nobody comes").text;
        assert!(stuck.contains("tasks 1, 2; others wait for all"), "{stuck}");
        // A message has woken task 1.
        polls
            .note((1, 0), Activity::Acts, LONG_PS)
            .expect("it acts");
        polls.note((1, 0), Activity::Parks, LONG_PS).expect("again");
        meet(LONG_PS + 5).expect("not long ago");
    }
}
