// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task's side: the driver's platform as requests to the machine.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use gyre_driver::{
    AllocError, BusError, DmaBuffer, Note, Op, Platform, PlatformLock, RangeError, SegmentError,
    SharedSegment, WakeReason,
};
use thiserror::Error;

use crate::connection::{Connection, Link, unasked};
use crate::description::TaskDescription;
use crate::inherited;
use crate::lock::RemoteLock;
use crate::mailbox::{Mailbox, MailboxError, WINDOW_BYTES};
use crate::memory_server;
use crate::protocol::{Answer, INLINE_BYTES, READ_AHEAD_BYTES, Request, clip, op_number};
use crate::windows::offset_of;

/// Simulated time of a read of a clock, picoseconds: what a call of the C library takes that enters no kernel.
const CLOCK_PS: u64 = 20_000;

/// Failure of a task in its process.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The mailbox has no machine.
    #[error("no machine: {0}")]
    Attach(MailboxError),
    /// The machine ended, or gave a wrong answer.
    #[error("the machine is lost: {0}")]
    Lost(MailboxError),
    /// The task failed; the machine knows it.
    #[error("{0}")]
    Failed(String),
}

/// Runs `task` on the machine that started this process ([`TaskProcess::spawn`]), and tells the machine how it ended.
/// Once in a process.
///
/// When the machine is lost, `task` is unwound, as methods of a platform return no such error.
///
/// # Errors
/// [`TaskError`].
///
/// [`TaskProcess::spawn`]: crate::TaskProcess::spawn
pub fn run<E: Display>(
    task: impl FnOnce(&RemotePlatform) -> Result<(), E>,
) -> Result<(), TaskError> {
    run_on(attached().map_err(TaskError::Attach)?, task)
}

/// Attaches to the machine that started this process, for a program that is not a function: its task ends with the process.
/// Once in a process, instead of [`run`].
///
/// When the machine is lost, the calls of the platform unwind with a [`MailboxError`].
///
/// # Errors
/// [`TaskError::Attach`].
pub fn attach() -> Result<RemotePlatform, TaskError> {
    Connection::new(attached().map_err(TaskError::Attach)?, 0).begin();
    Ok(RemotePlatform { connection: Link })
}

/// Opens the mailbox that this process was started with. From then on the machine reaches the process's memory, even where the
/// system forbids it.
fn attached() -> Result<Mailbox, MailboxError> {
    let (mailbox, channel) = inherited::take()?;
    let mailbox = Mailbox::open(mailbox)?;
    memory_server::answer_requests(channel)?;
    Ok(mailbox)
}

/// [`run`] on an open mailbox.
pub(crate) fn run_on<E: Display>(
    mailbox: Mailbox,
    task: impl FnOnce(&RemotePlatform) -> Result<(), E>,
) -> Result<(), TaskError> {
    Connection::new(mailbox, 0).begin();
    let platform = RemotePlatform { connection: Link };
    // The task's state is not used after it was unwound.
    let result = catch_unwind(AssertUnwindSafe(|| task(&platform)));
    let error = match result {
        Ok(result) => result.err().map(|error| error.to_string()),
        Err(payload) => match payload.downcast::<MailboxError>() {
            Ok(lost) => return Err(TaskError::Lost(*lost)),
            Err(payload) => resume_unwind(payload),
        },
    };
    let finish = Request::Finish {
        error: error.as_deref().map(clip),
    };
    let answer = platform.connection.exchange(&finish);
    // Handles that the task has leaked are invalid from here on.
    platform.connection.lost.set(true);
    match answer {
        Ok(Answer::Done) => error.map_or(Ok(()), |text| Err(TaskError::Failed(text))),
        Ok(answer) => Err(TaskError::Lost(unasked(&finish, &answer))),
        Err(lost) => Err(TaskError::Lost(lost)),
    }
}

/// The machine, for a thread of a task in a process. Threads may exchange handles: the calling thread spends the time of a
/// call. A thread that the machine does not serve ([`is_attached`](crate::is_attached)) panics.
#[derive(Clone)]
pub struct RemotePlatform {
    connection: Link,
}

