// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that a command runs on: the reference machine, a machine file, and options over it.

use std::ops::RangeInclusive;
use std::path::Path;

use gyre_affinity::Processor;
use gyre_driver::{CostTable, Op};
use gyre_layout::MAX_DIM;
use gyre_sim::{
    Arbiter, ConfigError, Machine, MachineConfig, NodeConfig, Optimisation, RouterMachine,
    SimError, Traffic,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::attempt::{Machines, Observed, Wave};
use crate::clients::ClientFile;
use crate::options::{
    self, CONFIGURATION_BYTES, MachineOptions, UsageError, parse_mesh, parse_shape, rtl_tree,
    shape_text,
};
use crate::outcome::{Origin, object};
use crate::settings::{Default as Unless, Setting, Settings, Table, Values};

const READ_LATENCY: Setting<u64> = Setting::number(
    "memory_read_latency",
    "cycles",
    40,
    (2, 100_000),
    "from the acceptance of a read to its first data beat",
);
const WRITE_LATENCY: Setting<u64> = Setting::number(
    "memory_write_latency",
    "cycles",
    20,
    (1, 100_000),
    "from the last write beat to the response",
);
const JITTER: Setting<u64> = Setting::number(
    "memory_jitter",
    "cycles",
    0,
    (0, 100_000),
    "up to so much more latency for each burst, by seed",
);
const REORDER: Setting<bool> = Setting::flag(
    "memory_reorder",
    false,
    "bursts of different AXI ids may overtake each other",
);

/// A number of the nodes' micro-architecture.
const fn of_node(
    key: &'static str,
    unit: &'static str,
    own: &'static str,
    values: Values<u64>,
    about: &'static str,
) -> Setting<u64> {
    Setting {
        key,
        about,
        unit,
        default: Unless::Words(own),
        values,
    }
}

const PORT_FLITS: Setting<u64> = of_node(
    "node.port_flits",
    "flits",
    "272, as the RTL has it",
    between(&NodeConfig::PORT_FLITS),
    "buffer of a link input, shared by its virtual channels",
);
const INJECT_FLITS: Setting<u64> = of_node(
    "node.inject_flits",
    "flits",
    "136, as the RTL has it",
    between(&NodeConfig::INJECT_FLITS),
    "injection buffer of a link and class",
);
const LANES: Setting<u64> = of_node(
    "node.lanes",
    "",
    "4, as the RTL has it",
    between(&NodeConfig::LANES),
    "dynamic virtual channels of a class",
);
const MEMORY_PORTS: Setting<u64> = of_node(
    "node.memory_ports",
    "",
    "2 in up to 3 dimensions, else 4",
    Values::Such(
        |ports| NodeConfig::MEMORY_PORTS.contains(&ports),
        "1, 2 or 4, which feed 2, 4 or 8 links at least",
    ),
    "AXI masters of the DMA engine",
);
const ARBITER: Setting<Arbiter> = Setting {
    key: "node.arbiter",
    about: "which packet the router serves first, within a class",
    unit: "",
    default: Unless::Words("age, as the RTL has it"),
    values: Values::Such(|_| true, Arbiter::NAMES),
};

const fn between(range: &RangeInclusive<u64>) -> Values<u64> {
    Values::Between(*range.start(), *range.end())
}

const SKIP_IDLE: Setting<bool> = Setting::flag(
    "skip_idle",
    true,
    "quiet nodes are not evaluated; no result depends on it",
);
const WINDOW: Setting<u64> = Setting {
    key: "window",
    about: "a node runs so long at a time; no result depends on it",
    unit: "cycles",
    default: Unless::Words("the longest that is exact"),
    values: Values::Such(
        |_| true,
        "1 to the least of half the read latency and those of links, writes, registers and wake-ups",
    ),
};

/// The settings of the machine, which every command has. Values of a machine file replace the defaults.
pub const SETTINGS: &Table = &[
    &READ_LATENCY,
    &WRITE_LATENCY,
    &JITTER,
    &REORDER,
    &PORT_FLITS,
    &INJECT_FLITS,
    &LANES,
    &ARBITER,
    &MEMORY_PORTS,
    &SKIP_IDLE,
    &WINDOW,
];

/// Nodes from which on a full model pays: it takes a few seconds more to compile and runs a tenth faster.
const MANY_NODES: usize = 256;

/// A machine file: any field of the reference machine and of its nodes' processor, and the driver's costs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MachineFile {
    machine: MachineConfig,
    node: NodeConfig,
    processor: Processor,
    costs: Option<CostTable>,
}

/// A machine with everything its figures depend on.
#[derive(Debug, Clone)]
pub struct MachineSpec {
    /// The simulated hardware.
    pub config: MachineConfig,
    /// The processor of every node.
    pub processor: Processor,
    /// The software's costs.
    pub costs: CostTable,
    /// Seed of everything drawn at random outside the machine.
    pub seed: u64,
    /// The machines that are made of it, and its copies, by number.
    pub machines: Machines,
    /// The clients of a program of tasks, if a configuration gives them.
    pub clients: Option<ClientFile>,
}

