// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output of a program's tasks.

use std::io::{self, Write as _};

use gyre_remote::Stream;

/// Said of a run whose processes are at random addresses.
pub const RANDOM: &str = "the system places processes at random addresses: the run need not repeat";

/// Said of a run whose processes have much in their environment.
const LONG: &str = "arguments and environment are longer than 64 KiB: the stack is elsewhere, so the hash may be another";

/// Said of a run whose computation takes the time that it has taken on the host.
const MEASURED: &str = "computation is measured on the host: the run does not repeat";

/// Bytes of a line after which it is printed before its end.
const LONG_LINE: usize = 64 << 10;

/// Output of all tasks, in whole lines, long ones in pieces. A task prints while the machine stands still for it, so the order of the lines
/// is the same in every run.
pub struct Screen {
    tag: bool,
    /// Whether a process is at random addresses.
    pub random: bool,
    /// Whether arguments and environment of a process are so long that they move its stack.
    pub long: bool,
    /// The first task without which the machine has gone on, if any.
    pub alone: Option<u32>,
    /// Whether computation is measured.
    pub measured: bool,
    /// Tasks that have ended with something of their node, in that order.
    pub amid: Vec<u32>,
    /// First failure to write standard output.
    pub failed: Option<io::Error>,
    /// Incomplete last line of each task and stream.
    lines: Vec<[Line; 2]>,
}

/// The rest of a line that has not ended.
#[derive(Clone, Default)]
struct Line {
    bytes: Vec<u8>,
    /// Whether its beginning is printed.
    begun: bool,
}

impl Line {
    /// Adds bytes; returns what is to be printed now, which the bytes alone decide, not the pieces in which they come.
    fn add(&mut self, bytes: &[u8]) -> Vec<u8> {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let ended = bytes.iter().rposition(|&byte| byte == b'\n');
        let ended = ended.map_or(0, |end| before + end + 1);
        let long = (self.bytes.len() - ended) / LONG_LINE * LONG_LINE;
        let rest = self.bytes.split_off(ended + long);
        std::mem::replace(&mut self.bytes, rest)
    }
}

impl Screen {
    /// Screen of `tasks` tasks; with `tag`, each line begins with the number of its task.
    pub fn new(tasks: usize, tag: bool) -> Self {
        Self {
            tag,
            random: false,
            long: false,
            alone: None,
            measured: false,
            amid: Vec::new(),
            failed: None,
            lines: vec![Default::default(); tasks],
        }
    }

    /// Why the run, or one with less in its environment, need not repeat, as far as is known.
    pub fn does_not_repeat(&self) -> Vec<String> {
        let alone = self.alone.map(|task| {
            format!(
                "the machine went on without task {task}, which asked it for nothing within --host-slice: the run does not repeat"
            )
        });
        let measured = self.measured.then(|| MEASURED.to_owned());
        let random = self.random.then(|| RANDOM.to_owned());
        let long = self.long.then(|| LONG.to_owned());
        [alone, measured, random, long]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Prints the output of a task, up to the end of the last line.
    pub fn print(&mut self, task: u32, stream: Stream, bytes: &[u8]) {
        let ready = self.lines[task as usize][stream as usize].add(bytes);
        if !ready.is_empty() {
            self.write(task, stream, &ready);
        }
    }

    /// Prints the last lines, which nothing has ended.
    pub fn end(&mut self) {
        for task in 0..self.lines.len() {
            for stream in [Stream::Output, Stream::Error] {
                // What ends with the machine may still print.
                let rest = std::mem::take(&mut self.lines[task][stream as usize].bytes);
                if !rest.is_empty() {
                    // A job has fewer than 2^32.
                    self.write(task as u32, stream, &rest);
                }
            }
        }
    }

    fn write(&mut self, task: u32, stream: Stream, lines: &[u8]) {
        let mut text = Vec::new();
        let line = &mut self.lines[task as usize][stream as usize];
        for part in lines.split_inclusive(|&byte| byte == b'\n') {
            if self.tag && !line.begun {
                text.extend_from_slice(format!("[{task}] ").as_bytes());
            }
            text.extend_from_slice(part);
            line.begun = !part.ends_with(b"\n");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_long_lines_are_printed_in_the_same_pieces_however_they_come() {
        let text = [vec![b'a'; 3 * LONG_LINE + 7], b"\nb".to_vec()].concat();
        for piece in [1000, 4096, LONG_LINE, text.len()] {
            let mut line = Line::default();
            let mut printed = Vec::new();
            for part in text[..2 * LONG_LINE + 9].chunks(piece) {
                printed.extend(line.add(part));
            }
            assert_eq!(printed.len(), 2 * LONG_LINE, "{piece}");
            printed.extend(line.add(&text[2 * LONG_LINE + 9..]));
            assert_eq!(printed, text[..text.len() - 1], "{piece}");
            assert_eq!(line.bytes, b"b", "{piece}");
        }
    }
}
