// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start-up of MPI programs: a server of PMI-1, the protocol by which the processes of a job learn their numbers and exchange
//! the first values, before they can send messages.
//!
//! A request is one line, `cmd=NAME key=value ...`, and so is its answer. A value is visible to other tasks when
//! both have passed a barrier after the put, and to the task itself at once, so no answer depends on the order in which the
//! machine simulates its nodes.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io;

use thiserror::Error;

use crate::activity::Stuck;

/// Most bytes of a line, without its end.
pub(crate) const LINE_BYTES: usize = 64 << 10;

/// Name of the only space of keys.
const SPACE: &str = "gyre";

/// Sizes guaranteed to clients, bytes with a final zero. Values are longer if the map of tasks is.
const NAME_BYTES: usize = 256;
const KEY_BYTES: usize = 256;
const VALUE_BYTES: usize = 1024;

/// The key of the map from tasks to nodes.
const MAPPING: &str = "PMI_process_mapping";

/// Prefix of the server's keys.
const RESERVED: &str = "PMI_";

/// Most characters of a line that an error shows.
const SHOWN: usize = 200;

/// Failure of a task's start-up.
#[derive(Debug, Error)]
pub enum PmiError {
    /// The task has aborted the job.
    #[error("the task has aborted the job with exit code {code}{message}")]
    Aborted {
        /// Its exit code.
        code: i64,
        /// Its message.
        message: AbortText,
    },
    /// A line is not a request.
    #[error("the task's process does not keep to the start-up protocol (PMI): {reason}: {line:?}")]
    Line {
        /// The line, or its beginning.
        line: String,
        /// Reason.
        reason: String,
    },
    /// A barrier cannot end.
    #[error("a barrier of the start-up protocol (PMI) cannot end: {0}")]
    Barrier(String),
    /// Nobody else will come to a barrier.
    #[error("{}", .0.text)]
    Stuck(Stuck),
    /// The socket is full of answers.
    #[error("the task's process does not read the answers of the start-up protocol (PMI)")]
    Unread,
    /// The process was started without a server.
    #[error("the task's process has no server of the start-up protocol (PMI)")]
    Nobody,
    /// The operating system failed.
    #[error("the socket of the start-up protocol (PMI): {0}")]
    Io(#[from] io::Error),
}

impl PmiError {
    /// An error about a line.
    pub(crate) fn line(line: &[u8], reason: impl Into<String>) -> Self {
        let text = String::from_utf8_lossy(line);
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        Self::Line {
            line: shown,
            reason: reason.into(),
        }
    }
}

/// Message of a task that aborts: empty, or text after a colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbortText(Option<String>);

impl Display for AbortText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

/// Action of the server for a line.
#[derive(Debug, PartialEq, Eq)]
pub enum PmiReply {
    /// The server answers with this line.
    Answer(String),
    /// The task waits until all tasks have entered the barrier; then [`PmiServer::pass`] has the answer.
    Barrier,
    /// More lines belong to the request.
    Nothing,
}

/// The server of a job's tasks.
#[derive(Debug)]
pub struct PmiServer {
    tasks: Vec<Asker>,
    /// Values of each key, by the barriers that the putting task had passed, and the task.
    values: BTreeMap<String, BTreeMap<(u64, u32), String>>,
    mapping: String,
    /// Bytes of the longest value and a final zero.
    value_bytes: usize,
}

/// A task, as the server sees it.
#[derive(Debug, Clone, Default)]
struct Asker {
    /// Barriers that it has passed.
    passed: u64,
    /// A request of several lines that has begun.
    spawn: Option<Spawn>,
}

/// A request for more processes: a part for each program, which ends with a line of its own.
#[derive(Debug, Clone, Default)]
struct Spawn {
    total: u64,
    so_far: u64,
}

impl PmiServer {
    /// The server of tasks on these nodes.
    #[must_use]
    pub fn new(nodes: &[usize]) -> Self {
        let mapping = mapping(nodes);
        Self {
            tasks: vec![Asker::default(); nodes.len()],
            values: BTreeMap::new(),
            value_bytes: VALUE_BYTES.max(mapping.len() + 1),
            mapping,
        }
    }

