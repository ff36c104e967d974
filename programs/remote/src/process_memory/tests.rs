// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of this process, reached by the system, and by a thread that copies on request.

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::thread::{self, JoinHandle};

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::RecvFlags;

use super::*;
use crate::copy_channel::Ends;
use crate::memory_server;

const PAGE: usize = 4096;

/// The memory of this process, as the system gives it.
fn of_this_process(limit: Duration) -> (Rc<ProcessMemory>, Ends) {
    let (channel, ends) = Channel::create().expect("a channel");
    ends.greet().expect("the machine is there");
    (Rc::new(ProcessMemory::new(Rc::new(channel), limit)), ends)
}

/// The memory of no process.
pub(crate) fn of_nobody() -> Rc<ProcessMemory> {
    let (channel, _) = Channel::create().expect("a channel");
    Rc::new(ProcessMemory::new(Rc::new(channel), Duration::ZERO))
}

/// The memory of this process where the system forbids to reach it, and a thread copies until the memory is dropped.
fn forbidden() -> (Rc<ProcessMemory>, JoinHandle<()>) {
    let (memory, ends) = of_this_process(Duration::from_secs(60));
    memory.forbidden.set(Some(Errno::PERM));
    let copies = move || while memory_server::answer(&ends, RecvFlags::empty()) {};
    (memory, thread::spawn(copies))
}

/// Two pages, of which the second is behind the end of its file: it can be neither read nor written.
fn page_and_nothing() -> (File, MmapRaw) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&[1; PAGE]).expect("has room");
    let mapped = MmapOptions::new().len(2 * PAGE).map_raw(&file);
    (file, mapped.expect("is mapped"))
}

/// Results of accesses to memory of every kind.
fn accesses(memory: &Rc<ProcessMemory>) -> Vec<(bool, Vec<u8>)> {
    let mut seen = Vec::new();
    let mut read = |address: usize, len: usize, offset: u64, bytes: usize| {
        let mut out = vec![0; bytes];
        let there = ProcessRange::new(memory, address, len).read(offset, &mut out);
        // Of bytes that are not all there nothing is used.
        seen.push((there, if there { out } else { Vec::new() }));
    };
    let constant: &'static [u8; 8] = &[1, 2, 3, 4, 5, 6, 7, 8];
    let at = constant.as_ptr() as usize;
    read(at, 8, 2, 5);
    read(at, 8, 4, 5);
    read(at, 8, 8, 0);
    read(at, 8, u64::MAX, 5);
    read(64, 8, 0, 8);
    read(usize::MAX - 7, 8, 0, 8);
    read(1 << 47, 64, 0, 64);
    let large: Vec<u8> = (0..3 * PAGE + 5).map(|place| (place % 251) as u8).collect();
    read(large.as_ptr() as usize, large.len(), 0, large.len());
    let (file, half) = page_and_nothing();
    let start = half.as_ptr() as usize;
    read(start, 2 * PAGE, PAGE as u64 - 8, 8);
    read(start, 2 * PAGE, PAGE as u64 - 8, 9);
    read(start, 2 * PAGE, 0, 2 * PAGE);

    let write = |address: usize, len: usize, offset: u64, data: &[u8]| {
        (
            ProcessRange::new(memory, address, len).write(offset, data),
            Vec::new(),
        )
    };
    // Constants may not be written.
    static CONSTANT: [u8; 4] = [7; 4];
    seen.push(write(CONSTANT.as_ptr() as usize, 4, 0, &[1]));
    let protected = MmapOptions::new().len(PAGE).map_raw_read_only(&file);
    let protected = protected.expect("is mapped");
    seen.push(write(protected.as_ptr() as usize, PAGE, 0, &[1; 64]));
    seen.push(write(64, 8, 0, &[1; 8]));
    seen.push(write(start, 2 * PAGE, PAGE as u64, &[9]));
    // The first of these bytes are there.
    seen.push(write(start, 2 * PAGE, PAGE as u64 - 3, &[9; 64]));
    let mut target = vec![0; 2 * PAGE];
    let data: Vec<u8> = (0..2 * PAGE - 9).map(|place| (place % 249) as u8).collect();
    seen.push(write(target.as_mut_ptr() as usize, target.len(), 5, &data));
    seen.push(write(
        target.as_mut_ptr() as usize,
        target.len(),
        2 * PAGE as u64 - 1,
        &[3; 2],
    ));
    // What the system does, the compiler cannot know.
    seen.push((true, std::hint::black_box(&mut target).clone()));
    let mut page = vec![0; PAGE];
    assert!(ProcessRange::new(memory, start, PAGE).read(0, &mut page));
    seen.push((true, page));
    seen.push((true, std::hint::black_box(&CONSTANT).to_vec()));
    seen
}

