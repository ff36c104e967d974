// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both sides of a mailbox in one process, on a platform that records its calls.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gyre_driver::{
    AllocError, BusError, BusErrorKind, DmaBuffer, Op, Platform, PlatformLock, RangeError,
    SegmentError, SharedSegment, WakeReason,
};
use parking_lot::Mutex;

use crate::description::TaskDescription;
use crate::error::{ProcessError, SessionError, TaskEnd};
use crate::host::TaskHost;
use crate::mailbox::{Ends, Mailbox, MailboxError, WINDOW_BYTES};
use crate::platform::{RemotePlatform, TaskError, run_on};
use crate::pmi::PmiError;
use crate::process::TaskProcess;
use crate::process_memory::ProcessRange;
use crate::process_memory::tests::of_nobody;
use crate::protocol::{Answer, BATCH, INLINE_BYTES, Reply, Request};
use crate::resources::NodeResources;
use crate::session::{self, Host};
use crate::watch::{Limits, Stream, Watch};

/// A platform that records every call.
#[derive(Clone, Default)]
struct Noted {
    calls: Arc<Mutex<Vec<String>>>,
}

impl Noted {
    fn note(&self, call: String) {
        self.calls.lock().push(call);
    }
}

struct NotedBuffer {
    platform: Noted,
    bytes: Mutex<Vec<u8>>,
}

struct NotedLock {
    platform: Noted,
    held: Mutex<bool>,
}

/// Bytes and a lock.
struct NotedSegment {
    bytes: NotedBuffer,
    lock: NotedLock,
}

impl Platform for Noted {
    type Buffer = NotedBuffer;
    type Lock = NotedLock;
    type Segment = NotedSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.note(format!("read {address:#x}"));
        let refuse = |kind| BusError {
            address,
            write: false,
            kind,
        };
        match address {
            0x10 => Err(refuse(BusErrorKind::Slave)),
            0x18 => Err(refuse(BusErrorKind::Decode)),
            0x20 => Err(refuse(BusErrorKind::Timeout)),
            _ => Ok(!address),
        }
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        self.note(format!("write {address:#x} {value:#x}"));
        if address != 0x10 {
            return Ok(());
        }
        Err(BusError {
            address: 0x30,
            write: true,
            kind: BusErrorKind::Slave,
        })
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<NotedBuffer, AllocError> {
        self.note(format!("alloc {bytes} {align}"));
        if align == 3 {
            let reason = "ü".repeat(5000);
            return Err(AllocError {
                bytes,
                align,
                reason,
            });
        }
        Ok(NotedBuffer {
            platform: self.clone(),
            bytes: Mutex::new(vec![0; bytes]),
        })
    }

    fn share(&self, number: u32, bytes: usize) -> Result<NotedSegment, SegmentError> {
        self.note(format!("share {number} {bytes}"));
        if bytes == 3 {
            return Err(SegmentError {
                number,
                bytes,
                reason: "it has 4 bytes".into(),
            });
        }
        Ok(NotedSegment {
            bytes: self.alloc(bytes, 1).expect("it allocates"),
            lock: self.new_lock(),
        })
    }

    fn now_ps(&self) -> u64 {
        self.note("now".into());
        123_456_789_012
    }

    fn charge(&self, op: Op, count: u64) {
        self.note(format!("charge {op:?} {count}"));
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.note(format!("wait {group} {deadline_ps:?}"));
        if deadline_ps.is_some() {
            WakeReason::Deadline
        } else {
            WakeReason::Wake
        }
    }

    fn notify(&self, group: u8) {
        self.note(format!("notify {group}"));
    }

    fn yield_now(&self) {
        self.note("yield".into());
    }

    fn new_lock(&self) -> NotedLock {
        self.note("new lock".into());
        NotedLock {
            platform: self.clone(),
            held: Mutex::new(false),
        }
    }
}

impl DmaBuffer for NotedBuffer {
    fn len(&self) -> usize {
        self.bytes.lock().len()
    }

    fn slot(&self) -> u16 {
        7
    }

    fn offset(&self) -> u64 {
        0x40
    }

