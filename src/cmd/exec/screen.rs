// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output of a program's tasks.

use std::io::{self, Write as _};

use gyre_remote::Stream;

/// Said of a run whose processes are at random addresses.
pub const RANDOM: &str = "the system places processes at random addresses: the run need not repeat";

/// Said of a run whose computation takes the time that it has taken on the host.
const MEASURED: &str = "computation is measured on the host: the run does not repeat";

/// Output of all tasks, in whole lines. A task prints while the machine stands still for it, so the order of the lines
/// is the same in every run.
pub struct Screen {
    tag: bool,
    /// Whether a process is at random addresses.
    pub random: bool,
    /// The first task without which the machine has gone on, if any.
    pub alone: Option<u32>,
    /// Whether computation is measured.
    pub measured: bool,
    /// Tasks that have ended with something of their node, in that order.
    pub amid: Vec<u32>,
    /// First failure to write standard output.
    pub failed: Option<io::Error>,
    /// Incomplete last line of each task and stream.
    lines: Vec<[Vec<u8>; 2]>,
}

impl Screen {
    /// Screen of `tasks` tasks; with `tag`, each line begins with the number of its task.
    pub fn new(tasks: usize, tag: bool) -> Self {
        Self {
            tag,
            random: false,
            alone: None,
            measured: false,
            amid: Vec::new(),
            failed: None,
            lines: vec![Default::default(); tasks],
        }
    }

    /// Why the run need not repeat, as far as is known.
    pub fn does_not_repeat(&self) -> Vec<String> {
        let alone = self.alone.map(|task| {
            format!(
                "the machine went on without task {task}, which asked it for nothing within --host-slice: the run does not repeat"
            )
        });
        let measured = self.measured.then(|| MEASURED.to_owned());
        let random = self.random.then(|| RANDOM.to_owned());
        [alone, measured, random].into_iter().flatten().collect()
    }

    /// Prints the output of a task, up to the end of the last line.
    pub fn print(&mut self, task: u32, stream: Stream, bytes: &[u8]) {
        let line = &mut self.lines[task as usize][stream as usize];
        line.extend_from_slice(bytes);
        if let Some(end) = line.iter().rposition(|&byte| byte == b'\n') {
            let rest = line.split_off(end + 1);
            let whole = std::mem::replace(line, rest);
            self.write(task, stream, &whole);
        }
    }

    /// Prints the last lines, which nothing has ended.
    pub fn end(&mut self) {
        // What ends with the machine may still print.
        let none = vec![Default::default(); self.lines.len()];
        for (task, lines) in (0..).zip(std::mem::replace(&mut self.lines, none)) {
            for (stream, line) in [Stream::Output, Stream::Error].into_iter().zip(lines) {
                if !line.is_empty() {
                    self.write(task, stream, &line);
                }
            }
        }
    }

    fn write(&mut self, task: u32, stream: Stream, lines: &[u8]) {
        let mut text = Vec::new();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            if self.tag {
                text.extend_from_slice(format!("[{task}] ").as_bytes());
            }
            text.extend_from_slice(line);
        }
        let written = match stream {
            Stream::Output => io::stdout()
                .lock()
                .write_all(&text)
                .and_then(|()| io::stdout().flush()),
            // Where that cannot be written, the error could not be told.
            Stream::Error => return drop(io::stderr().lock().write_all(&text)),
        };
        // A reader that has gone does not end the run.
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(error);
        }
    }
}
