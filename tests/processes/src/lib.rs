// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program of two tasks that exchange messages, on any platform: as a coroutine inside the machine's
//! process, or as a process of its own.

#![forbid(unsafe_code)]

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Communicator, Context, DEFAULT_EAGER_LIMIT,
    DmaBuffer, Error, Messaging, MessagingConfig, Ordered, Platform, RangeError, Rank, Resources,
    SameNode, TaskId, TaskMap, WakeReason, matching::Received,
};
use gyre_goal::payload::{self, Key, Mismatch};
use gyre_layout::Coord;
use parking_lot::Mutex;
use thiserror::Error as ThisError;

/// Bytes of the message of each round: none, parts of a packet, one packet, several, more than the
/// mailbox's window, more than a reception FIFO.
pub const SIZES: [usize; 9] = [0, 1, 8, 64, 512, 513, 4096, 70_001, 150_000];

/// Messages that cross in the last round, and the bytes of each.
pub const BURST: usize = 24;
const BURST_BYTES: usize = 700;

/// Both tasks open their contexts within this time, then begin, picoseconds.
const SET_UP_PS: u64 = 200_000_000;

/// A wake group that no context uses.
const SPARE_GROUP: u8 = 15;

/// One of the two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Its number, 0 or 1.
    pub task: u32,
    /// Coordinate, in a machine of one dimension, of the node of each task.
    pub nodes: [u8; 2],
    /// How messages go when both tasks live on one node.
    pub same_node: SameNode,
}

/// Why a task failed.
#[derive(Debug, ThisError)]
pub enum ExchangeError {
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] Error),
    /// A buffer was left.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A message is not what was sent.
    #[error("{key:?}: {source}")]
    Payload {
        /// The message.
        key: Key,
        /// The first wrong byte.
        source: Mismatch,
    },
    /// A message of another length.
    #[error("{key:?} has {found} bytes, not {expected}")]
    Length {
        /// The message.
        key: Key,
        /// Bytes sent.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// The contexts were not open when the messages began.
    #[error("the set-up took more than {SET_UP_PS} ps")]
    SetUp,
}

/// Sends and receives under way.
struct Traffic<P: Platform> {
    messaging: Messaging<P>,
    task: u32,
    open: Arc<AtomicCell<usize>>,
    failure: Arc<Mutex<Option<ExchangeError>>>,
}

impl Exchange {
    /// Runs the task; calls `begin_round` for every round, from 0 on, when its messages are posted.
    ///
    /// # Errors
    /// [`ExchangeError`].
    pub fn run<P: Platform>(
        &self,
        platform: &P,
        mut begin_round: impl FnMut(usize),
    ) -> Result<(), ExchangeError> {
        let begin = platform.now_ps() + SET_UP_PS;
        let place = |column| Coord([column, 0, 0, 0, 0]);
        let config = ClientConfig {
            name: "exchange".into(),
            id: 0,
            tasks: Arc::new(TaskMap::new(self.nodes.map(place))?),
            task: TaskId(self.task),
            contexts: 1,
            eager_limit: DEFAULT_EAGER_LIMIT,
            ack: AckConfig::default(),
            same_node: self.same_node,
            ordered: Ordered::default(),
            resources: Resources::default(),
        };
        let client = Client::create(platform, config)?;
        let context = client.create_context(0)?;
        let traffic = Traffic {
            messaging: Messaging::create(&context, MessagingConfig::new(1))?,
            task: self.task,
            open: Arc::default(),
            failure: Arc::default(),
        };
        if platform.now_ps() >= begin {
            return Err(ExchangeError::SetUp);
        }
        while platform.wait(SPARE_GROUP, Some(begin)) != WakeReason::Deadline {}

        for (round, &bytes) in SIZES.iter().enumerate() {
            let tag = round as u32; // a handful
            // One side posts its receive first, the other finds the message there already.
            if self.task == 0 {
                traffic.receive(platform, tag, bytes)?;
                traffic.send(platform, tag, bytes)?;
                begin_round(round);
                traffic.finish()?;
            } else {
                traffic.send(platform, tag, bytes)?;
                begin_round(round);
                traffic.finish()?;
                traffic.receive(platform, tag, bytes)?;
                traffic.finish()?;
            }
        }
        let tags = || (SIZES.len() as u32..).take(BURST);
        for tag in tags() {
            traffic.send(platform, tag, BURST_BYTES)?;
        }
        begin_round(SIZES.len());
        for tag in tags() {
            traffic.receive(platform, tag, BURST_BYTES)?;
        }
        traffic.finish()
    }
}

impl<P: Platform> Traffic<P> {
    fn key(&self, source: u32, tag: u32) -> Key {
        Key {
            source,
            destination: 1 - source,
            tag,
            number: 0,
        }
    }

    fn send(&self, platform: &P, tag: u32, bytes: usize) -> Result<(), ExchangeError> {
        let mut data = vec![0; bytes];
        payload::fill(&self.key(self.task, tag), 0, &mut data);
        let buffer = BufferRange::copied(platform, &data)?;
        let (open, failure) = self.started();
        let done = move |_: &Context<P>, result: Result<(), Error>| {
            open.fetch_sub(1);
            if let Err(error) = result {
                failure.lock().get_or_insert(error.into());
            }
        };
        let peer = Rank(1 - self.task);
        let done = Some(Box::new(done) as _);
        self.messaging
            .send(peer, tag, &Communicator::WORLD, buffer, done)?;
        Ok(())
    }

    fn receive(&self, platform: &P, tag: u32, bytes: usize) -> Result<(), ExchangeError> {
        let into = BufferRange::zeroed(platform, bytes).map_err(Error::from)?;
        let data = into.clone();
        let key = self.key(1 - self.task, tag);
        let (open, failure) = self.started();
        let done = move |_: &Context<P>, result: Result<Received, Error>| {
            open.fetch_sub(1);
            if let Err(error) = check(&key, &data, result) {
                failure.lock().get_or_insert(error);
            }
        };
        let peer = Some(Rank(1 - self.task));
        let done = Some(Box::new(done) as _);
        self.messaging
            .receive(peer, Some(tag), &Communicator::WORLD, into, done)?;
        Ok(())
    }

    fn started(&self) -> (Arc<AtomicCell<usize>>, Arc<Mutex<Option<ExchangeError>>>) {
        self.open.fetch_add(1);
        (Arc::clone(&self.open), Arc::clone(&self.failure))
    }

    /// Advances until everything posted is done.
    fn finish(&self) -> Result<(), ExchangeError> {
        let context = self.messaging.context();
        context.advance_until(|| self.open.load() == 0)?;
        self.failure.lock().take().map_or(Ok(()), Err)
    }
}

/// Checks every byte of a message.
fn check<B: DmaBuffer>(
    key: &Key,
    data: &BufferRange<B>,
    result: Result<Received, Error>,
) -> Result<(), ExchangeError> {
    let key = *key;
    let found = result?.length;
    let expected = data.len();
    if found != expected {
        return Err(ExchangeError::Length {
            key,
            expected,
            found,
        });
    }
    let mut bytes = vec![0; found];
    data.read(0, &mut bytes)?;
    payload::check(&key, 0, &bytes).map_err(|source| ExchangeError::Payload { key, source })
}
