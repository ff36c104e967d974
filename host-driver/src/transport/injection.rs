//! An injection FIFO as its owner uses it: a ring of descriptors in node memory.

use std::collections::{BTreeMap, VecDeque};

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason, MAX_PAYLOAD_BYTES};

use crate::buffer::BufferRange;
use crate::cost::{COPY_CHUNK, Op};
use crate::done::DoneId;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform, PlatformLock};
use crate::resources::RING_ALIGN;
use crate::sync::{Arc, Mutex, try_lock};
use crate::transport::registers::{self, Bus};

/// Bytes of an entry of the staging area.
const STAGING_BYTES: usize = MAX_PAYLOAD_BYTES;

/// The user of descriptors whose context has been destroyed.
const NOBODY: u32 = 0;

/// What a descriptor reads.
pub(crate) enum Payload<P: Platform> {
    /// A range of the user's, in place.
    Data(BufferRange<P::Buffer>),
    /// At most [`MAX_PAYLOAD_BYTES`] bytes, copied to the staging area when the descriptor is written.
    Staged(Vec<u8>),
    /// Nothing: the descriptor says all.
    Inside,
}

impl<P: Platform> Payload<P> {
    /// Bytes of it.
    pub fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Staged(bytes) => bytes.len(),
            Self::Inside => 0,
        }
    }
}

/// What ends with a descriptor, or with a message in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish {
    /// Nothing: a message of the driver's own.
    Control,
    /// A send or put: its data has been read. When the descriptor is refused, the operation that waits
    /// for `cookie` fails too; `answered` says that its acknowledgement comes nevertheless.
    Send {
        local_done: Option<DoneId>,
        cookie: Option<u32>,
        answered: bool,
    },
    /// Get `number` has been asked for.
    Get { number: u32 },
    /// The message of fence `cookie`.
    Fence { cookie: u32 },
    /// The contribution of part `part` of a transfer on class route `route`.
    Tree { route: u8, part: u64 },
}

/// An operation that is ready to become a descriptor.
pub(crate) struct Outgoing<P: Platform> {
    /// The descriptor; its source is filled in from the payload.
    pub descriptor: Descriptor,
    pub payload: Payload<P>,
    pub finish: Finish,
}

/// A descriptor that the DMA engine has and has not completed.
struct InFlight<P: Platform> {
    payload: Payload<P>,
    finish: Finish,
    refused: Option<Result<ErrorReason, u8>>,
}

/// A descriptor that has completed.
pub(crate) struct Completed {
    pub finish: Finish,
    pub result: Result<(), Fault>,
}

/// The ring of an injection FIFO and its descriptors.
struct Ring<P: Platform> {
    id: u16,
    memory: Option<P::Buffer>,
    /// One entry a descriptor, at the same index: it is free when the descriptor's place is.
    staging: Option<P::Buffer>,
    /// Bytes of descriptors written, modulo 2^32: the value of TAIL.
    tail: u32,
    /// Bytes of descriptors retired, modulo 2^32: follows HEAD.
    head: u32,
    /// Value of TAIL that the hardware knows.
    published: u32,
    /// Each with the user that it belongs to.
    in_flight: VecDeque<(u32, InFlight<P>)>,
    /// Completions of each user that nobody, or another user, has seen.
    mailboxes: BTreeMap<u32, Vec<Completed>>,
    capacity: usize,
    /// Users so far: their numbers.
    users_ever: u32,
    users: usize,
    /// The FIFO is disabled for good.
    closed: bool,
}

/// An injection FIFO: of one context, or shared by all of a process under a lock (EP-2).
pub(crate) struct InjectionFifo<P: Platform> {
    /// Taken around every use; `None` when there is one user.
    lock: Option<P::Lock>,
    /// Only ever taken with `try_lock`: by the holder of `lock`, or by the only user.
    ring: Mutex<Ring<P>>,
}

