//! An injection FIFO as its owner uses it: a ring of descriptors in node memory.

use std::collections::VecDeque;

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::registers::injection_fifo::status;
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason};

use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::error::Error;
use crate::instruction::DoneFn;
use crate::platform::{DmaBuffer, Platform};
use crate::registers::{self, Bus};

/// Alignment of a ring, bytes.
pub(crate) const RING_ALIGN: usize = 4096;

/// A send that is ready to become a descriptor.
pub(crate) struct Outgoing<P: Platform> {
    /// The descriptor; one without data gets a source inside the ring, so that it names a valid slot.
    pub descriptor: Descriptor,
    /// The data.
    pub data: BufferRange<P::Buffer>,
    /// Called when the DMA engine has read the data.
    pub local_done: Option<DoneFn<P>>,
}

/// A descriptor that the DMA engine has and has not completed.
struct InFlight<P: Platform> {
    data: BufferRange<P::Buffer>,
    local_done: Option<DoneFn<P>>,
    refused: Option<Result<ErrorReason, u8>>,
}

/// A descriptor that has completed.
pub(crate) struct Completed<P: Platform> {
    pub local_done: Option<DoneFn<P>>,
    pub result: Result<(), Error>,
}

/// An injection FIFO with exclusive use.
pub(crate) struct InjectionFifo<P: Platform> {
    id: u16,
    ring: Option<P::Buffer>,
    /// Bytes of descriptors written, modulo 2^32: the value of TAIL.
    tail: u32,
    /// Bytes of descriptors retired, modulo 2^32: follows HEAD.
    head: u32,
    /// Value of TAIL that the hardware knows.
    published: u32,
    in_flight: VecDeque<InFlight<P>>,
    waiting: VecDeque<Outgoing<P>>,
    capacity: usize,
}