    fn address(&self) -> u64 {
        0x10_0040
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.platform
            .note(format!("buffer read {offset} {}", out.len()));
        out.copy_from_slice(&self.bytes.lock()[offset..offset + out.len()]);
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.platform
            .note(format!("buffer write {offset} {}", data.len()));
        self.bytes.lock()[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl Drop for NotedBuffer {
    fn drop(&mut self) {
        self.platform.note("free".into());
    }
}

impl PlatformLock for NotedLock {
    fn lock(&self) {
        self.platform.note("lock".into());
        *self.held.lock() = true;
    }

    fn trylock(&self) -> bool {
        self.platform.note("trylock".into());
        !std::mem::replace(&mut *self.held.lock(), true)
    }

    fn unlock(&self) {
        self.platform.note("unlock".into());
        *self.held.lock() = false;
    }
}

impl SharedSegment for NotedSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        self.bytes.read(offset, out)
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        self.bytes.write(offset, data)
    }

    fn address(&self) -> Option<u64> {
        Some(self.bytes.address() + 1)
    }
}

impl PlatformLock for NotedSegment {
    fn lock(&self) {
        self.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.lock.trylock()
    }

    fn unlock(&self) {
        self.lock.unlock();
    }
}

impl Drop for NotedLock {
    fn drop(&mut self) {
        self.platform.note("drop lock".into());
    }
}

/// Task 1 of two on neighbours.
pub(crate) fn description() -> TaskDescription {
    TaskDescription {
        task: 1,
        nodes: vec![[0; 5], [1, 0, 0, 0, 0]],
        owner: 3,
        slots_per_process: 4,
        windows: None,
        contexts: 2,
        node_contexts: 16,
        clients: Vec::new(),
        tasks_per_node: 1,
        hardware_threads: 4,
        clock_mhz: 1600,
        operation_ps: Vec::new(),
        compute_ps: 0,
        recorded: false,
    }
}

/// Carries out the requests of a task on the far side.
fn serve(machine: &Mailbox, platform: &Noted) -> Result<session::End, SessionError> {
    serve_as(machine, &description(), Limits::DEFAULT, platform)
}

/// Carries out the requests of a task with this description, within these limits.
fn serve_as(
    machine: &Mailbox,
    description: &TaskDescription,
    limits: Limits,
    platform: &Noted,
) -> Result<session::End, SessionError> {
    let watch = RefCell::new(Watch::new(limits, None));
    let host = Host {
        thread: 0,
        services: &Nothing::default(),
        start_thread: &|_| Err("the task has one thread".into()),
    };
    let resources = NodeResources::new(description, of_nobody(), &Nothing::default());
    session::serve(machine, &watch, &host, &resources, platform)
}

/// A host that does nothing.
#[derive(Default)]
struct Nothing {
    /// Record of start-up lines. Each is handled so slowly that the process has written the next one meanwhile.
    lines: Option<Arc<Mutex<String>>>,
}

impl TaskHost<Noted> for Nothing {
    fn map(&self, range: ProcessRange, _offset: Option<u64>) -> Result<NotedBuffer, AllocError> {
        Err(AllocError {
            bytes: range.len(),
            align: 1,
            reason: "not here".into(),
        })
    }

    fn sleep_until(&self, _ps: u64) {}

    fn catch_up(&self) {}

    fn compute(&self, _ps: u64) {}

    fn go_on_without(&self) {}

    fn arrive(&self) {}

    fn have_arrived(&self) -> Result<bool, String> {
        Ok(false)
    }

    fn start_up(&self, line: &str) -> Result<Option<String>, PmiError> {
        let lines = self.lines.as_ref().ok_or(PmiError::Nobody)?;
        lines.lock().push_str(&format!("({line})"));
        thread::sleep(Duration::from_millis(200));
        Ok(None)
    }
}

/// Both sides of a mailbox.
fn sides() -> (Mailbox, Mailbox) {
    let (machine, ends) = Mailbox::create().expect("a mailbox");
    let task = Mailbox::open(ends).expect("opens");
    (machine, task)
}

/// Returned value of a task, if any, and its end.
type End<T> = (Option<T>, Result<(), TaskError>);

/// A task on the far side of a mailbox, and the machine's side of it.
fn far<T: Send + 'static>(
    task: impl FnOnce(&RemotePlatform) -> Result<T, String> + Send + 'static,
) -> (Mailbox, JoinHandle<End<T>>) {
    let (machine, side) = sides();
    let thread = thread::spawn(move || {
        let mut result = None;
        let end = run_on(side, |platform| {
            task(platform).map(|value| result = Some(value))
        });
        (result, end)
    });
    (machine, thread)
}

