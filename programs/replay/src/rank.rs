// SPDX-License-Identifier: MIT OR Apache-2.0
//! One rank of a GOAL program: its threads and what they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use fragile::Fragile;
use gyre_driver::{
    BufferRange, Client, ClientConfig, Communicator, Context, DmaBuffer, DoneFn, Error, Messaging,
    MessagingConfig, Platform, RangeError, Rank as GroupRank,
    matching::{ANY_TAG, Received},
};
use gyre_goal::exec::{BlockedReport, RankState};
use gyre_goal::payload::{self, Key, MessageNumbers, Mismatch};
use gyre_goal::{Op, OpId, OpKind, RankProgram};
use gyre_sim::{Cpu, Notify};
use indicatif::ProgressBar;
use parking_lot::Mutex;
use thiserror::Error as ThisError;

use crate::change::Change;
use gyre::platform::SimPlatform;

/// Context of the client that all messages use, and their dispatch identifier.
const CONTEXT: u8 = 0;
const DISPATCH: u8 = 1;

/// Payload bytes of the longest message or receive.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 31;

/// A message of any tag is the same for program and driver.
const _: () = assert!(gyre_goal::ANY_TAG == ANY_TAG);

/// Counts of a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankCounts {
    /// Messages sent.
    pub sent: u64,
    /// Payload bytes sent.
    pub sent_bytes: u64,
    /// Messages received with every byte checked.
    pub received: u64,
    /// Payload bytes received and checked.
    pub received_bytes: u64,
    /// Most payload bytes held for messages that came before their receive.
    pub peak_held_bytes: usize,
}

/// Why a rank gave up.
#[derive(Debug, ThisError)]
pub enum RankError {
    /// An operation of the program failed in the driver.
    #[error("line {line}: {op}: {source}")]
    Driver {
        /// Line of the operation.
        line: u32,
        /// The operation.
        op: Op,
        /// The driver's error.
        source: Box<Error>,
    },
    /// Wrong payload.
    #[error("line {line}: {op}: message {key:?}: {source}")]
    Payload {
        /// Line of the receive.
        line: u32,
        /// The receive.
        op: Op,
        /// Which message it should have been.
        key: Key,
        /// First wrong byte.
        source: Mismatch,
    },
    /// A message of a size that memory cannot hold.
    #[error("line {line}: {op}: {bytes} bytes are more than a process can hold")]
    Size {
        /// Line of the operation.
        line: u32,
        /// The operation.
        op: Op,
        /// Its bytes.
        bytes: u64,
    },
    /// The driver failed outside of any operation.
    #[error(transparent)]
    Advance(Box<Error>),
}

impl From<Error> for RankError {
    fn from(error: Error) -> Self {
        Self::Advance(Box::new(error))
    }
}

type Buffer = <SimPlatform as Platform>::Buffer;
/// A thread of a rank.
type Thread = Box<dyn FnOnce() -> Result<(), RankError>>;

/// State that the threads of a rank share. All run on one host thread, one at a time.
pub struct Rank {
    state: Mutex<RankState<Arc<RankProgram>>>,
    messaging: Messaging<SimPlatform>,
    /// News for threads that wait for an operation.
    news: Fragile<Notify>,
    counts: AtomicCell<RankCounts>,
    sent_numbers: Mutex<MessageNumbers>,
    received_numbers: Mutex<MessageNumbers>,
    /// Sends whose buffers the DMA engine may still read.
    open_sends: AtomicCell<usize>,
    failure: Mutex<Option<RankError>>,
    first_sent: AtomicCell<Option<(u64, Key)>>,
    /// Arrival of the first message of each (source, tag), picoseconds.
    arrivals: Mutex<BTreeMap<(u32, u32), u64>>,
    end_ps: AtomicCell<u64>,
    bar: ProgressBar,
    change: Change,
}

