// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers of a job's tasks that are made by no message of the machine.

use std::cell::RefCell;

use gyre::machine_file::MachineSpec;

/// A row of barriers of a job's tasks.
pub struct Barrier {
    /// Time after which an action of a task is visible in the simulation of all nodes, picoseconds.
    margin_ps: u64,
    state: RefCell<BarrierState>,
}

struct BarrierState {
    /// Tasks that have come to each barrier, and the time at which the last of them did.
    barriers: Vec<(usize, u64)>,
    /// To how many barriers each task has come, and whether it has ended.
    tasks: Vec<(usize, bool)>,
}

impl Barrier {
    /// Barriers of `tasks` tasks on a machine.
    pub fn new(tasks: usize, spec: &MachineSpec) -> Self {
        // Nodes are never simulated more than a link's latency apart.
        let cycles = 4 * spec.config.link_latency + 100;
        Self {
            margin_ps: cycles * spec.config.cycle_ps,
            state: RefCell::new(BarrierState {
                barriers: Vec::new(),
                tasks: vec![(0, false); tasks],
            }),
        }
    }

    /// The task has ended: it comes to no barrier any more.
    pub fn end(&self, task: u32) {
        self.state.borrow_mut().tasks[task as usize].1 = true;
    }

    /// The task comes to its next barrier.
    pub fn arrive(&self, task: u32, now_ps: u64) {
        let mut state = self.state.borrow_mut();
        let number = state.tasks[task as usize].0;
        state.tasks[task as usize].0 += 1;
        if number == state.barriers.len() {
            state.barriers.push((0, 0));
        }
        let (count, last_ps) = &mut state.barriers[number];
        *count += 1;
        *last_ps = now_ps.max(*last_ps);
    }

    /// Whether all have come to the barrier to which the task came last.
    ///
    /// # Errors
    /// Why some task will never come.
    pub fn have_arrived(&self, task: u32, now_ps: u64) -> Result<bool, String> {
        let state = self.state.borrow();
        let come = state.tasks[task as usize].0;
        let Some((count, last_ps)) = come.checked_sub(1).map(|last| state.barriers[last]) else {
            return Err("the task has come to no barrier of its job".into());
        };
        let gone = |&(theirs, ended): &(usize, bool)| ended && theirs < come;
        match state.tasks.iter().position(gone) {
            Some(gone) => Err(format!(
                "task {gone} has ended and will not come to the barrier of the job"
            )),
            None => Ok(count == state.tasks.len() && last_ps + self.margin_ps <= now_ps),
        }
    }
}
