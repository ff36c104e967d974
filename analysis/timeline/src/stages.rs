// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time of a message goes: stages that follow each other without gap from post to done.

use crate::messages::{How, Message, Messages};

/// A part of a message's time. Each ends where an event says that the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// On the work queue of its context.
    Queue,
    /// The driver makes a descriptor, and the register write that tells the DMA engine of it is under way.
    Start,
    /// The DMA engine has been told and has not read the descriptor.
    Fetch,
    /// The DMA engine reads the payload and waits for the network.
    Inject,
    /// From the first flit on a link until the last has left its last link.
    Network,
    /// Written to memory at the target, until the driver takes it out of the reception FIFO.
    Reception,
    /// The driver looks for its receive.
    Match,
    /// It has no receive.
    WaitForReceive,
    /// The driver makes the request for its data, and the register write that tells the DMA engine of it is under way.
    Ask,
    /// The request is fetched and injected.
    InjectRequest,
    /// The request is on links.
    RequestNetwork,
    /// The DMA engine of the origin serves the request, until the first flit of data is on a link.
    ServeRequest,
    /// From the first flit of data on a link until the last has left its last link.
    DataNetwork,
    /// Delivery to the program: memory writes, copies and callbacks at the target.
    Deliver,
}

impl Stage {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::WaitForReceive => "wait for receive",
            Self::InjectRequest => "inject request",
            Self::RequestNetwork => "request on links",
            Self::ServeRequest => "serve request",
            Self::DataNetwork => "data on links",
            _ => self.name(),
        }
    }

    /// As documents and files name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Start => "start",
            Self::Fetch => "fetch",
            Self::Inject => "inject",
            Self::Network => "network",
            Self::Reception => "reception",
            Self::Match => "match",
            Self::WaitForReceive => "wait_for_receive",
            Self::Ask => "ask",
            Self::InjectRequest => "inject_request",
            Self::RequestNetwork => "request_network",
            Self::ServeRequest => "serve_request",
            Self::DataNetwork => "data_network",
            Self::Deliver => "deliver",
        }
    }
}

/// The stages of a message, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    posted_ps: u64,
    done_ps: u64,
    /// Each with its end.
    ends: Vec<(Stage, u64)>,
}

impl Stages {
    /// Stages of a message that is done; none for another, nor for one whose end is recorded before its post: threads of a
    /// task may be ahead of each other.
    #[must_use]
    pub fn of(messages: &Messages, message: &Message) -> Option<Self> {
        let done_ps = message.done_ps.filter(|&ps| message.posted_ps <= ps)?;
        let mut stages = Self {
            posted_ps: message.posted_ps,
            done_ps,
            ends: Vec::new(),
        };
        let packets = |index: Option<usize>| index.map(|index| &messages.packets()[index]);
        stages.end(Stage::Queue, message.started_ps);
        if let Some(first) = packets(message.first) {
            stages.end(Stage::Start, first.tail_ps);
            stages.end(Stage::Fetch, first.fetched_ps);
            if message.how == How::Get {
                stages.end(Stage::InjectRequest, first.head_ps);
                stages.end(Stage::RequestNetwork, first.arrived_ps);
            } else {
                // A header goes before its data.
                let last = packets(message.data).unwrap_or(first);
                stages.end(Stage::Inject, first.head_ps);
                stages.end(Stage::Network, last.arrived_ps);
                stages.end(Stage::Reception, last.last_taken_ps);
            }
        }
        if let Some(unexpected_ps) = message.unexpected_ps {
            stages.end(Stage::Match, Some(unexpected_ps));
            stages.end(Stage::WaitForReceive, message.matched_ps);
        } else {
            stages.end(Stage::Match, message.matched_ps);
        }
        if let Some(asked) = packets(message.asked) {
            stages.end(Stage::Ask, asked.tail_ps);
            stages.end(Stage::InjectRequest, asked.head_ps);
            stages.end(Stage::RequestNetwork, asked.arrived_ps);
        }
        if let Some(answer) = packets(message.answer) {
            stages.end(Stage::ServeRequest, answer.head_ps);
            stages.end(Stage::DataNetwork, answer.arrived_ps);
        }
        stages.end(Stage::Deliver, Some(done_ps));
        Some(stages)
    }

    /// The stages with their times in picoseconds. They add up to [`Stages::total_ps`].
    pub fn times(&self) -> impl Iterator<Item = (Stage, u64)> {
        let begins = std::iter::once(self.posted_ps).chain(self.ends.iter().map(|&(_, end)| end));
        self.ends
            .iter()
            .zip(begins)
            .map(|(&(stage, end), begin)| (stage, end - begin))
    }

    /// Picoseconds from post to done.
    #[must_use]
    pub const fn total_ps(&self) -> u64 {
        self.done_ps - self.posted_ps
    }

    /// A stage ends with an event. What has no event, or whose event comes before the last one (packets of a long message
    /// are taken while others are on their way), is part of the next stage. What comes after the end is none.
    fn end(&mut self, stage: Stage, end_ps: Option<u64>) {
        let before = self.ends.last().map_or(self.posted_ps, |&(_, end)| end);
        if let Some(end_ps) = end_ps.filter(|&end_ps| before <= end_ps && end_ps <= self.done_ps) {
            self.ends.push((stage, end_ps));
        }
    }
}
