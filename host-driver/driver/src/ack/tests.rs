// SPDX-License-Identifier: MIT OR Apache-2.0
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::task::TaskId;

mod cookie;
mod path;

fn peer(task: u32) -> Endpoint {
    Endpoint {
        client: 0,
        context: 0,
        task: TaskId(task),
    }
}

fn config(method: AckMethod, threshold: u32) -> AckConfig {
    AckConfig {
        method,
        threshold,
        rules: vec![],
    }
}

fn on_arrival(threshold: u32, minimum_group: u32, maximum_age: u32) -> AckConfig {
    AckConfig {
        method: AckMethod::OnArrival,
        threshold,
        rules: vec![CoalescingRule {
            together: Together::Recipient,
            minimum_group,
            maximum_age,
        }],
    }
}

fn dispatcher(config: AckConfig) -> AckDispatcher {
    AckDispatcher::new(config).unwrap()
}

/// Packets as (task, cookies).
fn plain(packets: &[AckPacket]) -> Vec<(u32, Vec<u32>)> {
    let task = |packet: &AckPacket| packet.peer.task().0;
    packets
        .iter()
        .map(|packet| (task(packet), packet.cookies.clone()))
        .collect()
}

#[test]
fn ak1_all_are_processed_threshold_iterations_after_an_arrival() {
    let mut acks = dispatcher(config(AckMethod::Threshold, 3));
    acks.enqueue(peer(1), 10);
    // The iteration that sees it counts as the first.
    assert_eq!(acks.iterate(), []);
    assert_eq!(acks.iterate(), []);
    assert_eq!(plain(&acks.iterate()), [(1, vec![10])]);
    assert!(acks.is_empty());
    assert_eq!(acks.iterate(), []);
}

#[test]
fn ak1_a_new_message_resets_the_counter() {
    let mut acks = dispatcher(config(AckMethod::Threshold, 3));
    for cookie in 0..50 {
        acks.enqueue(peer(1), cookie);
        for _ in 0..2 {
            assert_eq!(acks.iterate(), []);
        }
    }
    let packets = acks.iterate();
    assert_eq!(packets.len(), 50);
    assert_eq!(acks.stats().at_threshold, 50);
    assert_eq!(acks.stats().peak_active, 50);
}

#[test]
fn ak1_several_arrivals_in_an_iteration_reset_once() {
    let mut acks = dispatcher(config(AckMethod::Coalesce, 2));
    acks.enqueue(peer(1), 0);
    acks.enqueue(peer(2), 0);
    acks.enqueue(peer(1), 1);
    assert_eq!(acks.iterate(), []);
    assert_eq!(plain(&acks.iterate()), [(1, vec![0, 1]), (2, vec![0])]);
}

#[test]
fn ak2_each_message_gets_a_packet_and_is_processed() {
    let mut acks = dispatcher(config(AckMethod::Threshold, 1));
    for cookie in 0..4 {
        acks.enqueue(peer(cookie % 2), cookie);
    }
    let places: Vec<*const Message> = acks.slab.iter().map(|m| &raw const *m).collect();
    let packets = acks.iterate();
    assert_eq!(
        plain(&packets),
        [(0, vec![0]), (0, vec![2]), (1, vec![1]), (1, vec![3])]
    );
    assert_eq!(acks.active.head, None);
    assert_eq!(walk(&acks, &acks.processed), [0, 2, 1, 3]);
    // Relinked, not copied: every message is where it was.
    let after: Vec<*const Message> = acks.slab.iter().map(|m| &raw const *m).collect();
    assert_eq!(places, after);
    let cookies: Vec<u32> = acks.slab.iter().map(|message| message.cookie).collect();
    assert_eq!(cookies, [0, 1, 2, 3]);
}

