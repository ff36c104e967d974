// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults between driver and DMA engine: descriptors are held back until the driver sleeps, then changed or reordered.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::platform::{Layer, SimPlatform, process_base};
use gyre_driver::{BusError, Platform, WakeReason};
use gyre_firmware::Register;
use gyre_layout::registers::injection_fifo;
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, Kind};
use parking_lot::Mutex;

use crate::conformance::task::{LOST, MATCHED};

/// Dispatch identifiers of the driver's own messages.
const HEADED: u8 = 224;
const ACK: u8 = 227;
const FENCE: u8 = 229;
/// Offset of the user's dispatch identifier in a headed message.
const HEADED_DISPATCH: u64 = 10;

/// Injection FIFOs of a node.
const FIFOS: u16 = 32;
/// Reads of HEAD after which a FIFO continues even if the driver does not sleep.
const PATIENCE: u32 = 8;

/// A fault between driver and DMA engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmaFault {
    /// Fences overtake what was sent to the same node before them.
    EarlyFence,
    /// The first packet with acknowledgements of each task is lost.
    LostAcknowledgement,
    /// The first packet with acknowledgements of each task repeats them.
    DoubledAcknowledgement,
    /// A matched message changes places with a later one of the same match data.
    MatchOutOfOrder,
}

/// An injection FIFO as the driver sees it.
#[derive(Default)]
struct Fifo {
    base: u64,
    size: u64,
    /// TAIL as the DMA engine knows it.
    started: u32,
    /// TAIL as the driver has written it.
    written: u32,
    looks: u32,
}

/// [`SimPlatform`] with a fault, if one is given.
#[derive(Clone)]
pub struct Planted {
    inner: SimPlatform,
    fault: Option<DmaFault>,
    fifos: Arc<Mutex<BTreeMap<u16, Fifo>>>,
    /// The fault has been planted here.
    mine: Arc<AtomicCell<bool>>,
    /// Number of times that the fault was planted in all tasks.
    planted: Arc<AtomicCell<usize>>,
}

impl Planted {
    /// `planted` counts the times that the fault is planted.
    pub fn new(
        inner: SimPlatform,
        fault: Option<DmaFault>,
        planted: &Arc<AtomicCell<usize>>,
    ) -> Self {
        Self {
            inner,
            fault,
            fifos: Arc::default(),
            mine: Arc::default(),
            planted: Arc::clone(planted),
        }
    }

    /// The injection FIFO with a register at `address`, and the register's offset in it.
    fn register(address: u64) -> Option<(u16, u64)> {
        (0..FIFOS).find_map(|fifo| {
            let first = Register::injection_tail(fifo).address - injection_fifo::TAIL;
            let offset = address.checked_sub(first)?;
            (offset < 0x40).then_some((fifo, offset))
        })
    }

    /// Hands the DMA engine the descriptors of FIFO `id` that have been held back.
    fn start(&self, id: u16) -> Result<(), BusError> {
        let (places, tail) = {
            let mut fifos = self.fifos.lock();
            let Some(fifo) = fifos.get_mut(&id).filter(|f| f.started != f.written) else {
                return Ok(());
            };
            let bytes = fifo.written.wrapping_sub(fifo.started) as usize;
            let at = |number: usize| u64::from(fifo.started) + (number * DESCRIPTOR_BYTES) as u64;
            let count = bytes / DESCRIPTOR_BYTES;
            let places: Vec<u64> = (0..count)
                .map(|number| fifo.base + (at(number) & (fifo.size - 1)))
                .collect();
            fifo.started = fifo.written;
            fifo.looks = 0;
            (places, fifo.written)
        };
        let mut descriptors: Vec<_> = places.iter().map(|&at| self.descriptor(at)).collect();
        let planted = match self.fault {
            None => false,
            Some(DmaFault::EarlyFence) => early_fence(&mut descriptors),
            Some(DmaFault::LostAcknowledgement) => self.lose(&mut descriptors),
            Some(DmaFault::DoubledAcknowledgement) => self.double(&mut descriptors),
            Some(DmaFault::MatchOutOfOrder) => self.change_places(&mut descriptors),
        };
        if planted {
            self.mine.store(true);
            self.planted.fetch_add(1);
            for (at, descriptor) in places.into_iter().zip(&descriptors) {
                let bytes = descriptor.encode().expect("as it was");
                self.inner.cpu().mem_write(at, &bytes);
            }
        }
        let register = Register::injection_tail(id).address;
        self.inner.write_reg(register, u64::from(tail))
    }

