// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs written as text and read back are the same, in whatever layout.

use gyre_goal::{ANY_TAG, Dependency, Op, OpId, OpKind, Program, RankBuilder, TAG_MAX, parse};
use proptest::prelude::*;
use proptest::sample::Index;

/// A message and how it is received.
#[derive(Debug, Clone)]
struct Message {
    from: Index,
    to: Index,
    tag: u32,
    bytes: u64,
    spare: u64,
    any_source: bool,
    any_tag: bool,
    cpus: [u8; 2],
    nics: [u8; 2],
}

fn message() -> impl Strategy<Value = Message> {
    let tag = prop_oneof![4 => 0u32..4, 1 => Just(TAG_MAX), 1 => Just(ANY_TAG), 1 => 0..=TAG_MAX];
    let place = (any::<Index>(), any::<Index>());
    let size = (0u64..10_000, 0u64..3);
    (
        place,
        tag,
        size,
        any::<[bool; 2]>(),
        any::<[u8; 2]>(),
        any::<[u8; 2]>(),
    )
        .prop_map(
            |((from, to), tag, (bytes, spare), wild, cpus, nics)| Message {
                from,
                to,
                tag,
                bytes,
                spare,
                any_source: wild[0],
                any_tag: wild[1],
                cpus,
                nics,
            },
        )
}

/// Operation, operation, kind of dependency; the positions pick from a rank's operations.
type Edge = (Index, Index, Index, bool);

fn program() -> impl Strategy<Value = Program> {
    let messages = prop::collection::vec(message(), 0..30);
    let calcs = prop::collection::vec((any::<Index>(), 0u64..1 << 50, any::<u8>()), 0..20);
    let edges = prop::collection::vec(any::<Edge>(), 0..60);
    let order = any::<[u8; 16]>();
    (1u32..6, messages, calcs, edges, order).prop_map(|(ranks, messages, calcs, edges, order)| {
        assemble(ranks, &messages, &calcs, &edges, order)
    })
}

fn assemble(
    num_ranks: u32,
    messages: &[Message],
    calcs: &[(Index, u64, u8)],
    edges: &[Edge],
    order: [u8; 16],
) -> Program {
    let mut ranks: Vec<_> = (0..num_ranks).map(RankBuilder::new).collect();
    let mut counts = vec![0u32; num_ranks as usize];
    let mut add = |rank: usize, kind, cpu| {
        ranks[rank].op(Op { kind, cpu });
        counts[rank] += 1;
    };
    for m in messages {
        let (from, to) = (
            m.from.index(num_ranks as usize),
            m.to.index(num_ranks as usize),
        );
        let send = OpKind::Send {
            bytes: m.bytes,
            to: to as u32,
            tag: m.tag,
            nic: m.nics[0],
        };
        let recv = OpKind::Recv {
            bytes: m.bytes + m.spare,
            from: (!m.any_source).then_some(from as u32),
            tag: (!m.any_tag && m.tag != ANY_TAG).then_some(m.tag),
            nic: m.nics[1],
        };
        add(from, send, m.cpus[0]);
        add(to, recv, m.cpus[1]);
    }
    for (rank, ns, cpu) in calcs {
        add(
            rank.index(num_ranks as usize),
            OpKind::Calc { ns: *ns },
            *cpu,
        );
    }
    // Dependencies along a shuffled order of the operations have no cycle, and some of them point
    // to operations that stand later.
    let place = |op: u32| (order[op as usize % order.len()], op);
    for (rank, a, b, start) in edges {
        let rank = rank.index(num_ranks as usize);
        let count = counts[rank] as usize;
        if count == 0 {
            continue;
        }
        let (a, b) = (a.index(count) as u32, b.index(count) as u32);
        let (op, on) = if place(a) > place(b) { (a, b) } else { (b, a) };
        let dependency = if *start {
            Dependency::Irequires
        } else {
            Dependency::Requires
        };
        if op != on {
            ranks[rank].depend(OpId(op), dependency, OpId(on));
        }
    }
    let built = ranks.into_iter().map(|r| r.build().expect("no cycle"));
    Program::new(built.collect())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn written_and_read_back_is_equal(program in program()) {
        let text = program.to_string();
        let read = parse("f", text.as_bytes()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&read, &program);
        prop_assert_eq!(read.totals(), program.totals());
    }

    #[test]
    fn layout_does_not_matter(program in program()) {
        let text = program.to_string();
        let spread = text
            .replace('\n', " // end }\r\n\r\n/* l1: calc\n5 */\t")
            .replace("b to", " b\tto")
            .replace(": ", ":");
        let read = parse("f", spread.as_bytes()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read, program);
    }

    #[test]
    fn damaged_text_is_read_or_refused_within_the_text(
        program in program(),
        damage in prop::collection::vec((any::<Index>(), prop_oneof![any::<u8>(), Just(b'\n'), Just(b'}'), Just(b'*')]), 1..6),
        cut in any::<Index>(),
    ) {
        let mut text = program.to_string().into_bytes();
        for (at, byte) in damage {
            let at = at.index(text.len());
            text[at] = byte;
        }
        text.truncate(cut.index(text.len() + 1));
        if let Err(error) = parse("f", &text) {
            let lines = text.split(|&b| b == b'\n').count();
            prop_assert!((1..=lines).contains(&error.line));
            prop_assert!((1..=text.len() + 1).contains(&error.column));
        }
    }

    #[test]
    fn random_bytes_are_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse("f", &text).is_err());
    }
}
