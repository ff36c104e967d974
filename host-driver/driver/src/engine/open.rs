// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creation of a context: takes its resources of the node, all of them or none.

use gyre_firmware::Node;
use gyre_layout::{MAX_PAYLOAD_BYTES, event};

use super::Engine;
use super::origins::Origins;
use crate::ack::sender::AckSender;
use crate::ack::{AckDispatcher, Recipients};
use crate::am::assembly::Assemblies;
use crate::am::deferred_messages::KeptMessages;
use crate::collnet::state::Collnet;
use crate::core::Core;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::flow::orphaned::OrphanedFlows;
use crate::flow::peers::Flows;
use crate::io::Io;
use crate::layout::SameNode;
use crate::platform::Platform;
use crate::refusal::Refusals;
use crate::rma::fence::Fences;
use crate::rma::gets::Gets;
use crate::rma::target_counter::TargetCounters;
use crate::route::{Hop, Network, Routing};
use crate::sync::Arc;
use crate::task::TaskLocation;
use crate::transport::counter::CounterBlock;
use crate::transport::injection::InjectionFifo;
use crate::transport::lanes::Lanes;
use crate::transport::reception::ReceptionFifo;
use crate::transport::registers::{self, Bus};
use crate::transport::remote_get_fifo::RemoteGetFifo;
use crate::transport::shared_memory::{EndpointTable, Inbox, SharedLane};

/// Resources that a context shares with others of its client.
pub(crate) struct Parts<'a, P: Platform> {
    /// The node's endpoint table.
    pub table: &'a Arc<EndpointTable<P>>,
    pub orphaned: &'a Arc<OrphanedFlows>,
    /// The injection FIFOs that it uses.
    pub fifos: &'a [Arc<InjectionFifo<P>>],
}

/// Resources taken so far, which are given back when an allocation fails.
struct Opened<P: Platform> {
    core: Arc<Core<P>>,
    remote_get: Option<RemoteGetFifo<P>>,
    reception: Option<ReceptionFifo<P>>,
    inbox: Option<Inbox<P>>,
    lanes: Option<Arc<Lanes<P>>>,
    counters: Option<CounterBlock<P>>,
    announced: Option<Arc<EndpointTable<P>>>,
    /// The wake mask has been written.
    listens: bool,
}

impl<P: Platform> Engine<P> {
    /// Sets up a context: its FIFOs, counters and wake group. Where one cannot be set up, the others are given back.
    ///
    /// # Errors
    /// [`Error::Alloc`](crate::Error::Alloc), [`Error::SetUp`](crate::Error::SetUp),
    /// [`Error::Segment`](crate::Error::Segment), [`Error::Bus`](crate::Error::Bus).
    pub fn open(core: &Arc<Core<P>>, parts: &Parts<'_, P>) -> Result<Self, Fault> {
        let mut opened = Opened {
            core: Arc::clone(core),
            remote_get: None,
            reception: None,
            inbox: None,
            lanes: None,
            counters: None,
            announced: None,
            listens: false,
        };
        let engine = opened.finish(parts);
        if engine.is_err() {
            opened.give_back();
        }
        engine
    }
}

