// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run made by hand, of which everything is known: its critical path, the time of its ranks, its causes.

use gyre_timeline::{
    Context, Event, Lane, Link, Messages, Note, PacketKind, Recording, Stage, Thread, What, Why,
};
use gyre_why::{Analysis, Culprit, Kind, Place, Segment, explain};

const CYCLE_PS: u64 = 2000;
const POST: u8 = 0;
const ADVANCE: u8 = 1;
const PACKET: u8 = 2;

const fn context(task: u32) -> Context {
    Context {
        task,
        client: 0,
        offset: 0,
    }
}

fn event(node: u32, lane: Lane, (from, to): (u64, u64), what: What) -> Event {
    let span = (from * CYCLE_PS, to * CYCLE_PS);
    Event::new(node, lane, span, what)
}

/// Activity of a thread; times are cycles.
struct Script {
    node: u32,
    thread: u32,
    now: u64,
    events: Vec<Event>,
}

impl Script {
    fn new(node: u32, thread: u32) -> Self {
        Self {
            node,
            thread,
            now: 0,
            events: Vec::new(),
        }
    }

    fn until(mut self, to: u64, what: What) -> Self {
        let lane = Lane::Thread(self.thread);
        let span = (self.now, to);
        self.events.push(event(self.node, lane, span, what));
        self.now = to;
        self
    }

    fn compute(self, to: u64) -> Self {
        let why = Why::Compute;
        self.until(to, What::Waited { why, by: None })
    }

    fn wait(self, to: u64, why: Why, by: Option<u32>) -> Self {
        self.until(to, What::Waited { why, by })
    }

    fn spend(self, to: u64, operation: u8) -> Self {
        self.until(
            to,
            What::Spent {
                operation,
                count: 1,
            },
        )
    }

    fn note(self, note: Note) -> Self {
        let now = self.now;
        self.until(now, What::Note(note))
    }

    fn ended(self) -> Self {
        let now = self.now;
        self.until(now, What::Operation { line: 1 })
    }
}

const ID: u32 = 5;
const WORD: u32 = 9;

fn sent(from: u32, to: u32) -> [Note; 3] {
    let (at, to) = (context(from), context(to));
    [
        Note::Injecting { at },
        Note::Message {
            at,
            to,
            id: ID,
            tag: 7,
            bytes: 64,
        },
        Note::Sent {
            at,
            to,
            id: ID,
            dispatch: 1,
            word: WORD,
            tag: 7,
        },
    ]
}

fn taken(from: u32, to: u32) -> Note {
    Note::Packet {
        at: context(to),
        from: context(from),
        dispatch: 1,
        tag: 7,
        first: true,
        last: true,
    }
}

/// Rank 0 computes for 1,000 cycles and sends one packet to rank 1, which computes for 200, waits for it, deals with it, and
/// computes again.
fn one_message() -> Recording {
    let kind = PacketKind::MEMORY_FIFO;
    let [injecting, message, queued] = sent(0, 1);
    let sender = Script::new(0, 0)
        .compute(1000)
        .spend(1050, POST)
        .note(injecting)
        .note(message)
        .note(queued)
        .spend(1060, ADVANCE)
        .ended();
    let receiver = Script::new(1, 0)
        .compute(200)
        .wait(1250, Why::WakeUp, None)
        .spend(1270, ADVANCE)
        .spend(1280, PACKET)
        .note(taken(0, 1))
        .note(Note::Handled { at: context(1) })
        .compute(1400)
        .ended();
    let mut events = sender.events;
    events.extend(receiver.events);
    events.extend([
        event(
            0,
            Lane::Tails,
            (1058, 1058),
            What::Tail {
                fifo: 2,
                first: 4,
                count: 1,
                places: 8,
            },
        ),
        event(
            0,
            Lane::Fetches,
            (1090, 1090),
            What::Fetch {
                fifo: 2,
                place: 4,
                kind,
                id: ID,
                word: WORD,
                bytes: 64,
            },
        ),
        event(
            0,
            Lane::Link(0),
            (1160, 1166),
            What::Hop {
                channel: 1,
                kind,
                flits: 6,
                id: ID,
                word: WORD,
            },
        ),
    ]);
    recording(events, &[(0, 0), (1, 0)])
}

fn recording(events: Vec<Event>, threads: &[(u32, u32)]) -> Recording {
    let mut recording = Recording::empty(CYCLE_PS, 2, 0, 1500 * CYCLE_PS);
    recording.link_ps = 4 * CYCLE_PS;
    recording.memory_read_ps = 40 * CYCLE_PS;
    recording.memory_write_ps = 20 * CYCLE_PS;
    recording.register_ps = 8 * CYCLE_PS;
    recording.threads = threads
        .iter()
        .map(|&(node, number)| Thread {
            node,
            number,
            name: format!("rank {node} thread {number}"),
            task: Some(node),
        })
        .collect();
    recording.links = vec![Link {
        node: 0,
        port: 0,
        to: 1,
        name: "a+".to_owned(),
    }];
    recording.operations = vec!["post", "advance", "packet"];
    recording.with_events(events)
}

