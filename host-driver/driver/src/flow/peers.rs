// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordered-dynamic flows between contexts (HW-4): the routes that keep the traffic between two contexts in order.
//!
//! Requests and responses have a route each: the fixed route or a flow. It is chosen before the first packet leaves,
//! since no packet may be under way on another route: the context takes a flow of its node, requests one of the peer's
//! (FLOW_REQUEST), and holds back traffic to that context until the grant or denial arrives (FLOW_GRANT). Where there
//! is one shortest path only, or a node has no flow left or refuses the access, it is the fixed route. Both messages
//! take the fixed route, exempt from per-origin ordering.
//!
//! A message that waits for puts to land names the flow of the puts: the reply must follow them.
//!
//! The source side of a flow is closed when its context is destroyed. The target side is
//! [kept](super::orphaned::OrphanedFlows) as long as the client lives.

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::{Coord, Descriptor, Kind, VClass};

use super::orphaned::{OrphanedFlows, Targets};
use super::registers::{self, End, FlowConfig};
use crate::core::Core;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::flow::ordered::Ordered;
use crate::platform::Platform;
use crate::route::Network;
use crate::sync::Arc;
use crate::transport::envelope::Envelope;
use crate::transport::injection::Outgoing;
use crate::transport::lanes::Lanes;
use crate::transport::wire::{ControlMessage, FlowGrant, FlowRequest};

/// Route of the packets of one class to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Unknown,
    /// A flow has been requested of the peer for this flow of the node, at this time (ps): a grant to a destroyed
    /// context is ignored.
    Requested(u8, u64),
    Fixed,
    Flow(u8),
}

/// Traffic of a context to another one whose node can be reached by flows.
struct Peer<P: Platform> {
    /// Of requests and of responses.
    routes: [Route; 2],
    /// In order; the first waits for its route.
    held: VecDeque<Outgoing<P>>,
}

/// The flows of a context.
pub(crate) struct Flows<P: Platform> {
    core: Arc<Core<P>>,
    orphaned: Arc<OrphanedFlows>,
    network: Network,
    /// Flows of the node, on either side.
    count: u8,
    peers: BTreeMap<Endpoint, Peer<P>>,
    /// Flows that end here.
    granted: Targets,
    /// Unused flows that start here and could not be closed.
    unclosed: Vec<u8>,
    /// The first error of the bus that has not been reported: its traffic has taken the fixed route.
    fault: Option<Fault>,
}

/// Place of a class in [`Peer::routes`].
fn class_of(vclass: VClass) -> usize {
    usize::from(vclass == VClass::Response)
}

/// Tag of a message that waits for puts to land: the flow of the puts.
pub(crate) struct PutsBy(pub Option<u8>);

impl PutsBy {
    /// The tag.
    pub fn pack(self) -> u32 {
        self.0.map_or(0, |flow| u32::from(flow) + 1)
    }

    /// Decodes a tag.
    pub fn unpack(tag: u32) -> Self {
        // Flows have 3 bits.
        Self(tag.checked_sub(1).map(|flow| flow as u8 & 7))
    }
}

/// Whether a descriptor is that of a message that waits for puts to land.
fn asks_for_puts(descriptor: &Descriptor) -> bool {
    let dispatch = Envelope::unpack(descriptor.sw0).dispatch;
    descriptor.kind == Kind::MemFifo
        && [
            ControlMessage::PutSync,
            ControlMessage::PutNotice,
            ControlMessage::Fence,
        ]
        .map(|kind| kind as u8)
        .contains(&dispatch)
}

impl<P: Platform> Peer<P> {
    fn new(route: Route) -> Self {
        Self {
            routes: [route; 2],
            held: VecDeque::new(),
        }
    }

    fn route(&self, descriptor: &Descriptor) -> Route {
        match descriptor.deposit {
            // Copies stay on the fixed route. Those packets have no order.
            true => Route::Fixed,
            false => self.routes[class_of(descriptor.vclass)],
        }
    }

    /// Sets the known route in a descriptor.
    fn direct(&self, descriptor: &mut Descriptor) {
        if asks_for_puts(descriptor) {
            let puts = match self.routes[class_of(VClass::Response)] {
                Route::Flow(flow) => Some(flow),
                _ => None,
            };
            descriptor.sw1 = PutsBy(puts).pack();
        }
        if let Route::Flow(flow) = self.route(descriptor) {
            *descriptor = descriptor.with_flow(flow);
        }
    }
}

