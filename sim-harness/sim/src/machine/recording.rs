// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a machine.

use gyre_timeline::{Recording, Spool};

use super::Machine;
use crate::error::SimError;
use crate::node_recorder::NodeRecorder;
use crate::topology::TREE_PORTS;

impl Machine {
    /// Drops the events so far: the recording begins now. No effect if events are not recorded.
    pub fn restart_recording(&mut self) {
        if let Some(recorder) = &self.config.recorder {
            let next = recorder.spool();
            drop(self.take_recording(next));
        }
    }

    /// Records events from now on, if the configuration has a recorder.
    pub(super) fn record_events(&mut self) {
        let Some(recorder) = &self.config.recorder else {
            return;
        };
        let spool = recorder.spool();
        let held = recorder.of_node(self.hardware.len());
        let cycle_ps = self.config.cycle_ps;
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            let links = ports.link_flits.len() + TREE_PORTS;
            ports.recorder = Some(Box::new(NodeRecorder::new(
                node,
                links,
                cycle_ps,
                spool.sink(held),
            )));
        }
        self.software.record(spool.sink(recorder.of_software()));
        self.spool = Some(spool);
    }

    /// Ends the run when events are lost.
    ///
    /// # Errors
    /// That of their file.
    pub(super) fn check_events(&self) -> Result<(), SimError> {
        let lost = self.spool.as_ref().and_then(Spool::error);
        lost.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The events since the last call, or since recording began. Those from now on go to the `next` spool.
    fn take_recording(&mut self, next: Spool) -> Recording {
        let cycle_ps = self.config.cycle_ps;
        let mut events = self.software.take_events(&next);
        let mut links = Vec::new();
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            if let Some(recorder) = &mut ports.recorder {
                events.append(&mut recorder.take(self.cycle, &next));
            }
            links.append(
                &mut self
                    .software
                    .topology()
                    .link_names(node, ports.link_flits.len()),
            );
        }
        let mut threads = self.software.threads();
        threads.sort_by_key(|thread| (thread.node, thread.number));
        let span = (self.recorded_from * cycle_ps, self.cycle * cycle_ps);
        self.recorded_from = self.cycle;
        let nodes = self.hardware.len() as u32;
        let mut recording = Recording::empty(cycle_ps, nodes, span.0, span.1);
        recording.link_ps = self.config.link_latency * cycle_ps;
        recording.memory_read_ps = self.config.memory.read_latency * cycle_ps;
        recording.memory_write_ps = self.config.memory.write_latency * cycle_ps;
        recording.register_ps = self.config.reg_latency * cycle_ps;
        recording.links = links;
        let spool = self.spool.replace(next.clone()).unwrap_or(next);
        let mut recording = recording.with_spool(spool, events);
        threads.retain(|thread| recording.has_thread(thread));
        recording.threads = threads;
        recording
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(recorder) = self.config.recorder.clone() {
            recorder.put(self.take_recording(recorder.spool()));
        }
    }
}
