// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Verilated models that machines are made of: compiled when a machine wants one, and loaded.

mod layout;
mod ports;
mod registers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cxx::UniquePtr;
use gyre_verilate::{Held, Library, Model, Progress, checkout};

use crate::config::MachineConfig;
use crate::error::SimError;
use crate::ffi;
use crate::model_kind::{ModelKind, Optimisation, model_dims};
use crate::node_config::NodeConfig;

/// Top module of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Top {
    /// A whole node.
    Node(ModelKind),
    /// Router and links alone.
    Network(ModelKind),
}

/// A model that a machine wants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelSpec {
    pub(crate) top: Top,
    /// Dimensions of the model.
    pub(crate) dims: usize,
    /// Micro-architecture.
    pub(crate) node: NodeConfig,
    /// None: full if that is compiled already, else quick.
    pub(crate) optimisation: Option<Optimisation>,
    /// A tree in the place of `rtl/`.
    pub(crate) rtl: Option<PathBuf>,
}

/// A model, loaded.
pub(crate) struct LoadedModel {
    pub(crate) entry: UniquePtr<ffi::SimModel>,
    pub(crate) optimisation: Optimisation,
    // As long as the library is loaded, it stays in the cache.
    _held: Held,
}

/// Models that a process has loaded.
#[derive(Clone, Debug, Default)]
pub struct ModelUse {
    /// How much the models are optimised, each way once.
    pub optimisations: BTreeSet<Optimisation>,
    /// Host time in which models were looked for, compiled and loaded.
    pub loading: Duration,
}

static USE: Mutex<ModelUse> = Mutex::new(ModelUse {
    optimisations: BTreeSet::new(),
    loading: Duration::ZERO,
});

