//! Ordered-dynamic flows between contexts (HW-4): by which way what one sends to another stays in order.
//!
//! Requests and responses have a way each: the fixed route or a flow. It is found out before the first packet
//! leaves, for nothing may be under way on another: the context takes a flow of its node, asks the other for one
//! there (FLOW_ASK), and holds back what it has for that context until the answer is here (FLOW_GRANT). Where there is one
//! shortest way only, or a node has no flow left, it is the fixed route. Both messages take the fixed route,
//! outside the row of messages of their origin.
//!
//! What asks when puts have landed names the way that they took, since what comes back has to follow them.
//!
//! The end at the source is closed when its context is destroyed. Those at the target are kept as long as the
//! client lives: peers may go on sending, to be refused as by the fixed route, or to the next context of that
//! offset, which gets the ends of the one before it.

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::{Coord, Descriptor, Kind, VClass};

use super::Engine;
use crate::client::Plan;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::{Error, Fault};
use crate::flow::{self, End, FlowConfig, Ordered};
use crate::injection::{Finish, Outgoing, Payload};
use crate::platform::Platform;
use crate::route::Network;
use crate::sync::{Mutex, short};
use crate::wire::{FlowAsk, FlowGrant, System};

/// How packets of one class get to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unknown,
    /// The peer has been asked to let this flow of the node end there, at this time (ps): an answer to a context
    /// that has been destroyed says nothing.
    Asked(u8, u64),
    Fixed,
    Flow(u8),
}

/// What a context sends to another, where the other node can be reached by flows.
struct Peer<P: Platform> {
    /// Of requests and of responses.
    ways: [Way; 2],
    /// In order; the first waits for its way.
    held: VecDeque<Outgoing<P>>,
}

/// The flows of a context.
pub(super) struct Flows<P: Platform> {
    here: Coord,
    owner: u8,
    network: Network,
    /// Flows of the node, each way.
    count: u8,
    peers: BTreeMap<Endpoint, Peer<P>>,
    /// Those that end here, with what they were opened with.
    granted: Ends,
}

/// Flows that end at a context, with what they were opened with.
type Ends = BTreeMap<u8, FlowConfig>;

/// The ends of flows that contexts of a process have left, by context offset. `None` when nobody will have them.
#[derive(Debug)]
pub(crate) struct KeptEnds(Mutex<Option<BTreeMap<u8, Ends>>>);

impl KeptEnds {
    pub fn new() -> Self {
        Self(Mutex::new(Some(BTreeMap::new())))
    }

    /// Takes what the context before the one at `offset` has left.
    fn take(&self, offset: u8) -> Ends {
        let mut kept = short(&self.0);
        kept.as_mut()
            .and_then(|kept| kept.remove(&offset))
            .unwrap_or_default()
    }

    /// Keeps the ends of the context at `offset` for the next one; gives them back when there will be none.
    fn keep(&self, offset: u8, ends: Ends) -> Ends {
        match short(&self.0).as_mut() {
            Some(kept) => {
                kept.insert(offset, ends);
                Ends::new()
            }
            None => ends,
        }
    }

    /// There will be no contexts any more.
    pub fn keep_no_more(&self) {
        *short(&self.0) = None;
    }

    /// Closes what is kept.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn close<P: Platform>(&self, platform: &P) -> Result<(), Fault> {
        let kept = short(&self.0).as_mut().map(core::mem::take);
        let ends = kept.into_iter().flatten().map(|(_, ends)| ends);
        close_ends(platform, ends.flatten())
    }
}

fn close_ends<P: Platform>(
    platform: &P,
    ends: impl IntoIterator<Item = (u8, FlowConfig)>,
) -> Result<(), Fault> {
    let mut outcome = Ok(());
    for (flow, _) in ends {
        let closed = flow::close(platform, End::Target, flow);
        outcome = outcome.and(closed.map(drop));
    }
    outcome
}

/// Place of a class in [`Peer::ways`].
fn class_of(vclass: VClass) -> usize {
    usize::from(vclass == VClass::Response)
}

/// Of a message that asks when puts have landed: the flow that they took, as its tag.
pub(super) struct PutsBy(pub Option<u8>);

impl PutsBy {
    pub fn pack(self) -> u32 {
        self.0.map_or(0, |flow| u32::from(flow) + 1)
    }

    pub fn unpack(tag: u32) -> Self {
        // Flows have 3 bits.
        Self(tag.checked_sub(1).map(|flow| flow as u8 & 7))
    }
}

/// Whether a descriptor is that of a message that asks when puts have landed.
fn asks_for_puts(descriptor: &Descriptor) -> bool {
    let dispatch = Envelope::unpack(descriptor.sw0).dispatch;
    descriptor.kind == Kind::MemFifo
        && [System::PutSync as u8, System::Fence as u8].contains(&dispatch)
}

impl<P: Platform> Peer<P> {
    fn new(way: Way) -> Self {
        Self {
            ways: [way; 2],
            held: VecDeque::new(),
        }
    }

