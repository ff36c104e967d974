// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with a command line of their own: the options, exit status and report of `gyre` around a
//! function that [launches](crate::launch) tasks on a machine. The programs in `examples/` are made with it.

use clap::{Args as _, FromArgMatches as _};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::clients::ClientFile;
use crate::console::{complain, plain, print};
use crate::error::RunError;
use crate::launch::{Launch, TASKS_PER_NODE};
use crate::machine_file::{self, MachineSpec};
use crate::memory;
use crate::options::{MachineOptions, UsageError};
use crate::outcome::{Outcome, SimFigures, Stopwatch};
use crate::report::Report;
use crate::settings::{self, Settings, Table};
use crate::timeline::{self, Timeline, Told};
use crate::waves::{self, CommandLine};

/// Settings of every program beside those of the machine.
const SETTINGS: &Table = &[&TASKS_PER_NODE];

/// Options of a program.
#[derive(Debug, clap::Args)]
struct Options {
    #[command(flatten)]
    machine: MachineOptions,
    /// Resources and protocols of the program's client: application and tasks as the guide says
    #[arg(long, value_name = "FILE.toml")]
    clients: Option<PathBuf>,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs a launched program and checks its result.
pub type RunFn = fn(&Launch<'_>) -> Result<Report, RunError>;

/// A program.
#[derive(Clone, Copy)]
pub struct Program {
    /// Its name, in its help and in its report; the name of its application in configurations of clients.
    pub name: &'static str,
    about: &'static str,
    shape: &'static [u16],
    settings: &'static Table,
    clients: Option<(&'static str, &'static str)>,
    run: RunFn,
}

/// Output and exit status of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Text for standard output.
    pub output: String,
    /// Text for standard error.
    pub error: String,
    /// Exit status: 0 success, 1 the check failed, 2 bad usage or configuration.
    pub status: u8,
}

impl Program {
    /// A program by its name, what it does, in a line, the shape of its machine when neither the options nor a machine
    /// file give one, and the function that runs it.
    #[must_use]
    pub const fn new(
        name: &'static str,
        about: &'static str,
        shape: &'static [u16],
        run: RunFn,
    ) -> Self {
        Self {
            name,
            about,
            shape,
            settings: &[],
            clients: None,
            run,
        }
    }

    /// The same with settings beside those of every program.
    #[must_use]
    pub const fn with_settings(self, settings: &'static Table) -> Self {
        Self { settings, ..self }
    }

    /// The same with the clients of a configuration, which `path` names in errors; the option `--clients` may give others
    /// of the same names. A program without has one client, by its own name, with all tasks.
    #[must_use]
    pub const fn with_clients(self, path: &'static str, text: &'static str) -> Self {
        Self {
            clients: Some((path, text)),
            ..self
        }
    }

    /// Runs the program with the arguments of the process.
    #[must_use]
    pub fn main(&self) -> ExitCode {
        let prepared = gyre_files::end_by_signals().and_then(|()| memory::limit(None));
        if let Err(error) = prepared {
            complain(format_args!("signals, memory: {error}"));
            return ExitCode::from(1);
        }
        let printed = self.execute(std::env::args_os());
        // Nobody is left to be told that nobody reads the errors.
        let _ = std::io::stderr().write_all(plain(&printed.error).as_bytes());
        print(&printed.output, ExitCode::from(printed.status))
    }

    /// Runs the program with `arguments`, the first of which is the name it was called by.
    pub fn execute(
        &self,
        arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Printed {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let refused = |error: String, status| Printed {
            output: String::new(),
            error: format!("{}: {error}\n", self.name),
            status,
        };
        let tables = [
            (self.name, self.settings),
            ("every program", SETTINGS),
            ("machine", machine_file::SETTINGS),
        ];
        let command = clap::Command::new(self.name)
            .about(self.about)
            .after_help(settings::help(tables));
        let command = Options::augment_args(command);
        let parsed = command
            .try_get_matches_from(&arguments)
            .and_then(|matches| Options::from_arg_matches(&matches));
        let options = match parsed {
            Ok(options) => options,
            Err(error) => {
                let text = error.render().to_string();
                let (output, error_text) = match error.use_stderr() {
                    true => (String::new(), text),
                    false => (text, String::new()),
                };
                return Printed {
                    output,
                    error: error_text,
                    // 0 for help, 2 for anything wrong.
                    status: u8::try_from(error.exit_code()).unwrap_or(2),
                };
            }
        };
        let command = CommandLine {
            program: self.name.to_owned(),
            arguments: arguments.get(1..).unwrap_or_default().to_vec(),
        };
        let result = self.outcome(&options, &command);
        match result.map(|outcome| (outcome.text(options.json), outcome.passed)) {
            Ok((Ok(output), passed)) => Printed {
                output,
                error: String::new(),
                status: u8::from(!passed),
            },
            Ok((Err(error), _)) => refused(error.to_string(), 1),
            Err(error) => refused(error.to_string(), error.status()),
        }
    }

    /// The clients that a file gives, or the program itself.
    fn client_file(&self, path: Option<&Path>) -> Result<Option<ClientFile>, UsageError> {
        let own = self.clients.map(|(path, text)| {
            let own = ClientFile::parse(path.into(), text, self.name)?;
            Ok::<_, UsageError>(own.clone().in_place_of(own))
        });
        let own = own.transpose()?;
        let file = path.map(|path| ClientFile::read(path, self.name));
        Ok(match (file.transpose()?, own) {
            (Some(file), Some(own)) => Some(file.in_place_of(own)),
            (file, own) => file.or(own),
        })
    }

    fn outcome(&self, options: &Options, command: &CommandLine) -> Result<Outcome, RunError> {
        let clients = options.clients.as_deref();
        let options = &options.machine;
        let tables = [self.settings, SETTINGS, machine_file::SETTINGS];
        let settings = Settings::parse(&options.set, &tables)?;
        let mut spec = MachineSpec::new(options, &settings, Some(self.shape.to_vec()))?;
        waves::check(options, &spec)?;
        waves::check_scopes(options, &spec)?;
        spec.clients = self.client_file(clients)?;
        let timeline = Timeline::create(options, &mut spec.config)?;
        let run = |spec: &MachineSpec| {
            let clock = Stopwatch::start();
            let report = (self.run)(&Launch::new(self.name, spec, &settings)?)?;
            let cycles = report.machine.cycles;
            let sim = SimFigures::new(cycles, spec.nodes(), &clock, spec.config.threads);
            Ok((report, sim))
        };
        let wrong = |report: &Report| match report.passed {
            true => None,
            false => Some(report.pictures.join("\n")),
        };
        let observed = waves::observed(&spec, options, None, command, |(r, _)| wrong(r), run);
        let told = Told {
            title: self.name,
            spec: &spec,
            command,
            numbers_machines: false,
        };
        let ((mut report, sim), wave) = match observed {
            Ok(observed) => observed,
            Err(error) => {
                timeline.failed(told, || timeline::failure(&error, spec.config.cycle_ps));
                return Err(error);
            }
        };
        let wrong = wrong(&report);
        let timeline = timeline.ended(told, &report.metrics, wrong.as_deref())?;
        report.pictures.extend(wave);
        report.pictures.extend(timeline);
        let mut params = spec.params();
        params.append(&mut report.params);
        params.extend(clients.map(|path| ("clients".into(), path.display().to_string().into())));
        Ok(Outcome {
            bench: self.name.into(),
            shape: spec.shape(),
            params,
            metrics: report.metrics,
            sim,
            hash: format!("{:016x}", report.machine.hash),
            pictures: report.pictures,
            passed: report.passed,
        })
    }
}