impl<P: Platform> Opened<P> {
    /// Takes one resource after the other, and moves them into the engine.
    fn finish(&mut self, parts: &Parts<'_, P>) -> Result<Engine<P>, Fault> {
        let core = Arc::clone(&self.core);
        let platform = &core.platform;
        let config = &core.layout.config;
        let (resources, info) = (&config.resources, &core.info);
        let mut acks = AckDispatcher::new(config.ack.clone())?;
        if config.ack.copies() {
            let network = Network::read(platform)?;
            acks = acks.with_recipients(recipients(&core, network));
        }
        let mut events = event::reception(u32::from(info.reception_fifo)) | event::COUNTER;
        for id in info.injection_fifos.clone() {
            events |= event::injection(u32::from(id));
        }
        self.counters = Some(CounterBlock::open(platform, resources.counters)?);
        let mut node = registers::node(platform)?;
        let owner = resources.owner;
        let ring = resources.remote_get_ring;
        self.remote_get = Some(RemoteGetFifo::open(
            platform,
            &mut node,
            info.remote_get_fifo,
            ring,
            owner,
        )?);
        let ring = resources.reception_ring;
        self.reception = Some(ReceptionFifo::open(
            platform,
            &mut node,
            info.reception_fifo,
            ring,
            owner,
        )?);
        let index = core.layout.index_here(core.offset());
        let mut shared = None;
        if config.same_node == SameNode::SharedMemory {
            shared = Some(SharedLane::new(&core.layout, parts.table, info.wake_group));
            let fifo = info.reception_fifo;
            let size = resources.shared_ring;
            self.inbox = Some(Inbox::open(platform, config.id, index, fifo, size)?);
        }
        self.listens = true;
        let mask = registers::wake_mask(info.wake_group);
        registers::write(platform, mask, events | event::ERROR)?;
        let refusals = Refusals::open(&core, parts.table)?;
        let mut flows = Flows::open(&core, parts.orphaned)?;
        let lanes = Lanes::open(&core, &mut node, parts.fifos)?;
        self.lanes = Some(Arc::new(lanes));
        // From now on other contexts find this one.
        self.announced = Some(Arc::clone(parts.table));
        parts.table.announce(platform, index, info)?;
        if let Some(flows) = &mut flows {
            flows.inherit();
        }
        let (Some(lanes), Some(remote_get), Some(reception), Some(counters)) = (
            self.lanes.take(),
            self.remote_get.take(),
            self.reception.take(),
            self.counters.take(),
        ) else {
            unreachable!("all FIFOs are open");
        };
        Ok(Engine {
            io: Io::new(&core, lanes, shared, flows, events),
            remote_get,
            reception,
            inbox: self.inbox.take(),
            table: Some(Arc::clone(parts.table)),
            assemblies: Assemblies::new(),
            gets: Gets::new(counters),
            counters: TargetCounters::new(),
            acks: AckSender::new(acks),
            kept: KeptMessages::new(),
            fences: Fences::new(),
            refusals,
            collnet: Collnet::new(),
            changed: true,
            startable: false,
            unreported: None,
            unfinished: false,
            quiet: false,
            quick: false,
            completions_unseen: false,
            since_poll: 0,
            since_completions: 0,
            idle_polls: 0,
            origins: Origins::new(),
            payload: vec![0; MAX_PAYLOAD_BYTES].into(),
            landed: Vec::with_capacity(crate::PREPARED),
            core,
        })
    }

    /// Gives the taken resources back, as far as the node allows: the earlier error is the one to return.
    fn give_back(mut self) {
        let core = Arc::clone(&self.core);
        let platform = &core.platform;
        if let Some(table) = self.announced.take() {
            let index = core.layout.index_here(core.offset());
            let _ = table.withdraw(platform, index);
        }
        if self.listens {
            let mask = registers::wake_mask(core.info.wake_group);
            let _ = registers::write(platform, mask, 0);
        }
        if let Some(mut inbox) = self.inbox.take() {
            let _ = inbox.close(platform);
        }
        if let Ok(mut node) = registers::node(platform) {
            self.close_fifos(&mut node);
        }
        if let Some(mut counters) = self.counters.take() {
            counters.close();
        }
    }

    fn close_fifos(&mut self, node: &mut Node<Bus<P>>) {
        if let Some(lanes) = self.lanes.take() {
            let _ = lanes.close(node);
        }
        if let Some(mut reception) = self.reception.take() {
            let _ = reception.disable(node);
            reception.free();
        }
        if let Some(mut remote_get) = self.remote_get.take() {
            let _ = remote_get.close(node, false);
        }
    }
}

/// For each endpoint, the endpoints that a packet to it passes. Every node must have a process of the endpoint's
/// number: its context of the endpoint's offset then has the reception FIFO of the same number.
fn recipients<P: Platform>(core: &Core<P>, network: Network) -> Recipients {
    let layout = Arc::clone(&core.layout);
    let here = core.node();
    Box::new(move |peer| {
        let tasks = &layout.config.tasks;
        let to = tasks.place(peer.task, peer.context).ok()?;
        let endpoint = |hop: Hop| {
            let node = hop.to;
            let task = tasks.task_at(TaskLocation { node, ..to })?;
            Some(Endpoint { task, ..peer })
        };
        network
            .way(here, to.node, Routing::Fixed)
            .into_iter()
            .map(endpoint)
            .collect()
    })
}