    fn way(&self, descriptor: &Descriptor) -> Way {
        match descriptor.deposit {
            // Copies stay on the fixed route. Those packets have no order.
            true => Way::Fixed,
            false => self.ways[class_of(descriptor.vclass)],
        }
    }

    /// Lets a descriptor take a way that is known.
    fn direct(&self, descriptor: &mut Descriptor) {
        if asks_for_puts(descriptor) {
            let puts = match self.ways[class_of(VClass::Response)] {
                Way::Flow(flow) => Some(flow),
                _ => None,
            };
            descriptor.sw1 = PutsBy(puts).pack();
        }
        if let Way::Flow(flow) = self.way(descriptor) {
            *descriptor = descriptor.with_flow(flow);
        }
    }
}

impl<P: Platform> Flows<P> {
    /// The flows of a context that opens none: those that end here, of the context before it, are to be
    /// [inherited](Self::inherit).
    ///
    /// # Errors
    /// Those of the bus.
    pub fn open(platform: &P, plan: &Plan) -> Result<Option<Self>, Fault> {
        if plan.config.ordered == Ordered::Fixed {
            return Ok(None);
        }
        Ok(Some(Self {
            here: plan.location.node,
            owner: plan.config.resources.owner,
            network: Network::read(platform)?,
            count: flow::count(platform)?,
            peers: BTreeMap::new(),
            granted: BTreeMap::new(),
        }))
    }

    /// Takes over the ends that the context at `offset` before this one has left.
    pub fn inherit(&mut self, plan: &Plan, offset: u8) {
        self.granted = plan.kept_ends.take(offset);
    }

    /// Operations that wait for their way.
    pub fn held(&self) -> usize {
        self.peers.values().map(|peer| peer.held.len()).sum()
    }

    /// Lets a descriptor for `peer` take its way; false when it has to wait, which [`Engine::enqueue`] does.
    fn direct(&self, peer: Endpoint, descriptor: &mut Descriptor) -> bool {
        if descriptor.dst == self.here {
            return true;
        }
        let Some(state) = self.peers.get(&peer).filter(|state| state.held.is_empty()) else {
            return false;
        };
        let known = matches!(state.way(descriptor), Way::Fixed | Way::Flow(_));
        if known {
            state.direct(descriptor);
        }
        known
    }

    /// The peer's state; at first its ways are unknown where there are several.
    fn peer(&mut self, peer: Endpoint, node: Coord) -> &mut Peer<P> {
        let Self { here, network, .. } = self;
        self.peers.entry(peer).or_insert_with(|| {
            let several = network.choices(*here, node).len() > 1;
            Peer::new(if several { Way::Unknown } else { Way::Fixed })
        })
    }

    /// Gives up everything that is held back by the context at `offset`; what ends with it goes to `abandoned`.
    /// Closes the flows that start here, and those that end here unless the client keeps them.
    pub fn close(
        &mut self,
        platform: &P,
        plan: &Plan,
        offset: u8,
        abandoned: &mut Vec<Finish<P>>,
    ) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for peer in core::mem::take(&mut self.peers).into_values() {
            abandoned.extend(peer.held.into_iter().map(|outgoing| outgoing.finish));
            for way in peer.ways {
                if let Way::Flow(flow) | Way::Asked(flow, _) = way {
                    let closed = flow::close(platform, End::Source, flow);
                    outcome = outcome.and(closed.map(drop));
                }
            }
        }
        let granted = core::mem::take(&mut self.granted);
        let unkept = plan.kept_ends.keep(offset, granted);
        outcome.and(close_ends(platform, unkept))
    }
}

impl<P: Platform> Engine<P> {
    /// Puts what is to go to `peer` on the lane that leads to its node, behind what has been put there before it, or
    /// holds it back until its way is known.
    pub(super) fn enqueue(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        mut outgoing: Outgoing<P>,
    ) -> Result<(), Fault> {
        let node = outgoing.descriptor.dst;
        if let Some(flows) = &mut self.flows
            && !flows.direct(peer, &mut outgoing.descriptor)
        {
            flows.peer(peer, node).held.push_back(outgoing);
            return self.release(context, peer, node);
        }
        self.put_on_lane(outgoing);
        Ok(())
    }

    /// Puts what has its way on the lane that leads there.
    fn put_on_lane(&mut self, outgoing: Outgoing<P>) {
        let lane = self.lane(outgoing.descriptor.dst);
        self.lanes[lane].enqueue(outgoing);
    }

    /// Sends what has been held back for `peer` as far as its ways are known, and asks for the next one.
    fn release(&mut self, context: &Context<P>, peer: Endpoint, node: Coord) -> Result<(), Fault> {
        while let Some(flows) = &mut self.flows {
            let state = flows.peer(peer, node);
            let Some(mut outgoing) = state.held.pop_front() else {
                break;
            };
            match state.way(&outgoing.descriptor) {
                Way::Fixed | Way::Flow(_) => {
                    state.direct(&mut outgoing.descriptor);
                    self.put_on_lane(outgoing);
                    continue;
                }
                Way::Asked(..) => state.held.push_front(outgoing),
                Way::Unknown => {
                    let vclass = outgoing.descriptor.vclass;
                    state.held.push_front(outgoing);
                    if !self.ask(context, peer, node, vclass)? {
                        continue;
                    }
                }
            }
            break;
        }
        Ok(())
    }