impl<P: Platform> InjectionFifo<P> {
    /// Allocates a ring of `bytes` bytes and hands it to FIFO `id`. `shared`: several contexts use it.
    pub fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        id: u16,
        bytes: usize,
        owner: u8,
        shared: bool,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 2);
        let memory = platform.alloc(bytes, RING_ALIGN)?;
        let staging = platform.alloc(bytes / DESCRIPTOR_BYTES * STAGING_BYTES, RING_ALIGN)?;
        let config = InjectionConfig {
            base: memory.address(),
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
            lock: shared.then(|| platform.new_lock()),
            ring: Mutex::new(Ring {
                id,
                memory: Some(memory),
                staging: Some(staging),
                tail: 0,
                head: 0,
                published: 0,
                in_flight: VecDeque::new(),
                mailboxes: BTreeMap::new(),
                capacity: bytes / DESCRIPTOR_BYTES,
                users_ever: 0,
                users: 0,
                closed: false,
            }),
        })
    }

    /// Uses the ring, under the lock if it is shared.
    #[inline(always)]
    fn with<R>(
        &self,
        platform: &P,
        work: impl FnOnce(&mut Ring<P>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        if let Some(lock) = &self.lock {
            platform.charge(Op::Lock, 1);
            lock.lock();
        }
        let result = match try_lock(&self.ring) {
            Some(mut ring) => work(&mut ring),
            None => Err(Error::Busy.into()),
        };
        if let Some(lock) = &self.lock {
            platform.charge(Op::Lock, 1);
            lock.unlock();
        }
        result
    }

    /// Whether the last user has closed it.
    pub fn is_closed(&self, platform: &P) -> bool {
        self.with(platform, |ring| Ok(ring.closed)).unwrap_or(true)
    }

    /// Disables a FIFO that has no user.
    pub fn close_unused(&self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.with(platform, |ring| match ring.users {
            0 => ring.close(node),
            _ => Ok(()),
        })
    }
}

/// The use that one context makes of an injection FIFO: what it has sent through it, and what waits for
/// room.
pub(crate) struct Lane<P: Platform> {
    fifo: Arc<InjectionFifo<P>>,
    /// Number of the context among the FIFO's users.
    user: u32,
    waiting: VecDeque<Outgoing<P>>,
    in_flight: usize,
    /// The ring was full when this context last wrote to it.
    full: bool,
    /// A refused descriptor of this context had not been skipped when it last looked.
    resuming: bool,
}

impl<P: Platform> Lane<P> {
    /// Makes a context a user of `fifo`.
    pub fn open(platform: &P, fifo: &Arc<InjectionFifo<P>>) -> Result<Self, Fault> {
        let user = fifo.with(platform, |ring| {
            ring.users += 1;
            ring.users_ever = ring.users_ever.wrapping_add(1);
            Ok(ring.users_ever)
        })?;
        Ok(Self {
            fifo: Arc::clone(fifo),
            user,
            waiting: VecDeque::new(),
            in_flight: 0,
            full: false,
            resuming: false,
        })
    }

    /// Ends the use; the last user disables the FIFO. What has not completed is given up.
    pub fn close(&mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.waiting.clear();
        self.fifo.with(platform, |ring| {
            ring.mailboxes.remove(&self.user);
            for (user, entry) in &mut ring.in_flight {
                if *user == self.user {
                    *user = NOBODY;
                    entry.finish = Finish::Control;
                }
            }
            ring.users -= 1;
            match ring.users {
                0 => ring.close(node),
                _ => Ok(()),
            }
        })
    }

    /// Descriptors of this context that have not been retired.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Puts an operation behind those that wait already.
    pub fn enqueue(&mut self, outgoing: Outgoing<P>) {
        self.waiting.push_back(outgoing);
    }

    /// Whether the next waiting operation found no room.
    pub fn blocked(&self) -> bool {
        self.full && !self.waiting.is_empty()
    }

    /// Whether a refused descriptor has not been skipped yet.
    pub fn resuming(&self) -> bool {
        self.resuming
    }