#[test]
fn ak2_slots_of_processed_messages_are_reused_oldest_first() {
    let mut acks = dispatcher(config(AckMethod::Coalesce, 1));
    for round in 0..100 {
        for cookie in 0..5 {
            acks.enqueue(peer(cookie), round);
        }
        assert_eq!(acks.iterate().len(), 5);
    }
    assert_eq!(acks.slab.len(), 5);
    acks.enqueue(peer(9), 77);
    assert_eq!(walk(&acks, &acks.active), [0]);
    assert_eq!(walk(&acks, &acks.processed), [1, 2, 3, 4]);
}

#[test]
fn ak3_one_packet_acknowledges_all_messages_of_a_destination() {
    let mut acks = dispatcher(config(AckMethod::Coalesce, 1));
    for cookie in 0..300 {
        acks.enqueue(peer(cookie % 3), cookie);
    }
    let packets = acks.iterate();
    assert_eq!(packets.len(), 3);
    for packet in &packets {
        let task = packet.peer.task().0;
        let expected: Vec<u32> = (0..100).map(|n| 3 * n + task).collect();
        assert_eq!(packet.cookies, expected);
    }
}

#[test]
fn ak3_more_messages_than_a_packet_can_name_make_another() {
    let mut acks = dispatcher(config(AckMethod::Coalesce, 1));
    for cookie in 0..2 * MAX_COOKIES as u32 + 1 {
        acks.enqueue(peer(0), cookie);
    }
    let packets = acks.iterate();
    let lengths: Vec<usize> = packets.iter().map(|packet| packet.cookies.len()).collect();
    assert_eq!(lengths, [MAX_COOKIES, MAX_COOKIES, 1]);
    let all: Vec<u32> = packets
        .into_iter()
        .flat_map(|packet| packet.cookies)
        .collect();
    assert!(all.is_sorted());
}

#[test]
fn ak4_a_complete_group_is_acknowledged_without_counter_reset() {
    let mut acks = dispatcher(on_arrival(3, 4, 100));
    acks.enqueue(peer(2), 20);
    for cookie in 0..3 {
        acks.enqueue(peer(1), cookie);
    }
    assert_eq!(acks.iterate(), []);
    assert_eq!(acks.iterate(), []);
    // Completes the group of 1: those leave, and the one of 2 is not put off by it.
    acks.enqueue(peer(1), 3);
    assert_eq!(
        plain(&acks.iterate()),
        [(1, vec![0, 1, 2, 3]), (2, vec![20])]
    );
    assert_eq!((acks.stats().on_arrival, acks.stats().at_threshold), (4, 1));
}

#[test]
fn ak4_an_arrival_that_joins_nothing_resets_the_counter() {
    let mut acks = dispatcher(on_arrival(3, 4, 100));
    acks.enqueue(peer(1), 0);
    assert_eq!(acks.iterate(), []);
    assert_eq!(acks.iterate(), []);
    acks.enqueue(peer(2), 0);
    assert_eq!(acks.counter, 0);
    assert_eq!(acks.iterate(), []);
    assert_eq!(acks.iterate(), []);
    assert_eq!(plain(&acks.iterate()), [(1, vec![0]), (2, vec![0])]);
}

#[test]
fn ak4_no_message_waits_longer_than_the_maximum_age() {
    let mut acks = dispatcher(on_arrival(3, 16, 10));
    acks.enqueue(peer(1), 7);
    let mut waited = 0;
    loop {
        waited += 1;
        acks.enqueue(peer(100 + waited), 0);
        let packets = acks.iterate();
        if packets.iter().any(|packet| packet.peer == peer(1)) {
            break;
        }
    }
    assert_eq!(waited, 10);
    assert_eq!(acks.stats().by_age, 2, "and the one that arrived with it");
}

