// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waveforms of a command: which of its machines is shown, and what is shown of a run that failed.
//!
//! A machine repeats: a run that fails fails the same way again. So nothing is recorded ahead; who asked for a waveform
//! [on failure](MachineOptions::trace_on_failure) gets it from a repetition, in which only the nodes that are shown are
//! models that can write one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::Range;

use gyre_sim::{ConfigError, SimError, TraceConfig};

use crate::attempt::{Machines, Wave};
use crate::error::{JobError, RunError};
use crate::first_view::{Subject, Written};
use crate::machine_file::MachineSpec;
use crate::options::{MachineOptions, OnFailure, UsageError, check_output, parse_window};

/// Nodes in a waveform on failure, at most, unless told otherwise.
const FAILURE_NODES: usize = 8;

/// Waveform that `--trace`, `--trace-window` and `--trace-scope` ask for; `window` and `scopes` are the defaults.
///
/// # Errors
/// A window that cannot be.
pub fn trace_config(
    options: &MachineOptions,
    window: (u64, u64),
    scopes: Vec<String>,
) -> Result<Option<TraceConfig>, UsageError> {
    let Some(path) = &options.trace else {
        return Ok(None);
    };
    let (from, to) = match &options.trace_window {
        Some(text) => parse_window(text)?,
        None => window,
    };
    Ok(Some(TraceConfig {
        path: path.clone(),
        window: from..to,
        scopes: scopes_given(options).unwrap_or(scopes),
    }))
}

/// Scopes that `--trace-scope` asks for; empty for all.
fn scopes_given(options: &MachineOptions) -> Option<Vec<String>> {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let scope = |text: &str| match is_number(text) {
        // A node's number; else a path such as `node0.gyre_node`.
        true => format!("node{text}"),
        false => text.to_owned(),
    };
    match options.trace_scope.as_deref()? {
        "all" => Some(Vec::new()),
        text => Some(text.split(',').map(|s| scope(s.trim())).collect()),
    }
}

/// Refuses a waveform that could not be written, before anything is simulated.
///
/// # Errors
/// An option's value that cannot be, a file that cannot be written.
pub fn check(options: &MachineOptions, spec: &MachineSpec) -> Result<(), UsageError> {
    let Some((option, config)) = asked(options)? else {
        return Ok(());
    };
    config
        .check(spec.nodes())
        .map_err(|error| wrong(option, error))?;
    check_output(option, &config.path)
}

/// Refuses scopes below a node that the nodes of the machine do not have.
///
/// # Errors
/// A scope that does not exist, with the scopes in its place.
pub fn check_scopes(options: &MachineOptions, spec: &MachineSpec) -> Result<(), UsageError> {
    let Some((option, config)) = asked(options)? else {
        return Ok(());
    };
    config
        .check_scopes(&spec.config)
        .map_err(|error| match error {
            SimError::Config(error) => wrong(option, error),
            error => UsageError::Combination(error.to_string()),
        })
}

/// The waveform that is asked for, by its option. Cycles and nodes that are known after the run only always fit.
fn asked(options: &MachineOptions) -> Result<Option<(&'static str, TraceConfig)>, UsageError> {
    if let Some(config) = trace_config(options, (0, 1), Vec::new())? {
        return Ok(Some(("--trace", config)));
    }
    let on_failure = options.trace_on_failure.as_ref();
    Ok(on_failure.map(|on_failure| {
        let config = TraceConfig {
            path: on_failure.path.clone(),
            window: 0..1,
            scopes: scopes_given(options).unwrap_or_default(),
        };
        ("--trace-on-failure", config)
    }))
}

fn wrong(option: &str, error: ConfigError) -> UsageError {
    UsageError::Value {
        option: match error.field.as_str() {
            "trace" => option.to_owned(),
            field => format!("--{field}"),
        },
        value: error.value,
        expected: error.expected,
    }
}

/// Where a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    when: When,
    /// Nodes that it concerns, most concerned first; empty where that is not known.
    nodes: Vec<usize>,
    /// The instance of a module in which an assertion failed, by its scopes.
    instance: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum When {
    /// In this cycle.
    In(u64),
    /// Some time after the last progress, which was in this cycle; the machine stood still until that one.
    Since(u64, u64),
}