    /// Asks `peer` for a flow; false when there is none left here.
    fn ask(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        node: Coord,
        vclass: VClass,
    ) -> Result<bool, Fault> {
        let Some(flows) = &mut self.flows else {
            return Ok(false);
        };
        let config = FlowConfig {
            peer: node,
            // Not known yet: opened anew with the answer.
            number: 0,
            vclass,
            owner: flows.owner,
        };
        let flow = flow::open_any(context.platform(), End::Source, flows.count, &config)?;
        let asked = context.platform().now_ps();
        flows.peer(peer, node).ways[class_of(vclass)] =
            flow.map_or(Way::Fixed, |flow| Way::Asked(flow, asked));
        let Some(flow) = flow else {
            return Ok(false);
        };
        let message = FlowAsk {
            vclass: vclass.into(),
            flow,
            asked,
        };
        self.send_flow(context, peer, System::FlowAsk, message.encode())?;
        Ok(true)
    }

    /// Sends a message about flows: by the fixed route, past everything that is held back.
    fn send_flow(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        system: System,
        payload: Vec<u8>,
    ) -> Result<(), Fault> {
        let label = self.system_label(context, system);
        let to = self.location(context, peer)?;
        let descriptor = self.message(context, to, peer.context, label, payload.len());
        self.put_on_lane(Outgoing {
            descriptor,
            payload: Payload::Staged(payload),
            finish: Finish::Control,
        });
        Ok(())
    }

    /// FLOW_ASK has come from `peer` on `node`: opens an end for its flow, if one is free here.
    pub(super) fn flow_asked(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        node: Coord,
        ask: FlowAsk,
    ) -> Result<(), Fault> {
        let vclass = VClass::try_from(ask.vclass).map_err(Error::from)?;
        let mut number = FlowGrant::NONE;
        if let Some(flows) = &mut self.flows {
            let platform = context.platform();
            let config = FlowConfig {
                peer: node,
                number: ask.flow,
                vclass,
                owner: 0,
            };
            // The flow of that number started before: at a context there that has been destroyed.
            let over = flows
                .granted
                .iter()
                .find(|(_, granted)| **granted == config);
            if let Some(over) = over.map(|(&flow, _)| flow) {
                flows.granted.remove(&over);
                flow::close(platform, End::Target, over)?;
            }
            if let Some(flow) = flow::open_any(platform, End::Target, flows.count, &config)? {
                flows.granted.insert(flow, config);
                number = flow;
            }
        }
        let grant = FlowGrant {
            vclass: ask.vclass,
            flow: ask.flow,
            asked: ask.asked,
            number,
        };
        self.send_flow(context, peer, System::FlowGrant, grant.encode())
    }

    /// FLOW_GRANT has come from `peer` on `node`: what was held back goes on.
    pub(super) fn flow_granted(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        node: Coord,
        grant: FlowGrant,
    ) -> Result<(), Fault> {
        let vclass = VClass::try_from(grant.vclass).map_err(Error::from)?;
        let Some(flows) = &mut self.flows else {
            return Ok(());
        };
        let class = class_of(vclass);
        // An answer to what was given up since says nothing.
        if flows.peer(peer, node).ways[class] != Way::Asked(grant.flow, grant.asked) {
            return Ok(());
        }
        let platform = context.platform();
        flow::close(platform, End::Source, grant.flow)?;
        let config = FlowConfig {
            peer: node,
            number: grant.number,
            vclass,
            owner: flows.owner,
        };
        // Somebody else may have taken it in between.
        let way = match grant.number != FlowGrant::NONE
            && flow::open(platform, End::Source, grant.flow, &config)?
        {
            true => Way::Flow(grant.flow),
            false => Way::Fixed,
        };
        flows.peer(peer, node).ways[class] = way;
        self.release(context, peer, node)
    }

    /// Messages to `peer` were refused: it answers nothing. What is held back goes by the fixed route, to be refused as
    /// well.
    pub(super) fn flow_refused(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
    ) -> Result<(), Fault> {
        let Some(state) = self
            .flows
            .as_mut()
            .and_then(|flows| flows.peers.get_mut(&peer))
        else {
            return Ok(());
        };
        let mut outcome = Ok(());
        for way in &mut state.ways {
            if let Way::Asked(flow, _) = *way {
                *way = Way::Fixed;
                let closed = flow::close(context.platform(), End::Source, flow);
                outcome = outcome.and(closed.map(drop));
            }
        }
        let node = self.location(context, peer)?.node;
        outcome.and(self.release(context, peer, node))
    }
}
