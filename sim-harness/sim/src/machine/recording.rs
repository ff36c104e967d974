// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a machine.

use std::collections::BTreeSet;

use gyre_timeline::{Lane, Recording};

use super::Machine;
use crate::node_recorder::NodeRecorder;
use crate::topology::TREE_PORTS;

impl Machine {
    /// Drops the events so far: the recording begins now. No effect if events are not recorded.
    pub fn restart_recording(&mut self) {
        if self.config.recorder.is_some() {
            drop(self.take_recording());
        }
    }

    /// Records events from now on.
    pub(super) fn record_events(&mut self) {
        let cycle_ps = self.config.cycle_ps;
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            let links = ports.link_flits.len() + TREE_PORTS;
            ports.recorder = Some(Box::new(NodeRecorder::new(node, links, cycle_ps)));
        }
        self.software.record();
    }

    /// The events since the last call, or since recording began.
    fn take_recording(&mut self) -> Recording {
        let cycle_ps = self.config.cycle_ps;
        let mut events = self.software.take_events();
        let mut links = Vec::new();
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            if let Some(recorder) = &mut ports.recorder {
                events.append(&mut recorder.take(self.cycle));
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
        let mut seen = vec![BTreeSet::new(); self.hardware.len()];
        let mut last = None;
        for event in &events {
            let place = (event.node, event.lane);
            if last != Some(place) {
                seen[event.node as usize].insert(event.lane);
                last = Some(place);
            }
        }
        threads.retain(|thread| {
            let lane = Lane::Thread(thread.number);
            seen[thread.node as usize].contains(&lane)
        });
        let span = (self.recorded_from * cycle_ps, self.cycle * cycle_ps);
        self.recorded_from = self.cycle;
        let nodes = self.hardware.len() as u32;
        let mut recording = Recording::empty(cycle_ps, nodes, span.0, span.1);
        recording.link_ps = self.config.link_latency * cycle_ps;
        recording.memory_read_ps = self.config.memory.read_latency * cycle_ps;
        recording.memory_write_ps = self.config.memory.write_latency * cycle_ps;
        recording.register_ps = self.config.reg_latency * cycle_ps;
        recording.threads = threads;
        recording.links = links;
        recording.with_events(events)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(recorder) = self.config.recorder.clone() {
            recorder.put(self.take_recording());
        }
    }
}
