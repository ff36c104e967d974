//! The application messaging module: sends and receives that are paired by match data (CT-1, CT-8).
//!
//! Match data is (origin task, tag, communication context); a receive may leave task or tag open. Messages
//! of one origin match in the order sent, receives in the order posted, as in MPI. A message that no
//! receive waits for is held in a buffer of its own and counted, see [`MessagingStats`].

mod matching;

use crate::buffer::BufferRange;
use crate::context::Context;
use crate::cost::Op;
use crate::dispatch::{Arrival, Receive};
use crate::error::Error;
use crate::instruction::{DoneFn, Instruction, SendMessage};
use crate::platform::Platform;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, short};
use crate::task::TaskId;

pub use matching::ANY_TAG;
use matching::{Held, MatchData, MatchTable, Pattern};

/// Bytes that one [`Op::CopyChunk`] stands for.
const COPY_CHUNK: usize = 32;

/// What a receive has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Task that sent the message.
    pub source: TaskId,
    /// Its tag.
    pub tag: u32,
    /// Its communication context.
    pub comm: u8,
    /// Its bytes.
    pub length: usize,
}

/// Done callback of a receive: called once, by the thread that advances the context.
pub type ReceiveDone<P> = Box<dyn FnOnce(&Context<P>, Result<Received, Error>)>;

/// Handle of a send or receive.
#[derive(Debug, Clone)]
pub struct Request {
    id: u64,
    complete: Arc<AtomicBool>,
}

impl Request {
    /// Number of the request, unique in its [`Messaging`].
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the request has completed, well or not: its done callback has been or is being called.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }
}

/// Counts of the matching module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessagingStats {
    /// Messages that found their receive posted.
    pub expected: u64,
    /// Messages that had to be held.
    pub unexpected: u64,
    /// Payload bytes held now.
    pub held_bytes: usize,
    /// Most payload bytes held at any time.
    pub peak_held_bytes: usize,
    /// Receives posted and not matched now.
    pub posted: usize,
    /// Messages held and not matched now.
    pub held: usize,
}

/// A receive with its way out.
struct Receiver<P: Platform> {
    into: BufferRange<P::Buffer>,
    done: Option<ReceiveDone<P>>,
    complete: Arc<AtomicBool>,
}

/// The payload of a held message.
struct Payload<P: Platform> {
    data: BufferRange<P::Buffer>,
    length: usize,
}

type Table<P> = MatchTable<Receiver<P>, Payload<P>>;

/// Matched messages over one context. Clones are handles to the same module.
///
/// All tasks create theirs on the same context offset with the same dispatch identifier. Any thread may
/// send and receive at any time; what is posted happens in `advance`.
pub struct Messaging<P: Platform> {
    context: Context<P>,
    dispatch: u8,
    table: Arc<Mutex<Table<P>>>,
    requests: Arc<AtomicU64>,
}

impl<P: Platform> Clone for Messaging<P> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            dispatch: self.dispatch,
            table: Arc::clone(&self.table),
            requests: Arc::clone(&self.requests),
        }
    }
}

impl<P: Platform> Messaging<P> {
    /// Starts the module on `context`, with the messages of dispatch identifier `dispatch`.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`].
    pub fn create(context: &Context<P>, dispatch: u8) -> Result<Self, Error> {
        let table = Arc::new(Mutex::new(Table::new()));
        let arrivals = Arc::clone(&table);
        context.set_dispatch(
            dispatch,
            Box::new(move |context, arrival| arrive(context, &arrivals, arrival)),
        )?;
        Ok(Self {
            context: context.clone(),
            dispatch,
            table,
            requests: Arc::new(AtomicU64::new(0)),
        })
    }

    /// The context under the module.
    #[must_use]
    pub fn context(&self) -> &Context<P> {
        &self.context
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> MessagingStats {
        short(&self.table).stats()
    }

    /// Sends `data` to task `to`. `done` is called when `data` may be changed again.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn send(
        &self,
        to: TaskId,
        tag: u32,
        comm: u8,
        data: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    ) -> Result<Request, Error> {
        let request = self.request();
        let complete = Arc::clone(&request.complete);
        let offset = self.context.query().endpoint.context;
        let destination = self.context.endpoint(to, offset)?;
        self.context.send(SendMessage {
            comm,
            tag,
            local_done: Some(Box::new(move |context, result| {
                complete.store(true, Ordering::Release);
                if let Some(done) = done {
                    done(context, result);
                }
            })),
            ..SendMessage::new(destination, self.dispatch, data)
        })?;
        Ok(request)
    }