fn analysis(recording: &Recording) -> (Messages, Analysis) {
    let messages = Messages::of(recording);
    let analysis = Analysis::of(recording, &messages).expect("operations have ended");
    (messages, analysis)
}

fn times(times: [u64; Kind::ALL.len()]) -> Vec<(Kind, u64)> {
    let times = times.map(|ps| ps / CYCLE_PS);
    let all = Kind::ALL.into_iter().zip(times);
    all.filter(|&(_, cycles)| cycles > 0).collect()
}

#[test]
fn x7_the_critical_path_goes_from_event_to_event() {
    let recording = one_message();
    let (_, analysis) = analysis(&recording);
    let hardware = Place::Nodes { from: 0, to: 1 };
    let expected = [
        (1000, Kind::Computation, "compute", Place::Thread(0), None),
        (1050, Kind::Driver, "post", Place::Thread(0), None),
        (1058, Kind::Driver, "register write", hardware, Some(1)),
        (1090, Kind::Memory, "fetch", hardware, Some(1)),
        (
            1150,
            Kind::Memory,
            "descriptor and payload",
            hardware,
            Some(1),
        ),
        (1160, Kind::Network, "inject", hardware, Some(1)),
        (1170, Kind::Network, "links", hardware, Some(1)),
        (
            1250,
            Kind::Memory,
            "memory write and wake-up",
            Place::Thread(1),
            Some(1),
        ),
        (1270, Kind::Driver, "advance", Place::Thread(1), None),
        (1280, Kind::Driver, "packet", Place::Thread(1), None),
        (1400, Kind::Computation, "compute", Place::Thread(1), None),
    ];
    let begins = std::iter::once(0).chain(expected.iter().map(|segment| segment.0));
    let expected: Vec<Segment> = expected
        .iter()
        .zip(begins)
        .map(|(&(to, kind, what, place, message), from)| Segment {
            from_ps: from * CYCLE_PS,
            to_ps: to * CYCLE_PS,
            kind,
            what,
            place,
            message,
        })
        .collect();
    assert_eq!(analysis.path, expected);
    assert!(
        analysis
            .verdict
            .starts_with("The critical path is 80 % computation"),
        "{}",
        analysis.verdict
    );
}

#[test]
fn x7_the_time_of_ranks_is_divided_without_rest() {
    let recording = one_message();
    let (_, analysis) = analysis(&recording);
    let [first, second] = &analysis.ranks[..] else {
        panic!("two ranks: {:?}", analysis.ranks);
    };
    assert_eq!(
        times(first.times),
        [
            (Kind::Computation, 1000),
            (Kind::Driver, 60),
            (Kind::Ended, 340)
        ]
    );
    // It has waited from 200 on. The message was posted at 1050.
    assert_eq!(
        times(second.times),
        [
            (Kind::Computation, 320),
            // The register write, and its own.
            (Kind::Driver, 8 + 30),
            (Kind::Network, 20),
            (Kind::Memory, 92 + 80),
            (Kind::LateSender, 850),
        ]
    );
}

#[test]
fn x7_gains_are_those_of_the_dependencies() {
    let recording = one_message();
    let (_, analysis) = analysis(&recording);
    let gain = |culprit| {
        let cause = analysis
            .causes
            .iter()
            .find(|cause| cause.culprit == culprit);
        cause.map_or(0, |cause| cause.gain_ps / CYCLE_PS)
    };
    // Half of 1,000 cycles; of rank 1 the second part alone counts.
    assert_eq!(gain(Culprit::Computation(0)), 500);
    assert_eq!(gain(Culprit::Computation(1)), 60);
    assert_eq!(gain(Culprit::Operation(POST)), 50);
    // What rank 0 does after the message keeps nobody waiting.
    assert_eq!(gain(Culprit::Operation(ADVANCE)), 20);
    assert_eq!(gain(Culprit::Operation(PACKET)), 10);
    // Two reads of 38 cycles less, a write of 18 less.
    assert_eq!(gain(Culprit::MemoryLatency), 2 * 38 + 18);
    assert_eq!(gain(Culprit::LinkLatency), 3);
    let gains: Vec<u64> = analysis.causes.iter().map(|cause| cause.gain_ps).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    assert!(
        analysis.causes[0].text.contains("late sender"),
        "{:?}",
        analysis.causes[0]
    );
}