#[test]
fn ak5_threshold_and_rules_come_from_configuration() {
    let text = "method = \"on-arrival\"\nthreshold = 5\n\
                rules = [{ together = \"recipient\", minimum_group = 3, maximum_age = 9 }]";
    let config: AckConfig = toml::from_str(text).unwrap();
    assert_eq!(config, on_arrival(5, 3, 9));
    let empty: AckConfig = toml::from_str("").unwrap();
    assert_eq!(empty, AckConfig::default());
    assert_eq!(empty.rules[0].minimum_group, 16);
    let rule: AckConfig = toml::from_str("rules = [{ together = \"recipient\" }]").unwrap();
    assert_eq!(rule.rules, AckConfig::default().rules);
    assert!(toml::from_str::<AckConfig>("treshold = 5").is_err());
    for (text, field) in [
        ("threshold = 0", "threshold"),
        (
            "rules = [{ together = \"recipient\", minimum_group = 0 }]",
            "minimum_group",
        ),
        (
            "rules = [{ together = \"recipient\", maximum_age = 0 }]",
            "maximum_age",
        ),
    ] {
        let error = AckDispatcher::new(toml::from_str(text).unwrap()).err();
        assert_eq!(error, Some(AckConfigError::Value { field }));
    }
}

#[test]
fn ak5_flush_acknowledges_one_peer_and_flush_all_every_peer() {
    for method in [
        AckMethod::Immediate,
        AckMethod::Threshold,
        AckMethod::Coalesce,
        AckMethod::OnArrival,
    ] {
        let mut acks = dispatcher(AckConfig {
            method,
            ..on_arrival(100, 3, 100)
        });
        for cookie in 0..5 {
            acks.enqueue(peer(1), cookie);
            acks.enqueue(peer(2), cookie);
        }
        let first: Vec<u32> = acks
            .flush(peer(1))
            .into_iter()
            .flat_map(|p| p.cookies)
            .collect();
        assert_eq!(first, [0, 1, 2, 3, 4]);
        assert!(!acks.is_empty());
        assert_eq!(acks.flush(peer(1)), []);
        let rest = acks.flush_all();
        assert!(rest.iter().all(|packet| packet.peer == peer(2)));
        let rest: Vec<u32> = rest.into_iter().flat_map(|p| p.cookies).collect();
        assert_eq!(rest, [0, 1, 2, 3, 4]);
        assert!(acks.is_empty());
    }
}

#[test]
fn ak6_immediate_sends_one_packet_for_each_message() {
    let mut acks = dispatcher(AckConfig::immediate());
    for cookie in 0..7 {
        acks.enqueue(peer(1), cookie);
    }
    let packets = acks.iterate();
    assert_eq!(packets.len(), 7);
    assert_eq!(acks.stats().packets, 7);
}

/// 16 senders that each keep `window` messages in flight, one arrival an iteration in the order of
/// `random`, `messages` from each; an acknowledgement lets its sender send on. Returns the counts.
fn closed_loop(config: AckConfig, window: u32, messages: u32, mut random: u64) -> AckStats {
    const SENDERS: u32 = 16;
    let mut acks = dispatcher(config);
    let mut in_network: Vec<u32> = (0..SENDERS)
        .flat_map(|s| vec![s; window as usize])
        .collect();
    let mut unsent = vec![messages - window; SENDERS as usize];
    let mut next = [0; SENDERS as usize];
    let mut done = 0;
    while done < SENDERS * messages {
        if !in_network.is_empty() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let sender = in_network.swap_remove((random % in_network.len() as u64) as usize);
            let number = &mut next[sender as usize];
            acks.enqueue(peer(sender), *number);
            *number += 1;
        }
        for packet in acks.iterate() {
            let sender = packet.peer.task().0;
            for _ in packet.cookies {
                done += 1;
                if unsent[sender as usize] > 0 {
                    unsent[sender as usize] -= 1;
                    in_network.push(sender);
                }
            }
        }
    }
    assert!(acks.is_empty());
    acks.stats()
}

#[test]
fn ak6_default_rules_need_8_times_fewer_packets_under_load() {
    for seed in 1..10 {
        let on = closed_loop(AckConfig::default(), 64, 1024, seed);
        let off = closed_loop(AckConfig::immediate(), 64, 1024, seed);
        assert_eq!(on.messages, 16 * 1024);
        assert_eq!(off.packets, 16 * 1024);
        assert!(
            off.packets >= 8 * on.packets,
            "{} packets for {} messages",
            on.packets,
            on.messages
        );
        assert!(on.oldest <= 256, "waited {} iterations", on.oldest);
    }
}