impl Failure {
    /// Failure of a machine that stopped; none if it did not run.
    #[must_use]
    pub fn of(error: &SimError, cycle_ps: u64) -> Option<Self> {
        let (when, nodes) = match error {
            SimError::Hardware { node, cycle, .. } => (When::In(*cycle), vec![*node]),
            SimError::Actor { node, ps, .. } => (When::In(ps / cycle_ps), vec![*node]),
            SimError::Deadlock(report) | SimError::Watchdog { report, .. } => {
                let (idle, busy): (Vec<_>, Vec<_>) = report.nodes.iter().partition(|n| n.idle);
                let left = busy.into_iter().chain(idle).map(|node| node.node);
                let actors = report.actors.iter().map(|actor| actor.node);
                let mut seen = BTreeSet::new();
                let nodes = left.chain(actors).filter(|&node| seen.insert(node));
                let when = When::Since(report.last_progress, report.cycle);
                (when, nodes.collect())
            }
            _ => return None,
        };
        let instance = match error {
            SimError::Hardware { node, message, .. } => instance_in(message, *node),
            _ => None,
        };
        Some(Self {
            when,
            nodes,
            instance,
        })
    }

    /// The cycle in which it was, or that of the last progress.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        match self.when {
            When::In(cycle) | When::Since(cycle, _) => cycle,
        }
    }

    /// The node that it concerns most.
    #[must_use]
    pub fn node(&self) -> Option<usize> {
        self.nodes.first().copied()
    }

    /// The same failure, of a program that had made its last progress in this cycle.
    #[must_use]
    pub fn since(self, progress: u64) -> Self {
        let end = match self.when {
            When::In(cycle) | When::Since(_, cycle) => cycle,
        };
        Self {
            when: When::Since(progress.min(end), end),
            ..self
        }
    }

    /// Failure of a run with a wrong result, on a machine that ran for so many cycles.
    #[must_use]
    pub fn at_end(cycles: u64) -> Self {
        Self {
            when: When::In(cycles.saturating_sub(1)),
            nodes: Vec::new(),
            instance: None,
        }
    }

    /// Failure of an attempt at a command; none if no machine ran, or the command was wrong.
    fn of_attempt(error: &RunError, spec: &MachineSpec) -> Option<Self> {
        match error {
            RunError::Sim(error) | RunError::Job(JobError::Machine(error)) => {
                Self::of(error, spec.config.cycle_ps)
            }
            RunError::Collectives(_) | RunError::Check(_) => {
                spec.machines.last().map(|(_, cycles)| Self::at_end(cycles))
            }
            RunError::Usage(_)
            | RunError::Output(_)
            | RunError::Job(JobError::Placement(_))
            | RunError::Shown { .. } => None,
        }
    }

    /// Subject of its waveform.
    fn subject(&self) -> Subject {
        Subject::Failure {
            cycle: self.cycle(),
            stalled: matches!(self.when, When::Since(..)),
            instance: self.instance.clone(),
        }
    }

    /// The `cycles` cycles that show it: the last ones, it included, or those around the last progress.
    #[must_use]
    pub fn window(&self, cycles: u64) -> Range<u64> {
        match self.when {
            When::In(cycle) => (cycle + 1).saturating_sub(cycles)..cycle + 1,
            When::Since(progress, end) => {
                let after = cycles / 2;
                let from = (progress + 1).saturating_sub(cycles - after);
                from..(progress + 1 + after).min(end.max(progress + 1))
            }
        }
    }
}

/// The instance that the text of a failed assertion of a node names, by its scopes from the node on: the first word with
/// scopes in it.
fn instance_in(message: &str, node: usize) -> Option<String> {
    let of_path = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    let words = message.split(|c: char| !of_path(c));
    let word = words
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains("gyre_node.") || word.contains(".u_"))?;
    let inner = word.find("gyre_node").map_or(word, |at| &word[at..]);
    let prefix = format!("node{node}.");
    Some(match inner.starts_with(&prefix) {
        true => inner.to_owned(),
        false => prefix + inner,
    })
}