/// Returned value of a task that ends well, and the calls that have reached the node.
fn through<T: Send + 'static>(
    task: impl FnOnce(&RemotePlatform) -> Result<T, String> + Send + 'static,
) -> (T, Vec<String>) {
    let (machine, task) = far(task);
    let there = Noted::default();
    serve(&machine, &there).expect("serves");
    let (result, end) = task.join().expect("no panic");
    end.expect("ends well");
    let calls = there.calls.lock().clone();
    (result.expect("has a result"), calls)
}

/// Every call of the platform; returns what they returned.
fn every_call<P: Platform>(platform: &P) -> Result<Vec<String>, String> {
    let mut seen = Vec::new();
    for address in [8, 0x10, 0x18, 0x20, u64::MAX] {
        seen.push(format!("{:?}", platform.read_reg(address)));
    }
    for address in [8, 0x10] {
        seen.push(format!("{:?}", platform.write_reg(address, u64::MAX)));
    }
    let buffer = platform.alloc(100, 64).map_err(|error| error.to_string())?;
    let place = (buffer.slot(), buffer.offset(), buffer.address());
    seen.push(format!("{place:?} {}", buffer.len()));
    let data: Vec<u8> = (1..=17).collect();
    buffer.write(3, &data).map_err(|error| error.to_string())?;
    buffer.write(100, &[]).map_err(|error| error.to_string())?;
    let mut out = vec![0xff; 100];
    buffer
        .read(0, &mut out)
        .map_err(|error| error.to_string())?;
    seen.push(format!("{out:?}"));
    drop(buffer);
    seen.push(platform.now_ps().to_string());
    for op in Op::ALL {
        platform.charge(op, u64::from(u32::MAX));
    }
    seen.push(format!("{:?}", platform.wait(15, None)));
    seen.push(format!("{:?}", platform.wait(0, Some(u64::MAX))));
    platform.notify(9);
    platform.yield_now();
    seen.push(format!("{:?}", platform.share(1, 3).err()));
    let segment = platform.share(2, 40).map_err(|error| error.to_string())?;
    seen.push(format!("{:?}", segment.address()));
    segment.lock();
    segment.write(5, &data).map_err(|error| error.to_string())?;
    seen.push(segment.trylock().to_string());
    segment.unlock();
    let mut out = [0; 40];
    segment
        .read(0, &mut out)
        .map_err(|error| error.to_string())?;
    seen.push(format!("{out:?}"));
    Ok(seen)
}

#[test]
fn every_call_reaches_the_node_and_its_result_comes_back() {
    let here = Noted::default();
    let expected = every_call(&here).expect("ends");

    let there = Noted::default();
    let (machine, task) = far(every_call);
    let end = serve(&machine, &there).expect("serves");
    assert_eq!(end, session::End::Finished(None));
    let (seen, end) = task.join().expect("no panic");
    end.expect("ends well");
    assert_eq!(seen.expect("has results"), expected);
    assert_eq!(*there.calls.lock(), *here.calls.lock());
}

#[test]
fn buffers_larger_than_the_window_pass_in_pieces() {
    let bytes = 2 * WINDOW_BYTES + 12_345;
    let there = Noted::default();
    let (machine, task) = far(move |platform| {
        let buffer = platform.alloc(bytes, 64).map_err(|e| e.to_string())?;
        let data: Vec<u8> = (0..bytes - 5).map(|i| (i * 7 % 251) as u8).collect();
        buffer.write(5, &data).map_err(|e| e.to_string())?;
        let mut out = vec![0; bytes - 5];
        buffer.read(5, &mut out).map_err(|e| e.to_string())?;
        let refused = buffer.read(6, &mut out).map_err(|e| e.to_string());
        Ok((out == data, refused))
    });
    serve(&machine, &there).expect("serves");
    let (result, _) = task.join().expect("no panic");
    let (equal, refused) = result.expect("has a result");
    assert!(equal);
    let len = bytes;
    let range = RangeError {
        offset: 6,
        bytes: bytes - 5,
        len,
    };
    assert_eq!(refused, Err(range.to_string()));
    let accesses = there.calls.lock().len() - 2;
    assert_eq!(accesses, 6, "three pieces each way, none out of range");
}

#[test]
fn a_failed_allocation_says_why_as_far_as_it_fits() {
    let (machine, task) = far(|platform| Ok(platform.alloc(10, 3).err()));
    serve(&machine, &Noted::default()).expect("serves");
    let (result, _) = task.join().expect("no panic");
    let error = result.flatten().expect("an error");
    assert_eq!((error.bytes, error.align), (10, 3));
    assert!(error.reason.len() > 700 && error.reason.chars().all(|c| c == 'ü'));
}