    /// Receives a message into the start of `into`: from task `from` or any, with tag `tag` or any, in
    /// communication context `comm`. `done` is called when it is there. A message longer than `into` is
    /// used up, `into` stays as it is, and `done` gets [`Error::MessageTooLong`].
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Destroyed`].
    pub fn receive(
        &self,
        from: Option<TaskId>,
        tag: Option<u32>,
        comm: u8,
        into: BufferRange<P::Buffer>,
        done: Option<ReceiveDone<P>>,
    ) -> Result<Request, Error> {
        if let Some(task) = from {
            self.context.tasks().location(task)?;
        }
        let request = self.request();
        let receiver = Receiver {
            into,
            done,
            complete: Arc::clone(&request.complete),
        };
        let pattern = Pattern {
            source: from,
            tag,
            comm,
        };
        let table = Arc::clone(&self.table);
        self.context
            .post(Instruction::Call(Box::new(move |context| {
                start_receive(context, &table, pattern, receiver);
            })))?;
        Ok(request)
    }

    fn request(&self) -> Request {
        Request {
            id: self.requests.fetch_add(1, Ordering::Relaxed),
            complete: Arc::new(AtomicBool::new(false)),
        }
    }
}

/// A receive reaches the table.
fn start_receive<P: Platform>(
    context: &Context<P>,
    table: &Mutex<Table<P>>,
    pattern: Pattern,
    receiver: Receiver<P>,
) {
    let (attempts, held) = short(table).receive(pattern, receiver);
    let platform = context.platform();
    platform.charge(Op::MatchAttempt, attempts);
    match held {
        None => platform.charge(Op::Enqueue, 1),
        Some(held) => finish_held(context, held),
    }
}

/// The first packet of a message reaches the table.
fn arrive<P: Platform>(
    context: &Context<P>,
    table: &Arc<Mutex<Table<P>>>,
    arrival: &Arrival<'_>,
) -> Receive<P> {
    let platform = context.platform();
    let data = MatchData {
        source: arrival.origin.task(),
        tag: arrival.tag,
        comm: arrival.comm,
    };
    let length = arrival.length;
    let (attempts, receiver) = short(table).arrive(data);
    platform.charge(Op::MatchAttempt, attempts);
    if let Some(receiver) = receiver {
        return Receive::Into {
            into: receiver.into.clone(),
            done: Some(Box::new(move |context, result| {
                finish(context, receiver, result.map(|()| data.received(length)));
            })),
        };
    }

    // Nobody waits for it: hold it. The posted queue cannot change meanwhile, since it changes only in
    // `advance`, which is here.
    platform.charge(Op::Enqueue, 1);
    let (buffer, outcome) = if length == 0 {
        (BufferRange::empty(), Ok(()))
    } else {
        platform.charge(Op::Allocate, 1);
        match platform.alloc(length, COPY_CHUNK) {
            Ok(buffer) => (BufferRange::whole(buffer), Ok(())),
            Err(error) => (BufferRange::empty(), Err(Error::from(error))),
        }
    };
    let payload = Payload {
        data: buffer.clone(),
        length,
    };
    let held_bytes = buffer.len();
    let id = short(table).hold(data, payload, held_bytes);
    if outcome.is_err() {
        // The receive that matches it gets the error.
        short(table).arrived(id, outcome);
        return Receive::Consumed;
    }
    let table = Arc::clone(table);
    Receive::Into {
        into: buffer,
        done: Some(Box::new(move |context, result| {
            let held = short(&table).arrived(id, result);
            if let Some(held) = held {
                finish_held(context, held);
            }
        })),
    }
}

/// A held message has arrived whole and has its receive: copies it over.
fn finish_held<P: Platform>(context: &Context<P>, held: Held<Receiver<P>, Payload<P>>) {
    let Held {
        data,
        payload,
        receiver,
        result,
    } = held;
    let room = receiver.into.len();
    let result = result.and_then(|()| {
        if payload.length > room {
            return Err(Error::MessageTooLong {
                message: payload.length,
                receive: room,
            });
        }
        let platform = context.platform();
        let mut chunk = [0; 4096];
        let mut offset = 0;
        while offset < payload.length {
            let bytes = chunk.len().min(payload.length - offset);
            payload.data.read(offset, &mut chunk[..bytes])?;
            receiver.into.write(offset, &chunk[..bytes])?;
            offset += bytes;
        }
        platform.charge(Op::CopyChunk, payload.length.div_ceil(COPY_CHUNK) as u64);
        if payload.length > 0 {
            platform.charge(Op::Allocate, 1);
        }
        Ok(data.received(payload.length))
    });
    drop(payload);
    finish(context, receiver, result);
}

/// Completes a receive.
fn finish<P: Platform>(
    context: &Context<P>,
    receiver: Receiver<P>,
    result: Result<Received, Error>,
) {
    receiver.complete.store(true, Ordering::Release);
    if let Some(done) = receiver.done {
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }
}