    /// Answer to a line of a task.
    ///
    /// # Errors
    /// [`PmiError::Line`], [`PmiError::Aborted`].
    pub fn ask(&mut self, task: u32, line: &str) -> Result<PmiReply, PmiError> {
        let wrong = |reason: String| PmiError::line(line.as_bytes(), reason);
        let Some(asker) = self.tasks.get_mut(task as usize) else {
            return Err(wrong(format!("no task {task}")));
        };
        if asker.spawn.is_some() || line.starts_with("mcmd=") {
            return asker.spawn(line).map_err(wrong);
        }
        let request = Request::parse(line).map_err(wrong)?;
        let passed = asker.passed;
        let answer = match request.command {
            "init" => match request.value("pmi_version").map_err(wrong)? {
                "1" => "response_to_init pmi_version=1 pmi_subversion=1 rc=0".into(),
                _ => "response_to_init pmi_version=1 pmi_subversion=1 rc=-1".into(),
            },
            "get_maxes" => format!(
                "maxes kvsname_max={NAME_BYTES} keylen_max={KEY_BYTES} vallen_max={} rc=0",
                self.value_bytes
            ),
            "get_appnum" => "appnum appnum=0 rc=0".into(),
            "get_my_kvsname" => format!("my_kvsname kvsname={SPACE} rc=0"),
            "get_universe_size" => format!("universe_size size={} rc=0", self.tasks.len()),
            "put" => {
                request.check_space().map_err(wrong)?;
                let key = request.value("key").map_err(wrong)?;
                let value = request.value("value").map_err(wrong)?;
                match self.put((passed, task), key, value) {
                    Ok(()) => "put_result rc=0 msg=success".into(),
                    Err(why) => refused("put_result", why),
                }
            }
            "get" => {
                request.check_space().map_err(wrong)?;
                let key = request.value("key").map_err(wrong)?;
                match self.get((passed, task), key) {
                    Some(value) => format!("get_result rc=0 msg=success value={value}"),
                    None => refused("get_result", "no_such_key"),
                }
            }
            "barrier_in" if request.find("group").is_some() => {
                refused("barrier_out", "barriers_are_of_all_tasks")
            }
            "barrier_in" => return Ok(PmiReply::Barrier),
            "finalize" => "finalize_ack rc=0".into(),
            "abort" => {
                let code = request.value("exitcode").map_err(wrong)?;
                let code = code.parse();
                return Err(PmiError::Aborted {
                    code: code.map_err(|_| wrong("exitcode is no whole number".into()))?,
                    message: AbortText(request.find("message").map(str::to_owned)),
                });
            }
            "publish_name" => refused("publish_result", "names_cannot_be_published"),
            "unpublish_name" => refused("unpublish_result", "names_cannot_be_published"),
            "lookup_name" => refused("lookup_result", "names_cannot_be_published"),
            other => return Err(wrong(format!("no command {other:?}"))),
        };
        Ok(PmiReply::Answer(format!("cmd={answer}")))
    }

    /// Lets the task pass the barrier that it has entered; returns the line for it.
    ///
    /// # Panics
    /// If the task does not exist.
    pub fn pass(&mut self, task: u32) -> String {
        self.tasks[task as usize].passed += 1;
        "cmd=barrier_out rc=0".into()
    }

    fn put(&mut self, at: (u64, u32), key: &str, value: &str) -> Result<(), &'static str> {
        if key.starts_with(RESERVED) {
            return Err("keys_with_PMI__are_reserved");
        }
        if key.len() >= KEY_BYTES {
            return Err("key_too_long");
        }
        if value.len() >= self.value_bytes {
            return Err("value_too_long");
        }
        let values = self.values.entry(key.to_owned()).or_default();
        values.insert(at, value.to_owned());
        Ok(())
    }

    /// The last value visible to the task; of several tasks after the same barrier, that of the highest number.
    fn get(&self, (passed, task): (u64, u32), key: &str) -> Option<&str> {
        if key == MAPPING {
            return Some(&self.mapping);
        }
        let values = self.values.get(key)?;
        let sees = |&(before, by): &(u64, u32)| before < passed || by == task;
        let seen = values.iter().rev().find(|(at, _)| sees(at));
        seen.map(|(_, value)| value.as_str())
    }
}

