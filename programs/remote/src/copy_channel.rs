// SPDX-License-Identifier: MIT OR Apache-2.0
//! Channel by which a task's process copies bytes of its own memory, where the system forbids other processes to do so.
//!
//! A request names the bytes and is one message on a socket pair; the bytes pass through shared memory. A signal makes the process
//! handle requests while it waits for its mailbox, computes or sleeps. The process sends the first message, which identifies it to the
//! machine: the started process may have started another.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags,
    SocketFlags, SocketType,
};
use rustix::process::{Pid, Signal};

/// Signal that announces a request. Its default action is to be ignored.
pub(crate) const SIGNAL: Signal = Signal::URG;

/// Most bytes of a request.
pub(crate) const PIECE: usize = 4096;

/// Bytes of a request's message.
pub(crate) const REQUEST_BYTES: usize = 24;

/// Bytes that a process copies between its memory and the shared piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether its memory is written.
    pub write: bool,
    /// Address of the first byte in the process.
    pub address: u64,
    /// Number of bytes, at most [`PIECE`].
    pub bytes: u64,
}

impl Request {
    fn encode(self) -> [u8; REQUEST_BYTES] {
        let words = [u64::from(self.write), self.address, self.bytes].map(u64::to_le_bytes);
        let mut message = [0; REQUEST_BYTES];
        message.copy_from_slice(words.as_flattened());
        message
    }

    pub fn decode(message: &[u8; REQUEST_BYTES]) -> Self {
        let word = |number: usize| {
            u64::from_le_bytes(std::array::from_fn(|byte| message[8 * number + byte]))
        };
        Self {
            write: word(0) != 0,
            address: word(1),
            bytes: word(2).min(PIECE as u64),
        }
    }
}

/// Descriptors of the channel that a task's process inherits.
pub(crate) struct Ends {
    /// The shared piece.
    pub memory: OwnedFd,
    /// Its end of the socket pair.
    pub bell: OwnedFd,
}

impl Ends {
    /// Tells the machine which process this is.
    pub fn greet(&self) -> io::Result<()> {
        net::send(&self.bell, &[0], SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The process has ended.
    Ended,
    /// It has not answered in time.
    Silent,
}

/// The machine's side.
pub(crate) struct Channel {
    memory: OwnedFd,
    bell: OwnedFd,
}

impl Channel {
    /// Makes a channel; returns it with the descriptors for the process.
    pub fn create() -> io::Result<(Self, Ends)> {
        let memory = rustix::fs::memfd_create("gyre-memory", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&memory, PIECE as u64)?;
        let kind = SocketType::SEQPACKET;
        let (bell, other) = net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        net::sockopt::set_socket_passcred(&bell, true)?;
        let ends = Ends {
            memory: memory.try_clone()?,
            bell: other,
        };
        Ok((Self { memory, bell }, ends))
    }

    /// Process that has sent the first message, by the system's credentials; `None` later.
    pub fn greeting(&self) -> Option<Pid> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut message = [0];
        let mut parts = [IoSliceMut::new(&mut message)];
        net::recvmsg(&self.bell, &mut parts, &mut beside, RecvFlags::DONTWAIT).ok()?;
        beside.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid),
            _ => None,
        })
    }

    /// Copies at most [`PIECE`] bytes of the process behind the descriptor from `address` to `out`; returns how many exist,
    /// counted from the first.
    pub fn read(
        &self,
        process: BorrowedFd<'_>,
        address: usize,
        out: &mut [u8],
        limit: Duration,
    ) -> Result<usize, NoAnswer> {
        let request = Request {
            write: false,
            address: address as u64,
            bytes: out.len() as u64,
        };
        let copied = self.ask(process, request, limit)?.min(out.len());
        let taken = rustix::io::pread(&self.memory, &mut out[..copied], 0);
        Ok(taken.unwrap_or(0))
    }

    /// Copies at most [`PIECE`] bytes into its memory; returns how many could be written, counted from the first.
    pub fn write(
        &self,
        process: BorrowedFd<'_>,
        address: usize,
        data: &[u8],
        limit: Duration,
    ) -> Result<usize, NoAnswer> {
        let request = Request {
            write: true,
            address: address as u64,
            bytes: data.len() as u64,
        };
        if rustix::io::pwrite(&self.memory, data, 0) != Ok(data.len()) {
            return Ok(0);
        }
        self.ask(process, request, limit)
    }

    /// Sends a request and waits for its answer: the number of bytes copied.
    fn ask(
        &self,
        process: BorrowedFd<'_>,
        request: Request,
        limit: Duration,
    ) -> Result<usize, NoAnswer> {
        let end = Instant::now() + limit;
        let sent = net::send(&self.bell, &request.encode(), SendFlags::NOSIGNAL);
        let mut listens = sent.is_ok();
        if listens {
            // Fails for a process that has ended.
            let _ = rustix::process::pidfd_send_signal(process, SIGNAL);
        }
        loop {
            let mut ready = vec![PollFd::from_borrowed_fd(process, PollFlags::IN)];
            // If the other end is closed, the process is ending, or never answers.
            ready.extend(listens.then(|| PollFd::new(&self.bell, PollFlags::IN)));
            let left = end.saturating_duration_since(Instant::now());
            match rustix::event::poll(&mut ready, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return Err(NoAnswer::Silent),
                Err(Errno::INTR) => continue,
                Err(_) => return Err(NoAnswer::Silent),
                Ok(_) => {}
            }
            if !ready[0].revents().is_empty() {
                return Err(NoAnswer::Ended);
            }
            let mut answer = [0; 8];
            match net::recv(&self.bell, &mut answer, RecvFlags::DONTWAIT) {
                Ok((_, 8)) => return Ok(u64::from_le_bytes(answer) as usize),
                Err(Errno::AGAIN | Errno::INTR) => {}
                _ => listens = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_arrive_as_sent_and_are_cut_at_the_shared_piece() {
        let request = Request {
            write: true,
            address: 0x7fff_1234_5678,
            bytes: 64,
        };
        assert_eq!(Request::decode(&request.encode()), request);
        let long = Request {
            write: false,
            address: u64::MAX,
            bytes: u64::MAX,
        };
        let bytes = PIECE as u64;
        assert_eq!(Request::decode(&long.encode()), Request { bytes, ..long });
    }
}