impl<P: Platform> Flows<P> {
    /// The flows of a new context; `None` when all traffic of the client takes the fixed route. Flows that end here are
    /// [inherited](Self::inherit) when the context is open.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn open(core: &Arc<Core<P>>, orphaned: &Arc<OrphanedFlows>) -> Result<Option<Self>, Fault> {
        if core.layout.config.ordered == Ordered::Fixed {
            return Ok(None);
        }
        Ok(Some(Self {
            core: Arc::clone(core),
            orphaned: Arc::clone(orphaned),
            network: Network::read(&core.platform)?,
            count: registers::count(&core.platform)?,
            peers: BTreeMap::new(),
            granted: Targets::new(),
            unclosed: Vec::new(),
            fault: None,
        }))
    }

    /// Takes over the flows that end at the previous context of this offset.
    pub fn inherit(&mut self) {
        self.granted = self.orphaned.inherit(self.core.offset());
    }

    /// Operations that wait for their route.
    pub fn held(&self) -> usize {
        self.peers.values().map(|peer| peer.held.len()).sum()
    }

    /// Sends an operation to `peer` behind earlier ones, or holds it back until its route is known.
    pub fn transmit(&mut self, lanes: &Lanes<P>, peer: Endpoint, mut outgoing: Outgoing<P>) {
        if self.direct(peer, outgoing.descriptor()) {
            lanes.put(outgoing);
            return;
        }
        let node = outgoing.order.node();
        self.peer(peer, node).held.push_back(outgoing);
        self.release(lanes, peer, node);
    }

    /// Returns once the error that has kept operations from taking a flow.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn report(&mut self) -> Result<(), Fault> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// The value of a step towards a flow; an error is left to [`report`](Self::report).
    fn note<R>(&mut self, result: Result<R, Fault>) -> Option<R> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                None
            }
        }
    }

    /// Sets the route of a descriptor for `peer`; false when it must wait.
    fn direct(&self, peer: Endpoint, descriptor: &mut Descriptor) -> bool {
        if descriptor.dst == self.core.node() {
            return true;
        }
        let Some(state) = self.peers.get(&peer).filter(|state| state.held.is_empty()) else {
            return false;
        };
        let known = matches!(state.route(descriptor), Route::Fixed | Route::Flow(_));
        if known {
            state.direct(descriptor);
        }
        known
    }

    /// The peer's state; its routes are unknown at first, where there are several.
    fn peer(&mut self, peer: Endpoint, node: Coord) -> &mut Peer<P> {
        let Self { core, network, .. } = self;
        self.peers.entry(peer).or_insert_with(|| {
            let several = network.choices(core.node(), node).len() > 1;
            Peer::new(if several {
                Route::Unknown
            } else {
                Route::Fixed
            })
        })
    }

    /// Sends traffic held back for `peer` as far as its routes are known, and requests the next route.
    fn release(&mut self, lanes: &Lanes<P>, peer: Endpoint, node: Coord) {
        loop {
            let state = self.peer(peer, node);
            let Some(first) = state.held.front_mut() else {
                return;
            };
            let first = *first.descriptor();
            match state.route(&first) {
                Route::Fixed | Route::Flow(_) => {
                    if let Some(mut outgoing) = state.held.pop_front() {
                        state.direct(outgoing.descriptor());
                        lanes.put(outgoing);
                    }
                }
                Route::Requested(..) => return,
                Route::Unknown => {
                    let vclass = first.vclass;
                    let requested = self.request(lanes, peer, node, vclass);
                    if self.note(requested) == Some(true) {
                        return;
                    }
                    self.peer(peer, node).routes[class_of(vclass)] = Route::Fixed;
                }
            }
        }
    }

    /// Requests a flow of `peer`; false when none is free here.
    fn request(
        &mut self,
        lanes: &Lanes<P>,
        peer: Endpoint,
        node: Coord,
        vclass: VClass,
    ) -> Result<bool, Fault> {
        let config = FlowConfig {
            peer: node,
            // The number is unknown yet: the grant opens the flow anew.
            number: 0,
            vclass,
            owner: self.core.layout.config.resources.owner,
        };
        let platform = &self.core.platform;
        let flow = registers::open_any(platform, End::Source, self.count, &config)?;
        let requested_at = platform.now_ps();
        let Some(flow) = flow else {
            return Ok(false);
        };
        self.peer(peer, node).routes[class_of(vclass)] = Route::Requested(flow, requested_at);
        let message = FlowRequest {
            vclass: vclass.into(),
            flow,
            requested_at,
        };
        lanes.put_control(peer, ControlMessage::FlowRequest, message.encode())?;
        Ok(true)
    }

    /// Handles FLOW_GRANT from `peer` on `node`: sends the traffic held back.
    ///
    /// # Errors
    /// [`Error::Layout`] for an invalid class.
    pub fn granted(
        &mut self,
        lanes: &Lanes<P>,
        peer: Endpoint,
        node: Coord,
        grant: FlowGrant,
    ) -> Result<(), Fault> {
        let vclass = VClass::try_from(grant.vclass).map_err(Error::from)?;
        let class = class_of(vclass);
        // A response to a request given up since is ignored.
        if self.peer(peer, node).routes[class] != Route::Requested(grant.flow, grant.requested_at) {
            return Ok(());
        }
        let opened = self.open_granted(node, vclass, grant);
        let route = match self.note(opened) {
            Some(true) => Route::Flow(grant.flow),
            _ => Route::Fixed,
        };
        self.peer(peer, node).routes[class] = route;
        self.release(lanes, peer, node);
        Ok(())
    }

    /// Opens a flow anew with the granted number; false when none was granted.
    fn open_granted(
        &mut self,
        node: Coord,
        vclass: VClass,
        grant: FlowGrant,
    ) -> Result<bool, Fault> {
        self.close_source(grant.flow)?;
        let config = FlowConfig {
            peer: node,
            number: grant.number,
            vclass,
            owner: self.core.layout.config.resources.owner,
        };
        let platform = &self.core.platform;
        // Another context may have taken it in between.
        Ok(grant.number != FlowGrant::NONE
            && registers::open(platform, End::Source, grant.flow, &config)?)
    }

    /// Closes a flow that starts here; a flow in use is closed with the context.
    fn close_source(&mut self, flow: u8) -> Result<(), Fault> {
        let closed = registers::close(&self.core.platform, End::Source, flow);
        if closed.is_err() {
            self.unclosed.push(flow);
        }
        closed.map(drop)
    }

    /// Opens the target side of a flow that `peer` on `node` has requested, and returns its number or
    /// [`FlowGrant::NONE`].
    fn grant(&mut self, node: Coord, vclass: VClass, request: &FlowRequest) -> Result<u8, Fault> {
        let platform = &self.core.platform;
        let config = FlowConfig {
            peer: node,
            number: request.flow,
            vclass,
            owner: 0,
        };
        // The flow of that number started at a destroyed context before.
        let mut granted = self.granted.iter();
        let over = granted.find(|(_, granted)| **granted == config);
        if let Some(over) = over.map(|(&flow, _)| flow) {
            registers::close(platform, End::Target, over)?;
            self.granted.remove(&over);
        }
        let flow = registers::open_any(platform, End::Target, self.count, &config)?;
        if let Some(flow) = flow {
            self.granted.insert(flow, config);
        }
        Ok(flow.unwrap_or(FlowGrant::NONE))
    }

    /// Handles refused messages to `peer`: it grants nothing. Traffic held back takes the fixed route, to be refused as
    /// well.
    ///
    /// # Errors
    /// [`Error::UnknownTask`].
    pub fn refused(&mut self, lanes: &Lanes<P>, peer: Endpoint) -> Result<(), Fault> {
        let Some(state) = self.peers.get_mut(&peer) else {
            return Ok(());
        };
        let mut requested = Vec::new();
        for route in &mut state.routes {
            if let Route::Requested(flow, _) = *route {
                *route = Route::Fixed;
                requested.push(flow);
            }
        }
        for flow in requested {
            let closed = self.close_source(flow);
            self.note(closed);
        }
        let node = self.core.place(peer)?.node;
        self.release(lanes, peer, node);
        Ok(())
    }

    /// Gives up all traffic held back. Closes the flows that start here; flows that end here are left to the client.
    ///
    /// # Errors
    /// The first error of the bus; the others have been closed nevertheless.
    pub fn close(&mut self) -> Result<(), Fault> {
        let mut sources = core::mem::take(&mut self.unclosed);
        for peer in core::mem::take(&mut self.peers).into_values() {
            for route in peer.routes {
                if let Route::Flow(flow) | Route::Requested(flow, _) = route {
                    sources.push(flow);
                }
            }
        }
        let platform = &self.core.platform;
        let mut outcome = self.fault.take().map_or(Ok(()), Err);
        for flow in sources {
            let closed = registers::close(platform, End::Source, flow);
            outcome = outcome.and(closed.map(drop));
        }
        let granted = core::mem::take(&mut self.granted);
        outcome.and(self.orphaned.leave(platform, self.core.offset(), granted))
    }
}

/// Handles FLOW_REQUEST from `peer` on `node`: grants a flow if one is free here and the client uses flows.
///
/// # Errors
/// Errors of the bus; [`Error::Layout`] for an invalid class.
pub(crate) fn answer<P: Platform>(
    flows: Option<&mut Flows<P>>,
    lanes: &Lanes<P>,
    (peer, node): (Endpoint, Coord),
    request: FlowRequest,
) -> Result<(), Fault> {
    let vclass = VClass::try_from(request.vclass).map_err(Error::from)?;
    let granted = match flows {
        Some(flows) => flows.grant(node, vclass, &request),
        None => Ok(FlowGrant::NONE),
    };
    // The requester gets an answer in any case.
    let (number, outcome) = match granted {
        Ok(number) => (number, Ok(())),
        Err(error) => (FlowGrant::NONE, Err(error)),
    };
    let grant = FlowGrant {
        vclass: request.vclass,
        flow: request.flow,
        requested_at: request.requested_at,
        number,
    };
    let told = lanes.put_control(peer, ControlMessage::FlowGrant, grant.encode());
    outcome.and(told)
}
