//! The acknowledgement dispatcher: when, and how many together, received messages are acknowledged
//! (AK-1 to AK-5).
//!
//! A message that has been received and owes its sender an acknowledgement stands in the **active
//! message queue**. [`AckDispatcher::iterate`], called once a turn of `advance`, is one iteration of the
//! document's loop: if a message has newly arrived, which shows in the last message being another than
//! the one remembered, the iteration counter starts again; the counter goes up by one; when it reaches
//! the threshold, all messages are processed. So acknowledgements wait while traffic is heavy and go out
//! when it pauses. Processing acknowledges each message to its sender and moves it to the **processed
//! message queue**.
//!
//! Both queues are doubly-linked lists over one slab: a message moves by changing links, its bytes stay.
//! The slot of the message that was processed longest ago takes the next one that arrives, so the slab
//! grows to the most messages ever owed at once and no further, and there is no state for a peer to whom
//! nothing is owed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::endpoint::Endpoint;

/// Most messages that one acknowledgement packet names: with its fields it fits the payload of a packet.
pub const MAX_COOKIES: usize = 120;

/// When messages are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckMethod {
    /// In the next iteration, each with a packet of its own.
    Immediate,
    /// When the iteration counter reaches the threshold, each with a packet of its own (AK-1, AK-2).
    Threshold,
    /// When the iteration counter reaches the threshold, those to one destination together (AK-3).
    Coalesce,
    /// As [`Coalesce`](Self::Coalesce), and besides by the rules when a message arrives (AK-4).
    #[default]
    OnArrival,
}

/// Which acknowledgements a coalescing rule puts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Together {
    /// Those to one recipient.
    Recipient,
    /// Those to recipients on one network path. It needs packets that leave a copy on their way, which the
    /// router does not do: refused by [`AckDispatcher::new`].
    Path,
}

/// A rule for coalescing on arrival (AK-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoalescingRule {
    /// What can be put together.
    pub together: Together,
    /// Messages, with the one that arrives, that make a packet at once; at least 1.
    #[serde(default = "CoalescingRule::default_minimum_group")]
    pub minimum_group: u32,
    /// Iterations after which a message is acknowledged with its group, however small; at least 1.
    #[serde(default = "CoalescingRule::default_maximum_age")]
    pub maximum_age: u32,
}

impl CoalescingRule {
    const fn default_minimum_group() -> u32 {
        16
    }

    const fn default_maximum_age() -> u32 {
        256
    }
}

impl Default for CoalescingRule {
    /// One recipient, groups of 16, at most 256 iterations old.
    fn default() -> Self {
        Self {
            together: Together::Recipient,
            minimum_group: Self::default_minimum_group(),
            maximum_age: Self::default_maximum_age(),
        }
    }
}

/// How a dispatcher works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AckConfig {
    /// When messages are acknowledged.
    pub method: AckMethod,
    /// Iterations without a new message after which all messages are processed; at least 1. Not used by
    /// [`AckMethod::Immediate`].
    pub threshold: u32,
    /// Rules of [`AckMethod::OnArrival`]: the first that lets an arrival join others acknowledges them.
    pub rules: Vec<CoalescingRule>,
}

impl Default for AckConfig {
    /// Coalescing on arrival by the default rule, threshold 8.
    fn default() -> Self {
        Self {
            method: AckMethod::OnArrival,
            threshold: 8,
            rules: vec![CoalescingRule::default()],
        }
    }
}

impl AckConfig {
    /// One packet for each message, at once: what the dispatcher is compared with (AK-6).
    #[must_use]
    pub fn immediate() -> Self {
        Self {
            method: AckMethod::Immediate,
            ..Self::default()
        }
    }

    fn check(&self) -> Result<(), AckConfigError> {
        let at_least_1 = |field, value| match value {
            0 => Err(AckConfigError::Value { field }),
            _ => Ok(()),
        };
        at_least_1("threshold", self.threshold)?;
        for rule in &self.rules {
            at_least_1("minimum_group", rule.minimum_group)?;
            at_least_1("maximum_age", rule.maximum_age)?;
            if rule.together == Together::Path {
                return Err(AckConfigError::PathRule);
            }
        }
        Ok(())
    }
}

/// An acknowledgement configuration that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AckConfigError {
    /// A number that must not be 0 is.
    #[error("{field} of the acknowledgement dispatcher is 0, expected at least 1")]
    Value {
        /// Field of [`AckConfig`] or [`CoalescingRule`].
        field: &'static str,
    },
    /// The rule needs a router that copies packets on their way.
    #[error(
        "coalescing rule `path` is not supported: routers do not copy packets on their way; expected `recipient`"
    )]
    PathRule,
}