impl Platform for RemotePlatform {
    type Buffer = RemoteBuffer;
    type Lock = RemoteLock;
    type Segment = RemoteSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        let request = Request::ReadRegister { address };
        match self.connection.ask(&request) {
            Answer::Value(value) => Ok(value),
            Answer::Refused(refusal) => Err(refusal.into()),
            answer => self.connection.unasked(&request, &answer),
        }
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        // Not with the next request: the process may wait elsewhere for its effect.
        let request = Request::WriteRegister { address, value };
        match self.connection.ask(&request) {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(refusal.into()),
            answer => self.connection.unasked(&request, &answer),
        }
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<RemoteBuffer, AllocError> {
        let request = Request::Allocate {
            bytes: bytes as u64,
            align: align as u64,
        };
        self.buffer(&request, (bytes, align), None)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<RemoteSegment, SegmentError> {
        let request = Request::Share {
            number,
            bytes: bytes as u64,
        };
        match self.connection.ask(&request) {
            Answer::Segment { segment, address } => Ok(RemoteSegment {
                memory: self.memory(segment, bytes, true),
                address,
            }),
            Answer::NoMemory { reason } => Err(SegmentError {
                number,
                bytes,
                reason,
            }),
            answer => self.connection.unasked(&request, &answer),
        }
    }

    fn now_ps(&self) -> u64 {
        self.connection.time_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        let op = op_number(op);
        self.connection.add(Request::Charge { op, count });
    }

    #[inline]
    fn note(&self, note: Note) {
        self.connection.note(note);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        let woken = self.connection.truth(&Request::Wait { group, deadline_ps });
        if woken {
            WakeReason::Wake
        } else {
            WakeReason::Deadline
        }
    }

    fn notify(&self, group: u8) {
        self.connection.tell(&Request::Notify { group });
    }

    fn yield_now(&self) {
        self.connection.tell(&Request::Yield);
    }

    fn new_lock(&self) -> RemoteLock {
        RemoteLock::new()
    }
}

impl RemotePlatform {
    /// Task and job of the process.
    ///
    /// # Errors
    /// [`MailboxError::Malformed`] for a machine of another version.
    pub fn description(&self) -> Result<TaskDescription, MailboxError> {
        if let Some(description) = self.connection.description.get() {
            return Ok(description.clone());
        }
        let bytes = self.connection.value(&Request::Describe);
        let mut text = vec![0; (bytes as usize).min(WINDOW_BYTES)];
        self.connection.mailbox.take_window(&mut text);
        let description: TaskDescription = postcard::from_bytes(&text)
            .map_err(|error| MailboxError::Malformed(error.to_string()))?;
        Ok(self
            .connection
            .description
            .get_or_init(|| description)
            .clone())
    }

    /// Registers `bytes` bytes of this process from `memory` on with the DMA engine, wherever they are. Reads and
    /// writes of the buffer are copies in this process.
    ///
    /// # Errors
    /// [`AllocError`] when the machine has no addresses left for them.
    ///
    /// # Safety
    /// The bytes must stay where they are as long as the buffer lasts, and nothing that relies on them to keep their value
    /// may do so: the DMA engine writes them whenever the process waits for the machine.
    pub unsafe fn map(&self, memory: *mut u8, bytes: usize) -> Result<RemoteBuffer, AllocError> {
        let address = memory as usize;
        let windows = self.description().ok().and_then(|task| task.windows);
        if let (Some(place), Some(offset)) = (windows, offset_of(address, bytes)) {
            return Ok(RemoteBuffer {
                bytes: Bytes::Own(OwnMemory {
                    address,
                    len: bytes,
                    connection: self.connection,
                    _mapped: None,
                }),
                slot: place.slot,
                offset,
                address: place.address + offset,
            });
        }
        let request = Request::Map {
            address: address as u64,
            bytes: bytes as u64,
        };
        self.buffer(&request, (bytes, 1), Some(address))
    }

    /// Whether at most a page of this process from `memory` on can be read and written, which takes no simulated time.
    #[must_use]
    pub fn is_writable(&self, memory: *mut u8, bytes: usize) -> bool {
        memory_server::is_writable(memory as usize, bytes)
    }

    fn buffer(
        &self,
        request: &Request,
        (bytes, align): (usize, usize),
        own: Option<usize>,
    ) -> Result<RemoteBuffer, AllocError> {
        match self.connection.ask(request) {
            Answer::Buffer {
                buffer,
                slot,
                offset,
                address,
            } => {
                let node = self.memory(buffer, bytes, false);
                Ok(RemoteBuffer {
                    bytes: match own {
                        None => Bytes::Node(node),
                        Some(address) => Bytes::Own(OwnMemory {
                            address,
                            len: bytes,
                            connection: self.connection,
                            _mapped: Some(node),
                        }),
                    },
                    slot,
                    offset,
                    address,
                })
            }
            Answer::NoMemory { reason } => Err(AllocError {
                bytes,
                align,
                reason,
            }),
            answer => self.connection.unasked(request, &answer),
        }
    }