impl Rank {
    /// Opens the rank's context. Runs in an actor of the rank's node.
    pub fn open(
        platform: SimPlatform,
        config: ClientConfig,
        state: RankState<Arc<RankProgram>>,
        (bar, change): (ProgressBar, Change),
    ) -> Result<Self, Error> {
        let matched = MessagingConfig {
            switch_over: config.eager_limit + 1,
            ..MessagingConfig::new(DISPATCH)
        };
        let client = Client::create(&platform, config)?;
        let context = client.create_context(CONTEXT)?;
        let messaging = Messaging::create(&context, matched)?;
        let news = Notify::new(platform.cpu());
        Ok(Self {
            state: Mutex::new(state),
            messaging,
            news: Fragile::new(news),
            counts: AtomicCell::default(),
            sent_numbers: Mutex::new(MessageNumbers::new()),
            received_numbers: Mutex::new(MessageNumbers::new()),
            open_sends: AtomicCell::new(0),
            failure: Mutex::new(None),
            first_sent: AtomicCell::new(None),
            arrivals: Mutex::default(),
            end_ps: AtomicCell::new(0),
            bar,
            change,
        })
    }

    /// The rank's number.
    pub fn number(&self) -> u32 {
        self.state.lock().program().rank()
    }

    /// Counts so far.
    pub fn counts(&self) -> RankCounts {
        RankCounts {
            peak_held_bytes: self.messaging.stats().peak_held_bytes,
            ..self.counts.load()
        }
    }

    /// Time of its last operation's end, picoseconds.
    pub fn end_ps(&self) -> u64 {
        self.end_ps.load()
    }

    /// Time and key of the first message it sent.
    pub fn first_sent(&self) -> Option<(u64, Key)> {
        self.first_sent.load()
    }

    /// When message `key` arrived, if it was the first of its source and tag.
    pub fn arrival_ps(&self, key: &Key) -> Option<u64> {
        self.arrivals.lock().get(&(key.source, key.tag)).copied()
    }

    /// The operations that wait; empty when all are done.
    pub fn blocked(&self) -> BlockedReport {
        self.state.lock().blocked_report()
    }

    /// The threads of the rank with their names.
    pub fn threads(rank: &Arc<Self>, comm_thread: bool) -> Vec<(String, Thread)> {
        let number = rank.number();
        let cpus = rank.state.lock().cpus().to_vec();
        let mut threads: Vec<(String, Thread)> = Vec::new();
        for (position, &processor) in cpus.iter().enumerate() {
            let rank = Arc::clone(rank);
            let advances = position == 0 && !comm_thread;
            let thread: Thread = Box::new(move || rank.compute(processor, advances));
            threads.push((format!("rank {number} cpu {processor}"), thread));
        }
        if comm_thread && !cpus.is_empty() {
            let rank = Arc::clone(rank);
            let thread: Thread = Box::new(move || rank.communicate());
            threads.push((format!("rank {number} communication"), thread));
        }
        threads
    }

    /// Carries out the operations of one processor.
    fn compute(self: Arc<Self>, processor: u8, advances: bool) -> Result<(), RankError> {
        loop {
            if let Some(op) = self.next_ready(processor) {
                self.start(op)?;
                continue;
            }
            // Catch up with what the other threads have done until now, then look again.
            self.cpu().yield_now();
            self.take_failure()?;
            if self.is_over() {
                self.wake_all();
                return Ok(());
            }
            if self.state.lock().has_ready(processor) {
                continue;
            }
            if advances {
                self.advance_until(|| self.state.lock().has_ready(processor))?;
            } else {
                self.cpu().describe_wait("an operation to become ready");
                self.news.get().wait(None);
            }
        }
    }

    /// Advances the context until the rank is done.
    fn communicate(self: Arc<Self>) -> Result<(), RankError> {
        self.advance_until(|| false)?;
        self.wake_all();
        Ok(())
    }

    /// Advances the context until the rank is done, `condition` holds, or an operation has failed.
    fn advance_until(&self, condition: impl Fn() -> bool) -> Result<(), RankError> {
        let context = self.messaging.context();
        let failed = || self.failure.lock().is_some();
        context.advance_until(|| failed() || condition() || self.is_over())?;
        self.take_failure()
    }

    fn next_ready(&self, processor: u8) -> Option<OpId> {
        self.state.lock().next_ready(processor)
    }

    /// Whether the program is done and no other rank waits for this one.
    fn is_over(&self) -> bool {
        // The look at the context may let other threads run, which take the state.
        let done = self.state.lock().is_done();
        done && self.open_sends.load() == 0 && self.messaging.context().is_at_rest()
    }