    fn descriptor(&self, at: u64) -> Descriptor {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        self.inner.cpu().mem_read(at, &mut bytes);
        Descriptor::decode(&bytes).expect("the driver writes descriptors")
    }

    /// Address of the payload of a message of the driver's own.
    fn payload(descriptor: &Descriptor) -> u64 {
        // Slot p is the memory of process p.
        process_base(descriptor.source.slot as u8) + descriptor.source.offset
    }

    fn first_acknowledgement<'a>(
        &self,
        descriptors: &'a mut [Descriptor],
    ) -> Option<&'a mut Descriptor> {
        if self.mine.load() {
            return None;
        }
        descriptors.iter_mut().find(|d| dispatch(d) == Some(ACK))
    }

    fn lose(&self, descriptors: &mut [Descriptor]) -> bool {
        let Some(found) = self.first_acknowledgement(descriptors) else {
            return false;
        };
        found.sw0 = found.sw0 & !0xff | u32::from(LOST);
        true
    }

    fn double(&self, descriptors: &mut [Descriptor]) -> bool {
        let Some(found) = self.first_acknowledgement(descriptors) else {
            return false;
        };
        let mut cookies = vec![0; found.source.length as usize];
        let at = Self::payload(found);
        self.inner.cpu().mem_read(at, &mut cookies);
        // The driver allocates a whole packet, and fills less than half of it here.
        self.inner
            .cpu()
            .mem_write(at + cookies.len() as u64, &cookies);
        found.source.length *= 2;
        true
    }

    /// Whether a descriptor announces or carries a whole matched message.
    fn is_match(&self, descriptor: &Descriptor) -> bool {
        match dispatch(descriptor) {
            Some(MATCHED) => true,
            Some(HEADED) => {
                let mut inner = [0];
                let at = Self::payload(descriptor) + HEADED_DISPATCH;
                self.inner.cpu().mem_read(at, &mut inner);
                inner[0] == MATCHED + 1
            }
            _ => false,
        }
    }

    fn change_places(&self, descriptors: &mut [Descriptor]) -> bool {
        // Destination and match data.
        let label = |d: &Descriptor| (d.dst, d.target, d.sw0 >> 8, d.sw1);
        for later in 1..descriptors.len() {
            let second = descriptors[later];
            let same = |d: &Descriptor| label(d) == label(&second) && self.is_match(d);
            let Some(earlier) = descriptors[..later].iter().position(same) else {
                continue;
            };
            if self.is_match(&second) {
                descriptors.swap(earlier, later);
                return true;
            }
        }
        false
    }
}

/// Dispatch identifier of a message.
fn dispatch(descriptor: &Descriptor) -> Option<u8> {
    (descriptor.kind == Kind::MemFifo).then_some(descriptor.sw0 as u8)
}

fn early_fence(descriptors: &mut [Descriptor]) -> bool {
    let mut planted = false;
    for at in 1..descriptors.len() {
        let fence = descriptors[at];
        if dispatch(&fence) != Some(FENCE) {
            continue;
        }
        let before = descriptors[..at].iter();
        if let Some(first) = before.clone().position(|d| d.dst == fence.dst) {
            descriptors[first..=at].rotate_right(1);
            planted = true;
        }
    }
    planted
}

impl Layer for Planted {
    fn below(&self) -> &SimPlatform {
        &self.inner
    }

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        if let Some((id, injection_fifo::HEAD)) = Self::register(address) {
            let looks = self.fifos.lock().get_mut(&id).map(|fifo| {
                fifo.looks += 1;
                fifo.looks
            });
            if looks.is_some_and(|looks| looks > PATIENCE) {
                self.start(id)?;
            }
        }
        self.inner.read_reg(address)
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        if self.fault.is_some()
            && let Some((id, offset)) = Self::register(address)
        {
            let mut fifos = self.fifos.lock();
            let fifo = fifos.entry(id).or_default();
            match offset {
                // The first write of a set-up: once enabled, HEAD and TAIL begin at 0.
                injection_fifo::BASE => {
                    *fifo = Fifo {
                        base: value,
                        ..Fifo::default()
                    }
                }
                injection_fifo::SIZE => fifo.size = value,
                injection_fifo::TAIL => {
                    fifo.written = value as u32;
                    return Ok(());
                }
                _ => {}
            }
        }
        self.inner.write_reg(address, value)
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        let held: Vec<u16> = self.fifos.lock().keys().copied().collect();
        for id in held {
            self.start(id).expect("TAIL may be written");
        }
        self.inner.wait(group, deadline_ps)
    }
}
