// SPDX-License-Identifier: MIT OR Apache-2.0
//! The acknowledgement dispatcher: when, and how many together, received messages are acknowledged
//! (AK-1 to AK-5).
//!
//! A message that has been received and owes its sender an acknowledgement stands in the **active message queue**.
//! [`AckDispatcher::iterate`], called once a turn of `advance`, is one iteration of the document's loop: if a message
//! has arrived, so that the last message is not the remembered one, the iteration counter starts again; the counter
//! goes up by one; when it reaches the threshold, all messages are processed. So acknowledgements wait while traffic is
//! heavy and go out when it pauses. Processing acknowledges each message to its sender and moves it to the **processed
//! message queue**.
//!
//! Both queues are doubly-linked lists over one slab: a message moves by changing links, its bytes stay. The slot of
//! the message that was processed longest ago takes the next one that arrives, so the slab has as many slots as
//! messages were ever owed at once. A peer to whom nothing is owed has no state.
//!
//! By the path rule one packet acknowledges recipients on one network path (AK-4). Routes are in dimension order, so
//! the path to the farthest passes the others, and the packet leaves a copy at each. Copies are not ordered with other
//! packets to the recipient; a flush sends ordered packets, one to each recipient.

pub(crate) mod config;
pub(crate) mod cookie;
pub(crate) mod sender;

use std::collections::BTreeMap;

pub use config::{AckConfig, AckConfigError, AckMethod, CoalescingRule, Together};

use crate::endpoint::Endpoint;
use crate::transport::wire::{PATH_ACK_ENTRY_WORDS, PATH_ACK_WORDS};

/// Most messages that one acknowledgement packet names: with its fields it fits the payload of a packet.
pub const MAX_COOKIES: usize = 120;

/// Most recipients of one packet, each with a message.
const MAX_RECIPIENTS: usize = PATH_ACK_WORDS / (PATH_ACK_ENTRY_WORDS + 1);

/// One acknowledgement packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckPacket {
    /// Recipient.
    pub peer: Endpoint,
    /// The messages of `peer` that it acknowledges, in the order received; 1 to [`MAX_COOKIES`].
    pub cookies: Vec<u32>,
    /// Other recipients with their messages, nearest first: their nodes are all nodes on the path to `peer`, and the
    /// packet leaves a copy at each. Empty unless the path rule applies.
    pub on_the_way: Vec<(Endpoint, Vec<u32>)>,
}

impl AckPacket {
    /// Every recipient with its messages.
    pub fn recipients(&self) -> impl Iterator<Item = (Endpoint, &[u32])> {
        let others = self.on_the_way.iter();
        others
            .map(|(peer, cookies)| (*peer, cookies.as_slice()))
            .chain([(self.peer, self.cookies.as_slice())])
    }
}

/// The endpoints that packets to an endpoint pass, one a node, nearest first and the endpoint last. `None` if a node
/// has no such endpoint, or there is no path.
pub type Recipients = Box<dyn Fn(Endpoint) -> Option<Vec<Endpoint>> + Send>;

/// Counts of a dispatcher.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckStats {
    /// Iterations so far.
    pub iterations: u64,
    /// Messages put into the active queue.
    pub messages: u64,
    /// Acknowledgement packets made.
    pub packets: u64,
    /// Messages acknowledged because the iteration counter reached the threshold.
    pub at_threshold: u64,
    /// Messages acknowledged when one arrived that made their group complete.
    pub on_arrival: u64,
    /// Messages acknowledged because one of their group had reached the maximum age.
    pub by_age: u64,
    /// Messages acknowledged by a flush.
    pub flushed: u64,
    /// Most messages in the active queue at any time.
    pub peak_active: usize,
    /// Most iterations that any message has waited.
    pub oldest: u64,
    /// Recipients looked at for the path rule.
    pub looked_at: u64,
}

/// Number of a slot of the slab.
type Slot = usize;

/// A received message in one of the queues.
struct Message {
    peer: Endpoint,
    cookie: u32,
    /// Distinguishes it from all others, ascending in the order received.
    serial: u64,
    /// Iterations done when it arrived.
    arrived: u64,
    previous: Option<Slot>,
    next: Option<Slot>,
    /// Next active message of the same peer.
    next_of_peer: Option<Slot>,
}

/// A queue by its ends; its links are in the messages.
#[derive(Default)]
struct Queue {
    head: Option<Slot>,
    tail: Option<Slot>,
}