    /// Wakes threads that wait, so that they see the end.
    fn wake_all(&self) {
        self.news.get().notify_all();
        let context = self.messaging.context();
        context.platform().notify(context.query().wake_group);
    }

    fn cpu(&self) -> &Cpu {
        self.messaging.context().platform().cpu()
    }

    fn take_failure(&self) -> Result<(), RankError> {
        self.failure.lock().take().map_or(Ok(()), Err)
    }

    fn line_and_op(&self, op: OpId) -> (u32, Op) {
        let state = self.state.lock();
        (
            state.program().line(op).unwrap_or(0),
            *state.program().op(op),
        )
    }

    fn driver_error(&self, op: OpId, source: Error) -> RankError {
        let (line, op) = self.line_and_op(op);
        let source = Box::new(source);
        RankError::Driver { line, op, source }
    }

    fn finish(&self, op: OpId) {
        self.state.lock().finished(op);
        let cpu = self.cpu();
        cpu.note_progress();
        self.end_ps.store(self.end_ps.load().max(cpu.now_ps()));
        if cpu.is_recording() {
            cpu.record_operation(self.line_and_op(op).0);
        }
        self.bar.inc(1);
        self.news.get().notify_all();
    }

    /// Starts an operation of a withheld message, which ends at `end_ps`, or at once.
    fn finish_at(self: &Arc<Self>, op: OpId, end_ps: Option<u64>) -> Result<(), RankError> {
        self.state.lock().started(op);
        let Some(end_ps) = end_ps.filter(|&ps| ps > self.cpu().now_ps()) else {
            self.finish(op);
            return Ok(());
        };
        let rank = Arc::clone(self);
        self.cpu().spawn("withheld message", move |cpu| {
            cpu.sleep_until(end_ps);
            rank.finish(op);
            // The thread that advances looks whether that was the last.
            rank.wake_all();
            Ok::<_, RankError>(())
        });
        Ok(())
    }

    fn start(self: &Arc<Self>, op: OpId) -> Result<(), RankError> {
        let (_, what) = self.line_and_op(op);
        match what.kind {
            OpKind::Calc { ns } => {
                let halved = self.change.halved == Some(self.number());
                let ps = ns.saturating_mul(1000) >> u8::from(halved);
                self.state.lock().started(op);
                // Others may wait for the start alone.
                self.news.get().notify_all();
                self.cpu()
                    .sleep_until(self.cpu().now_ps().saturating_add(ps));
                self.finish(op);
                Ok(())
            }
            OpKind::Send { bytes, to, tag, .. } => self.send(op, bytes, to, tag),
            OpKind::Recv {
                bytes, from, tag, ..
            } => self.receive(op, bytes, from, tag),
        }
    }

    /// A buffer of the rank's own. The program has its memory; the driver charges what it allocates.
    fn buffer(&self, op: OpId, bytes: u64) -> Result<BufferRange<Buffer>, RankError> {
        let size = usize::try_from(bytes).ok();
        let Some(size) = size.filter(|_| bytes <= MAX_MESSAGE_BYTES) else {
            let (line, op) = self.line_and_op(op);
            return Err(RankError::Size { line, op, bytes });
        };
        let platform = self.messaging.context().platform();
        BufferRange::zeroed(platform, size).map_err(|error| self.driver_error(op, error.into()))
    }

    fn send(self: &Arc<Self>, op: OpId, bytes: u64, to: u32, tag: u32) -> Result<(), RankError> {
        let key = Key {
            source: self.number(),
            destination: to,
            tag,
            number: self.sent_numbers.lock().next(to, tag),
        };
        if let Some(withheld) = self.change.withheld(&key) {
            return self.finish_at(op, withheld.sent_ps);
        }
        let data = self.buffer(op, bytes)?;
        fill(&key, &data).map_err(|error| self.driver_error(op, error.into()))?;
        if self.first_sent.load().is_none() {
            self.first_sent.store(Some((self.cpu().now_ps(), key)));
        }
        let mut counts = self.counts.load();
        counts.sent += 1;
        counts.sent_bytes += bytes;
        self.counts.store(counts);
        let eager = self.messaging.is_eager(data.len());
        // An eager message is finished when it has been handed over: an error of it is one of `advance`.
        let (to, world) = (GroupRank(to), &Communicator::WORLD);
        let sent = match eager {
            true => self.messaging.send_detached(to, tag, world, data),
            false => {
                let done = Some(self.fetched(op));
                self.messaging.send(to, tag, world, data, done).map(drop)
            }
        };
        sent.map_err(|error| self.driver_error(op, error))?;
        self.state.lock().started(op);
        if eager {
            self.finish(op);
        } else {
            self.news.get().notify_all();
        }
        Ok(())
    }