    /// Turns waiting operations into descriptors as far as there is room, and starts them all with one
    /// write of TAIL. One that makes no descriptor goes to `completed` with its error. Returns how many
    /// left the queue.
    pub fn start(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        let fifo = Arc::clone(&self.fifo);
        fifo.with(platform, |ring| {
            let before = self.waiting.len();
            while ring.in_flight.len() < ring.capacity {
                let Some(outgoing) = self.waiting.pop_front() else {
                    break;
                };
                match ring.write(platform, &outgoing) {
                    Ok(()) => {
                        self.in_flight += 1;
                        let entry = InFlight {
                            payload: outgoing.payload,
                            finish: outgoing.finish,
                            refused: None,
                        };
                        ring.in_flight.push_back((self.user, entry));
                    }
                    Err(error) => completed.push(Completed {
                        finish: outgoing.finish,
                        result: Err(error),
                    }),
                }
            }
            self.full = ring.in_flight.len() >= ring.capacity;
            ring.publish(platform)?;
            Ok(before - self.waiting.len())
        })
    }

    /// Makes a descriptor of a message of at most [`MAX_PAYLOAD_BYTES`] bytes with which nothing ends, and starts
    /// it. Says whether it did: not when others wait already or the ring is full.
    #[inline(always)] // The descriptor is encoded where it is made, which knows most of its fields.
    pub fn inject(
        &mut self,
        platform: &P,
        descriptor: &mut Descriptor,
        payload: &[u8],
    ) -> Result<bool, Fault> {
        if !self.waiting.is_empty() {
            return Ok(false);
        }
        self.fifo.with(platform, |ring| {
            if ring.in_flight.len() >= ring.capacity {
                return Ok(false);
            }
            ring.stage(platform, payload, descriptor)?;
            ring.append(platform, descriptor)?;
            self.in_flight += 1;
            let entry = InFlight {
                payload: Payload::Inside,
                finish: Finish::Control,
                refused: None,
            };
            ring.in_flight.push_back((self.user, entry));
            ring.publish(platform)?;
            Ok(true)
        })
    }

    /// Reads HEAD and retires what has completed: what is this context's goes into `completed`. Returns
    /// how many that are.
    pub fn poll(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        let fifo = Arc::clone(&self.fifo);
        fifo.with(platform, |ring| {
            let user = self.user;
            self.collect(ring, completed, |ring, completed| {
                ring.retire(platform, user, completed)
            })
        })
    }

    /// Looks whether the FIFO has halted at a descriptor that the DMA engine refuses; if so, retires what
    /// came before, notes the refusal for the descriptor's done callback and lets the FIFO skip it.
    pub fn check_halt(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        let fifo = Arc::clone(&self.fifo);
        fifo.with(platform, |ring| {
            let user = self.user;
            self.collect(ring, completed, |ring, completed| {
                ring.check_halt(platform, user, completed)
            })
            .map(drop)
        })
    }

    /// Takes what has completed of this context: what others have seen, then what `look` finds.
    fn collect(
        &mut self,
        ring: &mut Ring<P>,
        completed: &mut Vec<Completed>,
        look: impl FnOnce(&mut Ring<P>, &mut Vec<Completed>) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        let before = completed.len();
        if let Some(mine) = ring.mailboxes.remove(&self.user) {
            completed.extend(mine);
        }
        let looked = look(ring, completed);
        let count = completed.len() - before;
        self.in_flight -= count;
        self.full &= ring.in_flight.len() >= ring.capacity;
        self.resuming = ring.resuming() == Some(self.user);
        looked.map(|()| count)
    }
}

impl<P: Platform> Ring<P> {
    /// Writes the descriptor of an operation behind the others.
    fn write(&mut self, platform: &P, outgoing: &Outgoing<P>) -> Result<(), Fault> {
        let mut descriptor = outgoing.descriptor;
        match &outgoing.payload {
            Payload::Data(data) => {
                let memory = self.memory.as_ref().ok_or(Error::Destroyed)?;
                // One without data gets a source inside the ring, so that it names a valid slot.
                let (slot, offset) = data.location().unwrap_or((memory.slot(), memory.offset()));
                descriptor.source.slot = slot;
                descriptor.source.offset = offset;
            }
            Payload::Staged(bytes) => self.stage(platform, bytes, &mut descriptor)?,
            Payload::Inside => {}
        }
        self.append(platform, &descriptor)
    }