impl MachineSpec {
    /// The machine that `options` and the machine settings among `settings` ask for. `shape` is used when
    /// neither the options nor the machine file give one.
    pub fn new(
        options: &MachineOptions,
        settings: &Settings,
        shape: Option<Vec<u16>>,
    ) -> Result<Self, UsageError> {
        let (file, has_shape) = match &options.machine {
            Some(path) => read(path)?,
            None => (MachineFile::default(), false),
        };
        let mut config = MachineConfig {
            node: file.node,
            ..file.machine
        };
        match (&options.shape, shape) {
            (Some(text), _) => config.dims = parse_shape(text)?,
            (None, Some(shape)) if !has_shape => config.dims = shape,
            _ => {}
        }
        if options.mesh.is_some() {
            config.mesh = parse_mesh(options.mesh.as_deref(), config.dims.len())?;
        }
        if let Some(latency) = options.link_latency {
            config.link_latency = latency;
        }
        let memory = &mut config.memory;
        let given = |setting, field: &mut u64| *field = settings.given(setting).unwrap_or(*field);
        given(&READ_LATENCY, &mut memory.read_latency);
        given(&WRITE_LATENCY, &mut memory.write_latency);
        given(&JITTER, &mut memory.jitter);
        memory.reorder = settings.given(&REORDER).unwrap_or(memory.reorder);
        memory.seed = options.seed.unwrap_or(memory.seed);
        let seed = memory.seed;
        let node = &mut config.node;
        let given = |setting, field: &mut Option<u64>| *field = settings.given(setting).or(*field);
        given(&PORT_FLITS, &mut node.port_flits);
        given(&INJECT_FLITS, &mut node.inject_flits);
        given(&LANES, &mut node.lanes);
        given(&MEMORY_PORTS, &mut node.memory_ports);
        node.arbiter = settings.given(&ARBITER).or(node.arbiter);
        config.skip_idle = settings.given(&SKIP_IDLE).unwrap_or(config.skip_idle);
        config.window = settings.given(&WINDOW).or(config.window);
        config.threads = options.threads;
        config.optimisation = options::model(options)?;
        config.rtl = rtl_tree(options.rtl.as_deref())?;
        config
            .validate()
            .map_err(|error| refusal(error, options, settings))?;
        let spec = Self {
            config,
            processor: file.processor,
            costs: file.costs.unwrap_or_default(),
            seed,
            machines: Machines::default(),
            clients: None,
        };
        Ok(spec.simulating_much(false))
    }

    /// The machine with full models for a command that simulates much, unless told otherwise; machines of many nodes
    /// always do.
    #[must_use]
    pub fn simulating_much(mut self, much: bool) -> Self {
        if much || self.nodes() >= MANY_NODES {
            self.config.optimisation.get_or_insert(Optimisation::Full);
        }
        self
    }

    /// Nodes of the machine.
    pub fn nodes(&self) -> usize {
        self.config.dims.iter().map(|&s| usize::from(s)).product()
    }

    /// The shape as the user writes it.
    pub fn shape(&self) -> String {
        shape_text(&self.config.dims)
    }

    /// The machine's part of `params`.
    pub fn params(&self) -> Map<String, Value> {
        let config = &self.config;
        let cost = |op: Op| (op.key().to_owned(), self.costs.instructions(op).into());
        let origin = Origin::of(config.rtl.as_deref());
        let costs: Map<String, Value> = Op::ALL.into_iter().map(cost).collect();
        object(json!({
            "clock_mhz": 1_000_000 / config.cycle_ps,
            "processor_mhz": 1_000_000 / config.cpu_ps,
            "flit_bytes": 16,
            "link_latency": config.link_latency,
            "mesh": config.mesh,
            "dimension_order": config.dimension_order,
            "memory_read_latency": config.memory.read_latency,
            "memory_write_latency": config.memory.write_latency,
            "memory_jitter": config.memory.jitter,
            "memory_reorder": config.memory.reorder,
            "memory_stall_percent": config.memory.stall_percent,
            "memory_error_ranges": config.memory.error_ranges,
            "register_latency": config.reg_latency,
            "wake_latency": config.wake_latency,
            "seed": self.seed,
            "node": config.node,
            "rtl": config.rtl,
            "rtl_digest": origin.rtl_digest,
            "version": origin.version,
            "costs": costs,
        }))
    }

    /// Makes the machine, just out of reset: the next one of its command.
    ///
    /// # Errors
    /// [`SimError`]: a configuration or waveform that cannot be, models that cannot be made.
    pub fn machine(&self) -> Result<Observed<Machine>, SimError> {
        Observed::next(&self.machines, &self.config, Machine::new)
    }

    /// The same of routers and links alone.
    ///
    /// # Errors
    /// As [`MachineSpec::machine`].
    pub fn routers<T: Traffic>(&self, traffic: T) -> Result<Observed<RouterMachine<T>>, SimError> {
        let make = |config: MachineConfig| RouterMachine::new(&config, traffic);
        Observed::next(&self.machines, &self.config, make)
    }