impl<P: Platform> InjectionFifo<P> {
    /// Allocates a ring of `bytes` bytes and hands it to FIFO `id`.
    pub fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        id: u16,
        bytes: usize,
        owner: u8,
    ) -> Result<Self, Error> {
        platform.charge(Op::Allocate, 1);
        let ring = platform.alloc(bytes, RING_ALIGN)?;
        let config = InjectionConfig {
            base: ring.address(),
            size: bytes as u64,
            owner,
            remote_get: false,
            // Also the condition for the wake-up event; INT_MASK decides about interrupts.
            interrupt: true,
        };
        node.open_injection(id, &config)
            .map_err(|cause| Error::SetUp {
                what: "an injection FIFO",
                cause,
            })?;
        Ok(Self {
            id,
            ring: Some(ring),
            tail: 0,
            head: 0,
            published: 0,
            in_flight: VecDeque::new(),
            waiting: VecDeque::new(),
            capacity: bytes / DESCRIPTOR_BYTES,
        })
    }

    /// Disables the FIFO and frees its ring. Only with nothing in flight.
    pub fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Error> {
        node.close_injection(self.id)
            .map_err(|cause| Error::SetUp {
                what: "an injection FIFO",
                cause,
            })?;
        self.ring = None;
        Ok(())
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Puts a send behind those that wait already.
    pub fn enqueue(&mut self, outgoing: Outgoing<P>) {
        self.waiting.push_back(outgoing);
    }

    /// Whether the next waiting send finds no room.
    pub fn blocked(&self) -> bool {
        !self.waiting.is_empty() && self.in_flight.len() >= self.capacity
    }

    /// Turns waiting sends into descriptors as far as there is room, and starts them all with one write
    /// of TAIL. A send that makes no descriptor goes to `completed` with its error. Returns how many
    /// sends left the queue.
    pub fn start(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed<P>>,
    ) -> Result<usize, Error> {
        let mut started = 0;
        while self.in_flight.len() < self.capacity {
            let Some(outgoing) = self.waiting.pop_front() else {
                break;
            };
            let Some(ring) = &self.ring else {
                return Err(Error::Destroyed);
            };
            platform.charge(Op::Descriptor, 1);
            let mut descriptor = outgoing.descriptor;
            if let Some((slot, offset)) = outgoing.data.location() {
                descriptor.source.slot = slot;
                descriptor.source.offset = offset;
            } else {
                descriptor.source.slot = ring.slot();
                descriptor.source.offset = ring.offset();
            }
            started += 1;
            let place = self.tail as usize & (ring.len() - 1);
            let written = descriptor
                .encode()
                .map_err(Error::from)
                .and_then(|bytes| Ok(ring.write(place, &bytes)?));
            if let Err(error) = written {
                completed.push(Completed {
                    local_done: outgoing.local_done,
                    result: Err(error),
                });
                continue;
            }
            self.tail = self.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
            self.in_flight.push_back(InFlight {
                data: outgoing.data,
                local_done: outgoing.local_done,
                refused: None,
            });
        }
        if self.published != self.tail {
            registers::write(
                platform,
                Register::injection_tail(self.id),
                u64::from(self.tail),
            )?;
            self.published = self.tail;
        }
        Ok(started)
    }

    /// Reads HEAD and retires what has completed into `completed`.
    pub fn poll(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed<P>>,
    ) -> Result<usize, Error> {
        let value = registers::read(platform, Register::injection_head(self.id))?;
        let inconsistent = |reason| Error::Register {
            register: "HEAD",
            fifo: self.id,
            value,
            reason,
        };
        let head = u32::try_from(value).map_err(|_| inconsistent("more than 32 bits"))?;
        let bytes = head.wrapping_sub(self.head) as usize;
        if !bytes.is_multiple_of(DESCRIPTOR_BYTES) {
            return Err(inconsistent("not a whole number of descriptors"));
        }
        let count = bytes / DESCRIPTOR_BYTES;
        if count > self.in_flight.len() {
            return Err(inconsistent("beyond the tail"));
        }
        platform.charge(Op::Retire, count as u64);
        for entry in self.in_flight.drain(..count) {
            let result = match entry.refused {
                None => Ok(()),
                Some(reason) => Err(Error::Descriptor {
                    fifo: self.id,
                    reason,
                }),
            };
            completed.push(Completed {
                local_done: entry.local_done,
                result,
            });
        }
        self.head = head;
        Ok(count)
    }

    /// Looks whether the FIFO has halted at a descriptor that the DMA engine refuses; if so, retires what
    /// came before, notes the refusal for the descriptor's done callback and lets the FIFO skip it.
    pub fn check_halt(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed<P>>,
    ) -> Result<(), Error> {
        let register = Register::injection_status(self.id);
        let value = registers::read(platform, register)?;
        // The field has 8 bits.
        let code = status::REASON.get(value) as u8;
        // Halted without a reason yet: the error event follows.
        if !status::HALTED.is_set(value) || code == u8::from(ErrorReason::None) || self.resuming() {
            return Ok(());
        }
        let reason = ErrorReason::try_from(code).map_err(|_| code);
        // The engine halts when nothing older is in flight: HEAD points at the descriptor.
        self.poll(platform, completed)?;
        match self.in_flight.front_mut() {
            Some(entry) => entry.refused = Some(reason),
            None => {
                return Err(Error::Descriptor {
                    fifo: self.id,
                    reason,
                });
            }
        }
        registers::write(platform, register, status::HALTED.put(1))
    }

    /// Whether a refused descriptor has not been skipped yet.
    pub fn resuming(&self) -> bool {
        self.in_flight
            .front()
            .is_some_and(|entry| entry.refused.is_some())
    }
}

impl<P: Platform> Drop for InjectionFifo<P> {
    /// A FIFO that was not closed may still be read by the DMA engine: its ring and the data of its
    /// descriptors are leaked rather than given to somebody else.
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            core::mem::forget(ring);
            for entry in self.in_flight.drain(..) {
                core::mem::forget(entry.data);
            }
        }
    }
}