impl Queue {
    fn push_back(&mut self, slab: &mut [Message], slot: Slot) {
        slab[slot].previous = self.tail;
        slab[slot].next = None;
        match self.tail {
            Some(tail) => slab[tail].next = Some(slot),
            None => self.head = Some(slot),
        }
        self.tail = Some(slot);
    }

    fn unlink(&mut self, slab: &mut [Message], slot: Slot) {
        let (previous, next) = (slab[slot].previous.take(), slab[slot].next.take());
        match previous {
            Some(previous) => slab[previous].next = next,
            None => self.head = next,
        }
        match next {
            Some(next) => slab[next].previous = previous,
            None => self.tail = previous,
        }
    }
}

/// The active messages of one peer, in the order received.
struct Group {
    head: Slot,
    tail: Slot,
    count: usize,
}

/// Why messages are acknowledged.
#[derive(Clone, Copy)]
enum Cause {
    Threshold,
    Arrival,
    Age,
    Flush,
}

/// The acknowledgement dispatcher of one context. It is independent of the machine: the caller sends the packets that
/// it returns.
pub struct AckDispatcher {
    config: AckConfig,
    /// For the path rule.
    recipients: Option<Recipients>,
    slab: Vec<Message>,
    active: Queue,
    processed: Queue,
    groups: BTreeMap<Endpoint, Group>,
    active_count: usize,
    /// Serial of the next message.
    serial: u64,
    /// Serial of the last message that an iteration has seen.
    remembered: Option<u64>,
    /// Iterations without a new message, and the one that saw it.
    counter: u32,
    /// Packets made on arrival, for the next iteration or flush to hand out.
    ready: Vec<AckPacket>,
    stats: AckStats,
}

impl AckDispatcher {
    /// A dispatcher without messages. Its path rule joins messages of one recipient only, until it [knows
    /// paths](Self::with_recipients).
    ///
    /// # Errors
    /// [`AckConfigError`] for a number that must not be 0.
    pub fn new(config: AckConfig) -> Result<Self, AckConfigError> {
        config.check()?;
        Ok(Self {
            config,
            recipients: None,
            slab: Vec::new(),
            active: Queue::default(),
            processed: Queue::default(),
            groups: BTreeMap::new(),
            active_count: 0,
            serial: 0,
            remembered: None,
            counter: 0,
            ready: Vec::new(),
            stats: AckStats::default(),
        })
    }

    /// Gives the dispatcher the recipients on network paths.
    #[must_use]
    pub fn with_recipients(mut self, recipients: Recipients) -> Self {
        self.recipients = Some(recipients);
        self
    }

    /// Owes `peer` an acknowledgement of the received message `cookie`.
    pub fn enqueue(&mut self, peer: Endpoint, cookie: u32) {
        let slot = self.place(Message {
            peer,
            cookie,
            serial: self.serial,
            arrived: self.stats.iterations,
            previous: None,
            next: None,
            next_of_peer: None,
        });
        self.serial += 1;
        self.active.push_back(&mut self.slab, slot);
        self.active_count += 1;
        self.stats.messages += 1;
        self.stats.peak_active = self.stats.peak_active.max(self.active_count);
        let group = self.groups.entry(peer).or_insert(Group {
            head: slot,
            tail: slot,
            count: 0,
        });
        if group.count > 0 {
            self.slab[group.tail].next_of_peer = Some(slot);
            group.tail = slot;
        }
        group.count += 1;

        if self.config.method == AckMethod::OnArrival {
            match self.complete_group(peer) {
                Some(group) => {
                    let mut ready = core::mem::take(&mut self.ready);
                    self.acknowledge(&group, Cause::Arrival, &mut ready);
                    self.ready = ready;
                }
                None => self.counter = 0,
            }
        }
    }

    /// One iteration of the dispatcher. Returns the packets to be sent.
    pub fn iterate(&mut self) -> Vec<AckPacket> {
        self.stats.iterations += 1;
        let mut packets = core::mem::take(&mut self.ready);
        let Some(last) = self.active.tail.map(|slot| self.slab[slot].serial) else {
            return packets;
        };
        // Serials ascend: a last message that is older than the one remembered means that newer ones
        // have been acknowledged, not that one has arrived.
        if self.remembered.is_none_or(|remembered| last > remembered) {
            self.counter = 0;
            self.remembered = Some(last);
        }
        self.counter = self.counter.saturating_add(1);
        let threshold = match self.config.method {
            AckMethod::Immediate => 1,
            _ => self.config.threshold,
        };
        if self.counter >= threshold {
            self.process_all(Cause::Threshold, &mut packets);
        }
        if self.config.method == AckMethod::OnArrival {
            self.process_aged(&mut packets);
        }
        packets
    }

