// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory for one request or answer at a time, and a doorbell.

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    self, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

/// Word offsets in the mailbox: format, message number, message length, message, window.
const FORMAT: usize = 0;
const SEQUENCE: usize = 1;
const LENGTH: usize = 2;
const MESSAGE: usize = 8;
const WINDOW: usize = MESSAGE + MESSAGE_BYTES / 8;
const WORDS: usize = WINDOW + WINDOW_BYTES / 8;

/// Bytes of the mailbox.
const BYTES: u64 = (WORDS * 8) as u64;

/// Seals of a mailbox's memory: its length is fixed.
const LENGTH_IS_FIXED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Most bytes of an encoded message.
const MESSAGE_BYTES: usize = 4096;

/// Most bytes of a buffer that travel with one request.
pub(crate) const WINDOW_BYTES: usize = 64 << 10;

/// Marks memory as a mailbox of this layout and protocol.
const FORMAT_MARK: u64 = u64::from_le_bytes(*b"gyrembx5");

/// Failure to pass a message.
#[derive(Debug, Error)]
pub enum MailboxError {
    /// The other side has ended.
    #[error("the other side of the mailbox has ended")]
    Closed,
    /// The other side has not answered within the limit.
    #[error("the other side of the mailbox has been silent for too long")]
    Silent,
    /// The mailbox holds no valid message.
    #[error("malformed message: {0}")]
    Malformed(String),
    /// The memory is not a mailbox.
    #[error("not a mailbox of this version")]
    Format,
    /// The process was not started with a mailbox, or has opened it already.
    #[error("this process was not started by a machine, or is its task already")]
    NotInherited,
    /// No further thread of the task is possible.
    #[error("no other thread: {0}")]
    NoThread(String),
    /// The operating system failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for MailboxError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Self::Closed
            }
            _ => Self::Io(error),
        }
    }
}

/// Descriptors that open the other side of a mailbox.
pub(crate) struct Ends {
    pub memory: OwnedFd,
    pub bell: OwnedFd,
}

/// One side of a mailbox. The sides take turns: one sends and receives, the other receives and sends.
pub(crate) struct Mailbox {
    memory: Memory,
    bell: UnixStream,
    /// Number of the last message in either direction.
    sequence: Cell<u64>,
}