/// A run that failed, and how it is shown.
pub struct Failed<'a> {
    /// Its error.
    pub text: String,
    /// Where.
    pub failure: Failure,
    /// Number of the machine that failed, from 0.
    pub machine: usize,
    /// Nodes of the machine.
    pub nodes: usize,
    /// Options of the command.
    pub options: &'a MachineOptions,
    /// The command that failed.
    pub command: &'a CommandLine,
}

impl Failed<'_> {
    /// Repeats the run with the waveform `on_failure`, or of the window that the options give, by `again`, which gives the
    /// error of the repetition, if there is one, and the file that was written. What to say of it, in lines.
    ///
    /// # Errors
    /// A window that cannot be.
    pub fn repeat(
        &self,
        on_failure: &OnFailure,
        again: impl FnOnce(Wave) -> (Option<String>, Result<Option<Written>, SimError>),
    ) -> Result<String, UsageError> {
        let window = self.options.trace_window.as_deref().map(parse_window);
        let window = window.transpose()?.map(|(from, to)| from..to);
        let concerned: Vec<usize> = match self.failure.nodes.is_empty() {
            true => (0..self.nodes).collect(),
            false => self.failure.nodes.clone(),
        };
        let shown: BTreeSet<usize> = concerned.iter().copied().take(FAILURE_NODES).collect();
        let default = || shown.iter().map(|node| format!("node{node}")).collect();
        let config = TraceConfig {
            path: on_failure.path.clone(),
            window: window.unwrap_or_else(|| self.failure.window(on_failure.cycles)),
            scopes: scopes_given(self.options).unwrap_or_else(default),
        };
        let numbers: Vec<String> = shown.iter().map(usize::to_string).collect();
        let scope = (self.options.trace_scope.clone()).unwrap_or_else(|| numbers.join(","));
        let wave = Wave {
            machine: self.machine,
            config,
            subject: self.failure.subject(),
        };
        let command = self.command.with_wave(&wave, &scope);
        let TraceConfig { path, window, .. } = wave.config.clone();
        let (error, written) = again(wave);
        let of_all = match self.options.trace_scope {
            None if shown.len() < concerned.len() => {
                format!(", {} of {} nodes", shown.len(), concerned.len())
            }
            _ => String::new(),
        };
        // A waveform that cannot be written ends the repetition, and says nothing about the run.
        let ended_by_file = written.is_err();
        let mut lines = match written {
            Ok(Some(written)) => format!(
                "waveform of cycles {} to {}, nodes {scope}{of_all}: {}",
                window.start,
                window.end,
                written.names()
            ),
            Ok(None) => format!("no waveform: {}: nothing was written", path.display()),
            Err(error) => format!("no waveform: {error}"),
        };
        if !ended_by_file && error.as_deref() != Some(&self.text) {
            let other = error.as_deref().unwrap_or("without an error");
            lines +=
                &format!("\ndiverged: the repetition for the waveform ended otherwise: {other}");
        }
        Ok(format!("{lines}\nto repeat it: {command}"))
    }
}

