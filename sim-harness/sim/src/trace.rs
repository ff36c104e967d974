// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waveforms of nodes, by scope and by window (DESIGN, Simulation 10).

use std::collections::BTreeSet;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use cxx::SharedPtr;
use gyre_files::Scratch;

use crate::config::MachineConfig;
use crate::error::{ConfigError, SimError};
use crate::ffi;
use crate::model_kind::ModelKind;
use crate::models::{ModelSpec, Top};

/// Scopes and cycles to write into a waveform file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// File; its name ends with `.vcd` or `.fst`.
    pub path: PathBuf,
    /// Cycles that are written.
    pub window: Range<u64>,
    /// Parts of the machine that are written, such as `node0` or `node3.gyre_node.u_dma`; empty for all.
    pub scopes: Vec<String>,
}

impl TraceConfig {
    /// Checks it for a machine of `nodes` nodes.
    ///
    /// # Errors
    /// An unknown ending of the file's name, an empty window, a scope outside the machine.
    pub fn check(&self, nodes: usize) -> Result<(), ConfigError> {
        self.is_fst()?;
        if self.window.is_empty() {
            let window = format!("{}:{}", self.window.start, self.window.end);
            return Err(ConfigError::new(
                "trace-window",
                window,
                "from:to with from below to",
            ));
        }
        self.shown(nodes)?;
        Ok(())
    }

    /// Whether the file's name ends with `.fst`; else with `.vcd`.
    fn is_fst(&self) -> Result<bool, ConfigError> {
        let extension = self.path.extension().and_then(|text| text.to_str());
        match extension {
            Some("vcd") => Ok(false),
            Some("fst") => Ok(true),
            _ => {
                let path = self.path.display();
                Err(ConfigError::new(
                    "trace",
                    path,
                    "a file name ending in .vcd or .fst",
                ))
            }
        }
    }

    /// Refuses scopes below a node that the model of a machine does not have. Looks them up in a waveform without values,
    /// beside the one that is to be written.
    ///
    /// # Errors
    /// [`SimError::Config`] with the scopes that there are; a file that cannot be written.
    pub fn check_scopes(&self, config: &MachineConfig) -> Result<(), SimError> {
        self.check_scopes_of(&ModelSpec::of(config, Top::Node(ModelKind::Traced)))
    }

    /// The same for any model.
    pub(crate) fn check_scopes_of(&self, spec: &ModelSpec) -> Result<(), SimError> {
        let mut known = None;
        for scope in &self.scopes {
            let Some((node, wanted)) = scope.split_once('.') else {
                continue;
            };
            if known.is_none() {
                known = Some(scopes_of_a_node(spec, &self.path)?);
            }
            let known = known.iter().flatten();
            if known.clone().any(|path| path == wanted) {
                continue;
            }
            // Names the children of the scope at which the path leaves the design.
            let steps = wanted.match_indices('.').map(|(end, _)| &wanted[..end]);
            let parent = steps
                .rev()
                .find(|step| known.clone().any(|path| path == step));
            let inside = parent.map_or(String::new(), |parent| format!("{parent}."));
            let children: Vec<&str> = known
                .filter_map(|path| path.strip_prefix(&inside))
                .filter(|child| !child.contains(['.', '[']))
                .collect();
            let expected = format!("below {node}.{inside} one of {}", children.join(", "));
            return Err(ConfigError::new("trace-scope", scope, expected).into());
        }
        Ok(())
    }

    /// The nodes that the waveform shows, in a machine of `nodes` nodes.
    ///
    /// # Errors
    /// A scope outside the machine.
    pub fn nodes(&self, nodes: usize) -> Result<BTreeSet<usize>, ConfigError> {
        let shown = self.shown(nodes)?;
        Ok((0..nodes).filter(|&node| shown[node]).collect())
    }

    /// Whether the waveform shows each of the nodes.
    fn shown(&self, nodes: usize) -> Result<Vec<bool>, ConfigError> {
        let mut shown = vec![self.scopes.is_empty(); nodes];
        for scope in &self.scopes {
            let node = scope
                .split('.')
                .next()
                .and_then(|name| name.strip_prefix("node"))
                .and_then(|number| number.parse::<usize>().ok())
                .filter(|&node| node < nodes);
            match node {
                Some(node) => shown[node] = true,
                None => {
                    let expected = format!("node0 to node{}, then names below it", nodes - 1);
                    return Err(ConfigError::new("trace-scope", scope, expected));
                }
            }
        }
        Ok(shown)
    }
}