    /// A handle for the calling thread, which the machine must serve.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { connection: Link }
    }

    /// Number of the calling thread in its task, whose first thread is 0.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.connection.thread
    }

    /// Sleeps until this time of the machine, picoseconds.
    pub fn sleep_until(&self, until_ps: u64) {
        self.connection.tell(&Request::Sleep { until_ps });
    }

    /// Charges computation of the program, picoseconds of simulated time.
    pub fn compute(&self, ps: u64) {
        self.connection.add(Request::Compute { ps });
    }

    /// Charges polls in vain, picoseconds of simulated time.
    pub fn poll(&self, ps: u64) {
        self.connection.add(Request::Poll { ps });
    }

    /// The machine's time for a program that reads a clock, picoseconds: it may wait for a time, not for a message. The read takes
    /// [`CLOCK_PS`].
    #[must_use]
    pub fn clock_ps(&self) -> u64 {
        self.connection.add(Request::Look { ps: CLOCK_PS });
        self.now_ps()
    }

    /// Notes that the thread may wait for something else than a message.
    pub fn stay_awake(&self) {
        self.connection.add(Request::Look { ps: 0 });
    }

    /// Requests of this thread so far that do more than spend time. While it does not change, the thread has changed nothing outside of
    /// its process.
    #[must_use]
    pub fn deeds(&self) -> u64 {
        self.connection.deeds.get()
    }

    /// Takes the thread's own time back to `ps` behind a wait, though the machine has gone on: it then spends time, and reads
    /// clocks, as it would have done meanwhile. Its next request that does more is made when the wait has ended. No effect where the
    /// thread does not know its time.
    pub fn go_back_to(&self, ps: u64) {
        if let Some(now_ps) = self.connection.now_ps.get() {
            self.connection.behind_ps.set(now_ps.saturating_sub(ps));
        }
    }

    /// Whether the thread's own time is behind that on the machine.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.connection.behind_ps.get() > 0
    }

    /// Enters the next barrier of the job; [`have_arrived`](Self::have_arrived) reports when all have.
    pub fn arrive(&self) {
        self.connection.tell(&Request::Arrive);
    }

    /// Whether all tasks of the job have entered the barrier that this one has entered last. Takes no simulated time; callers let
    /// some pass between calls.
    #[must_use]
    pub fn have_arrived(&self) -> bool {
        self.connection.truth(&Request::HaveArrived)
    }

    /// Lets the machine carry out the queued requests: freed buffers, charged costs.
    pub fn flush(&self) {
        self.connection.tell(&Request::Flush);
    }

    fn memory(&self, handle: u64, len: usize, shared: bool) -> RemoteMemory {
        RemoteMemory {
            connection: self.connection,
            handle,
            len,
            shared,
        }
    }
}

/// Refuses an access that leaves `len` bytes.
fn check(len: usize, offset: usize, bytes: usize) -> Result<(), RangeError> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        _ => Err(RangeError { offset, bytes, len }),
    }
}

/// Bytes in the node's memory, freed on drop.
struct RemoteMemory {
    connection: Link,
    handle: u64,
    len: usize,
    /// Whether other processes share it: then an access takes time, by the cache lines that it touches.
    shared: bool,
}