/// Models that this process has loaded so far.
pub fn model_use() -> ModelUse {
    USE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Hears which model is built, and how far it is.
pub type BuildReporter = dyn Fn(&str, Progress) + Send + Sync;

static REPORTER: OnceLock<Box<BuildReporter>> = OnceLock::new();

/// Reports models that this process builds, and their progress, to `reporter`. The first reporter stays;
/// without, a line on standard error says that a build begins.
pub fn report_builds(reporter: Box<BuildReporter>) {
    // Another was first.
    drop(REPORTER.set(reporter));
}

fn report(name: &str, progress: Progress) {
    match (REPORTER.get(), progress) {
        (Some(reporter), _) => reporter(name, progress),
        (None, Progress::Begins { .. }) => eprintln!("gyre: compiling the model {name}"),
        (None, _) => {}
    }
}

/// The C++ around a model.
const WRAPPER: &[(&str, &str)] = &[
    ("axi_slave.h", include_str!("../cpp/axi_slave.h")),
    ("barrier_ports.h", include_str!("../cpp/barrier_ports.h")),
    ("bits.h", include_str!("../cpp/bits.h")),
    ("clock_edges.h", include_str!("../cpp/clock_edges.h")),
    ("context.h", include_str!("../cpp/context.h")),
    ("cycle_signal.h", include_str!("../cpp/cycle_signal.h")),
    ("huge_pages.h", include_str!("../cpp/huge_pages.h")),
    ("link_ports.h", include_str!("../cpp/link_ports.h")),
    ("link_records.h", include_str!("../cpp/link_records.h")),
    ("model.h", include_str!("../cpp/model.h")),
    ("model_entry.cpp", include_str!("../cpp/model_entry.cpp")),
    ("model_parts.h", include_str!("../cpp/model_parts.h")),
    ("model_runner.h", include_str!("../cpp/model_runner.h")),
    ("node_wires.h", include_str!("../cpp/node_wires.h")),
    ("out_buffer.h", include_str!("../cpp/out_buffer.h")),
    ("pins.h", include_str!("../cpp/pins.h")),
    ("records.h", include_str!("../cpp/records.h")),
    (
        "register_master.h",
        include_str!("../cpp/register_master.h"),
    ),
    ("router_wires.h", include_str!("../cpp/router_wires.h")),
];

/// The C++ around the routing functions.
const ROUTING_WRAPPER: &[(&str, &str)] = &[
    ("bits.h", include_str!("../cpp/bits.h")),
    ("model.h", include_str!("../cpp/model.h")),
    (
        "routing_entry.cpp",
        include_str!("../cpp/routing_entry.cpp"),
    ),
];

/// The member of a node's model that is the reset which the node makes itself.
const NODE_RESET: &str = "gyre_node__DOT__u_soft_reset__DOT__core_rst_nq";

/// The C++ class of every model: each has a library of its own.
const CLASS: &str = "Vmodel";

/// A model of the module `top` of a tree.
fn model(top: &str, tree: Option<&Path>) -> Model {
    Model::new(top)
        .prefix(CLASS)
        .file_list("rtl/gyre.f")
        .tree(tree)
}

impl ModelSpec {
    /// The model that a machine's nodes, or routers, are instances of.
    pub(crate) fn of(config: &MachineConfig, top: Top) -> Self {
        Self {
            top,
            dims: model_dims(config.dims.len()),
            node: match top {
                Top::Node(_) => config.node.clone(),
                Top::Network(_) => config.node.of_network(),
            },
            optimisation: config.optimisation,
            rtl: config.rtl.clone(),
        }
    }

    fn tree(&self) -> Option<&Path> {
        self.rtl.as_deref()
    }

    fn library(&self, optimisation: Optimisation) -> Library {
        let dims = self.dims;
        let (Top::Node(kind) | Top::Network(kind)) = self.top;
        let traced = kind == ModelKind::Traced;
        let covered = kind == ModelKind::Covered;
        let is_node = matches!(self.top, Top::Node(_));
        let (name, top, reset, expected) = match self.top {
            Top::Node(_) => (
                "node",
                "gyre_node",
                format!("root->{NODE_RESET}"),
                ports::node(dims, self.node.masters(dims) as usize),
            ),
            Top::Network(_) => (
                "network",
                "gyre_network",
                "false".to_owned(),
                ports::network(dims),
            ),
        };
        let made_of = format!(
            "#pragma once\n#define GYRE_DIMS {dims}\n#define GYRE_TRACED {traced}\n#define GYRE_ROUTER {}\n\
             #define GYRE_COVERED {}\n#define GYRE_RESET {reset}\n#define GYRE_MASTERS {}\n\
             #define GYRE_INJECT_FLITS {}\n",
            u32::from(!is_node),
            u32::from(covered),
            self.node.masters(dims),
            self.node.injection()
        );
        let kind = match kind {
            ModelKind::Traced => "_traced",
            ModelKind::Covered => "_covered",
            ModelKind::Fast => "",
        };
        let suffix = self.node.suffix();
        let name = format!("{name}{dims}{suffix}{kind}_{}", optimisation.name());
        let mut model = self::model(top, self.tree())
            .parameter("NDim", dims)
            .trace(traced)
            .coverage(covered);
        for (name, value) in self.node.parameters() {
            model = model.parameter(name, value);
        }
        Library::new(&name, model, "gyre_model")
            .wrapper(WRAPPER)
            .wrapper_text("made_of.h", made_of)
            .opt_level(optimisation.level())
            .check_elaboration(self::model(layout::TOP, self.tree()), layout::module())
            .check_model(move |generated| {
                if is_node && !generated.root_header.contains(NODE_RESET) {
                    let signal = NODE_RESET.replace("__DOT__", ".");
                    return Err(format!(
                        "{top}: no register {signal}: the simulator looks at it"
                    ));
                }
                ports::compare(top, generated.ports, &expected)
            })
    }

    /// The model, compiled and loaded unless it is.
    pub(crate) fn load(&self) -> Result<Arc<LoadedModel>, SimError> {
        static LOADED: Mutex<BTreeMap<ModelSpec, Arc<LoadedModel>>> = Mutex::new(BTreeMap::new());
        // Other threads that want this model wait.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = loaded.get(self) {
            return Ok(Arc::clone(model));
        }
        let started = Instant::now();
        let optimisation = match self.optimisation {
            Some(optimisation) => optimisation,
            None if self.library(Optimisation::Full).is_built()? => Optimisation::Full,
            None => Optimisation::Quick,
        };
        let library = self.library(optimisation);
        check_tree(self.tree())?;
        let held = library.get(&|progress| report(library.name(), progress))?;
        let entry = ffi::load_model(&held.library().to_string_lossy())
            .map_err(|error| unloadable(&held, &error))?;
        let model = Arc::new(LoadedModel {
            entry,
            optimisation,
            _held: held,
        });
        loaded.insert(self.clone(), Arc::clone(&model));
        let mut all = USE.lock().unwrap_or_else(PoisonError::into_inner);
        all.optimisations.insert(optimisation);
        all.loading += started.elapsed();
        Ok(model)
    }
}

