//! Programs that poll for what never comes: each poll takes simulated time, so that the machine never stands still.

use std::cell::RefCell;

use gyre_remote::Activity;

/// Polls in a row that find nothing, of every task that does not sleep for good, after which the job is stuck. A program
/// that gives up polling does so earlier.
const MANY: u32 = 10_000;

/// What the tasks of a job do.
pub struct Polls(RefCell<Vec<State>>);

#[derive(Clone, Copy)]
enum State {
    /// It runs; so many polls in a row have found nothing.
    Runs(u32),
    /// It sleeps until it is woken, or until others come to a barrier.
    Parked,
    Ended,
}

impl State {
    fn waits(self) -> bool {
        match self {
            Self::Runs(polls) => polls >= MANY,
            Self::Parked | Self::Ended => true,
        }
    }
}

impl Polls {
    /// So many tasks, of which none has begun.
    pub fn new(tasks: usize) -> Self {
        Self(RefCell::new(vec![State::Runs(0); tasks]))
    }

    /// The task has ended.
    pub fn end(&self, task: u32) {
        self.0.borrow_mut()[task as usize] = State::Ended;
    }

    /// Takes note of what a task does.
    ///
    /// # Errors
    /// That all wait for what never comes.
    pub fn note(&self, task: u32, activity: Activity) -> Result<(), String> {
        let mut tasks = self.0.borrow_mut();
        let state = &mut tasks[task as usize];
        *state = match (activity, *state) {
            (Activity::Acts, _) => State::Runs(0),
            (Activity::Parks, _) => State::Parked,
            (Activity::Polls, State::Runs(polls)) => State::Runs(polls.saturating_add(1)),
            (Activity::Polls, _) => State::Runs(1),
        };
        // All are looked at when this one has just come so far, and now and then after that.
        let due = matches!(*state, State::Runs(polls) if polls >= MANY && polls % 16 == 0);
        if !due || !tasks.iter().all(|state| state.waits()) {
            return Ok(());
        }
        let poll = listed(&tasks, |state| matches!(state, State::Runs(_)));
        let sleep = listed(&tasks, |state| matches!(state, State::Parked));
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

/// Tasks whose state is such.
fn listed(tasks: &[State], is: impl Fn(State) -> bool) -> String {
    let such = tasks.iter().enumerate().filter(|(_, state)| is(**state));
    let such: Vec<String> = such.map(|(task, _)| task.to_string()).collect();
    such.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(polls: &Polls, task: u32, count: u32) -> Result<(), String> {
        (0..count).try_for_each(|_| polls.note(task, Activity::Polls))
    }

    #[test]
    fn x6_tasks_are_stuck_when_all_poll_in_vain_or_sleep() {
        let polls = Polls::new(4);
        polls.end(3);
        polls.note(2, Activity::Parks).expect("others run");
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
        polls.note(1, Activity::Acts).expect("it acts");
        poll(&polls, 1, MANY - 1).expect("not so often since");
        polls.note(0, Activity::Acts).expect("it acts");
        poll(&polls, 1, MANY).expect("task 0 has acted");
    }
}