/// One acknowledgement packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckPacket {
    /// To whom it goes.
    pub peer: Endpoint,
    /// The messages that it acknowledges, in the order received; 1 to [`MAX_COOKIES`].
    pub cookies: Vec<u32>,
}

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

/// The acknowledgement dispatcher of one context. It knows no machine: what it returns is to be sent.
pub struct AckDispatcher {
    config: AckConfig,
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
    #[cfg(test)]
    planted: Option<tests::Planted>,
}

impl AckDispatcher {
    /// A dispatcher without messages.
    ///
    /// # Errors
    /// [`AckConfigError`] for a number that must not be 0 and for the path rule.
    pub fn new(config: AckConfig) -> Result<Self, AckConfigError> {
        config.check()?;
        Ok(Self {
            config,
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
            #[cfg(test)]
            planted: None,
        })
    }

    /// A message of `peer`, which knows it as `cookie`, has been received: it is owed an acknowledgement.
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
            let count = group.count;
            let complete = |rule: &CoalescingRule| count >= rule.minimum_group as usize;
            if self.config.rules.iter().any(complete) {
                let mut ready = core::mem::take(&mut self.ready);
                self.acknowledge(peer, Cause::Arrival, &mut ready);
                self.ready = ready;
            } else {
                self.counter = 0;
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

    /// Acknowledges all that is owed to `peer`, without waiting.
    pub fn flush(&mut self, peer: Endpoint) -> Vec<AckPacket> {
        let (mut packets, others) = core::mem::take(&mut self.ready)
            .into_iter()
            .partition(|packet| packet.peer == peer);
        self.ready = others;
        self.acknowledge(peer, Cause::Flush, &mut packets);
        packets
    }

    /// Acknowledges all that is owed, without waiting.
    pub fn flush_all(&mut self) -> Vec<AckPacket> {
        let mut packets = core::mem::take(&mut self.ready);
        self.process_all(Cause::Flush, &mut packets);
        packets
    }

    /// Whether nothing is owed and no packet waits to be handed out. As long as this is false,
    /// [`iterate`](Self::iterate) must go on being called.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.active_count == 0 && self.ready.is_empty()
    }

    /// Messages that are owed an acknowledgement: the length of the active queue.
    #[must_use]
    pub fn owed(&self) -> usize {
        self.active_count
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
            self.acknowledge(self.slab[oldest].peer, cause, packets);
        }
    }

    /// Processes every message that has reached the maximum age, with its group.
    fn process_aged(&mut self, packets: &mut Vec<AckPacket>) {
        let ages = self.config.rules.iter().map(|rule| rule.maximum_age);
        let Some(maximum_age) = ages.min() else {
            return;
        };
        // The queue is in the order received: behind a message that is young enough all are.
        while let Some(oldest) = self.active.head {
            if self.age(oldest) < u64::from(maximum_age) {
                break;
            }
            self.acknowledge(self.slab[oldest].peer, Cause::Age, packets);
        }
    }

    /// Iterations that the message in `slot` has waited.
    fn age(&self, slot: Slot) -> u64 {
        self.stats.iterations - self.slab[slot].arrived
    }

    /// Acknowledges all active messages of `peer` and moves them to the processed queue.
    fn acknowledge(&mut self, peer: Endpoint, cause: Cause, packets: &mut Vec<AckPacket>) {
        let Some(group) = self.groups.remove(&peer) else {
            return;
        };
        let together = match self.config.method {
            AckMethod::Immediate | AckMethod::Threshold => 1,
            AckMethod::Coalesce | AckMethod::OnArrival => MAX_COOKIES,
        };
        let before = packets.len();
        let mut slot = Some(group.head);
        let mut count = 0;
        while let Some(message) = slot {
            if count % together == 0 {
                packets.push(AckPacket {
                    peer,
                    cookies: Vec::with_capacity(together.min(group.count - count)),
                });
            }
            let cookie = self.slab[message].cookie;
            if let Some(packet) = packets.last_mut() {
                packet.cookies.push(cookie);
            }
            #[cfg(test)]
            tests::plant(&self.planted, self.slab[message].serial, packets);
            count += 1;
            self.stats.oldest = self.stats.oldest.max(self.age(message));
            self.active.unlink(&mut self.slab, message);
            self.processed.push_back(&mut self.slab, message);
            slot = self.slab[message].next_of_peer.take();
        }
        self.active_count -= count;
        self.stats.packets += (packets.len() - before) as u64;
        *match cause {
            Cause::Threshold => &mut self.stats.at_threshold,
            Cause::Arrival => &mut self.stats.on_arrival,
            Cause::Age => &mut self.stats.by_age,
            Cause::Flush => &mut self.stats.flushed,
        } += count as u64;
    }
}

#[cfg(test)]
mod tests;