fn unloadable(held: &Held, error: &cxx::Exception) -> SimError {
    SimError::Library {
        path: held.library().to_owned(),
        message: error.what().to_owned(),
    }
}

/// Hash of the RTL of a tree, else of the checkout: names and content of its files.
///
/// # Errors
/// A file list or a file that cannot be read.
pub fn rtl_digest(tree: Option<&Path>) -> Result<String, SimError> {
    Ok(model("gyre_node", tree).sources_digest()?)
}

/// Refuses a tree whose registers software does not know, and one in which the command would write over a file.
fn check_tree(tree: Option<&Path>) -> Result<(), SimError> {
    let tree = match tree {
        Some(tree) => tree.to_owned(),
        None => checkout()?.join("rtl"),
    };
    gyre_files::keep_folder(&tree)
        .map_err(|error| format!("a file of {} {error}", tree.display()))
        .and_then(|()| registers::compare(&tree))
        .map_err(|text| SimError::Build(gyre_verilate::Error::Interface(text)))
}

/// Where a packet's router is, and the packet, for [`RoutingFunctions::decide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingQuery {
    /// Nodes in each dimension, 1 for absent ones.
    pub size: [u8; gyre_layout::MAX_DIM],
    /// Dimensions with their wrap link.
    pub ring: [bool; gyre_layout::MAX_DIM],
    /// Dimensions as fixed routes take them.
    pub order: [u8; gyre_layout::MAX_DIM],
    /// Coordinates of the router.
    pub here: [u8; gyre_layout::MAX_DIM],
    /// Coordinates of the source.
    pub src: [u8; gyre_layout::MAX_DIM],
    /// Coordinates of the destination.
    pub dst: [u8; gyre_layout::MAX_DIM],
    /// Whether the packet may take any shortest way.
    pub dynamic: bool,
    /// Port by which it came; [`RoutingFunctions::LOCAL`] when injected here.
    pub in_port: u8,
    /// Virtual channel by which it came.
    pub in_vc: u8,
}

/// Decision of a router about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingDecision {
    /// Output port of the fixed route; [`RoutingFunctions::LOCAL`] to eject the packet.
    pub port: u8,
    /// Whether it goes on by the dateline's virtual channel.
    pub dateline: bool,
    /// Ports that a dynamic packet may take, a bit each.
    pub minimal: u32,
}

/// The routing functions of a tree of RTL (`route_transit` of `gyre_pkg`), Verilated.
pub struct RoutingFunctions {
    entry: UniquePtr<ffi::Routing>,
    _held: Held,
}

impl RoutingFunctions {
    /// The port of packets that are injected or ejected.
    pub const LOCAL: u8 = 15;

    /// Loads the functions of the tree `rtl`, else of the checkout.
    ///
    /// # Errors
    /// RTL that is refused, or a library that cannot be made; see [`SimError::Build`].
    pub fn new(rtl: Option<&Path>) -> Result<Self, SimError> {
        let probe = model("route_probe", rtl).source("sim-harness/sim/sv/route_probe.sv");
        let library = Library::new("routing", probe, "gyre_routing")
            .wrapper(ROUTING_WRAPPER)
            .check_elaboration(model(layout::TOP, rtl), layout::module());
        let held = library.get(&|progress| report(library.name(), progress))?;
        let entry = ffi::load_routing(&held.library().to_string_lossy())
            .map_err(|error| unloadable(&held, &error))?;
        Ok(Self { entry, _held: held })
    }

    /// Decides where a packet goes.
    pub fn decide(&self, query: &RoutingQuery) -> RoutingDecision {
        let pack = |values: [u8; gyre_layout::MAX_DIM], width: u32| {
            let packed = values.iter().rev();
            packed.fold(0, |packed, &value| packed << width | u64::from(value))
        };
        let cfg = [
            pack(query.here, 6),
            pack(query.size, 7),
            pack(query.ring.map(u8::from), 1),
            pack(query.order, 3),
        ];
        let ends = pack(query.dst, 6) | pack(query.src, 6) << 32;
        let head = ends | u64::from(query.dynamic) << 63;
        let decided = ffi::decide(
            &self.entry,
            &cfg,
            head,
            query.in_port.into(),
            query.in_vc.into(),
        );
        RoutingDecision {
            port: decided[0] as u8,
            dateline: decided[1] != 0,
            minimal: decided[2],
        }
    }
}