#[test]
fn a_failed_task_reports_its_error_on_both_sides() {
    let (machine, task) = far(|_| Err::<(), _>("out of sorts".to_owned()));
    let end = serve(&machine, &Noted::default()).expect("serves");
    let text = Some("out of sorts".to_owned());
    assert_eq!(end, session::End::Finished(text));
    let (_, end) = task.join().expect("no panic");
    assert!(matches!(end, Err(TaskError::Failed(text)) if text == "out of sorts"));
}

#[test]
fn resources_of_a_task_that_goes_away_are_freed() {
    let (machine, side) = sides();
    let task = thread::spawn(move || {
        let ask = |request: Request| {
            side.send([request].as_slice()).expect("sends");
            side.receive::<Reply>().expect("is answered").answer
        };
        ask(Request::Allocate {
            bytes: 8,
            align: 64,
        });
        ask(Request::Share {
            number: 2,
            bytes: 4,
        })
    });
    let there = Noted::default();
    let end = serve(&machine, &there).expect("serves");
    assert_eq!(end, session::End::Gone { amid: true });
    let segment = Answer::Segment {
        segment: 2,
        address: Some(0x10_0041),
    };
    assert_eq!(task.join().expect("no panic"), segment);
    let asked = ["alloc 8 64", "share 2 4", "alloc 4 1", "new lock"];
    let given_back = ["free", "free", "drop lock"];
    assert_eq!(*there.calls.lock(), [&asked[..], &given_back].concat());
}

/// An answer to a task that asks for its time.
fn reply(answer: Answer) -> Reply {
    let now_ps = None;
    Reply { answer, now_ps }
}

#[test]
fn a_lost_machine_unwinds_the_task_with_an_error() {
    let (machine, task) = far(|platform| -> Result<(), String> {
        let buffer = platform.alloc(8, 64).map_err(|e| e.to_string())?;
        loop {
            // It cannot fail, and must not return a wrong time.
            platform.now_ps();
            buffer.write(0, &[1]).map_err(|e| e.to_string())?;
        }
    });
    // Answers some requests, then goes, in the middle of one.
    let _: Vec<Request> = machine.receive().expect("asks");
    let answer = Answer::Buffer {
        buffer: 1,
        slot: 0,
        offset: 0,
        address: 0,
    };
    machine.send(&reply(answer)).expect("answers");
    let _: Vec<Request> = machine.receive().expect("asks");
    drop(machine);
    let (_, end) = task.join().expect("no panic");
    assert!(matches!(end, Err(TaskError::Lost(MailboxError::Closed))));
}

#[test]
fn an_answer_to_another_question_ends_the_task() {
    let (machine, task) = far(|platform| Ok(platform.now_ps()));
    let _: Vec<Request> = machine.receive().expect("asks");
    machine.send(&reply(Answer::Truth(true))).expect("answers");
    let (_, end) = task.join().expect("no panic");
    let Err(TaskError::Lost(MailboxError::Malformed(text))) = end else {
        panic!("{end:?}");
    };
    assert_eq!(text, "Truth(true) in answer to Now");
}

#[test]
fn a_silent_task_exceeds_the_limit() {
    let (machine, _task) = sides();
    let limits = Limits::end_after(Duration::from_millis(20));
    let end = serve_as(&machine, &description(), limits, &Noted::default());
    assert!(matches!(
        end,
        Err(SessionError::Mailbox(MailboxError::Silent))
    ));
}