#[test]
fn ak6_light_load_is_acknowledged_after_the_threshold() {
    let mut acks = dispatcher(AckConfig::default());
    for cookie in 0..100 {
        acks.enqueue(peer(cookie % 16), cookie);
        let waited = (1..).find(|_| !acks.iterate().is_empty());
        assert_eq!(waited, Some(AckConfig::default().threshold));
    }
}

/// Cookies along a queue, after a check of its links both ways.
fn walk(acks: &AckDispatcher, queue: &Queue) -> Vec<Slot> {
    let mut slots = Vec::new();
    let (mut slot, mut previous) = (queue.head, None);
    while let Some(at) = slot {
        assert_eq!(acks.slab[at].previous, previous);
        slots.push(at);
        previous = slot;
        slot = acks.slab[at].next;
    }
    assert_eq!(queue.tail, previous);
    slots
}

/// The dispatcher as simply as can be: one list, walked for everything.
struct Reference {
    config: AckConfig,
    /// (peer, cookie, iterations before it arrived).
    owed: Vec<(u32, u32, u64)>,
    iterations: u64,
    counter: u32,
    ready: Vec<(u32, Vec<u32>)>,
}

impl Reference {
    fn new(config: AckConfig) -> Self {
        Self {
            config,
            owed: Vec::new(),
            iterations: 0,
            counter: 0,
            ready: Vec::new(),
        }
    }

    fn enqueue(&mut self, peer: u32, cookie: u32) {
        self.owed.push((peer, cookie, self.iterations));
        let group = self.owed.iter().filter(|owed| owed.0 == peer).count();
        let complete = |rule: &CoalescingRule| group >= rule.minimum_group as usize;
        let by_rule = self.config.method == AckMethod::OnArrival;
        if by_rule && self.config.rules.iter().any(complete) {
            let packets = self.acknowledge(peer);
            self.ready.extend(packets);
        } else if by_rule {
            self.counter = 0;
        }
    }

    fn acknowledge(&mut self, peer: u32) -> Vec<(u32, Vec<u32>)> {
        let of_peer = |owed: &&(u32, u32, u64)| owed.0 == peer;
        let cookies: Vec<u32> = self
            .owed
            .iter()
            .filter(of_peer)
            .map(|owed| owed.1)
            .collect();
        self.owed.retain(|owed| owed.0 != peer);
        let together = match self.config.method {
            AckMethod::Immediate | AckMethod::Threshold => 1,
            AckMethod::Coalesce | AckMethod::OnArrival => MAX_COOKIES,
        };
        cookies
            .chunks(together)
            .map(|c| (peer, c.to_vec()))
            .collect()
    }

    fn iterate(&mut self) -> Vec<(u32, Vec<u32>)> {
        let mut packets = core::mem::take(&mut self.ready);
        let last = self.owed.last();
        if last.is_some_and(|&(.., arrived)| arrived == self.iterations) {
            self.counter = 0;
        }
        self.iterations += 1;
        self.counter += 1;
        let threshold = match self.config.method {
            AckMethod::Immediate => 1,
            _ => self.config.threshold,
        };
        let rules = self.config.rules.iter();
        let maximum_age = match self.config.method {
            AckMethod::OnArrival => rules.map(|rule| u64::from(rule.maximum_age)).min(),
            _ => None,
        };
        while let Some(&(peer, _, arrived)) = self.owed.first() {
            let aged = maximum_age.is_some_and(|age| self.iterations - arrived >= age);
            if self.counter < threshold && !aged {
                break;
            }
            packets.extend(self.acknowledge(peer));
        }
        packets
    }

