// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's end of the socket on which a task's process speaks the start-up protocol: lines and their answers.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::pmi::{LINE_BYTES, PmiError};

/// Bytes that are taken at once.
const PIECE: usize = 4096;

/// The machine's end.
pub(crate) struct Wire {
    socket: UnixStream,
    /// Received bytes that were not taken yet.
    come: Vec<u8>,
    /// Whether more can come.
    open: bool,
}

impl Wire {
    /// Makes both ends: the machine's and the process's.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (socket, other) = UnixStream::pair()?;
        // The machine never waits for a process that does not read its answers.
        socket.set_nonblocking(true)?;
        let wire = Self {
            socket,
            come: Vec::new(),
            open: true,
        };
        Ok((wire, other.into()))
    }

    /// Descriptor that can be read when more has come.
    pub fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.open.then(|| self.socket.as_fd())
    }

    /// Reads available bytes, up to the longest line; returns whether [`line`](Self::line) has input.
    pub fn read(&mut self) -> Result<bool, PmiError> {
        let mut piece = [0; PIECE];
        while self.open && self.come.len() <= LINE_BYTES {
            match self.socket.read(&mut piece) {
                Ok(0) => self.open = false,
                Ok(bytes) => self.come.extend_from_slice(&piece[..bytes]),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => break,
                    ErrorKind::ConnectionReset => self.open = false,
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(self.come.contains(&b'\n') || self.come.len() > LINE_BYTES)
    }

    /// Takes the next line, if there is a whole one.
    pub fn line(&mut self) -> Result<Option<String>, PmiError> {
        let end = self.come.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.come.len()) > LINE_BYTES {
            let reason = format!("a line of more than {LINE_BYTES} bytes");
            return Err(PmiError::line(&self.come, reason));
        }
        let Some(end) = end else {
            return Ok(None);
        };
        let rest = self.come.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.come, rest);
        line.truncate(end);
        match String::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(PmiError::line(error.as_bytes(), "not text")),
        }
    }

    /// Sends a line. A process that has closed its end gets none.
    pub fn send(&mut self, line: &str) -> Result<(), PmiError> {
        match self.socket.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Ok(()),
                ErrorKind::WouldBlock => Err(PmiError::Unread),
                _ => Err(error.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_lines_come_whole_and_in_order_however_they_were_written() {
        let (mut wire, other) = Wire::create().expect("a socket");
        let mut other = UnixStream::from(other);
        assert!(!wire.read().expect("open"));
        other.write_all(b"cmd=a\ncmd=b\ncm").expect("room");
        assert!(wire.read().expect("open"));
        assert_eq!(wire.line().expect("text").as_deref(), Some("cmd=a"));
        assert_eq!(wire.line().expect("text").as_deref(), Some("cmd=b"));
        assert_eq!(wire.line().expect("text"), None);
        assert!(!wire.read().expect("open"));
        other.write_all(b"d=c\nrest").expect("room");
        drop(other);
        assert!(wire.read().expect("open"));
        assert_eq!(wire.line().expect("text").as_deref(), Some("cmd=c"));
        assert_eq!(wire.line().expect("text"), None);
        assert!(wire.ready().is_none());
        wire.send("cmd=answer").expect("nobody minds");
    }

    #[test]
    fn x6_lines_without_end_and_answers_that_nobody_reads_are_errors() {
        let (mut wire, other) = Wire::create().expect("a socket");
        let mut other = UnixStream::from(other);
        other.write_all(b"\xff\n").expect("room");
        assert!(wire.read().expect("open"));
        let error = wire.line().expect_err("not text").to_string();
        assert!(error.contains("not text"), "{error}");
        other.write_all(&[b'x'; LINE_BYTES + 1]).expect("room");
        assert!(wire.read().expect("open"));
        let error = wire.line().expect_err("too long").to_string();
        assert!(error.contains("a line of more than 65536 bytes"), "{error}");
        let line = "x".repeat(10_000);
        let sent = (0..1000).find_map(|_| wire.send(&line).err());
        assert!(matches!(sent, Some(PmiError::Unread)), "{sent:?}");
    }
}