#[test]
fn x5_x6_memory_of_a_process_is_the_same_whoever_copies_it() {
    let direct = accesses(&of_this_process(Duration::ZERO).0);
    let done: Vec<bool> = direct.iter().map(|(done, _)| *done).collect();
    let expected = [
        // Reads: some bytes, beyond the range, none, no such offset, nowhere (three), many, up to a hole, into it (twice).
        true, false, true, false, false, false, false, true, true, false, false,
        // Writes: constants (two), nowhere, a hole, into it, many, beyond the range; then what is there.
        false, false, false, false, false, true, false, true, true, true,
    ];
    assert_eq!(done, expected);
    assert_eq!(direct[0].1, [3, 4, 5, 6, 7]);
    assert_eq!(direct[19].1[PAGE - 4..], [1, 9, 9, 9], "as far as it goes");
    let (memory, copies) = forbidden();
    assert_eq!(accesses(&memory), direct);
    assert_eq!(memory.trouble(), None);
    drop(memory);
    copies.join().expect("no panic");
}

#[test]
fn x5_x6_a_process_that_does_not_copy_is_asked_once_and_named() {
    let (memory, ends) = of_this_process(Duration::from_millis(20));
    memory.forbidden.set(Some(Errno::NOSYS));
    let range = ProcessRange::new(&memory, 64, 64);
    assert_eq!(range.trouble(), None);
    assert!(!range.read(0, &mut [0; 8]));
    let trouble = range.trouble().expect("it is silent");
    for words in [
        "process_vm_readv",
        "Function not implemented",
        "SIGURG",
        "0.02 s",
    ] {
        assert!(trouble.contains(words), "{trouble}");
    }
    assert!(!range.write(0, &[0; 8]));
    let copies = thread::spawn(move || {
        let mut asked = 0;
        while memory_server::answer(&ends, RecvFlags::empty()) {
            asked += 1;
        }
        asked
    });
    drop((range, memory));
    // The answer to a machine that has gone is no answer.
    assert_eq!(copies.join().expect("no panic"), 0);
}

#[test]
fn x5_x6_a_process_that_has_not_come_or_has_ended_has_no_memory() {
    let bytes = [5u8; 8];
    let read = |memory: &Rc<ProcessMemory>| {
        ProcessRange::new(memory, bytes.as_ptr() as usize, 8).read(0, &mut [0; 8])
    };
    let (channel, ends) = Channel::create().expect("a channel");
    let memory = Rc::new(ProcessMemory::new(Rc::new(channel), Duration::ZERO));
    assert!(!read(&memory));
    ends.greet().expect("the machine is there");
    assert!(read(&memory));

    let mut child = Command::new("true").spawn().expect("starts");
    let ended = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
    let ended = ended.expect("nobody has waited for it");
    child.wait().expect("ends");
    let memory = ProcessMemory::new(
        Rc::new(Channel::create().expect("a channel").0),
        Duration::ZERO,
    );
    let number = rustix::process::getpid();
    assert!(memory.process.set(Attached { number, ended }).is_ok());
    assert!(!read(&Rc::new(memory)), "its number is another's by now");
}