    /// Callback of a message that waits for its receive: the message has been acknowledged, or has failed.
    fn fetched(self: &Arc<Self>, op: OpId) -> DoneFn<SimPlatform> {
        self.open_sends.fetch_add(1);
        let rank = Arc::clone(self);
        Box::new(move |_, result| {
            rank.open_sends.fetch_sub(1);
            match result {
                Err(source) => {
                    let error = rank.driver_error(op, source);
                    rank.failure.lock().get_or_insert(error);
                }
                Ok(()) => {
                    // The callback's thread may be ahead of the others: let them catch up before they see it.
                    rank.cpu().yield_now();
                    rank.finish(op);
                }
            }
            rank.news.get().notify_all();
        })
    }

    fn receive(
        self: &Arc<Self>,
        op: OpId,
        bytes: u64,
        from: Option<u32>,
        tag: Option<u32>,
    ) -> Result<(), RankError> {
        let (line, _) = self.line_and_op(op);
        if let Some(withheld) = self.change.withheld_from(self.number(), line) {
            return self.finish_at(op, Some(withheld.received_ps));
        }
        let into = self.buffer(op, bytes)?;
        let rank = Arc::clone(self);
        let data = into.clone();
        let done = move |_: &Context<SimPlatform>, result: Result<Received, Error>| {
            // The callback's thread may be ahead of the others: let them catch up before they see it.
            rank.cpu().yield_now();
            if let Err(error) = rank.received(op, &data, result) {
                rank.failure.lock().get_or_insert(error);
                rank.news.get().notify_all();
            } else {
                rank.finish(op);
            }
        };
        self.messaging
            .receive(
                from.map(GroupRank),
                tag,
                &Communicator::WORLD,
                into,
                Some(Box::new(done)),
            )
            .map_err(|error| self.driver_error(op, error))?;
        self.state.lock().started(op);
        self.news.get().notify_all();
        Ok(())
    }

    /// Checks every byte of a message that has arrived.
    fn received(
        &self,
        op: OpId,
        data: &BufferRange<Buffer>,
        result: Result<Received, Error>,
    ) -> Result<(), RankError> {
        let received = result.map_err(|source| self.driver_error(op, source))?;
        let (source, tag) = (received.source.0, received.tag);
        let next = || Key {
            source,
            destination: self.number(),
            tag,
            number: self.received_numbers.lock().next(source, tag),
        };
        // One that is not sent is not received.
        let key = Some(next()).filter(|key| self.change.withheld(key).is_none());
        let key = key.unwrap_or_else(next);
        let mut bytes = vec![0; received.length];
        data.read(0, &mut bytes)
            .map_err(|error| self.driver_error(op, error.into()))?;
        if let Err(source) = payload::check(&key, 0, &bytes) {
            let (line, op) = self.line_and_op(op);
            return Err(RankError::Payload {
                line,
                op,
                key,
                source,
            });
        }
        let now = self.cpu().now_ps();
        self.arrivals.lock().entry((source, tag)).or_insert(now);
        let mut counts = self.counts.load();
        counts.received += 1;
        counts.received_bytes += received.length as u64;
        self.counts.store(counts);
        Ok(())
    }
}

/// Writes the payload of message `key` into `data`.
fn fill<B: DmaBuffer>(key: &Key, data: &BufferRange<B>) -> Result<(), RangeError> {
    let mut bytes = vec![0; data.len()];
    payload::fill(key, 0, &mut bytes);
    data.write(0, &bytes)
}
