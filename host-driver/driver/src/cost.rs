// SPDX-License-Identifier: MIT OR Apache-2.0
//! Software costs: the instructions of each operation of the driver.

use core::num::NonZeroU32;

use serde::Deserialize;

/// Bytes of one [`Op::CopyChunk`].
pub const COPY_CHUNK: usize = 32;

/// Declares the operations: name, key in the table, and description.
macro_rules! operations {
    ($($name:ident $key:ident $text:literal,)*) => {
        /// An operation of the driver that takes processor time. [`Platform::charge`](crate::Platform::charge) is
        /// called with it; [`CostTable`] has its cost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $(#[doc = $text] $name,)*
        }

        impl Op {
            /// Every operation, in declaration order.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// The operation's entry in a table.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($key),)*
                }
            }

            /// One sentence about the operation.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        /// Instructions per operation. Every entry must be given and positive: software is never free.
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "Entries")]
        pub struct CostTable {
            $($key: NonZeroU32,)*
            /// An operation that costs nothing.
            free: Option<Op>,
        }

        /// The entries that a table gives.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Entries {
            $($key: Option<NonZeroU32>,)*
        }

        impl TryFrom<Entries> for CostTable {
            type Error = String;

            /// Refuses a table with missing entries, and names them all.
            fn try_from(entries: Entries) -> Result<Self, String> {
                let missing: Vec<&str> = [$((stringify!($key), entries.$key.is_none()),)*]
                    .into_iter()
                    .filter_map(|(key, missing)| missing.then_some(key))
                    .collect();
                match entries {
                    Entries { $($key: Some($key),)* } => Ok(Self { $($key,)* free: None }),
                    _ => Err(format!("missing entries: {}", missing.join(", "))),
                }
            }
        }

        impl CostTable {
            /// Instructions that one `op` takes.
            #[must_use]
            pub fn instructions(&self, op: Op) -> u64 {
                let entry = match op {
                    $(Op::$name => self.$key,)*
                };
                match self.free {
                    Some(free) if free == op => 0,
                    _ => u64::from(entry.get()),
                }
            }

            /// The table with one operation free, to see its share of a program's time. No file can ask for it.
            #[must_use]
            pub fn with_free(self, op: Op) -> Self {
                Self {
                    free: Some(op),
                    ..self
                }
            }
        }
    };
}

operations! {
    Post post "One instruction put on a context's work queue.",
    Enlist enlist "One done callback of an instruction kept.",
    Advance advance "The beginning of one call of `advance`.",
    Leave leave "The end of one.",
    Turn turn "One turn of `advance`: a look whether there is something else to do, and at the reception FIFO, with its register access.",
    Tick tick "One look by a turn for functions that it is to call, besides them.",
    FullTurn full_turn "What a turn does besides where there may be something else.",
    Conclude conclude "What an `advance` does at its end in which more than packets was looked after.",
    Announce announce "Threads that may wait told that there is news.",
    Wake wake "A wake-up taken note of, with its register access.",
    Wait wait "One look whether a thread may sleep.",
    Batch batch "What has been posted taken off the work queue, and started with one register access an injection FIFO.",
    Start start "One instruction taken off the work queue and turned into an operation.",
    Inject inject "One immediate message made a descriptor by a template at its call, stored in the ring and started, with its register access.",
    InjectInPlace inject_in_place "The same for one whose data is not copied.",
    Injected injected "What such a call does behind that access.",
    Template template "One template of immediate messages to an endpoint made.",
    Message message "One descriptor of another message built and stored in the ring.",
    SystemMessage system_message "One descriptor of a message with which nothing of the program's ends built and stored in the ring.",
    Transfer transfer "One descriptor of a put, remote get or contribution built and stored in the ring.",
    Descriptor descriptor "One other descriptor built and stored in the ring.",
    Register register "One other register access issued, without its bus time.",
    Poll poll "One injection FIFO looked at for completed descriptors, with its register access.",
    Retire retire "One completed descriptor retired that has kept data, or with which something ends.",
    Receive receive "One look at a reception FIFO that finds packets.",
    Packet packet "One received packet that is all of a message: its header read and checked, its sender known.",
    Origin origin "The sender of a packet found, of another one than the packet before it.",
    Assemble assemble "One other packet read, and put into a message of several or handed to its protocol.",
    Place place "One packet in the middle of a message of several put into it.",
    ShareChunk share_chunk "32 bytes copied into a ring in shared memory, or out of it.",
    Deposit deposit "One packet written into a ring in shared memory.",
    Stage stage "One payload copied into the staging area, besides its bytes.",
    Unload unload "One payload copied out of a reception FIFO, besides its bytes.",
    Copy copy "One other copy, besides its bytes.",
    CopyChunk copy_chunk "32 bytes copied.",
    Dispatch dispatch "One dispatch callback found and called.",
    Store store "One message of one packet stored where its receive says, or held.",
    Request request "One matched send asked for, besides the message that it sends.",
    Callback callback "One done callback, or posted call, called and given back.",
    MatchAttempt match_attempt "One queue entry compared with match data.",
    Hold hold "One message that no receive waits for held, and delivered to its receive.",
    Enqueue enqueue "One entry put on the posted or the unexpected queue.",
    Allocate allocate "One block of DMA memory got or given back.",
    Lock lock "One lock taken or given back.",
    Counter counter "One byte counter set or looked at.",
    Header header "The header of an eager message put before its data, or taken off.",
    Control control "One system message built or taken apart.",
    Acknowledge acknowledge "One message handed to the acknowledgement dispatcher, or one iteration of it with messages owed.",
    Combine combine "Two elements of a reduction combined by the processor.",
}

/// A cost table that cannot be used; the message names line, column and field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name}: {source}")]
pub struct CostTableError {
    /// File the text came from.
    pub name: String,
    /// Fault and its place.
    #[source]
    pub source: toml::de::Error,
}

impl CostTable {
    /// The text of the driver's table, `host-driver/driver/cost-table.toml`. Its head gives the source of its numbers;
    /// `make cost-table` measures the compiled driver and writes it.
    pub const DEFAULT_TOML: &str = include_str!("../cost-table.toml");

    /// Parses a table in TOML; `name` is the file named in errors.
    ///
    /// # Errors
    /// [`CostTableError`] for anything but exactly one positive whole number per operation.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, CostTableError> {
        toml::from_str(text).map_err(|source| CostTableError {
            name: name.to_owned(),
            source,
        })
    }
}

impl Default for CostTable {
    fn default() -> Self {
        Self::from_toml("host-driver/driver/cost-table.toml", Self::DEFAULT_TOML)
            .expect("the table in the driver is complete; a test parses it")
    }
}
