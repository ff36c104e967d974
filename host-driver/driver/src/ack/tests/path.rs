// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path rule of the dispatcher (AK-4).

use super::*;

/// Tasks 1, 2, ... lie on a line in this order; tasks 101, 102, ... on another.
fn line(peer: Endpoint) -> Option<Vec<Endpoint>> {
    let task = peer.task.0;
    let first = task - task % 100 + 1;
    let other = |task| Endpoint {
        task: TaskId(task),
        ..peer
    };
    Some((first..=task).map(other).collect())
}

fn path_rule(threshold: u32, minimum_group: u32, maximum_age: u32) -> AckConfig {
    let mut config = on_arrival(threshold, minimum_group, maximum_age);
    config.rules[0].together = Together::Path;
    config
}

fn on_lines(config: AckConfig) -> AckDispatcher {
    dispatcher(config).with_recipients(Box::new(line))
}

/// Packets as their recipients, nearest first, with cookies.
fn recipients(packets: &[AckPacket]) -> Vec<Vec<(u32, Vec<u32>)>> {
    let plain = |packet: &AckPacket| {
        let recipients = packet.recipients();
        recipients
            .map(|(peer, cookies)| (peer.task.0, cookies.to_vec()))
            .collect()
    };
    packets.iter().map(plain).collect()
}

#[test]
fn ak4_one_packet_to_the_farthest_acknowledges_a_path() {
    let mut acks = on_lines(path_rule(2, 100, 100));
    for (task, cookie) in [(2, 20), (3, 30), (101, 1), (1, 10), (2, 21)] {
        acks.enqueue(peer(task), cookie);
    }
    assert_eq!(acks.iterate(), []);
    let packets = acks.iterate();
    assert_eq!(
        recipients(&packets),
        [
            vec![(1, vec![10]), (2, vec![20, 21]), (3, vec![30])],
            vec![(101, vec![1])],
        ]
    );
    assert_eq!((acks.stats().packets, acks.stats().at_threshold), (2, 5));
    // Four recipients the first time, then the one that is left.
    assert_eq!(acks.stats().looked_at, 4 + 1);
    assert!(acks.is_empty());
}

#[test]
fn ak4_copies_go_only_to_owed_recipients() {
    let mut acks = on_lines(path_rule(1, 100, 100));
    // Node 3 has no recipient: the endpoints behind it get packets to one recipient.
    for task in [1, 2, 4, 5] {
        acks.enqueue(peer(task), task);
    }
    assert_eq!(
        recipients(&acks.iterate()),
        [
            vec![(1, vec![1]), (2, vec![2])],
            vec![(4, vec![4])],
            vec![(5, vec![5])],
        ]
    );
}

#[test]
fn ak4_a_complete_path_is_acknowledged_at_once() {
    let mut acks = on_lines(path_rule(50, 4, 100));
    acks.enqueue(peer(101), 7);
    for task in [1, 2, 3] {
        acks.enqueue(peer(task), task);
    }
    assert_eq!(acks.iterate(), []);
    acks.enqueue(peer(2), 9);
    assert_eq!((acks.owed(), acks.unsent()), (1, 5));
    let packets = acks.iterate();
    assert_eq!(
        recipients(&packets),
        [vec![(1, vec![1]), (2, vec![2, 9]), (3, vec![3])]]
    );
    assert_eq!((acks.stats().on_arrival, acks.owed()), (4, 1));
    assert_eq!(acks.unsent(), 1);
}

#[test]
fn ak4_endpoints_that_share_no_fifo_number_are_not_joined() {
    let mut acks = on_lines(path_rule(1, 100, 100));
    acks.enqueue(peer(1), 1);
    let other_context = Endpoint {
        context: 1,
        ..peer(2)
    };
    acks.enqueue(other_context, 2);
    assert_eq!(acks.iterate().len(), 2);
    // Without knowledge of the network no two recipients are.
    let mut acks = dispatcher(path_rule(1, 2, 100));
    acks.enqueue(peer(1), 1);
    acks.enqueue(peer(2), 2);
    assert_eq!(
        recipients(&acks.iterate()),
        [vec![(1, vec![1])], vec![(2, vec![2])]]
    );
}