impl Asker {
    /// A line of a request for more processes, which is refused.
    fn spawn(&mut self, line: &str) -> Result<PmiReply, String> {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| "no whole number".to_owned())
        };
        let spawn = self.spawn.get_or_insert_default();
        match line.split_once('=') {
            Some(("mcmd", "spawn")) => {}
            Some(("mcmd" | "cmd", _)) => return Err("not a request of several lines".into()),
            Some(("totspawns", total)) => spawn.total = number(total)?,
            Some(("spawnssofar", so_far)) => spawn.so_far = number(so_far)?,
            Some(_) => {}
            None if line != "endcmd" => return Err("neither key=value nor endcmd".into()),
            None if spawn.so_far < spawn.total => {}
            None => {
                self.spawn = None;
                let answer = refused("spawn_result", "no_processes_can_be_started");
                return Ok(PmiReply::Answer(format!("cmd={answer}")));
            }
        }
        Ok(PmiReply::Nothing)
    }
}

fn refused(answer: &str, why: &str) -> String {
    format!("{answer} rc=-1 msg={why}")
}

/// A request of one line. Values stay escaped; the client that gets one removes the backslashes.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    command: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Request<'a> {
    fn parse(line: &'a str) -> Result<Self, String> {
        if line.contains(|c: char| c.is_control()) {
            return Err("not text".into());
        }
        let mut rest = line.trim_start_matches(' ');
        let mut command = None;
        let mut values = Vec::new();
        while !rest.is_empty() {
            let (key, behind) = rest.split_once('=').unwrap_or((rest, ""));
            if key.is_empty() || key.contains(' ') || key.len() == rest.len() {
                return Err("not all of it is key=value".into());
            }
            // Text that no client escapes.
            let end = match (command, key) {
                (Some("abort"), "message") => behind.len(),
                _ => value_end(behind),
            };
            let (value, behind) = behind.split_at(end);
            if value.is_empty() {
                return Err(format!("{key} has no value"));
            }
            match (command, key) {
                (None, "cmd") => command = Some(value),
                (None, _) => return Err("it does not begin with cmd=".into()),
                (Some(_), _) => values.push((key, value)),
            }
            rest = behind.trim_start_matches(' ');
        }
        match command {
            Some(command) => Ok(Self { command, values }),
            None => Err("it does not begin with cmd=".into()),
        }
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        let found = self.values.iter().find(|(name, _)| *name == key);
        found.map(|&(_, value)| value)
    }

    fn value(&self, key: &str) -> Result<&'a str, String> {
        self.find(key).ok_or_else(|| format!("no {key}"))
    }

    /// Whether it names the only space of keys, or none.
    fn check_space(&self) -> Result<(), String> {
        match self.find("kvsname") {
            Some(SPACE) | None => Ok(()),
            Some(other) => Err(format!("no key space {other:?}")),
        }
    }
}

