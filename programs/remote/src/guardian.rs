// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends the processes of a job after its machine has ended, in whatever way.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, PidfdFlags, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::job_name::JobName;

/// Interval of polls for remaining processes, and their limit: a process may take a while to end.
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that outlives the machine's and then ends the rest of its job: tasks, their descendants in any process group, and
/// their named shared memory. Drop does that at once.
///
/// A process belongs to the job if its environment has the job's name. Processes that have removed it, or whose environment
/// cannot be read, are not found; tasks end with the machine in any case.
pub struct Guardian {
    process: Child,
}

impl Guardian {
    /// Starts it: `command`, with the job's name as its last argument, is to [guard](guard) the job.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command, job: &JobName) -> io::Result<Self> {
        command.arg(job.as_str());
        // Signals of the terminal do not reach it, and its output goes nowhere.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let process = command.spawn()?;
        Ok(Self { process })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Fails if something else has waited for it; it reports its own errors.
        let _ = self.process.wait();
    }
}

/// Guards the job: waits for the end of the parent process, then ends the job's remaining processes.
///
/// # Errors
/// Something cannot be ended.
pub fn guard(job: &JobName) -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // It ends after its machine, not before.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // Nothing is written to the pipe; it closes when the machine ends.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    let since = Instant::now();
    loop {
        // A process started during a pass is found in the next one.
        let left = kill_processes(job)?;
        if left == 0 {
            break;
        }
        if since.elapsed() > PATIENCE {
            let text = format!("{left} processes of the job do not end");
            return Err(io::Error::other(text));
        }
        thread::sleep(PAUSE);
    }
    job.remove_shared_memory()
}

/// Kills the job's processes; returns their number.
fn kill_processes(job: &JobName) -> io::Result<usize> {
    let mut found = 0;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = number.and_then(Pid::from_raw) else {
            continue;
        };
        // The descriptor is of the process whose environment is read, or of one that has ended.
        let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        // Environments of other users' processes, and of ended ones, cannot be read.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if job.is_in(&environment) {
            found += 1;
            // Fails for a process that has just ended.
            let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
        }
    }
    Ok(found)
}
