// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task as an operating-system process of its own, in lock-step with the machine in another.
//!
//! * In the task's process, [`run`] gives the task a [`RemotePlatform`]: the driver's [`Platform`]
//!   whose every call is a request in a mailbox. The process has nothing else of the machine.
//! * In the machine's process, [`TaskProcess::spawn`] starts the task's process, and
//!   [`TaskProcess::serve`] carries its requests out, one after the other, on the platform of the
//!   node. It runs where a task inside the machine's process would run, so the machine sees
//!   the same calls at the same simulated times.
//!
//! A mailbox is shared memory: one slot that holds a request, then its answer, and a window for the
//! bytes of buffers. A socket pair is the doorbell, and tells when the other side has ended. The task's process
//! inherits both as open descriptors: neither has a name by which another process could get at it. The
//! side that waits for the doorbell sleeps; so the machine stands still while a task thinks, and how long that
//! takes on the host has no influence on simulated time.
//!
//! The machine reaches the process's own memory, too ([`ProcessRange`]): by the system, or where that forbids it by requests that
//! the process answers in a signal's handler, whatever it does.
//!
//! A process may have a second socket, on which it speaks the start-up protocol of MPI programs with a [`PmiServer`], whether
//! it uses its mailbox or not. Lines are answered while it is the task's turn.
//!
//! A mailbox serves one thread. A process may have [more](StartedThread), each with a mailbox of its own, served by a
//! thread of the machine ([`ServeThread`]): they run in turns, as the machine's threads do, and wait for each other in simulated time ([`waiting`]).
//! A thread without a mailbox that uses a [`RemotePlatform`] panics. The crate needs Linux.
//!
//! [`Platform`]: gyre_driver::Platform

mod activity;
mod connection;
mod copy_channel;
mod description;
mod descriptors;
mod error;
mod guardian;
mod host;
mod inherited;
mod job_name;
mod layout;
mod lock;
mod mailbox;
mod memory_server;
mod native;
mod platform;
mod pmi;
mod process;
mod process_memory;
mod protocol;
mod resources;
mod running;
mod session;
mod start_up_lines;
mod task_thread;
#[cfg(test)]
mod tests;
mod thread;
pub mod waiting;
mod watch;
pub mod windows;

pub use activity::{Activity, Stuck};
pub use connection::{is_attached, leave};
pub use description::{ClientShare, TaskDescription, WindowPlace};
pub use descriptors::raise_descriptor_limit;
pub use error::{ProcessError, SessionError, TaskEnd};
pub use guardian::{Guardian, guard};
pub use host::{ServeThread, TaskHost};
pub use inherited::{PMI_FD, is_task};
pub use job_name::{HostName, JobName};
pub use lock::RemoteLock;
pub use mailbox::MailboxError;
pub use native::Native;
pub use platform::{RemoteBuffer, RemotePlatform, RemoteSegment, TaskError, attach, run};
pub use pmi::{AbortText, PmiError, PmiReply, PmiServer};
pub use process::TaskProcess;
pub use process_memory::ProcessRange;
pub use thread::StartedThread;
pub use watch::{Limits, Stream};