impl RemoteMemory {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        check(self.len, offset, out.len())?;
        if out.len() <= READ_AHEAD_BYTES && !self.shared {
            self.read_small(offset, out);
            return Ok(());
        }
        for (at, piece) in pieces(offset, out.len()) {
            self.ask_for(at, piece);
            let start = at - offset;
            self.connection
                .mailbox
                .take_window(&mut out[start..start + piece]);
        }
        Ok(())
    }

    /// Reads ahead, as the next read is likely to follow: a packet after its header.
    fn read_small(&self, offset: usize, out: &mut [u8]) {
        let bytes = out.len();
        if let Some(here) = self
            .connection
            .ahead
            .borrow()
            .get(self.handle, offset, bytes)
        {
            return out.copy_from_slice(here);
        }
        let room = (self.len - offset).min(READ_AHEAD_BYTES);
        self.ask_for(offset, room);
        let mut ahead = self.connection.ahead.borrow_mut();
        (ahead.buffer, ahead.offset) = (self.handle, offset);
        ahead.bytes.resize(room, 0);
        self.connection.mailbox.take_window(&mut ahead.bytes);
        out.copy_from_slice(&ahead.bytes[..bytes]);
    }

    /// Lets the machine copy bytes of the buffer into the window.
    fn ask_for(&self, offset: usize, bytes: usize) {
        self.connection.tell(&Request::ReadBuffer {
            buffer: self.handle,
            offset: offset as u64,
            bytes: bytes as u64,
        });
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        check(self.len, offset, data.len())?;
        if data.len() <= INLINE_BYTES {
            self.connection.add(Request::WriteInline {
                buffer: self.handle,
                offset: offset as u64,
                data: data.to_owned(),
            });
            if self.shared {
                self.connection.now_ps.set(None);
            }
            return Ok(());
        }
        for (at, piece) in pieces(offset, data.len()) {
            let start = at - offset;
            self.connection
                .mailbox
                .fill_window(&data[start..start + piece]);
            self.connection.tell(&Request::WriteBuffer {
                buffer: self.handle,
                offset: at as u64,
                bytes: piece as u64,
            });
        }
        Ok(())
    }
}

impl Drop for RemoteMemory {
    fn drop(&mut self) {
        let buffer = self.handle;
        self.connection.add(Request::Free { buffer });
    }
}

/// Bytes of this process that are registered with the node.
struct OwnMemory {
    address: usize,
    len: usize,
    /// Connection of the thread that may use them.
    connection: Link,
    /// Registration of the bytes as long as the buffer lasts, unless it is a window.
    _mapped: Option<RemoteMemory>,
}

impl OwnMemory {
    /// The byte at `offset`, of `bytes` bytes. The machine has written all of them that the task has been told of.
    fn place(&self, offset: usize, bytes: usize) -> Result<*mut u8, RangeError> {
        check(self.len, offset, bytes)?;
        // Panics on another thread.
        let _: &Connection = &self.connection;
        Ok((self.address + offset) as *mut u8)
    }
}

/// Place of a buffer's bytes.
enum Bytes {
    Node(RemoteMemory),
    Own(OwnMemory),
}

/// A buffer in the node's memory, freed on drop.
pub struct RemoteBuffer {
    bytes: Bytes,
    slot: u16,
    offset: u64,
    address: u64,
}

impl DmaBuffer for RemoteBuffer {
    fn len(&self) -> usize {
        match &self.bytes {
            Bytes::Node(memory) => memory.len,
            Bytes::Own(memory) => memory.len,
        }
    }

    fn slot(&self) -> u16 {
        self.slot
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let from = match &self.bytes {
            Bytes::Node(memory) => return memory.read(offset, out),
            Bytes::Own(memory) => memory.place(offset, out.len())?,
        };
        // SAFETY: who mapped the bytes has promised that they stay there, and the range was checked. The machine, which
        // could write them, waits for the next request. `out` may be a part of them: they are copied as if through a
        // third place.
        unsafe { std::ptr::copy(from, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let to = match &self.bytes {
            Bytes::Node(memory) => return memory.write(offset, data),
            Bytes::Own(memory) => memory.place(offset, data.len())?,
        };
        // SAFETY: as for reading.
        unsafe { std::ptr::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }
}

/// A shared segment of the node.
pub struct RemoteSegment {
    memory: RemoteMemory,
    address: Option<u64>,
}

impl SharedSegment for RemoteSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.memory.read(offset, out)
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.memory.write(offset, data)
    }

    fn address(&self) -> Option<u64> {
        self.address
    }
}

impl PlatformLock for RemoteSegment {
    fn lock(&self) {
        let segment = self.memory.handle;
        self.memory.connection.tell(&Request::Lock { segment });
    }

    fn trylock(&self) -> bool {
        let segment = self.memory.handle;
        self.memory.connection.truth(&Request::TryLock { segment })
    }

    fn unlock(&self) {
        let segment = self.memory.handle;
        // At once: other tasks of the node wait for it, and the process may wait for them.
        self.memory.connection.tell(&Request::Unlock { segment });
    }
}

/// Cuts an access into windows: (offset, bytes) of each. An access of 0 bytes is one window, as it also waits for earlier
/// events.
fn pieces(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes.max(1))
        .step_by(WINDOW_BYTES)
        .map(move |start| (offset + start, (bytes - start).min(WINDOW_BYTES)))
}
