//! An injection FIFO as its owner uses it: a ring of descriptors in node memory.

use std::collections::VecDeque;

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::registers::injection_fifo::status;
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason, MAX_PAYLOAD_BYTES};

use crate::buffer::BufferRange;
use crate::cost::{COPY_CHUNK, Op};
use crate::error::Error;
use crate::instruction::DoneFn;
use crate::platform::{DmaBuffer, Platform};
use crate::registers::{self, Bus};

/// Alignment of a ring, bytes.
pub(crate) const RING_ALIGN: usize = 4096;

/// Bytes of an entry of the staging area.
const STAGING_BYTES: usize = MAX_PAYLOAD_BYTES;

/// What a descriptor reads.
pub(crate) enum Payload<P: Platform> {
    /// A range of the user's, in place.
    Data(BufferRange<P::Buffer>),
    /// At most [`MAX_PAYLOAD_BYTES`] bytes, copied to the staging area when the descriptor is written.
    Staged(Vec<u8>),
}

/// What ends with a descriptor.
pub(crate) enum Finish<P: Platform> {
    /// Nothing: a message of the driver's own.
    Control,
    /// A send or put: its data has been read. When the descriptor is refused, the operation that waits
    /// for `cookie` fails too; `answered` says that its acknowledgement comes nevertheless.
    Send {
        local_done: Option<DoneFn<P>>,
        cookie: Option<u32>,
        answered: bool,
    },
    /// Get `number` has been asked for.
    Get { number: u64 },
}

/// An operation that is ready to become a descriptor.
pub(crate) struct Outgoing<P: Platform> {
    /// The descriptor; its source is filled in from the payload.
    pub descriptor: Descriptor,
    pub payload: Payload<P>,
    pub finish: Finish<P>,
}

/// A descriptor that the DMA engine has and has not completed.
struct InFlight<P: Platform> {
    payload: Payload<P>,
    finish: Finish<P>,
    refused: Option<Result<ErrorReason, u8>>,
}

/// A descriptor that has completed.
pub(crate) struct Completed<P: Platform> {
    pub finish: Finish<P>,
    pub result: Result<(), Error>,
}

/// An injection FIFO with exclusive use.
pub(crate) struct InjectionFifo<P: Platform> {
    id: u16,
    ring: Option<P::Buffer>,
    /// One entry a descriptor, at the same index: it is free when the descriptor's place is.
    staging: Option<P::Buffer>,
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
        platform.charge(Op::Allocate, 2);
        let ring = platform.alloc(bytes, RING_ALIGN)?;
        let staging = platform.alloc(bytes / DESCRIPTOR_BYTES * STAGING_BYTES, RING_ALIGN)?;
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
            staging: Some(staging),
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
        self.staging = None;
        Ok(())
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Puts an operation behind those that wait already.
    pub fn enqueue(&mut self, outgoing: Outgoing<P>) {
        self.waiting.push_back(outgoing);
    }

    /// Whether the next waiting operation finds no room.
    pub fn blocked(&self) -> bool {
        !self.waiting.is_empty() && self.in_flight.len() >= self.capacity
    }

    /// Turns waiting operations into descriptors as far as there is room, and starts them all with one write
    /// of TAIL. One that makes no descriptor goes to `completed` with its error. Returns how many
    /// left the queue.
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
            let (Some(ring), Some(staging)) = (&self.ring, &self.staging) else {
                return Err(Error::Destroyed);
            };
            platform.charge(Op::Descriptor, 1);
            let mut descriptor = outgoing.descriptor;
            started += 1;
            let place = self.tail as usize & (ring.len() - 1);
            let written = match &outgoing.payload {
                Payload::Data(data) => {
                    // One without data gets a source inside the ring, so that it names a valid slot.
                    let (slot, offset) = data.location().unwrap_or((ring.slot(), ring.offset()));
                    descriptor.source.slot = slot;
                    descriptor.source.offset = offset;
                    Ok(())
                }
                Payload::Staged(bytes) => {
                    let entry = place / DESCRIPTOR_BYTES * STAGING_BYTES;
                    descriptor.source.slot = staging.slot();
                    descriptor.source.offset = staging.offset() + entry as u64;
                    platform.charge(Op::CopyChunk, bytes.len().div_ceil(COPY_CHUNK) as u64);
                    staging.write(entry, bytes)
                }
            };
            let written = written.map_err(Error::from).and_then(|()| {
                let bytes = descriptor.encode()?;
                Ok(ring.write(place, &bytes)?)
            });
            if let Err(error) = written {
                completed.push(Completed {
                    finish: outgoing.finish,
                    result: Err(error),
                });
                continue;
            }
            self.tail = self.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
            self.in_flight.push_back(InFlight {
                payload: outgoing.payload,
                finish: outgoing.finish,
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
                finish: entry.finish,
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
            core::mem::forget(self.staging.take());
            for entry in self.in_flight.drain(..) {
                core::mem::forget(entry.payload);
            }
        }
    }
}