impl Mailbox {
    /// Makes a mailbox in memory without a name; returns it with the descriptors for the other side.
    pub fn create() -> io::Result<(Self, Ends)> {
        let memory = rustix::fs::memfd_create(
            "gyre-mailbox",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?;
        rustix::fs::ftruncate(&memory, BYTES)?;
        // No holder of the memory can truncate it under the other side's mapping.
        rustix::fs::fcntl_add_seals(&memory, LENGTH_IS_FIXED)?;
        let (bell, other) = UnixStream::pair()?;
        let ends = Ends {
            memory,
            bell: OwnedFd::from(other),
        };
        let mailbox = Self::map(&ends.memory, bell)?;
        mailbox.memory.words()[FORMAT].store(FORMAT_MARK, Ordering::Relaxed);
        Ok((mailbox, ends))
    }

    /// The other side of the mailbox.
    pub fn open(ends: Ends) -> Result<Self, MailboxError> {
        // Other files have no seals.
        let seals = rustix::fs::fcntl_get_seals(&ends.memory).unwrap_or(SealFlags::empty());
        let length = rustix::fs::fstat(&ends.memory)
            .map_err(io::Error::from)?
            .st_size;
        if !seals.contains(LENGTH_IS_FIXED) || u64::try_from(length) != Ok(BYTES) {
            return Err(MailboxError::Format);
        }
        let mailbox = Self::map(&ends.memory, UnixStream::from(ends.bell))?;
        if mailbox.memory.words()[FORMAT].load(Ordering::Relaxed) != FORMAT_MARK {
            return Err(MailboxError::Format);
        }
        Ok(mailbox)
    }

    fn map(memory: &OwnedFd, bell: UnixStream) -> io::Result<Self> {
        Ok(Self {
            memory: Memory(MmapRaw::map_raw(&memory.as_fd())?),
            bell,
            sequence: Cell::new(0),
        })
    }

    /// Descriptor that can be read once the other side has rung or ended.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Puts a message into the slot and rings.
    pub fn send<M: Serialize + ?Sized>(&self, message: &M) -> Result<(), MailboxError> {
        self.put(message)?;
        // Not by the C library's `send`: a program may define a function of that name.
        rustix::io::retry_on_intr(|| net::send(&self.bell, &[0], SendFlags::NOSIGNAL))
            .map_err(io::Error::from)?;
        Ok(())
    }

    /// Sends a message with the descriptors of another mailbox, for [`receive_ends`](Self::receive_ends).
    pub fn send_with_ends<M: Serialize>(
        &self,
        message: &M,
        ends: &Ends,
    ) -> Result<(), MailboxError> {
        self.put(message)?;
        let descriptors = [ends.memory.as_fd(), ends.bell.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        assert!(fits, "there is room for two");
        let ring = [IoSlice::new(&[0])];
        let flags = SendFlags::NOSIGNAL;
        net::sendmsg(&self.bell, &ring, &mut ancillary, flags).map_err(io::Error::from)?;
        Ok(())
    }

    /// Puts a message into the slot.
    fn put<M: Serialize + ?Sized>(&self, message: &M) -> Result<(), MailboxError> {
        let mut bytes = [0; MESSAGE_BYTES];
        let used = postcard::to_slice(message, &mut bytes).map_err(malformed)?;
        let words = self.memory.words();
        store(&words[MESSAGE..], used);
        words[LENGTH].store(used.len() as u64, Ordering::Relaxed);
        self.sequence.set(self.sequence.get() + 1);
        words[SEQUENCE].store(self.sequence.get(), Ordering::Release);
        Ok(())
    }

    /// Waits for the doorbell and takes the message out of the slot.
    pub fn receive<M: DeserializeOwned>(&self) -> Result<M, MailboxError> {
        (&self.bell).read_exact(&mut [0])?;
        self.take()
    }

    /// Receives a message that may come with the descriptors of another mailbox.
    pub fn receive_ends<M: DeserializeOwned>(&self) -> Result<(M, Option<Ends>), MailboxError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut ring = [0];
        let received = rustix::io::retry_on_intr(|| {
            let mut into = [IoSliceMut::new(&mut ring)];
            net::recvmsg(
                &self.bell,
                &mut into,
                &mut ancillary,
                RecvFlags::CMSG_CLOEXEC,
            )
        });
        if received.map_err(io::Error::from)?.bytes == 0 {
            return Err(MailboxError::Closed);
        }
        let rights = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let ends = rights.and_then(|mut descriptors| {
            let (memory, bell) = (descriptors.next()?, descriptors.next()?);
            Some(Ends { memory, bell })
        });
        Ok((self.take()?, ends))
    }

    /// Takes the message out of the slot.
    fn take<M: DeserializeOwned>(&self) -> Result<M, MailboxError> {
        let words = self.memory.words();
        let found = words[SEQUENCE].load(Ordering::Acquire);
        self.sequence.set(self.sequence.get() + 1);
        if found != self.sequence.get() {
            let expected = self.sequence.get();
            let text = format!("number {found} where {expected} was expected");
            return Err(MailboxError::Malformed(text));
        }
        let length = words[LENGTH].load(Ordering::Relaxed);
        let mut bytes = [0; MESSAGE_BYTES];
        let used = usize::try_from(length)
            .ok()
            .and_then(|length| bytes.get_mut(..length));
        let Some(used) = used else {
            let text = format!("{length} bytes where at most {MESSAGE_BYTES} fit");
            return Err(MailboxError::Malformed(text));
        };
        load(&words[MESSAGE..], used);
        match postcard::take_from_bytes(used).map_err(malformed)? {
            (message, []) => Ok(message),
            (_, rest) => {
                let text = format!("{} bytes after its end", rest.len());
                Err(MailboxError::Malformed(text))
            }
        }
    }

    /// Puts at most [`WINDOW_BYTES`] bytes into the window, before their message is sent.
    pub fn fill_window(&self, data: &[u8]) {
        assert!(data.len() <= WINDOW_BYTES, "callers cut at the window");
        store(&self.memory.words()[WINDOW..], data);
    }

    /// Takes at most [`WINDOW_BYTES`] bytes out of the window, after their message was received.
    pub fn take_window(&self, out: &mut [u8]) {
        assert!(out.len() <= WINDOW_BYTES, "callers cut at the window");
        load(&self.memory.words()[WINDOW..], out);
    }
}

fn malformed(error: postcard::Error) -> MailboxError {
    MailboxError::Malformed(error.to_string())
}

/// A mapping of a mailbox's memory.
struct Memory(MmapRaw);

impl Memory {
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is readable and writable, begins on a page, has `WORDS` words (the memory
        // behind it was made or found that long, and is sealed against any other length) and lives as long as `self`.
        // Every bit pattern is an `AtomicU64`, and both processes reach the memory through this
        // function alone: whatever the other one does, there is no data race.
        unsafe { std::slice::from_raw_parts(self.0.as_mut_ptr().cast(), WORDS) }
    }
}

fn store(words: &[AtomicU64], data: &[u8]) {
    for (word, piece) in words.iter().zip(data.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..piece.len()].copy_from_slice(piece);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
}

fn load(words: &[AtomicU64], out: &mut [u8]) {
    for (word, piece) in words.iter().zip(out.chunks_mut(8)) {
        let bytes = word.load(Ordering::Relaxed).to_le_bytes();
        piece.copy_from_slice(&bytes[..piece.len()]);
    }
}
