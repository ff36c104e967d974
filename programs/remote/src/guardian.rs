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

/// Between two looks at what is left, and how long it is looked for: a process may take a while to end.
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that outlives the machine's and then ends what is left of its job: tasks, what they have started, wherever that went,
/// and their shared memory by name. When dropped, that is done now.
///
/// A process is one of the job's if its environment has the job's name, with which its task was started. Processes that have
/// taken it away from there, or that nobody may look into, are not found; tasks end with the machine all the same.
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
        // What is typed at the terminal to end the machine does not end this; and nobody waits for it to print.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let process = command.spawn()?;
        Ok(Self { process })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Fails if something else has waited for it; it says itself what it could not do.
        let _ = self.process.wait();
    }
}

/// Guards the job: waits for the end of the process that has started this one, and ends what it has left.
///
/// # Errors
/// Something cannot be ended.
pub fn guard(job: &JobName) -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // It ends with its machine, not before.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // Nothing is written there: the other end is closed in the end.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    let since = Instant::now();
    loop {
        // What one process starts while another one is looked at is there the next time.
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

/// Kills the job's processes; how many there were.
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
        // The descriptor is that of the process whose environment is read, or of one that is gone.
        let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        // Processes of other users, and those that have just ended, cannot be looked into.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if job.is_in(&environment) {
            found += 1;
            // Fails for a process that has just ended.
            let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
        }
    }
    Ok(found)
}
