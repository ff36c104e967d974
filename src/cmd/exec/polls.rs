// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that poll for what never comes: each poll takes simulated time, so that the machine never stands still.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use gyre_remote::Activity;

/// Polls in a row that find nothing, of every task that does not sleep for good, after which the job is stuck. A program
/// that gives up polling does so earlier.
const MANY: u32 = 10_000;

/// States of the threads of a job's tasks, by task and number in it.
pub struct Polls(RefCell<BTreeMap<(u32, u32), State>>);

#[derive(Clone, Copy)]
enum State {
    /// Running; number of polls in a row without effect.
    Runs(u32),
    /// It sleeps until it is woken, or until others come to a barrier.
    Parked,
}

impl State {
    fn waits(self) -> bool {
        match self {
            Self::Runs(polls) => polls >= MANY,
            Self::Parked => true,
        }
    }
}

impl Polls {
    /// Tasks of one thread each that have not begun.
    pub fn new(tasks: usize) -> Self {
        // A job has fewer than 2^32.
        let first = (0..tasks as u32).map(|task| ((task, 0), State::Runs(0)));
        Self(RefCell::new(first.collect()))
    }

    /// The task has ended, and with it all its threads.
    pub fn end(&self, task: u32) {
        self.0.borrow_mut().retain(|&(of, _), _| of != task);
    }

    /// A thread of a task has ended.
    pub fn end_thread(&self, task: u32, thread: u32) {
        self.0.borrow_mut().remove(&(task, thread));
    }

    /// Notes the activity of a thread.
    ///
    /// # Errors
    /// Whether all tasks wait for events that never come.
    pub fn note(&self, task: u32, thread: u32, activity: Activity) -> Result<(), String> {
        let mut threads = self.0.borrow_mut();
        let state = threads.entry((task, thread)).or_insert(State::Runs(0));
        *state = match (activity, *state) {
            (Activity::Acts, _) => State::Runs(0),
            (Activity::Parks, _) => State::Parked,
            (Activity::Polls, State::Runs(polls)) => State::Runs(polls.saturating_add(1)),
            (Activity::Polls, _) => State::Runs(1),
        };
        // All are looked at when this one has just come so far, and now and then after that.
        let due = matches!(*state, State::Runs(polls) if polls >= MANY && polls % 16 == 0);
        if !due || !threads.values().all(|state| state.waits()) {
            return Ok(());
        }
        let polls = |state: &State| matches!(state, State::Runs(_));
        let such = |is: &dyn Fn(&State) -> bool| {
            let such = threads.iter().filter(|(_, state)| is(state));
            such.map(|(&(task, _), _)| task).collect::<BTreeSet<_>>()
        };
        let (poll, sleep) = (such(&polls), such(&|state| !polls(state)));
        // Of a task whose threads do both, that it polls.
        let (poll, sleep) = (listed(&poll), listed(&(&sleep - &poll)));
        let sleepers = match sleep.as_str() {
            "" => String::new(),
            _ => format!("; others sleep until they are woken: tasks {sleep}"),
        };
        Err(format!(
            "deadlock: in {MANY} polls in a row nothing has come, and nobody has sent anything or looked at a clock: tasks \
             {poll}{sleepers}"
        ))
    }
}

fn listed(tasks: &BTreeSet<u32>) -> String {
    let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
    tasks.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(polls: &Polls, task: u32, count: u32) -> Result<(), String> {
        (0..count).try_for_each(|_| polls.note(task, 0, Activity::Polls))
    }

    #[test]
    fn x6_tasks_are_stuck_when_all_poll_in_vain_or_sleep() {
        let polls = Polls::new(4);
        polls.end(3);
        polls.note(2, 0, Activity::Parks).expect("others run");
        poll(&polls, 0, 3 * MANY).expect("task 1 runs");
        poll(&polls, 1, MANY - 1).expect("not so often yet");
        let stuck = poll(&polls, 1, 16).expect_err("all wait");
        assert!(stuck.starts_with("deadlock"), "{stuck}");
        assert!(stuck.contains("tasks 0, 1; others sleep"), "{stuck}");
        assert!(stuck.ends_with("tasks 2"), "{stuck}");
    }

    #[test]
    fn x6_who_acts_begins_to_count_again() {
        let polls = Polls::new(2);
        poll(&polls, 0, 2 * MANY).expect("task 1 runs");
        poll(&polls, 1, MANY - 1).expect("not so often yet");
        polls.note(1, 0, Activity::Acts).expect("it acts");
        poll(&polls, 1, MANY - 1).expect("not so often since");
        polls.note(0, 0, Activity::Acts).expect("it acts");
        poll(&polls, 1, MANY).expect("task 0 has acted");
    }

    #[test]
    fn x6_a_task_is_stuck_when_all_its_threads_are() {
        let polls = Polls::new(2);
        polls.note(0, 1, Activity::Parks).expect("others run");
        polls.note(1, 3, Activity::Acts).expect("it acts");
        poll(&polls, 0, 3 * MANY).expect("task 1 runs");
        poll(&polls, 1, 3 * MANY).expect("its other thread runs");
        polls.end_thread(1, 3);
        let stuck = poll(&polls, 1, 16).expect_err("all wait");
        assert!(stuck.ends_with("tasks 0, 1"), "{stuck}");
    }
}
