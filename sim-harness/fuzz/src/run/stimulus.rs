// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applies the stimuli of a case.

use std::collections::VecDeque;

use gyre_layout::registers::{COLL, base_slot, coll_network, injection_fifo, node, reception_fifo};
use gyre_layout::{
    CollOp, CollType, Collective, CounterRef, Descriptor, Rmw, RmwOp, Source, VClass,
};
use gyre_sim::{AxiChannels, FlipTime, Forgery, WireFlip};

use super::{FuzzError, Purpose, RESET_PAUSE, Runner};
use crate::case::{Action, Carried, FlipWhen, Send, SendKind, hex};
use crate::descriptor::Bits;
use crate::map;
use crate::registers::{Answer, answer};

impl Runner<'_> {
    pub(super) fn apply(&mut self, node: usize, action: &Action) -> Result<(), FuzzError> {
        match action {
            Action::Send(send) => self.send(node, send)?,
            Action::Reduce {
                length,
                source,
                offset,
            } => self.reduce(*length, *source, *offset)?,
            Action::Barrier {} => {
                if !std::mem::replace(&mut self.nodes[node].entered, true) {
                    self.write(node, COLL + coll_network::BARRIER_ENTER, 1, Answer::Okay);
                }
            }
            Action::Read { port, addr } => {
                let addr = u64::from(*addr);
                let expect = answer(addr, None, self.case.machine.torus_ports() as u64);
                self.access(node, *port, addr, None, expect, Purpose::Nothing);
            }
            Action::Write { port, addr, value } => {
                let (addr, value) = (u64::from(*addr), hex(value).unwrap_or(0));
                let expect = answer(addr, Some(value), self.case.machine.torus_ports() as u64);
                let harmless = addr == node::SCRATCH
                    || addr == node::INT_CAUSE
                    || addr % 8 != 0
                    || (0x100..0x200).contains(&addr);
                if expect != Answer::Refused && !harmless {
                    self.board.weak = true;
                    self.board.wild = true;
                }
                self.access(node, *port, addr, Some(value), expect, Purpose::Nothing);
            }
            Action::Skip { fifo } => {
                let addr = map::injection(*fifo, injection_fifo::STATUS);
                let expect = self.promised(match *fifo {
                    31 => Answer::Either,
                    _ => Answer::Okay,
                });
                self.write(node, addr, 1, expect);
            }
            Action::Blank { fifo, count } => {
                let at = usize::from(*fifo);
                for _ in 0..*count {
                    self.put_descriptor(node, at, &Bits([0; 64]));
                    self.board
                        .posted(&Bits([0; 64]), &self.topology, node, *fifo, &[]);
                }
                self.ring_doorbell(node, at);
            }
            Action::Consume { fifo } => {
                let addr = map::reception(*fifo, reception_fifo::TAIL);
                self.access(node, 0, addr, None, Answer::Okay, Purpose::Tail(*fifo));
            }
            Action::Grant { slot, base, limit } => {
                let (base, limit) = (hex(base).unwrap_or(0), hex(limit).unwrap_or(0));
                let ports = self.case.machine.torus_ports() as u64;
                let register = |register| map::slot(*slot, register);
                self.write(node, register(base_slot::CTRL), 0, Answer::Okay);
                let expect = answer(register(base_slot::BASE), Some(base), ports);
                self.write(node, register(base_slot::BASE), base, expect);
                self.write(node, register(base_slot::LIMIT), limit, Answer::Either);
                let ctrl = map::slot_ctrl(0b01101, map::OWNER);
                self.write(node, register(base_slot::CTRL), ctrl, Answer::Okay);
                self.board.granted(node, *slot, base, limit);
                // Landing areas of others and rings may be granted as well.
                self.board.weak = true;
            }
            Action::FailMemory { start, bytes } => {
                let start = u64::from(*start);
                self.machine
                    .fail_memory(node, start..start + u64::from(*bytes));
                self.board.weak = true;
            }
            Action::RepairMemory {} => self.machine.repair_memory(node),
            Action::StallMemory { channel, cycles } => {
                let channels = match channel {
                    0 => AxiChannels::ReadAddress,
                    1 => AxiChannels::WriteAddress,
                    2 => AxiChannels::WriteData,
                    _ => AxiChannels::All,
                };
                self.machine
                    .stall_axi(node, 0, channels, u64::from(*cycles));
            }
            Action::WithholdMemory { cycles } => {
                let until = self.machine.cycles() + u64::from(*cycles);
                self.machine.withhold_memory(node, until);
            }
            Action::ResetNode {} => {
                self.machine.reset_node(node)?;
                let now = self.machine.cycles();
                let state = &mut self.nodes[node];
                state.pending.iter_mut().for_each(VecDeque::clear);
                state.restart = Some(now + RESET_PAUSE);
                self.mark_reset(node);
                self.machine.take_answers();
            }
            Action::SoftReset {} => {
                self.mark_reset(node);
                self.write(
                    node,
                    node::CTRL,
                    node::ctrl::SOFT_RESET.put(1),
                    Answer::Okay,
                );
                self.nodes[node].restart = Some(self.machine.cycles() + RESET_PAUSE);
            }
            Action::CutLinks { ports, cycles } => {
                self.board.weak = true;
                self.broken = true;
                let links = self.topology.network_config(node).links() & !ports;
                self.write(node, node::LINK_ENABLE, links.into(), Answer::Okay);
                self.nodes[node].rejoin = Some(self.machine.cycles() + u64::from(*cycles));
            }
            Action::Flip(flip) => {
                self.board.weak = true;
                self.flips = true;
                let now = self.machine.cycles();
                self.machine.flip_wires(WireFlip {
                    node,
                    port: flip.port,
                    time: match flip.when {
                        FlipWhen::Now => FlipTime::Cycle(now),
                        FlipWhen::Flit => FlipTime::Flit(now),
                        FlipWhen::Tail => FlipTime::Tail(now),
                        FlipWhen::Credit => FlipTime::Credit(now),
                    },
                    word: flip.word,
                    data: flip.mask().unwrap_or([0; 2]),
                });
            }
            Action::Forge(forge) => {
                self.board.weak = true;
                self.board.forged = true;
                self.machine.forge(Forgery {
                    node,
                    port: forge.port,
                    from: self.machine.cycles(),
                    header: forge.mask().unwrap_or([0; 4]),
                });
            }
            Action::RaiseError { reason } => {
                self.board.raised(node, *reason);
                self.write(node, node::ERR_SET, u64::from(*reason), Answer::Okay);
            }
        }
        Ok(())
    }

    pub(super) fn mark_reset(&mut self, node: usize) {
        self.board.weak = true;
        self.broken = true;
        self.nodes[node].resets += 1;
    }

    pub(super) fn put_descriptor(&mut self, node: usize, fifo: usize, bits: &Bits) {
        let ring = map::injection_ring(fifo, self.nodes[node].resets);
        let tail = &mut self.nodes[node].tails[fifo];
        let at = ring.base + *tail % ring.bytes;
        *tail += 64;
        self.machine.poke(node, at, &bits.0);
    }

    pub(super) fn ring_doorbell(&mut self, node: usize, fifo: usize) {
        let tail = self.nodes[node].tails[fifo];
        let addr = map::injection(map::INJECTION[fifo].fifo, injection_fifo::TAIL);
        let expect = self.promised(Answer::Okay);
        self.write(node, addr, tail, expect);
    }

    pub(super) fn send(&mut self, node: usize, send: &Send) -> Result<(), FuzzError> {
        let to = self.topology.header_coord(send.to);
        let mut source = Source {
            slot: send.slot,
            offset: send.source,
            length: send.length,
        };
        let mut carried = Vec::new();
        let mut descriptor = match send.kind {
            SendKind::Message => Descriptor::memory_fifo(to, source, send.target),
            SendKind::Put => Descriptor::put(to, source, send.target, send.offset),
            SendKind::RemoteGet => {
                for put in &send.carries {
                    carried.push(self.carried(node, put)?);
                }
                let state = &mut self.nodes[node];
                let at = state.carried * 512 % map::CARRIED.bytes;
                state.carried += 1;
                source = Source {
                    slot: map::CARRIED.slot,
                    offset: at,
                    length: 64 * carried.len() as u32,
                };
                let bytes: Vec<u8> = carried.iter().flat_map(|bits| bits.0).collect();
                self.machine.poke(node, map::CARRIED.base + at, &bytes);
                Descriptor::remote_get(to, source, send.target)
            }
            SendKind::Add => {
                let rmw = Rmw {
                    op: RmwOp::Add,
                    wide: true,
                    value: u64::from(send.length),
                    test: None,
                    fetch: None,
                };
                Descriptor::rmw(to, send.target, send.offset, rmw)
            }
        };
        descriptor.vclass = VClass::try_from(send.class)?;
        descriptor.deposit = send.deposit;
        if send.dynamic {
            descriptor = descriptor.with_dynamic_route();
        }
        if send.flow {
            descriptor = descriptor.with_flow(0);
        }
        descriptor.counter = send.counter.map(|index| CounterRef {
            slot: map::COUNTERS.slot,
            index,
        });
        if send.kind != SendKind::Add {
            self.messages += 1;
            descriptor = descriptor.with_software(self.messages, 0);
        }
        let bits = Bits(descriptor.encode()?).spoilt(&send.spoil);
        let first = self.nodes[node].tails[usize::from(send.fifo)] == 0;
        if first && send.kind == SendKind::Message && send.spoil.is_empty() {
            let id = u64::from(self.messages);
            self.posted.insert(id, self.machine.cycles());
        }
        if send.kind == SendKind::Add && !send.spoil.is_empty() {
            self.board.weak = true;
        }
        if !send.spoil.is_empty() && send.kind == SendKind::RemoteGet {
            // It may carry unprepared descriptors, or those of another remote get.
            self.board.stray(&self.topology);
        }
        self.board
            .posted(&bits, &self.topology, node, send.fifo, &carried);
        self.put_descriptor(node, usize::from(send.fifo), &bits);
        self.ring_doorbell(node, usize::from(send.fifo));
        Ok(())
    }

    /// A put to `node` that a remote get carries.
    pub(super) fn carried(&self, node: usize, put: &Carried) -> Result<Bits, FuzzError> {
        let source = Source {
            slot: map::SOURCE.slot,
            offset: put.source,
            length: put.length,
        };
        let to = self.topology.header_coord(node);
        let descriptor = Descriptor::put(to, source, put.target, put.offset);
        Ok(Bits(descriptor.encode()?).spoilt(&put.spoil))
    }

    pub(super) fn reduce(
        &mut self,
        length: u32,
        source: u64,
        offset: u64,
    ) -> Result<(), FuzzError> {
        let nodes = self.nodes.len();
        let collective = Collective {
            op: CollOp::Add,
            dtype: CollType::U32,
            route: 0,
        };
        let source_field = Source {
            slot: map::SOURCE.slot,
            offset: source,
            length,
        };
        let descriptor =
            Descriptor::collective_put(collective, None, source_field, map::LANDING.slot, offset)?;
        let bits = Bits(descriptor.encode()?);
        self.reduced += 1;
        self.board.reduced(nodes, length, source, offset);
        for node in 0..nodes {
            self.put_descriptor(node, 3, &bits);
            self.ring_doorbell(node, 3);
        }
        Ok(())
    }
}