    fn flush(&mut self, peer: u32) -> Vec<(u32, Vec<u32>)> {
        let ready = core::mem::take(&mut self.ready);
        let (mut packets, others): (Vec<_>, _) = ready.into_iter().partition(|p| p.0 == peer);
        self.ready = others;
        packets.extend(self.acknowledge(peer));
        packets
    }

    fn flush_all(&mut self) -> Vec<(u32, Vec<u32>)> {
        let mut packets = core::mem::take(&mut self.ready);
        while let Some(&(peer, ..)) = self.owed.first() {
            packets.extend(self.acknowledge(peer));
        }
        packets
    }
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u32),
    Iterate,
    Flush(u32),
    FlushAll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..5_u32).prop_map(Step::Arrive),
        8 => Just(Step::Iterate),
        1 => (0..5_u32).prop_map(Step::Flush),
        1 => Just(Step::FlushAll),
    ]
}

fn any_config() -> impl Strategy<Value = AckConfig> {
    let method = prop_oneof![
        Just(AckMethod::Immediate),
        Just(AckMethod::Threshold),
        Just(AckMethod::Coalesce),
        Just(AckMethod::OnArrival),
    ];
    let rule = (1..20_u32, 1..30_u32).prop_map(|(minimum_group, maximum_age)| CoalescingRule {
        together: Together::Recipient,
        minimum_group,
        maximum_age,
    });
    let rules = proptest::collection::vec(rule, 0..3);
    (method, 1..6_u32, rules).prop_map(|(method, threshold, rules)| AckConfig {
        method,
        threshold,
        rules,
    })
}

/// Runs a program on dispatcher and reference, then lets traffic stop. Returns the first difference.
fn compare(config: &AckConfig, steps: &[Step]) -> Result<(), String> {
    let mut acks = dispatcher(config.clone());
    let mut reference = Reference::new(config.clone());
    let mut sent: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut acknowledged: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut cookie = 0;
    let quiet = core::iter::repeat_n(&Step::Iterate, 40);
    for (number, step) in steps.iter().chain(quiet).enumerate() {
        let (packets, expected) = match *step {
            Step::Arrive(task) => {
                acks.enqueue(peer(task), cookie);
                reference.enqueue(task, cookie);
                sent.entry(task).or_default().push(cookie);
                cookie += 1;
                continue;
            }
            Step::Iterate => (acks.iterate(), reference.iterate()),
            Step::Flush(task) => (acks.flush(peer(task)), reference.flush(task)),
            Step::FlushAll => (acks.flush_all(), reference.flush_all()),
        };
        let packets = plain(&packets);
        for (task, cookies) in &packets {
            acknowledged.entry(*task).or_default().extend(cookies);
        }
        if packets != expected {
            return Err(format!("step {number}: {packets:?}, expected {expected:?}"));
        }
        let active = walk(&acks, &acks.active);
        let serials: Vec<u64> = active.iter().map(|&slot| acks.slab[slot].serial).collect();
        if !serials.is_sorted()
            || active.len() != acks.owed()
            || active.len() != reference.owed.len()
        {
            return Err(format!("step {number}: active queue {serials:?}"));
        }
        if active.len() + walk(&acks, &acks.processed).len() != acks.slab.len() {
            return Err(format!("step {number}: a message is in no queue"));
        }
    }
    // Every message exactly once, and those of a destination in the order received.
    if acknowledged != sent {
        return Err(format!("acknowledged {acknowledged:?} of {sent:?}"));
    }
    if !acks.is_empty() {
        return Err("something is owed when traffic has stopped".into());
    }
    let stats = acks.stats();
    let by_cause = stats.at_threshold + stats.on_arrival + stats.by_age + stats.flushed;
    if by_cause != stats.messages || stats.messages != u64::from(cookie) {
        return Err(format!("{stats:?} after {cookie} messages"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn ak5_the_dispatcher_equals_the_reference(
        config in any_config(),
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        prop_assert_eq!(compare(&config, &steps), Ok(()));
    }
}
