// SPDX-License-Identifier: MIT OR Apache-2.0
//! A node: its memory, its FIFOs and tables, and which descriptors its DMA engine refuses.

use std::collections::BTreeMap;
use std::sync::Weak;

use gyre_layout::registers::{
    base_slot::ctrl as slot, flow_source::ctrl as flow_source, injection_fifo as inj,
};
use gyre_layout::{Coord, DESCRIPTOR_BYTES, Descriptor, ErrorReason, Kind, MAX_PAYLOAD_BYTES};

use crate::access::Gate;
use crate::flows::Flows;
use crate::injection::Injection;
use crate::reception::Reception;
use crate::refusals::Refusals;
use crate::segment::SegmentState;
use crate::slots::{NoPlace, SLOT_BASE, Slots};
use crate::wake::Wake;

/// Bytes of memory of a node.
pub(crate) const MEMORY: usize = 32 << 20;
/// Injection FIFOs of a node, and its reception FIFOs.
pub(crate) const INJECTION_FIFOS: usize = 32;
pub(crate) const RECEPTION_FIFOS: usize = 16;
/// Offset of the first byte that is allocated in the slot of all memory.
const FIRST: u64 = 0x1000;

/// A node.
pub(crate) struct Node {
    pub coord: Coord,
    pub gate: Gate,
    pub memory: Vec<u8>,
    /// Address of the first byte that has never been allocated.
    pub next: u64,
    /// Bytes that are allocated.
    pub allocated: usize,
    pub injection: Vec<Injection>,
    pub reception: Vec<Reception>,
    pub slots: Slots,
    pub wake: Wake,
    pub segments: BTreeMap<u32, Weak<SegmentState>>,
    pub scratch: u64,
    pub refusals: Refusals,
    pub flows: Flows,
    /// Memory-FIFO packets injected so far.
    pub messages: u64,
    /// Packets injected by flows so far.
    pub by_flow: u64,
}

impl Node {
    /// A node after its reset, with the slot of all memory.
    pub fn new(coord: Coord) -> Self {
        Self {
            coord,
            gate: Gate::default(),
            memory: vec![0; MEMORY],
            next: SLOT_BASE + FIRST,
            allocated: 0,
            injection: (0..INJECTION_FIFOS).map(|_| Injection::default()).collect(),
            reception: (0..RECEPTION_FIFOS).map(|_| Reception::default()).collect(),
            slots: Slots::new(MEMORY as u64),
            wake: Wake::default(),
            segments: BTreeMap::new(),
            scratch: 0,
            refusals: Refusals::default(),
            flows: Flows::default(),
            messages: 0,
            by_flow: 0,
        }
    }

    /// Why the DMA engine refuses a descriptor of injection FIFO `f`; else where its payload is.
    pub fn check(&self, f: usize, descriptor: &Descriptor) -> Result<usize, ErrorReason> {
        let ctrl = self.injection[f].ctrl;
        let remote = inj::ctrl::REMOTE_GET.is_set(ctrl);
        let put = descriptor.kind == Kind::Put;
        if remote && (!descriptor.remote || !put || descriptor.requester != descriptor.dst) {
            return Err(ErrorReason::DescRemote);
        }
        if let Some(flow) = descriptor.flow {
            let source = self.flows.sources[usize::from(flow)];
            let peer = descriptor.dst.pack().expect("a node");
            let fits = source.is_open()
                && flow_source::PEER.get(source.ctrl) == u64::from(peer)
                && flow_source::VCLASS.get(source.ctrl) == u64::from(u8::from(descriptor.vclass))
                && flow_source::OWNER.get(source.ctrl) == inj::ctrl::OWNER.get(ctrl)
                && descriptor.dynamic_route;
            if !fits {
                return Err(ErrorReason::DescFlow);
            }
        }
        let length = descriptor.source.length as usize;
        let asks = descriptor.hint != 0 || descriptor.order != 0;
        if (descriptor.deposit && (descriptor.kind != Kind::MemFifo || descriptor.dynamic_route))
            || (asks && !descriptor.dynamic_route)
        {
            return Err(ErrorReason::DescRouting);
        }
        if descriptor.kind == Kind::RemoteGet
            && (length == 0
                || !length.is_multiple_of(DESCRIPTOR_BYTES)
                || length > MAX_PAYLOAD_BYTES)
        {
            return Err(ErrorReason::DescLength);
        }
        if length == 0 || descriptor.kind == Kind::RmwReq {
            return Ok(0);
        }
        let source = descriptor.source;
        let rights = [slot::READ, slot::REMOTE_READ];
        let rights = &rights[..if remote { 2 } else { 1 }];
        let at = self.slots.place(source.slot, source.offset, length, rights);
        let at = at.map_err(|why| match why {
            NoPlace::Bounds => ErrorReason::DescBounds,
            NoPlace::Slot => ErrorReason::DescSlot,
        })?;
        if self.slots.owner(source.slot) != inj::ctrl::OWNER.get(ctrl) {
            return Err(ErrorReason::DescOwner);
        }
        Ok(at)
    }
}
