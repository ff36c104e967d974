// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys of a job that a process knows, and keys that it has put.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::abi::{ALL, Process, RANKS, Status, status};
use super::piece;
use super::server::Server;
use super::value::Value;

/// The only name space.
pub const SPACE: &str = "gyre";

/// A process between start and end.
pub struct Client {
    server: Server,
    /// Starts that no end has followed.
    starts: usize,
    /// Keys that the process has put, and keys that it has stored about others.
    own: BTreeMap<(u32, String), Value>,
}

static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

/// Runs something of the started client.
pub fn with<T>(run: impl FnOnce(&mut Client) -> Result<T, Status>) -> Result<T, Status> {
    let mut client = CLIENT.lock();
    run(client.as_mut().ok_or(status::NOT_STARTED)?)
}

/// Starts the client, or counts that it was started once more; the number of the process.
pub fn start() -> Result<u32, Status> {
    let mut client = CLIENT.lock();
    if client.is_none() {
        *client = Some(Client::new(Server::find()?));
    }
    let client = client.as_mut().ok_or(status::ERROR)?;
    client.starts += 1;
    Ok(client.server.rank)
}

/// Whether it is started.
pub fn is_started() -> bool {
    CLIENT.lock().is_some()
}

/// Ends the client when as many ends as starts have come.
pub fn end() -> Result<(), Status> {
    let mut client = CLIENT.lock();
    let started = client.as_mut().ok_or(status::NOT_STARTED)?;
    started.starts -= 1;
    if started.starts == 0 {
        let answer = started.server.ask("finalize");
        *client = None;
        answer?;
    }
    Ok(())
}

impl Client {
    /// The client of a server.
    pub const fn new(server: Server) -> Self {
        Self {
            server,
            starts: 0,
            own: BTreeMap::new(),
        }
    }

    /// Puts a value, which others see behind the next barrier.
    pub fn put(&mut self, key: &str, value: Value) -> Result<(), Status> {
        let rank = self.server.rank;
        for (number, piece) in piece::split(&value.encode()).iter().enumerate() {
            let carried = piece::key(rank, key, number).ok_or(status::INVALID)?;
            let request = format!("put kvsname={SPACE} key={carried} value={piece}");
            self.server.ask(&request)?.ok_or(status::ERROR)?;
        }
        self.note(rank, key, value);
        Ok(())
    }

    /// Notes a value that the process alone sees.
    pub fn note(&mut self, rank: u32, key: &str, value: Value) {
        self.own.insert((rank, key.to_owned()), value);
    }

    /// Value of a key of a process, or with [`ALL`] of the job.
    pub fn get(&mut self, rank: u32, key: &str) -> Result<Value, Status> {
        if let Some(value) = self.own.get(&(rank, key.to_owned())) {
            return Ok(value.clone());
        }
        if let Some(value) = self.of_job(rank, key) {
            return Ok(value);
        }
        // There is nothing of a process that does not exist.
        if rank >= self.server.tasks {
            return Err(status::NOT_FOUND);
        }
        let server = &mut self.server;
        let text = piece::join(|number| {
            let Some(carried) = piece::key(rank, key, number) else {
                return Ok(None);
            };
            let answer = server.ask(&format!("get kvsname={SPACE} key={carried}"))?;
            let value = answer
                .as_deref()
                .and_then(|line| line.split_once(" value="));
            Ok::<_, Status>(value.map(|(_, value)| value.to_owned()))
        })?;
        let text = text.ok_or(status::NOT_FOUND)?;
        Value::decode(&text).ok_or(status::ERROR)
    }

    /// Predefined keys of a process that is alone on its node.
    fn of_job(&self, rank: u32, key: &str) -> Option<Value> {
        let own = self.server.rank;
        let of = if rank < RANKS { rank } else { own };
        Some(match key {
            "pmix.rank" => Value::rank(of),
            "pmix.nspace" => Value::text(SPACE),
            // Number on the node, among those of the job and of all.
            "pmix.lrank" | "pmix.nrank" => Value::u16(0),
            "pmix.local.size" => Value::u32(1),
            "pmix.lpeers" => Value::text(&own.to_string()),
            "pmix.nodeid" => Value::u32(of),
            "pmix.appnum" => Value::u32(0),
            "pmix.job.size" | "pmix.max.size" | "pmix.univ.size" | "pmix.num.nodes" => {
                Value::u32(self.server.tasks)
            }
            _ => return None,
        })
    }

    /// Waits for processes: all of the job; none for the process alone.
    pub fn fence(&mut self, processes: &[Process]) -> Result<(), Status> {
        let (own, tasks) = (self.server.rank, self.server.tasks);
        let names = |rank: u32| processes.iter().any(|process| process.rank == rank);
        match processes {
            [] => {}
            _ if names(ALL) || (0..tasks).all(names) => {}
            [one] if one.rank == own => return Ok(()),
            // The protocol has barriers of all.
            _ => return Err(status::NOT_SUPPORTED),
        }
        self.server.ask("barrier_in")?.ok_or(status::ERROR)?;
        Ok(())
    }

    /// Ends the job.
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), Status> {
        let shown: String = message.chars().filter(|c| !c.is_control()).collect();
        let request = match shown.trim() {
            "" => format!("abort exitcode={code}"),
            shown => format!("abort exitcode={code} message={shown}"),
        };
        self.server.tell(&request)?;
        self.server.await_end();
        Ok(())
    }
}