#[test]
fn ak4_cookies_beyond_a_packet_get_packets_to_one_recipient() {
    let mut acks = on_lines(path_rule(1, 10_000, 100));
    for cookie in 0..100 {
        acks.enqueue(peer(1), cookie);
        acks.enqueue(peer(2), cookie);
    }
    let packets = acks.iterate();
    let words = |packet: &AckPacket| -> usize {
        let cookies = packet.recipients().map(|(_, cookies)| cookies.len());
        cookies.map(|count| PATH_ACK_ENTRY_WORDS + count).sum()
    };
    assert_eq!(words(&packets[0]), PATH_ACK_WORDS);
    assert_eq!(packets[0].cookies, (0..24).collect::<Vec<u32>>());
    assert_eq!(packets.len(), 2);
    assert_eq!(packets[1].cookies, (24..100).collect::<Vec<u32>>());
    // More recipients than a packet can name at all.
    for task in 1..=60 {
        acks.enqueue(peer(task), task);
    }
    let packets = acks.iterate();
    assert!(packets.iter().all(|packet| words(packet) <= PATH_ACK_WORDS));
    assert_eq!(packets[0].recipients().count(), MAX_RECIPIENTS);
    assert_eq!(packets.len(), 1 + 60 - MAX_RECIPIENTS);
}

#[test]
fn ak4_a_flush_sends_packets_without_copies() {
    let mut acks = on_lines(path_rule(50, 100, 100));
    for task in [1, 2, 3] {
        acks.enqueue(peer(task), task);
    }
    assert_eq!(recipients(&acks.flush(peer(2))), [vec![(2, vec![2])]]);
    assert_eq!(acks.owed(), 2);
    let rest = [vec![(1, vec![1])], vec![(3, vec![3])]];
    assert_eq!(recipients(&acks.flush_all()), rest);
    // Joined acknowledgements that have not been sent go before the flushed peer can be told anything.
    let mut acks = on_lines(path_rule(50, 2, 100));
    acks.enqueue(peer(1), 1);
    acks.enqueue(peer(2), 2);
    acks.enqueue(peer(1), 3);
    let joined = vec![(1, vec![1]), (2, vec![2])];
    assert_eq!(
        recipients(&acks.flush(peer(1))),
        [joined, vec![(1, vec![3])]]
    );
    assert!(acks.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ak4_ak5_by_path_each_message_is_acknowledged_once(
        threshold in 1..6_u32,
        minimum_group in 1..20_u32,
        maximum_age in 1..30_u32,
        recipient_rule: bool,
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        let mut config = path_rule(threshold, minimum_group, maximum_age);
        if recipient_rule {
            config.rules.insert(0, CoalescingRule {
                together: Together::Recipient,
                ..config.rules[0]
            });
        }
        let mut acks = on_lines(config);
        let mut owed: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let quiet = core::iter::repeat_n(&Step::Iterate, 40);
        for (step, cookie) in steps.iter().chain(quiet).zip(0_u32..) {
            // Five tasks: three on one line, two on the other.
            let task = |n: u32| if n < 3 { n + 1 } else { n + 98 };
            let packets = match *step {
                Step::Arrive(n) => {
                    acks.enqueue(peer(task(n)), cookie);
                    owed.entry(task(n)).or_default().push(cookie);
                    continue;
                }
                Step::Iterate => acks.iterate(),
                Step::Flush(n) => {
                    let packets = acks.flush(peer(task(n)));
                    let names = |packet: &AckPacket| {
                        packet.recipients().any(|(named, _)| named == peer(task(n)))
                    };
                    prop_assert!(packets.iter().all(names));
                    packets
                }
                Step::FlushAll => acks.flush_all(),
            };
            for packet in &packets {
                if !packet.on_the_way.is_empty() {
                    let named: Vec<Endpoint> = packet.recipients().map(|(peer, _)| peer).collect();
                    prop_assert_eq!(Some(named), line(packet.peer));
                }
                for (recipient, cookies) in packet.recipients() {
                    prop_assert!(!cookies.is_empty());
                    let owed = owed.entry(recipient.task.0).or_default();
                    for cookie in cookies {
                        let at = owed.iter().position(|owed| owed == cookie);
                        prop_assert!(at.is_some(), "{cookie} is not owed");
                        owed.remove(at.unwrap_or(0));
                    }
                }
            }
        }
        prop_assert!(owed.values().all(Vec::is_empty), "{:?}", owed);
        prop_assert!(acks.is_empty());
        prop_assert_eq!(walk(&acks, &acks.active), [] as [Slot; 0]);
        prop_assert!(acks.stats().oldest <= u64::from(maximum_age));
    }
}