/// Error of `serve` for `requests`, of which all but the last are valid.
fn refusal(requests: &[Request]) -> String {
    let (machine, side) = sides();
    let requests = requests.to_vec();
    let task = thread::spawn(move || {
        for request in requests {
            side.send([request].as_slice()).expect("sends");
            if side.receive::<Reply>().is_err() {
                break;
            }
        }
    });
    let end = serve(&machine, &Noted::default());
    drop(machine);
    task.join().expect("no panic");
    match end {
        Err(error @ SessionError::Invalid { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_that_break_the_rules_are_refused_by_name() {
    let allocate = Request::Allocate {
        bytes: 100,
        align: 64,
    };
    let share = Request::Share {
        number: 1,
        bytes: 8,
    };
    let write = |buffer, offset, bytes| Request::WriteBuffer {
        buffer,
        offset,
        bytes,
    };
    let over = WINDOW_BYTES as u64 + 1;
    let cases = [
        (vec![Request::Free { buffer: 1 }], "no such buffer"),
        (
            vec![
                allocate.clone(),
                Request::Free { buffer: 1 },
                Request::Free { buffer: 1 },
            ],
            "no such buffer",
        ),
        (vec![allocate.clone(), write(2, 0, 1)], "no such buffer"),
        (vec![allocate.clone(), write(1, 0, over)], "a window has"),
        (
            vec![
                allocate,
                Request::WriteInline {
                    buffer: 1,
                    offset: 0,
                    data: vec![0; INLINE_BYTES + 1],
                },
            ],
            "more than 256 bytes",
        ),
        (
            vec![share.clone(), Request::Unlock { segment: 1 }],
            "does not hold",
        ),
        (
            vec![
                share,
                Request::Lock { segment: 1 },
                Request::Lock { segment: 1 },
            ],
            "wait for itself",
        ),
        (vec![Request::TryLock { segment: 0 }], "no such segment"),
        (
            vec![Request::Misuse {
                reason: "it is its own fault".into(),
            }],
            "it is its own fault",
        ),
        (
            vec![Request::Charge { op: 200, count: 1 }],
            "no such operation",
        ),
        (
            vec![Request::Charge {
                op: 0,
                count: 1 << 32,
            }],
            "more than 4294967295",
        ),
        (
            vec![Request::Compute { ps: 1 << 62 }],
            "beyond 4611686018427387904 ps",
        ),
        (
            vec![Request::Compute { ps: u64::MAX }],
            "time would be beyond",
        ),
        (vec![Request::DropThread { thread: 0 }], "or it has begun"),
        (vec![Request::DropThread { thread: 7 }], "no such thread"),
    ];
    for (requests, reason) in cases {
        let text = refusal(&requests);
        let name = format!("{:?}", requests.last().expect("one"));
        assert!(text.contains(reason), "{text}");
        assert!(text.contains(&name), "{text}");
    }
}

#[test]
fn requests_without_an_answer_are_carried_out_in_order() {
    let (machine, task) = far(|platform| {
        let buffer = platform.alloc(8, 64).map_err(|e| e.to_string())?;
        // More than a message holds, between requests that are answered.
        for count in 0..3 * BATCH as u64 {
            platform.charge(Op::ALL[0], count);
        }
        platform.notify(3);
        drop(buffer);
        platform.now_ps();
        platform.charge(Op::ALL[1], 1);
        Ok(())
    });
    let there = Noted::default();
    serve(&machine, &there).expect("serves");
    task.join().expect("no panic").1.expect("ends well");
    let charge = |op: usize, count| {
        let noted = Noted::default();
        noted.charge(Op::ALL[op], count);
        noted.calls.lock().remove(0)
    };
    let mut expected = vec!["alloc 8 64".to_owned()];
    expected.extend((0..3 * BATCH as u64).map(|count| charge(0, count)));
    expected.extend(["notify 3", "free", "now"].map(str::to_owned));
    expected.push(charge(1, 1));
    assert_eq!(*there.calls.lock(), expected);
}

#[test]
fn small_writes_travel_with_the_next_request_in_order() {
    let (result, calls) = through(|platform| {
        let buffer = platform.alloc(600, 64).map_err(|e| e.to_string())?;
        let mut expected = vec![0; 600];
        // More contiguous bytes than a message holds, and pieces below and above the inline limit.
        for turn in 0..80u8 {
            let bytes = [1, 100, INLINE_BYTES, INLINE_BYTES + 1][usize::from(turn / 20)];
            let (data, at) = (vec![turn + 1; bytes], usize::from(turn) * 4);
            buffer.write(at, &data).map_err(|e| e.to_string())?;
            expected[at..at + bytes].copy_from_slice(&data);
        }
        let beyond = buffer.write(600, &[1]).is_err();
        let mut out = vec![0; 600];
        buffer.read(0, &mut out).map_err(|e| e.to_string())?;
        Ok(beyond && out == expected)
    });
    assert!(result);
    let writes = calls.iter().filter(|call| call.starts_with("buffer write"));
    assert_eq!(writes.count(), 80);
}

#[test]
fn bytes_read_ahead_are_valid_until_the_next_request() {
    let (result, calls) = through(|platform| {
        let buffer = platform.alloc(600, 64).map_err(|e| e.to_string())?;
        let data: Vec<u8> = (0..600).map(|i| (i % 251) as u8).collect();
        buffer.write(0, &data).map_err(|e| e.to_string())?;
        let read = |from: usize, bytes: usize| {
            let mut out = vec![0; bytes];
            buffer.read(from, &mut out).map_err(|e| e.to_string())?;
            Ok::<_, String>(out == data[from..from + bytes])
        };
        // Which of these read the node's memory is said below.
        let mut equal = vec![read(10, 32)?, read(42, 500)?, read(553, 1)?];
        equal.extend([read(554, 46)?, read(554, 0)?]);
        equal.extend([read(9, 1)?, read(10, 32)?]);
        platform.charge(Op::ALL[0], 1);
        equal.push(read(10, 32)?);
        buffer.write(11, &[0]).map_err(|e| e.to_string())?;
        equal.push(!read(10, 32)?);
        let beyond = buffer.read(600, &mut [0]).is_err();
        Ok(beyond && equal.iter().all(|&equal| equal))
    });
    assert!(result);
    let reads = calls.iter().filter(|call| call.starts_with("buffer read"));
    let reads: Vec<_> = reads.map(String::as_str).collect();
    let expected = [
        "buffer read 10 544",
        "buffer read 554 46",
        "buffer read 554 46",
        "buffer read 9 544",
        "buffer read 10 544",
        "buffer read 10 544",
    ];
    assert_eq!(reads, expected);
}

#[test]
fn a_task_knows_its_time_where_it_knows_what_operations_take() {
    let mut known = description();
    known.operation_ps = (0..Op::ALL.len() as u64).map(|op| op * 10).collect();
    let (machine, side) = sides();
    let task = thread::spawn(move || {
        let mut times = Vec::new();
        let end = run_on(side, |platform| {
            platform.description().map_err(|e| e.to_string())?;
            times.push(platform.now_ps());
            platform.charge(Op::ALL[3], 5);
            let buffer = platform.alloc(8, 64).map_err(|e| e.to_string())?;
            platform.charge(Op::ALL[2], 2);
            times.push(platform.now_ps());
            buffer.write(0, &[1]).map_err(|e| e.to_string())?;
            drop(buffer);
            platform.charge(Op::ALL[1], 1);
            times.push(platform.now_ps());
            // What it takes is the platform's.
            platform.notify(1);
            times.push(platform.now_ps());
            Ok::<_, String>(())
        });
        end.map(|()| times)
    });
    let there = Noted::default();
    serve_as(&machine, &known, Limits::DEFAULT, &there).expect("serves");
    let times = task.join().expect("no panic").expect("ends well");
    // The platform's own time does not pass.
    let now = 123_456_789_012;
    assert_eq!(times, [now, now + 40, now + 50, now]);
}

#[test]
fn a_lock_of_a_task_stays_in_its_process() {
    let (result, calls) = through(|platform| {
        let lock = platform.new_lock();
        lock.lock();
        let again = lock.trylock();
        lock.unlock();
        let free = lock.trylock();
        lock.unlock();
        Ok((again, free))
    });
    assert_eq!(result, (false, true));
    assert!(calls.is_empty());

    for (twice, reason) in [(true, "wait for itself"), (false, "does not hold the lock")] {
        let (machine, task) = far(move |platform| {
            let lock = platform.new_lock();
            if twice {
                lock.lock();
                lock.lock();
            }
            lock.unlock();
            Ok(())
        });
        let refused = serve(&machine, &Noted::default());
        assert!(
            matches!(&refused, Err(SessionError::Invalid { reason: why, .. }) if why.contains(reason)),
            "{refused:?}"
        );
        drop(machine);
        let (_, end) = task.join().expect("no panic");
        assert!(matches!(end, Err(TaskError::Lost(MailboxError::Closed))));
    }
}

#[test]
fn a_request_whose_answer_would_be_lost_is_refused() {
    for request in [Request::Now, Request::Finish { error: None }] {
        let (machine, side) = sides();
        let requests = [request, Request::Flush];
        side.send(requests.as_slice()).expect("sends");
        let end = serve(&machine, &Noted::default());
        let Err(SessionError::Invalid { reason, .. }) = end else {
            panic!("{end:?}");
        };
        assert!(reason.contains("another request follows"), "{reason}");
    }
}

#[test]
fn a_task_is_told_what_it_is() {
    let (machine, task) = far(|platform| platform.description().map_err(|e| e.to_string()));
    serve(&machine, &Noted::default()).expect("serves");
    let (found, _) = task.join().expect("no panic");
    assert_eq!(found, Some(description()));
    let share = description().share(0).expect("contexts of the node");
    let client = description().client("client", share).expect("coordinates");
    assert_eq!((client.task.0, client.tasks.len()), (1, 2));
    assert_eq!((client.resources.owner, client.contexts), (3, 2));
}

#[test]
fn what_is_no_message_is_malformed() {
    fn received<M: serde::Serialize + ?Sized>(message: &M) -> String {
        let (machine, task) = sides();
        task.send(message).expect("sends");
        match serve(&machine, &Noted::default()) {
            Err(SessionError::Mailbox(MailboxError::Malformed(text))) => text,
            other => panic!("{other:?}"),
        }
    }
    // No such request, a request cut short, and one with something behind it.
    assert!(!received([200u8].as_slice()).is_empty());
    assert!(!received([2u8, 0x80u8].as_slice()).is_empty());
    let now = [Request::Now];
    assert_eq!(received(&(now.as_slice(), 1u8)), "1 bytes after its end");
    assert_eq!(received::<[Request]>(&[]), "no request");

    // A second message before the answer to the first.
    let (machine, task) = sides();
    task.send([Request::Now].as_slice()).expect("sends");
    task.send([Request::Now].as_slice()).expect("sends");
    match serve(&machine, &Noted::default()) {
        Err(SessionError::Mailbox(MailboxError::Malformed(text))) => {
            assert_eq!(text, "number 2 where 1 was expected");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn memory_that_is_no_mailbox_is_refused() {
    let open = |memory: OwnedFd| {
        let (bell, _other) = UnixStream::pair().expect("a pair");
        let bell = bell.into();
        Mailbox::open(Ends { memory, bell }).err()
    };
    let (_machine, ends) = Mailbox::create().expect("a mailbox");
    let length = rustix::fs::fstat(&ends.memory).expect("known").st_size as u64;
    let unsealed = tempfile::tempfile().expect("a file");
    unsealed.set_len(length).expect("resized");
    assert!(matches!(open(unsealed.into()), Some(MailboxError::Format)));
    let (read, _write) = std::io::pipe().expect("a pipe");
    assert!(matches!(open(read.into()), Some(MailboxError::Format)));
    let memory = File::from(ends.memory);
    memory.write_at(&[0], 0).expect("written");
    assert!(matches!(open(memory.into()), Some(MailboxError::Format)));
}

#[test]
fn the_memory_of_a_mailbox_keeps_its_length() {
    let (_machine, ends) = Mailbox::create().expect("a mailbox");
    let memory = File::from(ends.memory);
    let length = memory.metadata().expect("known").len();
    for other in [0, length - 1, length + 1] {
        memory.set_len(other).expect_err("sealed");
    }
    assert_eq!(memory.metadata().expect("known").len(), length);
}

/// End of a shell script as a task's process.
fn script(text: &str, limits: Limits) -> ProcessError {
    let mut command = Command::new("bash");
    command.args(["-c", text]);
    let process = TaskProcess::spawn(command, description(), limits).expect("starts");
    process
        .serve(&Noted::default(), &Nothing::default())
        .expect_err("a script is no task")
}

#[test]
fn what_a_process_prints_is_passed_on_to_its_end() {
    let mut command = Command::new("bash");
    // More than a pipe holds, and output at the very end.
    command.args(["-c", "head -c 300000 /dev/zero; echo why >&2; printf end"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let limits = Limits::DEFAULT;
    let mut process = TaskProcess::spawn(command, description(), limits).expect("starts");
    let printed: [Arc<Mutex<Vec<u8>>>; 2] = Default::default();
    let sink = printed.clone();
    let collected = process.collect(move |stream, bytes| {
        let to = match stream {
            Stream::Output => &sink[0],
            Stream::Error => &sink[1],
        };
        to.lock().extend_from_slice(bytes);
    });
    collected.expect("pipes");
    // No task, but a program that ends well.
    let end = process.serve(&Noted::default(), &Nothing::default());
    assert_eq!(end.expect("status 0"), TaskEnd::Clean);
    let output = printed[0].lock();
    assert!(output.len() == 300_003 && output.ends_with(b"\0end"));
    assert_eq!(*printed[1].lock(), b"why\n");
}

#[test]
fn x6_output_between_start_up_lines_is_passed_on_between_them() {
    let mut command = Command::new("bash");
    let say = "echo first >&$PMI_FD; sleep 0.05; printf printed; echo second >&$PMI_FD";
    command.args(["-c", say]).stdout(Stdio::piped());
    let limits = Limits::DEFAULT;
    let mut process = TaskProcess::spawn_with_pmi(command, description(), limits).expect("starts");
    let log = Arc::new(Mutex::new(String::new()));
    let host = Nothing {
        lines: Some(Arc::clone(&log)),
    };
    let sink = Arc::clone(&log);
    let collected = process.collect(move |_, bytes| {
        sink.lock()
            .push_str(std::str::from_utf8(bytes).expect("text"))
    });
    collected.expect("a pipe");
    let end = process.serve(&Noted::default(), &host);
    assert_eq!(end.expect("status 0"), TaskEnd::Clean);
    assert_eq!(*log.lock(), "(first)printed(second)");
}

#[test]
fn processes_that_are_no_tasks_end_with_an_error() {
    let end = script("exit 7", Limits::DEFAULT);
    assert!(
        matches!(end, ProcessError::Ended(status) if status.code() == Some(7)),
        "{end}"
    );
    let end = script("kill -9 $$", Limits::DEFAULT);
    assert!(
        end.to_string()
            .ends_with("ended before its task: signal: 9 (SIGKILL)"),
        "{end}"
    );
    // While another process holds the doorbell.
    let end = script("sleep 1000 & exit 7", Limits::DEFAULT);
    assert!(
        matches!(end, ProcessError::Ended(status) if status.code() == Some(7)),
        "{end}"
    );
    // Rings without a message.
    let end = script("printf x >&191; exec sleep 1000", Limits::DEFAULT);
    assert!(matches!(end, ProcessError::Protocol(_)), "{end}");
    // Does nothing, with and without the doorbell open.
    for text in ["exec sleep 1000", "exec sleep 1000 191>&-"] {
        let end = script(text, Limits::end_after(Duration::from_millis(50)));
        assert!(matches!(end, ProcessError::Hung { .. }), "{end}");
    }
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    let command = Command::new("/no/such/program");
    let error = TaskProcess::spawn(command, description(), Limits::DEFAULT).err();
    let text = error.expect("refused").to_string();
    assert!(
        text.starts_with("/no/such/program cannot be started: "),
        "{text}"
    );
}

/// Whether a process exists and has not ended.
fn is_alive(process: u32) -> bool {
    // The state is behind the name, which is in parentheses.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Waits until `process` has ended.
fn assert_ends(process: u32) {
    for _ in 0..1000 {
        if !is_alive(process) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("process {process} is still there");
}

/// A script as a task's process that first starts another process in the background; returns the other's number.
fn script_with_child(then: &str) -> (TaskProcess, u32) {
    let (mut output, write) = std::io::pipe().expect("a pipe");
    let mut command = Command::new("bash");
    command.args(["-c", &format!("sleep 1000 & echo $!; exec >&-; {then}")]);
    command.stdout(write);
    let process = TaskProcess::spawn(command, description(), Limits::DEFAULT).expect("starts");
    let mut number = [0; 16];
    let length = output.read(&mut number).expect("a number");
    let number = std::str::from_utf8(&number[..length]).expect("text");
    let child = number.trim().parse().expect("a number");
    assert!(is_alive(child));
    (process, child)
}

#[test]
fn processes_that_a_task_has_started_end_with_it() {
    let (process, child) = script_with_child("exit 3");
    let end = process.serve(&Noted::default(), &Nothing::default());
    assert!(matches!(end, Err(ProcessError::Ended(_))), "{end:?}");
    assert_ends(child);

    let (process, child) = script_with_child("exec sleep 1000");
    let task = process.id();
    drop(process);
    assert!(!is_alive(task));
    assert_ends(child);
}

#[test]
fn a_task_is_killed_when_the_thread_that_started_it_ends() {
    let starter = thread::spawn(|| {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let process = TaskProcess::spawn(command, description(), Limits::DEFAULT).expect("starts");
        let number = process.id();
        // A killed machine drops nothing.
        std::mem::forget(process);
        number
    });
    assert_ends(starter.join().expect("no panic"));
}

#[test]
fn a_process_that_no_machine_started_has_no_task() {
    let end = crate::run(|_| Err("never called"));
    assert!(
        matches!(end, Err(TaskError::Attach(MailboxError::NotInherited))),
        "{end:?}"
    );
}