    /// Copies the payload of the next descriptor to its place in the staging area.
    #[inline(always)]
    fn stage(
        &self,
        platform: &P,
        payload: &[u8],
        descriptor: &mut Descriptor,
    ) -> Result<(), Fault> {
        let Some(staging) = &self.staging else {
            return Err(Error::Destroyed.into());
        };
        let place = (self.tail as usize / DESCRIPTOR_BYTES) & (self.capacity - 1);
        let entry = place * STAGING_BYTES;
        descriptor.source.slot = staging.slot();
        descriptor.source.offset = staging.offset() + entry as u64;
        if !payload.is_empty() {
            platform.charge(Op::CopyChunk, payload.len().div_ceil(COPY_CHUNK) as u64);
            staging.write(entry, payload)?;
        }
        Ok(())
    }

    /// Writes a descriptor behind the others.
    #[inline(always)]
    fn append(&mut self, platform: &P, descriptor: &Descriptor) -> Result<(), Fault> {
        let Some(memory) = &self.memory else {
            return Err(Error::Destroyed.into());
        };
        platform.charge(Op::Descriptor, 1);
        let place = self.tail as usize & (memory.len() - 1);
        memory.write(place, &descriptor.encode()?)?;
        self.tail = self.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
        Ok(())
    }

    /// Tells the hardware about new descriptors.
    fn publish(&mut self, platform: &P) -> Result<(), Fault> {
        if self.published != self.tail {
            let register = Register::injection_tail(self.id);
            registers::write(platform, register, u64::from(self.tail))?;
            self.published = self.tail;
        }
        Ok(())
    }

    /// Reads HEAD and takes what has completed: that of `user` goes into `completed`, that of others into their
    /// mailboxes.
    fn retire(
        &mut self,
        platform: &P,
        user: u32,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        platform.charge(Op::Poll, 1);
        let value = registers::read(platform, Register::injection_head(self.id))?;
        let inconsistent = |reason| -> Fault {
            Error::Register {
                register: "HEAD",
                fifo: self.id,
                value,
                reason,
            }
            .into()
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
        if count == 0 {
            return Ok(());
        }
        platform.charge(Op::Retire, count as u64);
        for (owner, entry) in self.in_flight.drain(..count) {
            let result = match entry.refused {
                None => Ok(()),
                Some(reason) => Err(Error::Descriptor {
                    fifo: self.id,
                    reason,
                }
                .into()),
            };
            let entry = Completed {
                finish: entry.finish,
                result,
            };
            if owner == user {
                completed.push(entry);
            } else if owner != NOBODY {
                self.mailboxes.entry(owner).or_default().push(entry);
            }
        }
        self.head = head;
        Ok(())
    }

    fn check_halt(
        &mut self,
        platform: &P,
        user: u32,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        let halt = registers::injection_halt(platform, self.id)?;
        let Some(reason) = halt.filter(|_| self.resuming().is_none()) else {
            return Ok(());
        };
        // The engine halts when nothing older is in flight: HEAD points at the descriptor.
        self.retire(platform, user, completed)?;
        match self.in_flight.front_mut() {
            Some((_, entry)) => entry.refused = Some(reason),
            None => {
                return Err(Error::Descriptor {
                    fifo: self.id,
                    reason,
                }
                .into());
            }
        }
        registers::skip_refused(platform, self.id)
    }

    /// Disables the FIFO and frees its memory, unless the DMA engine may still read that.
    fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        node.close_injection(self.id)
            .map_err(|cause| Error::SetUp {
                what: "an injection FIFO",
                cause,
            })?;
        self.closed = true;
        if self.in_flight.is_empty() {
            self.memory = None;
            self.staging = None;
        }
        Ok(())
    }

    /// Whose refused descriptor has not been skipped yet.
    fn resuming(&self) -> Option<u32> {
        let (user, entry) = self.in_flight.front()?;
        entry.refused.is_some().then_some(*user)
    }
}

impl<P: Platform> Drop for Ring<P> {
    /// A FIFO that was not closed with nothing in flight may still be read by the DMA engine: its ring and the
    /// data of its descriptors are leaked rather than given to somebody else.
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            core::mem::forget(memory);
            core::mem::forget(self.staging.take());
            for (_, entry) in self.in_flight.drain(..) {
                core::mem::forget(entry.payload);
            }
        }
    }
}