#[test]
fn x7_a_message_is_explained_stage_by_stage() {
    let recording = one_message();
    let messages = Messages::of(&recording);
    let (_, explained) = explain(&recording, &messages, &[1, 2, 0]).expect("operations have ended");
    assert_eq!(explained.len(), 1, "there is one message");
    let [message] = &explained[..] else {
        unreachable!()
    };
    assert_eq!(message.total_ps / CYCLE_PS, 1280 - 1050);
    let stages: Vec<(Stage, u64)> = message
        .stages
        .iter()
        .map(|stage| (stage.stage, stage.ps / CYCLE_PS))
        .collect();
    assert_eq!(
        stages,
        [
            (Stage::Start, 8),
            (Stage::Fetch, 32),
            (Stage::Inject, 70),
            (Stage::Network, 10),
            (Stage::Reception, 110),
            (Stage::Deliver, 0),
        ]
    );
    let reception = &message.stages[4].blame;
    assert_eq!(
        reception[0],
        ("rank 1 thread 0: advance".to_owned(), 20 * CYCLE_PS)
    );
}

#[test]
fn x7_a_wait_that_nothing_has_ended_is_other() {
    let events = Script::new(0, 0)
        .compute(100)
        .wait(150, Why::WakeUp, None)
        .compute(200)
        .ended()
        .events;
    let recording = recording(events, &[(0, 0)]);
    let (_, analysis) = analysis(&recording);
    assert_eq!(
        times(analysis.path_times()),
        [(Kind::Computation, 150), (Kind::Other, 50)]
    );
    assert_eq!(times(analysis.ranks[0].times), times(analysis.path_times()));
    // It stays when the computation is halved.
    assert_eq!(analysis.causes[0].gain_ps, 75 * CYCLE_PS);
}

#[test]
fn x7_a_thread_that_lets_another_go_on_is_on_the_path() {
    let first = Script::new(0, 0)
        .compute(300)
        .spend(310, POST)
        .compute(500)
        .ended();
    let second = Script::new(0, 1)
        .compute(50)
        .wait(310, Why::News, Some(0))
        .spend(320, PACKET)
        .compute(600)
        .ended();
    let events = [first.events, second.events].concat();
    let recording = recording(events, &[(0, 0), (0, 1)]);
    let (_, analysis) = analysis(&recording);
    let places: Vec<Place> = analysis.path.iter().map(|segment| segment.place).collect();
    let (first, second) = (Place::Thread(0), Place::Thread(1));
    assert_eq!(places, [first, first, second, second]);
    assert_eq!(
        times(analysis.path_times()),
        [(Kind::Computation, 580), (Kind::Driver, 20)]
    );
}

#[test]
fn x7_a_recording_without_a_program_has_no_analysis() {
    let events = Script::new(0, 0).compute(100).events;
    let recording = recording(events, &[(0, 0)]);
    assert_eq!(Analysis::of(&recording, &Messages::of(&recording)), None);
}

/// Records the hardware's events for a packet of rank 0 to rank 1: its descriptor, fetched at `fetched`, and its link from `head` on.
fn packet(id: u32, fetched: u64, (head, end): (u64, u64)) -> Vec<Event> {
    let kind = PacketKind::MEMORY_FIFO;
    let fetch = What::Fetch {
        fifo: 2,
        place: 4,
        kind,
        id,
        word: WORD,
        bytes: 64,
    };
    let hop = What::Hop {
        channel: 1,
        kind,
        flits: 6,
        id,
        word: WORD,
    };
    vec![
        event(0, Lane::Fetches, (fetched, fetched), fetch),
        event(0, Lane::Link(0), (head, end), hop),
    ]
}

#[test]
fn x7_a_thread_busy_when_a_packet_comes_delays_itself() {
    let sender = sent(0, 1)
        .into_iter()
        .fold(Script::new(0, 0).compute(1000), Script::note)
        .ended();
    let receiver = Script::new(1, 0)
        .compute(1280)
        .note(taken(0, 1))
        .note(Note::Handled { at: context(1) })
        .compute(1400)
        .ended();
    let hardware = packet(ID, 1090, (1160, 1166));
    let events = [sender.events, receiver.events, hardware].concat();
    let recording = recording(events, &[(0, 0), (1, 0)]);
    let (_, analysis) = analysis(&recording);
    assert_eq!(times(analysis.path_times()), [(Kind::Computation, 1400)]);
    assert!(
        analysis
            .path
            .iter()
            .all(|segment| segment.place == Place::Thread(1))
    );
}

#[test]
fn x7_driver_work_for_an_unexpected_message_has_its_own_kind() {
    let receiver = Script::new(1, 0)
        .spend(10, PACKET)
        .note(taken(0, 1))
        .note(Note::Unexpected {
            at: context(1),
            number: 3,
        })
        .spend(40, POST)
        .note(Note::Handled { at: context(1) })
        .spend(100, POST)
        .ended();
    let recording = recording(receiver.events, &[(1, 0)]);
    let (_, analysis) = analysis(&recording);
    assert_eq!(
        times(analysis.path_times()),
        [(Kind::Driver, 70), (Kind::Unexpected, 30)]
    );
}