/// End of a value: a space without a backslash before it.
fn value_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            ' ' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Map from tasks to nodes for clients: blocks of a first node, nodes, and tasks on each, in the order of tasks. Nodes
/// are numbered by their first task.
fn mapping(nodes: &[usize]) -> String {
    let mut numbers = BTreeMap::new();
    // First node, nodes, tasks on each.
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    for tasks in nodes.chunk_by(|a, b| a == b) {
        let next = numbers.len();
        let node = *numbers.entry(tasks[0]).or_insert(next);
        match blocks.last_mut() {
            Some((first, count, each)) if *first + *count == node && *each == tasks.len() => {
                *count += 1;
            }
            _ => blocks.push((node, 1, tasks.len())),
        }
    }
    let blocks = blocks.iter();
    let blocks = blocks.map(|(first, count, each)| format!(",({first},{count},{each})"));
    format!("(vector{})", blocks.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(server: &mut PmiServer, task: u32, line: &str) -> String {
        match server.ask(task, line) {
            Ok(PmiReply::Answer(answer)) => answer,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn get(server: &mut PmiServer, task: u32, key: &str) -> Option<String> {
        let answer = answer(server, task, &format!("cmd=get kvsname=gyre key={key}"));
        let value = answer.strip_prefix("cmd=get_result rc=0 msg=success value=");
        assert!(value.is_some() || answer.starts_with("cmd=get_result rc=-1 msg="));
        value.map(str::to_owned)
    }

    fn put(server: &mut PmiServer, task: u32, key: &str, value: &str) -> String {
        let line = format!("cmd=put kvsname=gyre key={key} value={value}");
        answer(server, task, &line)
    }

    fn pass(server: &mut PmiServer, tasks: &[u32]) {
        for &task in tasks {
            let reply = server.ask(task, "cmd=barrier_in").expect("a request");
            assert_eq!(reply, PmiReply::Barrier);
        }
        for &task in tasks {
            assert_eq!(server.pass(task), "cmd=barrier_out rc=0");
        }
    }

    #[test]
    fn x6_every_request_of_start_up_has_its_answer() {
        let mut server = PmiServer::new(&[0, 1, 2]);
        let cases = [
            (
                "cmd=init pmi_version=1 pmi_subversion=1",
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            ),
            (
                "cmd=init pmi_version=2 pmi_subversion=0",
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1",
            ),
            (
                "cmd=get_maxes",
                "cmd=maxes kvsname_max=256 keylen_max=256 vallen_max=1024 rc=0",
            ),
            ("cmd=get_appnum ", "cmd=appnum appnum=0 rc=0"),
            ("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=gyre rc=0"),
            ("cmd=get_universe_size", "cmd=universe_size size=3 rc=0"),
            ("cmd=finalize", "cmd=finalize_ack rc=0"),
        ];
        for (line, expected) in cases {
            assert_eq!(answer(&mut server, 1, line), expected);
        }
    }

    #[test]
    fn x6_values_are_visible_after_a_barrier_and_to_their_task_at_once() {
        let mut server = PmiServer::new(&[0, 1, 2]);
        assert_eq!(get(&mut server, 0, "a"), None);
        put(&mut server, 0, "a", "first");
        assert_eq!(get(&mut server, 0, "a").as_deref(), Some("first"));
        assert_eq!(get(&mut server, 1, "a"), None);
        let barrier = server.ask(0, "cmd=barrier_in").expect("a request");
        assert_eq!(barrier, PmiReply::Barrier);
        server.pass(0);
        // Task 1 has not passed it yet, and sees no later values after it.
        put(&mut server, 0, "a", "second");
        assert_eq!(get(&mut server, 1, "a"), None);
        server.pass(1);
        assert_eq!(get(&mut server, 1, "a").as_deref(), Some("first"));
        assert_eq!(get(&mut server, 0, "a").as_deref(), Some("second"));
        server.pass(2);
        pass(&mut server, &[0, 1, 2]);
        assert_eq!(get(&mut server, 1, "a").as_deref(), Some("second"));
        // The same key by two tasks: whatever their order.
        put(&mut server, 2, "b", "0");
        put(&mut server, 1, "b", "1");
        put(&mut server, 2, "b", "2");
        assert_eq!(get(&mut server, 1, "b").as_deref(), Some("1"));
        pass(&mut server, &[0, 1, 2]);
        assert_eq!(get(&mut server, 0, "b").as_deref(), Some("2"));
        assert_eq!(get(&mut server, 1, "b").as_deref(), Some("2"));
    }

    #[test]
    fn x6_values_are_given_back_as_they_came() {
        let mut server = PmiServer::new(&[0]);
        for value in [r"a=b", r"a\ b", r"\\", r"x\\\ y", "ü"] {
            put(&mut server, 0, "key", value);
            assert_eq!(get(&mut server, 0, "key").as_deref(), Some(value));
        }
        let longest = "v".repeat(VALUE_BYTES - 1);
        put(&mut server, 0, "key", &longest);
        assert_eq!(get(&mut server, 0, "key"), Some(longest.clone()));
        let refused = [
            put(&mut server, 0, "key", &format!("{longest}v")),
            put(&mut server, 0, &"k".repeat(KEY_BYTES), "value"),
            put(&mut server, 0, "PMI_process_mapping", "value"),
        ];
        for answer in refused {
            assert!(answer.starts_with("cmd=put_result rc=-1 msg="), "{answer}");
        }
    }

    #[test]
    fn x6_what_the_server_does_not_do_is_refused() {
        let mut server = PmiServer::new(&[0]);
        let cases = [
            ("cmd=publish_name service=s port=p", "publish_result"),
            ("cmd=unpublish_name service=s", "unpublish_result"),
            ("cmd=lookup_name service=s", "lookup_result"),
            ("cmd=barrier_in group=NODE:1", "barrier_out"),
        ];
        for (line, result) in cases {
            let answer = answer(&mut server, 0, line);
            let expected = format!("cmd={result} rc=-1 msg=");
            assert!(answer.starts_with(&expected), "{answer}");
        }
        let spawn = |so_far| {
            format!(
                "mcmd=spawn\nnprocs=2\nexecname=a b\ntotspawns=2\nspawnssofar={so_far}\narg1=x=y\nendcmd"
            )
        };
        let lines = spawn(1) + "\n" + &spawn(2);
        let replies = lines.lines().map(|line| server.ask(0, line));
        let mut replies: Vec<_> = replies.map(|reply| reply.expect("a request")).collect();
        let PmiReply::Answer(last) = replies.pop().expect("lines") else {
            panic!("no answer");
        };
        assert!(last.starts_with("cmd=spawn_result rc=-1 msg="), "{last}");
        assert!(replies.iter().all(|reply| *reply == PmiReply::Nothing));
        assert_eq!(
            answer(&mut server, 0, "cmd=finalize"),
            "cmd=finalize_ack rc=0"
        );
    }

    #[test]
    fn x6_lines_that_make_no_sense_are_errors_that_show_them() {
        let mut server = PmiServer::new(&[0, 1]);
        let cases = [
            ("", "does not begin with cmd="),
            ("nonsense", "not all of it is key=value"),
            ("key=value", "does not begin with cmd="),
            ("cmd=dance", "no command \"dance\""),
            ("cmd=get kvsname=gyre", "no key"),
            ("cmd=get kvsname=other key=a", "no key space \"other\""),
            ("cmd=put kvsname=other key=a value=b", "no key space"),
            ("cmd=put kvsname=gyre key=a value=", "value has no value"),
            ("cmd=put kvsname=gyre key=a value=b c", "not all of it"),
            ("cmd=init", "no pmi_version"),
            ("cmd=get key=\u{0}", "not text"),
            ("cmd=abort exitcode=x", "exitcode is no whole number"),
            ("mcmd=dance", "not a request of several lines"),
        ];
        for (line, reason) in cases {
            let error = server.ask(0, line).expect_err(line).to_string();
            assert!(error.contains(reason), "{line}: {error}");
            assert!(error.contains(&format!("{line:?}")), "{line}: {error}");
        }
        let long = "x".repeat(1000);
        let error = server.ask(1, &long).expect_err("no request").to_string();
        assert!(error.len() < 500 && error.contains("xxx..."), "{error}");
    }

    #[test]
    fn x6_an_abort_says_code_and_message() {
        let mut server = PmiServer::new(&[0]);
        let mut error = |line| server.ask(0, line).expect_err("aborts").to_string();
        assert_eq!(
            error("cmd=abort exitcode=-3 message=out of = paper"),
            "the task has aborted the job with exit code -3: out of = paper"
        );
        assert_eq!(
            error("cmd=abort exitcode=7"),
            "the task has aborted the job with exit code 7"
        );
    }

    #[test]
    fn x6_tasks_are_mapped_to_their_nodes() {
        let cases: [(&[usize], &str); 6] = [
            (&[0], "(vector,(0,1,1))"),
            (&[0, 1, 2, 3], "(vector,(0,4,1))"),
            (&[0, 0, 1, 1], "(vector,(0,2,2))"),
            (&[6, 4, 2, 6, 4, 2], "(vector,(0,3,1),(0,3,1))"),
            (&[5, 5, 3], "(vector,(0,1,2),(1,1,1))"),
            (&[1, 1, 0, 1], "(vector,(0,1,2),(1,1,1),(0,1,1))"),
        ];
        for (nodes, expected) in cases {
            let mut server = PmiServer::new(nodes);
            let found = get(&mut server, 0, MAPPING);
            assert_eq!(found.as_deref(), Some(expected), "{nodes:?}");
        }
        // Clients have room for the longest value.
        let nodes: Vec<usize> = (0..200).map(|task| task % 2 + task / 3).collect();
        let mut server = PmiServer::new(&nodes);
        let mapping = get(&mut server, 0, MAPPING).expect("known");
        let maxes = answer(&mut server, 0, "cmd=get_maxes");
        assert!(mapping.len() > VALUE_BYTES);
        let room = format!("vallen_max={} ", mapping.len() + 1);
        assert!(maxes.contains(&room), "{maxes}");
    }
}
