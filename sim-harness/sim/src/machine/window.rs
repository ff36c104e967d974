// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine's windows: software and memory of a node, then its hardware, then what one leaves for the other.

use super::Machine;
use crate::config::{EPOCH, MOST_PS};
use crate::error::SimError;
use crate::hardware::{Fault, Planned, Window};
use crate::report::Until;
use crate::software::Event;

impl Machine {
    /// Runs windows until a run is over.
    pub(super) fn run_until(&mut self, until: Until) -> Result<(), SimError> {
        loop {
            // A failure in a later cycle ends the run there.
            let ended = self.software.all_ended() && self.software.failure_ps().is_none();
            let next = self.next_cycle();
            let limit = match until {
                Until::Cycle(cycle) => cycle,
                Until::Done if ended => self.cycle.next_multiple_of(EPOCH),
                Until::Quiet if ended && next.is_none() => self.end(),
                Until::Done | Until::Quiet => u64::MAX,
            };
            let last = self.config.last_cycle();
            // A time that software has charged beyond it stands still there.
            if self.cycle >= limit && self.software.makespan_ps() < MOST_PS {
                return Ok(());
            }
            if next.is_none() && limit == u64::MAX {
                // As where runs end: the end of the last window depends on its length.
                self.cycle = self.cycle.next_multiple_of(EPOCH);
                return Err(SimError::Deadlock(Box::new(self.stall_report())));
            }
            self.jump(next, limit);
            if self.cycle >= last || self.software.makespan_ps() >= MOST_PS {
                return Err(SimError::TimeOver { last });
            }
            if self.cycle < limit {
                self.check_progress(until)?;
                self.advance(limit)?;
            }
        }
    }

    /// End of the epoch in which the last actor has ended; time charged since its last access counts.
    fn end(&self) -> u64 {
        let makespan = self.software.makespan_ps().div_ceil(self.config.cycle_ps);
        self.cycle.max(makespan).next_multiple_of(EPOCH)
    }

    /// Cycle in which a node must be looked at again; `u64::MAX` if nothing is to come.
    fn next_of(&self, node: usize) -> u64 {
        let arrival = self.links.next_arrival(node).unwrap_or(u64::MAX);
        self.hardware.next_cycle(node).min(arrival)
    }

    /// The first cycle in which something happens anywhere.
    fn next_cycle(&self) -> Option<u64> {
        let failure = self.software.failure_ps();
        (0..self.hardware.len())
            .map(|node| self.next_of(node))
            .chain(failure.map(|ps| ps / self.config.cycle_ps))
            .min()
            .filter(|&next| next != u64::MAX)
    }

    /// Leaves out the cycles up to `next`, at most to `limit`, in which nothing happens.
    fn jump(&mut self, next: Option<u64>, limit: u64) {
        if self.config.skip_idle {
            let start = next.unwrap_or(u64::MAX).clamp(self.cycle, limit);
            let trace = self.trace.as_ref();
            let first = trace.and_then(|trace| trace.begins_between(self.cycle, start));
            self.cycle = first.unwrap_or(start);
        }
    }

    /// Runs one window, at most to `limit`.
    fn advance(&mut self, limit: u64) -> Result<(), SimError> {
        let start = self.cycle;
        let mut end = (start + self.window)
            .min((start + 1).next_multiple_of(EPOCH))
            .min(limit);
        let trace = self.trace.as_ref();
        let tracing = trace.is_some_and(|trace| trace.covers(start));
        if let Some(other) = trace.and_then(|trace| trace.window_end(start)) {
            end = end.min(other);
        }
        self.software
            .limit_window(end.saturating_mul(self.config.cycle_ps));
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        active.extend((0..self.hardware.len()).filter(|&node| {
            let shown = tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
            self.next_of(node) < end || shown || !self.config.skip_idle
        }));
        self.run_nodes(&active, start, end, tracing);
        self.cycle = end;
        let broken = self.settle(&active);
        self.active = active;
        let dumped = self.dump(start, tracing);
        self.check_failure(broken)?;
        self.check_events()?;
        dumped
    }

    /// Runs software and memory, then hardware, of each node for a window.
    fn run_nodes(&mut self, active: &[usize], start: u64, end: u64, tracing: bool) {
        let window = |skip| Window { start, end, skip };
        let skip = self.config.skip_idle;
        match self.crew.take() {
            Some(crew) if active.len() > 1 => {
                crew.run(window(skip), active, |node| self.run_software(node, end));
                self.crew = Some(crew);
            }
            crew => {
                self.crew = crew;
                for &node in active {
                    self.run_software(node, end);
                }
                let run = |&node: &usize| {
                    let shown =
                        tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
                    self.hardware.run(node, window(skip && !shown));
                };
                // To and fro: the nodes that a window ends with are in the processor's cache still, which does not hold
                // all of them.
                self.backwards = !self.backwards;
                if self.backwards {
                    active.iter().rev().for_each(run);
                } else {
                    active.iter().for_each(run);
                }
            }
        }
    }