/// A thread that computes up to `post`, leaves work to one that advances, and goes on when that is done; the other one deals
/// with a packet of rank 0 first, from `packet` on, which takes 50 cycles.
fn two_units(busy: u64, packet_at: u64, post: u64) -> Recording {
    let at = context(1);
    let sender = sent(0, 1)
        .into_iter()
        .fold(Script::new(0, 0), Script::note)
        .ended();
    let done = (packet_at + 50).max(post) + 100;
    let advancing = Script::new(1, 1).spend(busy, POST);
    let advancing = match busy < packet_at {
        true => advancing.wait(packet_at, Why::WakeUp, None),
        false => advancing,
    };
    let advancing = advancing
        .spend(packet_at + 50, PACKET)
        .note(taken(0, 1))
        .note(Note::Handled { at });
    let advancing = match packet_at + 50 < post {
        true => advancing.wait(post, Why::WakeUp, Some(0)),
        false => advancing,
    };
    let advancing = advancing.note(Note::Started { at }).spend(done, ADVANCE);
    let computing = Script::new(1, 0)
        .compute(post)
        .note(Note::Posted { at })
        .wait(done, Why::News, Some(1))
        .compute(done + 800)
        .ended();
    let hardware = packet(ID, 100, (200, 206));
    let events = [sender.events, advancing.events, computing.events, hardware].concat();
    recording(events, &[(0, 0), (1, 0), (1, 1)])
}

fn gain(analysis: &Analysis, culprit: Culprit) -> u64 {
    let causes = analysis.causes.iter();
    let mut gains = causes.filter(|cause| cause.culprit == culprit);
    gains.next().map_or(0, |cause| cause.gain_ps / CYCLE_PS)
}

#[test]
fn x7_a_thread_that_advances_deals_with_what_comes_first() {
    // The packet wakes it at 1,000, the post at 1,100; it is done at 1,200, and the program at 2,000.
    let (_, analysis) = analysis(&two_units(10, 1000, 1100));
    assert_eq!(analysis.to_ps, 2000 * CYCLE_PS);
    // Posted at 550 the work is done at 650, before the packet comes; 400 cycles of computation are left then.
    assert_eq!(gain(&analysis, Culprit::Computation(1)), 2000 - 1050);
}

#[test]
fn x7_of_what_has_come_a_thread_keeps_the_order_of_the_run() {
    // Packet and post have come while it was busy up to 500: the packet's 50 cycles are in the way of the post.
    let (_, analysis) = analysis(&two_units(500, 500, 400));
    assert_eq!(gain(&analysis, Culprit::Operation(PACKET)), 50);
}

#[test]
fn x7_a_link_that_others_hold_is_blamed_on_them_alone() {
    let other = 6;
    let notes = |id| {
        sent(0, 1).map(|note| match note {
            Note::Message {
                at, to, tag, bytes, ..
            } => Note::Message {
                at,
                to,
                id,
                tag,
                bytes,
            },
            Note::Sent {
                at,
                to,
                dispatch,
                word,
                tag,
                ..
            } => Note::Sent {
                at,
                to,
                id,
                dispatch,
                word,
                tag,
            },
            note => note,
        })
    };
    let sender = notes(ID)
        .into_iter()
        .chain(notes(other))
        .fold(Script::new(0, 0), Script::note)
        .ended();
    let receiver = Script::new(1, 0)
        .compute(1500)
        .note(taken(0, 1))
        .note(Note::Handled { at: context(1) })
        .note(taken(0, 1))
        .note(Note::Handled { at: context(1) })
        .ended();
    // The first descriptor is read up to 150; the link is the other message's until 190. Its second packet follows.
    let mut events = [sender.events, receiver.events].concat();
    events.extend(packet(ID, 90, (200, 206)));
    events.extend(packet(other, 80, (140, 190)));
    events.extend(packet(ID, 91, (230, 236)).pop());
    let recording = recording(events, &[(0, 0), (1, 0)]);
    let messages = Messages::of(&recording);
    let (_, explained) = explain(&recording, &messages, &[1]).expect("operations have ended");
    let [explained] = &explained[..] else {
        panic!("one message was asked for");
    };
    let inject = explained
        .stages
        .iter()
        .find(|stage| stage.stage == Stage::Inject);
    let inject = inject.expect("a stage");
    assert_eq!(
        inject.blame,
        [("node0 a+: message 2".to_owned(), 40 * CYCLE_PS)]
    );
    let network = explained
        .stages
        .iter()
        .find(|stage| stage.stage == Stage::Network);
    assert_eq!(network.expect("a stage").blame, []);
}