    /// The same for another attempt at the command, with this waveform: its machines count from 0 again.
    #[must_use]
    pub fn attempt(&self, wave: Option<Wave>) -> Self {
        Self {
            machines: Machines::with(wave),
            ..self.clone()
        }
    }

    /// The same for an attempt that only repeats another: its events are not recorded once more.
    #[must_use]
    pub fn repetition(&self, wave: Wave) -> Self {
        let mut again = self.attempt(Some(wave));
        again.config.recorder = None;
        again
    }
}

/// A refused machine: names the option that gave the field, else the machine file.
fn refusal(error: ConfigError, options: &MachineOptions, settings: &Settings) -> UsageError {
    let option = match error.field.as_str() {
        "mesh" if options.mesh.is_some() => "--mesh",
        "link_latency" if options.link_latency.is_some() => "--link-latency",
        "window" if settings.given(&WINDOW).is_some() => "--set window",
        "node.memory_ports" if settings.given(&MEMORY_PORTS).is_some() => "--set node.memory_ports",
        "threads" => "--threads",
        field if field.starts_with("dims") => "--shape",
        _ => {
            return match &options.machine {
                Some(path) => UsageError::MachineFile {
                    path: path.display().to_string(),
                    reason: in_its_table(&error),
                },
                None => UsageError::Combination(error.to_string()),
            };
        }
    };
    UsageError::Value {
        option: option.into(),
        value: error.value,
        expected: error.expected,
    }
}

/// The error of a machine, with the table of the file that the field is in.
fn in_its_table(error: &ConfigError) -> String {
    match error.field.starts_with("node.") {
        true => error.to_string(),
        false => format!("machine.{error}"),
    }
}

/// The file, checked, and whether it gives a shape.
fn read(path: &Path) -> Result<(MachineFile, bool), UsageError> {
    let wrong = |reason: String| UsageError::MachineFile {
        path: path.display().to_string(),
        reason,
    };
    let text =
        gyre_files::keep(path).and_then(|()| gyre_files::read_text(path, CONFIGURATION_BYTES));
    let text = text.map_err(|error| wrong(error.to_string()))?;
    let file: MachineFile =
        toml::from_str(&text).map_err(|error| wrong(in_words(&in_lines(&error))))?;
    let has_shape = text.parse::<toml::Table>().is_ok_and(|table| {
        table
            .get("machine")
            .is_some_and(|m| m.get("dims").is_some())
    });
    let mut checked = MachineConfig {
        node: file.node.clone(),
        ..file.machine.clone()
    };
    if !has_shape {
        // The shape comes from elsewhere and is checked there: as many dimensions as there can be, and memory for them.
        checked.dims = vec![1; MAX_DIM];
        checked.node.memory_ports = None;
    }
    let refused = |table: &str, field: &str, reason: String| {
        let line = line_of(&text, table, field).map_or(String::new(), |line| format!("{line}: "));
        UsageError::MachineFile {
            path: path.display().to_string(),
            reason: format!("{line}{reason}"),
        }
    };
    checked.validate().map_err(|error| {
        let (table, field) = match error.field.strip_prefix("node.") {
            Some(field) => ("node", field),
            None => ("machine", &*error.field),
        };
        refused(table, field, in_its_table(&error))
    })?;
    file.processor
        .validate()
        .map_err(|error| refused("processor", error.field, format!("processor.{error}")))?;
    Ok((file, has_shape))
}

/// Line of a field such as `memory.read_latency` or `dims[1]` of a table, from 1; none where the text does not give it.
fn line_of(text: &str, table: &str, field: &str) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let names = field
        .split('.')
        .map(|name| name.split('[').next().unwrap_or(name));
    let mut place = document.get_ref().get(table)?;
    for name in names {
        place = place.get_ref().as_table()?.get(name)?;
    }
    Some(text.get(..place.span().start)?.matches('\n').count() + 1)
}

/// The reader's error, in which a name that it quotes breaks no line.
fn in_lines(error: &toml::de::Error) -> String {
    let message = error.message();
    let in_a_line = message.replace('\n', "\\n").replace('\r', "\\r");
    error.to_string().replace(message, &in_a_line)
}

/// The reader's error with the expected type in the words of a machine file.
fn in_words(error: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number, 0 or more"),
        ("usize", "a whole number, 0 or more"),
        ("a nonzero u32", "a whole number from 1 to 4294967295"),
        ("a boolean", "true or false"),
        ("a sequence", "a list"),
        ("struct ", "a table"),
    ];
    let Some((before, expected)) = error.rsplit_once(", expected ") else {
        return error.to_owned();
    };
    let (expected, after) = expected.split_once('\n').unwrap_or((expected, ""));
    // A structure is expected by its name.
    let known = |(type_name, _): &&(&str, &str)| match type_name.strip_suffix(' ') {
        Some(kind) => expected.split(' ').next() == Some(kind),
        None => expected == *type_name,
    };
    match WORDS.iter().find(known) {
        Some((_, words)) => format!("{before}, expected {words}\n{after}"),
        None => error.to_owned(),
    }
}