    /// Software and memory of a node in a window that ends at `end`; what they want of hardware, and what arrives on its
    /// links, waits there.
    fn run_software(&mut self, index: usize, end: u64) {
        self.run_events(index, end * self.config.cycle_ps);
        let mut soft = self.software.node(index);
        let next = soft.events.next_ps();
        let ports = &mut self.hardware.node(index).ports;
        for request in soft.regs.outbox.drain(..) {
            ports.input.register(0, &request);
            if let Some(recorder) = &mut ports.recorder
                && request.write
            {
                recorder.register_write(&request);
            }
        }
        self.links.receive(index, end, &mut ports.arrivals);
        ports.next_event = next.map_or(u64::MAX, |ps| ps / self.config.cycle_ps);
    }

    /// Lets happen what happens to memory and software of a node before `end_ps`.
    fn run_events(&mut self, index: usize, end_ps: u64) {
        while let Some((ps, event)) = self.software.next_event(index, end_ps) {
            match event {
                Event::MemoryWrite(burst) => {
                    let ports = &mut self.hardware.node(index).ports;
                    ports.write_memory(&mut self.software.node(index).memory, &burst);
                }
                Event::MemoryRead(burst) => {
                    let ports = &mut self.hardware.node(index).ports;
                    ports.read_memory(&self.software.node(index).memory, &burst, ps);
                }
                Event::RegisterResponse(response) => self.software.answer(index, ps, response),
                Event::Levels(levels) => self.software.set_levels(index, ps, levels),
                Event::Resume {
                    actor,
                    ticket,
                    signal,
                } => self.software.resume(actor, ticket, ps, signal),
            }
        }
    }

    /// Takes over what the hardware of nodes that have run leaves for their software and memory and on their links. Gives
    /// the first that broke, with its node.
    fn settle(&mut self, active: &[usize]) -> Option<(usize, Fault)> {
        let mut broken: Option<(usize, Fault)> = None;
        let mut breaks = |node, fault: Fault| {
            if broken
                .as_ref()
                .is_none_or(|(_, first)| fault.cycle < first.cycle)
            {
                broken = Some((node, fault));
            }
        };
        for &index in active {
            let ports = &mut self.hardware.node(index).ports;
            self.progress.note(ports.progress);
            for (port, word) in ports.sent.drain(..) {
                self.links.send(index, port, word);
            }
            let soft = &mut *self.software.node(index);
            for planned in ports.planned.drain(..) {
                let (cycle, event) = match planned {
                    Planned::MemoryWrite { cycle, burst } => (cycle, Event::MemoryWrite(burst)),
                    Planned::MemoryRead { cycle, burst } => (cycle, Event::MemoryRead(burst)),
                    Planned::Levels { cycle, levels } => (cycle, Event::Levels(levels)),
                    Planned::Response { cycle, resp, data } => {
                        let Some(response) = soft.regs.answered(resp, data) else {
                            let message = "register response without an access".to_owned();
                            breaks(index, Fault { cycle, message });
                            continue;
                        };
                        (cycle, Event::RegisterResponse(response))
                    }
                };
                soft.events.push(cycle * self.config.cycle_ps, event);
            }
            if let Some(fault) = ports.failed.take() {
                breaks(index, fault);
            }
        }
        broken
    }

    /// Ends the run with what failed first, in hardware or software. Which that is does not depend on the window.
    fn check_failure(&mut self, broken: Option<(usize, Fault)>) -> Result<(), SimError> {
        let end = broken.as_ref().map_or(self.cycle, |(_, fault)| fault.cycle);
        if let Some(error) = self.software.take_failure(end * self.config.cycle_ps) {
            return Err(error);
        }
        broken.map_or(Ok(()), |(node, Fault { cycle, message })| {
            Err(SimError::Hardware {
                node,
                cycle,
                message,
            })
        })
    }

    /// Writes the cycle that has run into the waveform, if it covers it.
    fn dump(&mut self, start: u64, tracing: bool) -> Result<(), SimError> {
        let Some(trace) = &mut self.trace else {
            return Ok(());
        };
        let hardware = &self.hardware;
        let mut nodes: Vec<_> = (0..hardware.len())
            .map(|node| hardware.node(node))
            .collect();
        let models = nodes.iter_mut().map(|node| node.model.pin_mut());
        let shown = tracing.then_some(start);
        trace.write(shown, self.cycle, self.config.cycle_ps, models)
    }
}