/// The words of a command.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl CommandLine {
    /// The command with `options` behind its first argument, the subcommand, as a shell reads it.
    #[must_use]
    pub fn with(&self, options: &str) -> String {
        let words = self
            .arguments
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let (first, rest) = words.split_at(words.len().min(1));
        let program = shell(std::slice::from_ref(&self.program));
        format!("{program} {} {options} {}", shell(first), shell(rest))
    }

    /// The command that does the same, as a shell reads it: without options that write files or choose how its result is
    /// shown, and without those that no result depends on.
    #[must_use]
    pub fn of_result(&self) -> String {
        const WITH_VALUE: [&str; 9] = [
            "--trace",
            "--trace-on-failure",
            "--trace-window",
            "--trace-scope",
            "--trace-machine",
            "--timeline",
            "--log",
            "--model",
            "--threads",
        ];
        const OF_SIMULATOR: [&str; 2] = ["window=", "skip_idle="];
        let mut words = vec![self.program.clone()];
        let mut arguments = self.arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = arguments.next() {
            let (option, given) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                _ => (&*word, None),
            };
            match option {
                "--json" => {}
                "--set" => {
                    let value = match given {
                        Some(value) => value.to_owned(),
                        None => arguments.next().unwrap_or_default().into_owned(),
                    };
                    if !OF_SIMULATOR.iter().any(|key| value.starts_with(key)) {
                        words.extend(["--set".to_owned(), value]);
                    }
                }
                _ if WITH_VALUE.contains(&option) => {
                    drop(given.is_none().then(|| arguments.next()));
                }
                _ => words.push(word.into_owned()),
            }
        }
        shell(&words)
    }

    /// The command that writes `wave` of nodes `scope`, in the place of its waveform, as a shell reads it.
    fn with_wave(&self, wave: &Wave, scope: &str) -> String {
        const OWN: [&str; 5] = [
            "--trace",
            "--trace-on-failure",
            "--trace-window",
            "--trace-scope",
            "--trace-machine",
        ];
        let TraceConfig { path, window, .. } = &wave.config;
        let mut added = vec![
            "--trace".to_owned(),
            path.display().to_string(),
            "--trace-window".to_owned(),
            format!("{}:{}", window.start, window.end),
            "--trace-scope".to_owned(),
            scope.to_owned(),
        ];
        if wave.machine > 0 {
            let number = (wave.machine + 1).to_string();
            added.extend(["--trace-machine".to_owned(), number]);
        }
        let mut words = vec![self.program.clone()];
        let mut arguments = self.arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = arguments.next() {
            if OWN.contains(&&*word) {
                arguments.next();
                words.append(&mut added);
            } else if word
                .split_once('=')
                .is_some_and(|(option, _)| OWN.contains(&option))
            {
                words.append(&mut added);
            } else {
                words.push(word.into_owned());
            }
        }
        words.append(&mut added);
        shell(&words)
    }
}

