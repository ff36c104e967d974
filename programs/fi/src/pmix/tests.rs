// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients and the server of `gyre exec`.

use std::ffi::CString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use gyre_remote::{PmiReply, PmiServer};
use parking_lot::Mutex;

use super::abi::{ALL, ByteObject, CValue, Data, Process, kind, status};
use super::client::Client;
use super::server::Server;
use super::value::Value;

/// The client of a task of two, whose lines a thread answers. Barriers end at once.
fn client(server: &Arc<Mutex<PmiServer>>, task: u32) -> Client {
    let (near, far) = UnixStream::pair().expect("sockets");
    let server = Arc::clone(server);
    thread::spawn(move || {
        let mut answers = far.try_clone().expect("a socket");
        for line in BufReader::new(far).lines() {
            let line = line.expect("a line");
            let reply = server.lock().ask(task, &line).expect("a request");
            let answer = match reply {
                PmiReply::Answer(answer) => answer,
                PmiReply::Barrier => server.lock().pass(task),
                PmiReply::Nothing => continue,
            };
            // The test may have ended.
            let _ = writeln!(answers, "{answer}");
        }
    });
    let socket = File::from(OwnedFd::from(near));
    Client::new(Server::begin(socket, task, 2).expect("a server"))
}

fn process(rank: u32) -> Process {
    let space = [0; 256];
    Process { space, rank }
}

/// Bytes as the program passes them.
fn bytes(count: usize) -> Value {
    let memory: Vec<u8> = (0..count).map(|number| (number % 251) as u8).collect();
    // Whatever their type says, they are only read.
    let bytes = memory.as_ptr().cast_mut().cast();
    let data = Data {
        bytes: ByteObject { bytes, count },
    };
    let kind = kind::BYTES;
    // SAFETY: so many bytes, which last.
    unsafe { Value::of(&CValue { kind, data }) }.expect("bytes")
}

#[test]
fn x6_open_mpis_values_come_to_others_behind_a_barrier() {
    let server = Arc::new(Mutex::new(PmiServer::new(&[0, 1])));
    let (mut one, mut other) = (client(&server, 0), client(&server, 1));
    let values = [
        ("short", bytes(8)),
        ("long", bytes(5000)),
        ("text", Value::text("a b = c")),
    ];
    for (key, value) in &values {
        assert_eq!(one.put(key, value.clone()), Ok(()));
        assert_eq!(one.get(0, key).as_ref(), Ok(value));
        assert_eq!(other.get(0, key), Err(status::NOT_FOUND));
    }
    for client in [&mut one, &mut other] {
        assert_eq!(client.fence(&[]), Ok(()));
    }
    for (key, value) in &values {
        assert_eq!(other.get(0, key).as_ref(), Ok(value));
        assert_eq!(other.get(1, key), Err(status::NOT_FOUND));
        assert_eq!(other.get(ALL, key), Err(status::NOT_FOUND));
    }
    assert_eq!(one.put("a key", bytes(1)), Err(status::INVALID));
}

#[test]
fn x6_open_mpi_learns_the_job() {
    let server = Arc::new(Mutex::new(PmiServer::new(&[0, 0])));
    let mut client = client(&server, 1);
    let cases = [
        (1, "pmix.rank", Value::rank(1)),
        (1, "pmix.lrank", Value::u16(0)),
        (ALL, "pmix.job.size", Value::u32(2)),
        (ALL, "pmix.local.size", Value::u32(1)),
        (ALL, "pmix.lpeers", Value::text("1")),
        (0, "pmix.nodeid", Value::u32(0)),
    ];
    for (rank, key, value) in cases {
        assert_eq!(client.get(rank, key), Ok(value), "{key}");
    }
    client.note(0, "pmix.loc", Value::u16(3));
    assert_eq!(client.get(0, "pmix.loc"), Ok(Value::u16(3)));
    assert_eq!(client.get(1, "pmix.loc"), Err(status::NOT_FOUND));
}

#[test]
fn x6_open_mpi_waits_for_all_or_for_nobody() {
    let server = Arc::new(Mutex::new(PmiServer::new(&[0, 1])));
    let mut client = client(&server, 0);
    for all in [
        &[][..],
        &[process(ALL)],
        &[process(1), process(0)],
        &[process(0)],
    ] {
        assert_eq!(client.fence(all), Ok(()));
    }
    assert_eq!(client.fence(&[process(1)]), Err(status::NOT_SUPPORTED));
}

#[test]
fn x6_values_of_types_without_a_place_are_refused() {
    let text = CString::new("text").expect("no zero");
    let data = Data {
        text: text.as_ptr().cast_mut(),
    };
    for (kind, expected) in [
        (kind::TEXT, Ok(Value::text("text"))),
        (39, Err(status::NOT_SUPPORTED)),
    ] {
        // SAFETY: text that ends with a zero; of others nothing is read.
        assert_eq!(unsafe { Value::of(&CValue { kind, data }) }, expected);
    }
}