/// A waveform that is being written, or will be.
pub(crate) struct Trace {
    config: TraceConfig,
    context: SharedPtr<ffi::SimContext>,
    /// Whether the waveform shows a node.
    nodes: Vec<bool>,
    fst: bool,
    state: State,
}

enum State {
    Waiting,
    /// The models write into this file.
    Open(Scratch),
    /// They have written it.
    Written(Scratch),
    /// They could not write it, for this reason.
    Failed(String),
    Closed,
}

impl Trace {
    /// Trace of a machine of configuration `machine` whose traced nodes are models of `spec` and share `context`.
    pub(crate) fn new(
        config: TraceConfig,
        machine: &MachineConfig,
        spec: &ModelSpec,
        context: &SharedPtr<ffi::SimContext>,
    ) -> Result<Self, SimError> {
        if machine.model != ModelKind::Traced {
            return Err(ConfigError::new("model", "fast", "traced, to write waveforms").into());
        }
        let nodes = machine.topology()?.nodes();
        config.check(nodes)?;
        config.check_scopes_of(spec)?;
        let fst = config.is_fst()?;
        let shown = config.shown(nodes)?;
        let is_plain = |&node: &usize| shown[node] && machine.model_of(node) != ModelKind::Traced;
        if let Some(node) = (0..nodes).find(is_plain) {
            let shown = format!("node{node}");
            return Err(ConfigError::new("trace-scope", shown, "nodes of traced models").into());
        }
        Ok(Self {
            config,
            context: context.clone(),
            nodes: shown,
            fst,
            state: State::Waiting,
        })
    }

    /// Whether cycle `cycle` is to be written.
    pub(crate) fn covers(&self, cycle: u64) -> bool {
        let open = matches!(self.state, State::Waiting | State::Open(_));
        open && self.config.window.contains(&cycle)
    }

    /// Whether the waveform shows a node.
    pub(crate) fn shows(&self, node: usize) -> bool {
        self.nodes[node]
    }

    /// Where a jump from one cycle to another must stop, so that the waveform begins with its window
    /// even when nothing happens there.
    pub(crate) fn begins_between(&self, from: u64, to: u64) -> Option<u64> {
        let first = self.config.window.start.max(from);
        (matches!(self.state, State::Waiting) && first <= to && first < self.config.window.end)
            .then_some(first)
    }

    /// Where a window of nodes that begins in `start` must end at the latest: cycles are written one by one.
    pub(crate) fn window_end(&self, start: u64) -> Option<u64> {
        match self.covers(start) {
            true => Some(start + 1),
            false => Some(self.config.window.start).filter(|&first| first > start),
        }
    }

    /// Writes cycle `shown`, if it is to be written, which the nodes of `models` have just run, and ends the file when the
    /// machine goes on from `next` and its window is over.
    pub(crate) fn write<'a>(
        &mut self,
        shown: Option<u64>,
        next: u64,
        cycle_ps: u64,
        models: impl Iterator<Item = Pin<&'a mut ffi::SimNode>>,
    ) -> Result<(), SimError> {
        if let Some(cycle) = shown {
            let ps = cycle * cycle_ps;
            self.dump(cycle, ps)?;
            let mut fallen = Ok(());
            for (node, model) in models.enumerate() {
                fallen = fallen.and(model.fall().map_err(|error| SimError::Hardware {
                    node,
                    cycle,
                    message: error.what().to_owned(),
                }));
            }
            self.dump(cycle, ps + cycle_ps / 2)?;
            fallen?;
        }
        match matches!(self.state, State::Open(_)) && next >= self.config.window.end {
            true => self.finish().map(|_| ()),
            false => Ok(()),
        }
    }

    /// Writes all signals as they are at a time of cycle `cycle`.
    fn dump(&mut self, cycle: u64, ps: u64) -> Result<(), SimError> {
        if let State::Waiting = self.state {
            let path = &self.config.path;
            let raw = Scratch::beside(path, ".vcd").map_err(io(path))?;
            let file = raw.path().to_string_lossy();
            ffi::open_trace(&self.context, &file, &self.config.scopes)
                .map_err(|error| self.fail(&error))?;
            self.state = State::Open(raw);
        }
        ffi::dump_trace(&self.context, cycle, ps).map_err(|error| self.fail(&error))
    }

    /// Gives the file up, which the models cannot write.
    fn fail(&mut self, error: &cxx::Exception) -> SimError {
        keep(&self.context);
        let message = in_words(error.what());
        let failed = self.failed(&message);
        self.state = State::Failed(message);
        failed
    }

    fn failed(&self, message: &str) -> SimError {
        SimError::Trace {
            path: gyre_files::output_of(&self.config.path),
            message: message.to_owned(),
        }
    }

    /// Ends the file. Returns its path if there is one.
    pub(crate) fn finish(&mut self) -> Result<Option<PathBuf>, SimError> {
        let path = self.config.path.clone();
        let raw = match std::mem::replace(&mut self.state, State::Closed) {
            State::Waiting => {
                self.state = State::Waiting;
                return Ok(None);
            }
            State::Closed => return Ok(Some(path)),
            State::Failed(message) => {
                let failed = self.failed(&message);
                self.state = State::Failed(message);
                return Err(failed);
            }
            State::Open(raw) => {
                if let Err(error) = ffi::close_trace(&self.context) {
                    self.state = State::Open(raw);
                    return Err(self.fail(&error));
                }
                raw
            }
            State::Written(raw) => raw,
        };
        // What has failed is tried again at the next call, which returns the error.
        if self.fst {
            if let Err(error) = convert(raw.path(), &path) {
                self.state = State::Written(raw);
                return Err(error);
            }
        } else {
            raw.put().map_err(io(&path))?;
        }
        Ok(Some(path))
    }
}