/// The words of a command as a shell reads them.
fn shell(words: &[String]) -> String {
    // No argument of a process holds what cannot be quoted, a byte 0.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Runs a command that makes its machines of `spec`, with the waveform that `options` ask for: of machine `machine`, from
/// 1, where it is given by number. `wrong` says what is wrong with a result. Gives the result with what to say about the
/// waveform.
///
/// # Errors
/// Those of `run`, with what the waveform shows of them; waveforms that cannot be.
pub fn observed<T>(
    spec: &MachineSpec,
    options: &MachineOptions,
    machine: Option<usize>,
    command: &CommandLine,
    wrong: impl Fn(&T) -> Option<String>,
    run: impl Fn(&MachineSpec) -> Result<T, RunError>,
) -> Result<(T, Option<String>), RunError> {
    let number = machine.unwrap_or(1) - 1;
    let wave = trace_config(options, (0, u64::MAX), Vec::new())?;
    let wave = wave.map(|config| Wave {
        machine: number,
        config,
        subject: Subject::Window,
    });
    let attempt = spec.attempt(wave.clone());
    let result = run(&attempt);
    let machines = &attempt.machines;
    if let Some(wave) = wave {
        let failure = match &result {
            Ok(_) => None,
            Err(error) => Failure::of_attempt(error, &attempt),
        };
        let written = machines.finish(failure.map(|failure| failure.subject()));
        let end = machines.cycles(number).min(wave.config.window.end);
        let (from, count) = (wave.config.window.start, machines.count());
        let said = |written: &Written| {
            let which = match count {
                1 => String::new(),
                _ => format!(" of machine {} of {count}", number + 1),
            };
            format!(
                "waveform of cycles {from} to {end}{which}: {}",
                written.names()
            )
        };
        return match (result, written) {
            (Ok(result), Ok(Some(written))) => Ok((result, Some(said(&written)))),
            (Ok(_), Ok(None)) if number >= count => Err(UsageError::Value {
                option: "--trace-machine".into(),
                value: (number + 1).to_string(),
                expected: format!("1 to {count}, the machines that were made"),
            }
            .into()),
            (Ok(_), Ok(None)) => Err(begins_late(&wave.config, machines.cycles(number)).into()),
            (Ok(_), Err(error)) => Err(error.into()),
            (Err(error), Ok(Some(written))) => Err(error.shown(said(&written))),
            (Err(error), Ok(None)) => Err(error),
            (Err(error), Err(other)) => Err(error.shown(format!("no waveform: {other}"))),
        };
    }
    let Some(on_failure) = &options.trace_on_failure else {
        return result.map(|result| (result, None));
    };
    let failure = match &result {
        Ok(_) => machines.last().map(|(_, cycles)| Failure::at_end(cycles)),
        Err(error) => Failure::of_attempt(error, &attempt),
    };
    let failed = text_of(&result, &wrong, machines).zip(failure);
    let Some((text, failure)) = failed else {
        return result.map(|result| (result, None));
    };
    let failed = Failed {
        text,
        failure,
        machine: machines.last().map_or(0, |(last, _)| last),
        nodes: spec.nodes(),
        options,
        command,
    };
    let said = failed.repeat(on_failure, |wave| {
        let again = spec.repetition(wave);
        let result = run(&again);
        let text = text_of(&result, &wrong, &again.machines);
        (text, again.machines.finish(None))
    })?;
    match result {
        Ok(result) => Ok((result, Some(said))),
        Err(error) => Err(error.shown(said)),
    }
}

/// The error of an attempt with its cycle: a repetition must have the same.
fn text_of<T>(
    result: &Result<T, RunError>,
    wrong: impl Fn(&T) -> Option<String>,
    machines: &Machines,
) -> Option<String> {
    let at_end = |text| {
        let cycles = machines.last().map_or(0, |(_, cycles)| cycles);
        format!(
            "{text}\nafter {cycles} cycles of machine {}",
            machines.count()
        )
    };
    match result {
        Ok(result) => wrong(result).map(at_end),
        Err(error @ (RunError::Check(_) | RunError::Collectives(_))) => {
            Some(at_end(error.to_string()))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Refuses a waveform of a run that has ended before it.
#[must_use]
pub fn begins_late(config: &TraceConfig, end: u64) -> UsageError {
    let (from, to) = (config.window.start, config.window.end);
    UsageError::Combination(format!(
        "--trace-window {from}:{to} begins after the end of the run at cycle {end}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyre_sim::{StallReport, StalledActor, StalledNode};

    #[test]
    fn x2_window_ends_at_the_failing_cycle_or_surrounds_last_progress() {
        let failure = |error: &SimError| Failure::of(error, 2000).expect("a failure of a machine");
        let broken = failure(&SimError::Hardware {
            node: 3,
            cycle: 100,
            message: String::new(),
        });
        assert_eq!(broken.nodes, [3]);
        assert_eq!((broken.node(), broken.cycle()), (Some(3), 100));
        assert_eq!(broken.window(10), 91..101);
        assert_eq!(broken.window(1), 100..101);
        assert_eq!(broken.window(1000), 0..101);
        let stalled = |cycle| {
            let report = StallReport {
                cycle,
                last_progress: 500,
                ..StallReport::default()
            };
            failure(&SimError::Deadlock(Box::new(report)))
        };
        assert_eq!(stalled(10_000).window(10), 496..506);
        assert_eq!(stalled(10_000).window(1), 500..501);
        assert_eq!(stalled(503).window(10), 496..503);
        assert_eq!(stalled(490).window(10), 496..501);
        assert!(Failure::of(&SimError::Stopped, 2000).is_none());
    }

    #[test]
    fn x2_the_instance_of_a_failed_assertion_is_known_by_its_scopes() {
        let of = |message| instance_in(message, 3);
        let scopes = "node3.gyre_node.gen_port[2].u_output.u_credits";
        for message in [
            "[1662] %Error: a.sv:9: Assertion failed in node3.gyre_node.gen_port[2].u_output.u_credits: no",
            "Assertion failed in TOP.gyre_node.gen_port[2].u_output.u_credits: 'assert' failed.",
        ] {
            assert_eq!(of(message).as_deref(), Some(scopes), "{message}");
        }
        assert_eq!(of("AXI: awlen.max of port 2"), None);
    }

    #[test]
    fn x2_nodes_with_work_left_come_before_those_that_wait() {
        let actor = |node| StalledActor {
            node,
            name: String::new(),
            since_ps: 0,
            waits_for: String::new(),
            description: String::new(),
        };
        let node = |node, idle| StalledNode {
            node,
            idle,
            reads_open: 0,
            writes_open: 0,
            registers: Vec::new(),
        };
        let report = StallReport {
            actors: (0..4).map(actor).collect(),
            nodes: vec![node(1, true), node(3, false)],
            ..StallReport::default()
        };
        let failure = Failure::of(&SimError::Deadlock(Box::new(report)), 2000);
        assert_eq!(failure.expect("a failure of a machine").nodes, [3, 1, 0, 2]);
    }

    #[test]
    fn x2_a_repetition_that_ends_otherwise_has_diverged() {
        let options = MachineOptions::default();
        let command = CommandLine::default();
        let failed = Failed {
            text: "node 1, cycle 9: broken".into(),
            failure: Failure {
                when: When::In(9),
                nodes: (0..12).collect(),
                instance: None,
            },
            machine: 0,
            nodes: 12,
            options: &options,
            command: &command,
        };
        let on_failure = OnFailure {
            path: "w.vcd".into(),
            cycles: 4,
        };
        let said = |again: Option<&str>| {
            let again = again.map(str::to_owned);
            let repeated = failed.repeat(&on_failure, |wave| {
                assert_eq!(wave.config.window, 6..10);
                assert_eq!(wave.config.scopes.len(), FAILURE_NODES);
                let path = wave.config.path;
                (again, Ok(Some(Written { path, view: None })))
            });
            repeated.expect("no window was given")
        };
        let same = said(Some("node 1, cycle 9: broken"));
        let shown = "waveform of cycles 6 to 10, nodes 0,1,2,3,4,5,6,7, 8 of 12 nodes: w.vcd";
        assert!(
            same.starts_with(shown) && !same.contains("diverged"),
            "{same}"
        );
        let later = said(Some("node 1, cycle 10: broken"));
        assert!(
            later.contains("diverged") && later.contains("cycle 10"),
            "{later}"
        );
        let none = said(None);
        assert!(
            none.contains("diverged") && none.contains("without an error"),
            "{none}"
        );
    }

    #[test]
    fn x1_the_command_of_a_result_has_only_options_it_depends_on() {
        let command = |text: &str| CommandLine {
            program: "gyre".into(),
            arguments: text.split(' ').map(OsString::from).collect(),
        };
        let given = command(
            "run my.goal --threads 2 --timeline=a.html --set window=1 --set eager_limit=64 --trace w.vcd --json \
             --log x.log:driver=info --set=skip_idle=false --shape=2x2 --trace-window 1:2",
        );
        assert_eq!(
            given.of_result(),
            "gyre run my.goal --set 'eager_limit=64' '--shape=2x2'"
        );
    }

    #[test]
    fn x2_the_command_to_repeat_replaces_the_option_by_the_waveform() {
        let with_wave = |arguments: &[&str], machine| {
            let command = CommandLine {
                program: "gyre".into(),
                arguments: arguments.iter().map(OsString::from).collect(),
            };
            let config = TraceConfig {
                path: "w.fst".into(),
                window: 5..9,
                scopes: Vec::new(),
            };
            let subject = Subject::Window;
            let wave = Wave {
                machine,
                config,
                subject,
            };
            command.with_wave(&wave, "0,3")
        };
        assert_eq!(
            with_wave(
                &["run", "--trace-on-failure", "w.fst:4", "--", "a b.goal"],
                0
            ),
            "gyre run --trace w.fst --trace-window 5:9 --trace-scope '0,3' -- 'a b.goal'"
        );
        assert_eq!(
            with_wave(
                &[
                    "bench",
                    "ack",
                    "--trace-scope=1",
                    "--trace-on-failure=w.fst"
                ],
                1
            ),
            "gyre bench ack --trace w.fst --trace-window 5:9 --trace-scope '0,3' --trace-machine 2"
        );
    }
}