    /// Acknowledges all messages of `peer` without waiting.
    pub fn flush(&mut self, peer: Endpoint) -> Vec<AckPacket> {
        let names = |packet: &AckPacket| packet.recipients().any(|(named, _)| named == peer);
        let (mut packets, others) = core::mem::take(&mut self.ready)
            .into_iter()
            .partition(names);
        self.ready = others;
        self.acknowledge_alone(peer, Cause::Flush, &mut packets);
        packets
    }

    /// Acknowledges all messages without waiting.
    pub fn flush_all(&mut self) -> Vec<AckPacket> {
        let mut packets = core::mem::take(&mut self.ready);
        while let Some(oldest) = self.active.head {
            self.acknowledge_alone(self.slab[oldest].peer, Cause::Flush, &mut packets);
        }
        packets
    }

    /// Whether nothing is owed and no packet waits to be handed out. While this is false, [`iterate`](Self::iterate)
    /// must be called.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.active_count == 0 && self.ready.is_empty()
    }

    /// Messages that are owed an acknowledgement: the length of the active queue.
    #[must_use]
    pub fn owed(&self) -> usize {
        self.active_count
    }

    /// Messages whose acknowledgement has not been handed out: owed, or in packets that wait for the next iteration.
    #[must_use]
    pub fn unsent(&self) -> usize {
        let recipients = self.ready.iter().flat_map(AckPacket::recipients);
        self.active_count + recipients.map(|(_, cookies)| cookies.len()).sum::<usize>()
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> AckStats {
        self.stats
    }

    /// Puts a message into the slot of the oldest processed one, or a new slot.
    fn place(&mut self, message: Message) -> Slot {
        match self.processed.head {
            Some(slot) => {
                self.processed.unlink(&mut self.slab, slot);
                self.slab[slot] = message;
                slot
            }
            None => {
                self.slab.push(message);
                self.slab.len() - 1
            }
        }
    }

    /// Processes the whole active queue, the peer of the oldest message first.
    fn process_all(&mut self, cause: Cause, packets: &mut Vec<AckPacket>) {
        while let Some(oldest) = self.active.head {
            let group = self.group(self.slab[oldest].peer);
            self.acknowledge(&group, cause, packets);
        }
    }

    /// Processes every message that has reached the maximum age, with its group.
    fn process_aged(&mut self, packets: &mut Vec<AckPacket>) {
        let ages = self.config.rules.iter().map(|rule| rule.maximum_age);
        let Some(maximum_age) = ages.min() else {
            return;
        };
        // The queue is in the order received: all messages behind a young one are young.
        while let Some(oldest) = self.active.head {
            if self.age(oldest) < u64::from(maximum_age) {
                break;
            }
            let group = self.group(self.slab[oldest].peer);
            self.acknowledge(&group, Cause::Age, packets);
        }
    }

    /// Iterations that the message in `slot` has waited.
    fn age(&self, slot: Slot) -> u64 {
        self.stats.iterations - self.slab[slot].arrived
    }

    /// The recipients that join when a message of `peer` arrives, by the first rule that applies, nearest first.
    fn complete_group(&mut self, peer: Endpoint) -> Option<Vec<Endpoint>> {
        let own = self.messages_of(&[peer]);
        for rule in 0..self.config.rules.len() {
            let CoalescingRule {
                together,
                minimum_group,
                ..
            } = self.config.rules[rule];
            let enough = |messages| messages >= minimum_group as usize;
            match together {
                Together::Recipient if enough(own) => return Some(vec![peer]),
                // The number of all owed acknowledgements bounds that of a path.
                Together::Path if enough(self.active_count) => {
                    let group = self.path(peer);
                    if enough(self.messages_of(&group)) {
                        return Some(group);
                    }
                }
                Together::Recipient | Together::Path => {}
            }
        }
        None
    }

    /// Recipients acknowledged together with `peer`, nearest first.
    fn group(&mut self, peer: Endpoint) -> Vec<Endpoint> {
        if self.config.copies() {
            self.path(peer)
        } else {
            vec![peer]
        }
    }

    /// The recipients on the network path through `peer` on which most messages are owed, nearest first:
    /// every node on the way to the last has one of them, and one packet has room for all.
    fn path(&mut self, peer: Endpoint) -> Vec<Endpoint> {
        let alone = vec![peer];
        let Some(recipients) = &self.recipients else {
            return alone;
        };
        let owed = |way: &Vec<Endpoint>| {
            (1..=MAX_RECIPIENTS).contains(&way.len())
                && way.iter().all(|other| self.groups.contains_key(other))
        };
        let mut looked_at = 1;
        let mut best = match recipients(peer).filter(owed) {
            Some(way) => (self.messages_of(&way), way),
            None => (0, alone),
        };
        // A path with copies where nothing is owed is not better.
        if best.0 > 0 {
            for &other in self.groups.keys().filter(|&&other| other != peer) {
                looked_at += 1;
                let farther = |way: &Vec<Endpoint>| way.contains(&peer) && owed(way);
                if let Some(way) = recipients(other).filter(farther) {
                    let messages = self.messages_of(&way);
                    if (messages, way.len()) > (best.0, best.1.len()) {
                        best = (messages, way);
                    }
                }
            }
        }
        self.stats.looked_at += looked_at;
        best.1
    }

    /// Messages owed to some recipients.
    fn messages_of(&self, peers: &[Endpoint]) -> usize {
        let groups = peers.iter().filter_map(|peer| self.groups.get(peer));
        groups.map(|group| group.count).sum()
    }

    /// Acknowledges all active messages of `group`, recipients on one path, nearest first.
    fn acknowledge(&mut self, group: &[Endpoint], cause: Cause, packets: &mut Vec<AckPacket>) {
        let [near @ .., farthest] = group else {
            return;
        };
        if !near.is_empty() {
            // One message of each recipient first; the remaining room goes to the nearest.
            let entries = group.len() * PATH_ACK_ENTRY_WORDS;
            let mut spare = PATH_ACK_WORDS - entries - group.len();
            let mut take = |dispatcher: &mut Self, peer| {
                let cookies = dispatcher.take(peer, 1 + spare, cause);
                spare -= cookies.len().saturating_sub(1);
                cookies
            };
            let on_the_way = near.iter().map(|&peer| (peer, take(self, peer))).collect();
            packets.push(AckPacket {
                peer: *farthest,
                cookies: take(self, *farthest),
                on_the_way,
            });
            self.stats.packets += 1;
        }
        for &peer in group {
            self.acknowledge_alone(peer, cause, packets);
        }
    }

    /// Acknowledges all active messages of `peer` in packets to it alone.
    fn acknowledge_alone(&mut self, peer: Endpoint, cause: Cause, packets: &mut Vec<AckPacket>) {
        let together = match self.config.method {
            AckMethod::Immediate | AckMethod::Threshold => 1,
            AckMethod::Coalesce | AckMethod::OnArrival => MAX_COOKIES,
        };
        while self.groups.contains_key(&peer) {
            packets.push(AckPacket {
                peer,
                cookies: self.take(peer, together, cause),
                on_the_way: Vec::new(),
            });
            self.stats.packets += 1;
        }
    }

    /// Moves the first active messages of `peer`, up to `most`, to the processed queue. Returns their cookies.
    fn take(&mut self, peer: Endpoint, most: usize, cause: Cause) -> Vec<u32> {
        let Some(mut group) = self.groups.remove(&peer) else {
            return Vec::new();
        };
        let count = group.count.min(most);
        let mut cookies = Vec::with_capacity(count);
        for _ in 0..count {
            let message = group.head;
            cookies.push(self.slab[message].cookie);
            self.stats.oldest = self.stats.oldest.max(self.age(message));
            self.active.unlink(&mut self.slab, message);
            self.processed.push_back(&mut self.slab, message);
            if let Some(next) = self.slab[message].next_of_peer.take() {
                group.head = next;
            }
        }
        group.count -= count;
        if group.count > 0 {
            self.groups.insert(peer, group);
        }
        self.active_count -= count;
        *match cause {
            Cause::Threshold => &mut self.stats.at_threshold,
            Cause::Arrival => &mut self.stats.on_arrival,
            Cause::Age => &mut self.stats.by_age,
            Cause::Flush => &mut self.stats.flushed,
        } += count as u64;
        cookies
    }
}

#[cfg(test)]
mod tests;
