// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server of the start-up protocol, as the process reaches it: on the socket that `PMI_FD` names.

use std::env;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;

use super::abi::{Status, status};

/// Bytes that are read at once.
const READ: usize = 4096;

/// The server.
pub struct Server {
    /// Not closed at the end: the process has inherited it.
    socket: ManuallyDrop<File>,
    /// Bytes received after the last line.
    come: Vec<u8>,
    /// Number of the process.
    pub rank: u32,
    /// Processes of the job.
    pub tasks: u32,
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

/// Reports an error of input or output.
fn lost(error: &io::Error) -> Status {
    eprintln!("libgyre-fi: the server of start-up (PMI): {error}");
    status::ERROR
}

impl Server {
    /// The server, if the process was started with one.
    pub fn find() -> Result<Self, Status> {
        let found = || Some((number("PMI_FD")?, number("PMI_RANK")?, number("PMI_SIZE")?));
        let (socket, rank, tasks) = found().ok_or(status::UNREACHABLE)?;
        let socket = i32::try_from(socket).map_err(|_| status::UNREACHABLE)?;
        // SAFETY: the process has inherited it for this, and nothing closes it.
        let socket = unsafe { File::from_raw_fd(socket) };
        Self::begin(socket, rank, tasks)
    }

    /// The server behind a socket, for a process of a job.
    pub fn begin(socket: File, rank: u32, tasks: u32) -> Result<Self, Status> {
        let mut server = Self {
            socket: ManuallyDrop::new(socket),
            come: Vec::new(),
            rank,
            tasks,
        };
        let answer = server.ask("init pmi_version=1 pmi_subversion=1")?;
        answer.map(|_| server).ok_or(status::UNREACHABLE)
    }

    /// Sends a request, without its `cmd=`.
    pub fn tell(&mut self, request: &str) -> Result<(), Status> {
        let line = format!("cmd={request}\n");
        self.socket
            .write_all(line.as_bytes())
            .map_err(|error| lost(&error))
    }

    /// The same, and waits for the answer; `None`: the server refuses.
    pub fn ask(&mut self, request: &str) -> Result<Option<String>, Status> {
        self.tell(request)?;
        let line = self.line()?;
        let good = line.split(' ').any(|word| word == "rc=0");
        Ok(good.then_some(line))
    }

    /// The next line of the server.
    fn line(&mut self) -> Result<String, Status> {
        loop {
            if let Some(end) = self.come.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.come.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let mut piece = [0; READ];
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(lost(&io::ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => self.come.extend_from_slice(&piece[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
    }

    /// Waits until the machine ends the process.
    pub fn await_end(&mut self) {
        while self.line().is_ok() {}
    }
}