/// Keeps the models' writer, which has failed, as long as the process lives: at its end it would try again, and an error of
/// it there ends the process.
fn keep(context: &SharedPtr<ffi::SimContext>) {
    std::mem::forget(context.clone());
}

/// What has failed, without the function of Verilator's that says so and its place, which is none.
fn in_words(what: &str) -> String {
    let said = match what.split_once(": ") {
        Some((function, said)) if function.starts_with("VerilatedVcd") => said,
        _ => what,
    };
    said.trim_end_matches(" at :0").to_owned()
}

/// For `map_err`: an error of the output `path`.
fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SimError + '_ {
    move |source| SimError::Io {
        path: gyre_files::output_of(path),
        source,
    }
}

/// The scopes below a node, as paths, by the header of a waveform that is written beside `output`.
fn scopes_of_a_node(spec: &ModelSpec, output: &Path) -> Result<BTreeSet<String>, SimError> {
    const NODE: &str = "node";
    const HEADER_BYTES: u64 = 1 << 30;
    let scratch = Scratch::beside(output, ".vcd").map_err(io(output))?;
    let scratch = scratch.path();
    let failed = |error: cxx::Exception| SimError::Trace {
        path: output.to_owned(),
        message: error.what().to_owned(),
    };
    let loaded = spec.load()?;
    let context = ffi::new_context(&loaded.entry, false, 0);
    let model = match spec.top {
        Top::Node(_) => ffi::new_node(&loaded.entry, &context, NODE, 0, 0),
        Top::Network(_) => ffi::new_router(&loaded.entry, &context, NODE, &[0, 0]),
    };
    let model = model.map_err(|error| SimError::model(0, &error))?;
    let opened = ffi::open_trace(&context, &scratch.to_string_lossy(), &[]);
    let closed = opened.and_then(|()| ffi::close_trace(&context));
    closed.map_err(|error| {
        keep(&context);
        failed(error)
    })?;
    drop(model);
    let header = gyre_files::read_text(scratch, HEADER_BYTES).map_err(io(output))?;
    let mut scopes = BTreeSet::new();
    let mut path: Vec<&str> = Vec::new();
    for line in header.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["$scope", _, name, _] => {
                path.push(name);
                if let [NODE, below @ ..] = &path[..]
                    && !below.is_empty()
                {
                    scopes.insert(below.join("."));
                }
            }
            ["$upscope", ..] => drop(path.pop()),
            _ => {}
        }
    }
    Ok(scopes)
}

fn convert(vcd: &Path, fst: &Path) -> Result<(), SimError> {
    let reader = BufReader::new(gyre_files::open(vcd).map_err(io(fst))?);
    let made = Scratch::beside(fst, ".fst").map_err(io(fst))?;
    gyre_wave::vcd_to_fst(reader, made.path()).map_err(|error| SimError::Trace {
        path: fst.to_owned(),
        message: error.to_string(),
    })?;
    made.put().map_err(io(fst))
}
