// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C++ compiler for Verilated code and its wrapper.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::digest::files_in;
use crate::toolchain::Toolchain;
use crate::{Error, workspace_root};

/// Verilator's own C++ that every model needs.
const RUNTIME: [&str; 3] = [
    "verilated.cpp",
    "verilated_threads.cpp",
    "verilated_vcd_c.cpp",
];
/// Added for models that count coverage.
const COVERAGE_RUNTIME: &str = "verilated_cov.cpp";

/// Optimisation of the code that runs each cycle, unless a model says otherwise.
pub(crate) const FAST: u32 = 2;
/// Optimisation of the code that runs once, which Verilator puts in files named `*__Slow.cpp`.
pub(crate) const SLOW: u32 = 0;

/// Files from which on it pays to read their common header once: it becomes more than 100 MB.
const PRECOMPILED_FROM: usize = 4;

/// Files of a model up to so many bytes are compiled as one: reading the headers takes longer than the files.
const SMALL: u64 = 48 << 10;

/// This crate's own C++, by name: [`GYRE_RTL_H`] is included ahead of every source.
const GYRE_RTL_H: (&str, &str) = ("gyre_rtl.h", include_str!("../runtime/gyre_rtl.h"));
const GYRE_RTL_CPP: (&str, &str) = ("gyre_rtl.cpp", include_str!("../runtime/gyre_rtl.cpp"));

/// Headers that the sources of a unit share.
pub(crate) enum Headers {
    /// None, or sources that are few.
    Separate,
    /// The header that all include first: compiled once if enough sources include it.
    Model(PathBuf),
    /// Verilator's own, compiled before, by optimisation level.
    Precompiled(BTreeMap<u32, PathBuf>),
}

/// Sources that are compiled alike: a model's C++, a wrapper, or the runtime.
pub(crate) struct Unit {
    /// C++ files.
    pub(crate) files: Vec<PathBuf>,
    /// Where their headers are.
    pub(crate) includes: Vec<PathBuf>,
    /// Headers that they share.
    pub(crate) headers: Headers,
    /// Optimisation of the code that runs each cycle.
    pub(crate) opt_level: u32,
}

/// A file for one run of the compiler.
struct Source {
    file: PathBuf,
    level: u32,
    bytes: u64,
}

impl Unit {
    /// The sources with their optimisation. The small files of a model, which all begin with the same header, are included by
    /// one, `merged`, as Verilator's own makefiles do with all of them.
    fn sources(&self, merged: &Path) -> Result<Vec<Source>, Error> {
        let mut sources = Vec::new();
        for file in &self.files {
            let slow = file.to_string_lossy().ends_with("__Slow.cpp");
            sources.push(Source {
                file: file.clone(),
                level: if slow { SLOW } else { self.opt_level },
                bytes: size(file)?,
            });
        }
        if matches!(self.headers, Headers::Separate) {
            return Ok(sources);
        }
        let (small, mut large): (Vec<_>, Vec<_>) = sources
            .into_iter()
            .partition(|source| source.bytes <= SMALL);
        let Some(level) = small.iter().map(|source| source.level).max() else {
            return Ok(large);
        };
        let include = |source: &Source| format!("#include \"{}\"\n", source.file.display());
        let text: String = small.iter().map(include).collect();
        fs::write(merged, text).map_err(Error::io(merged))?;
        large.push(Source {
            file: merged.to_owned(),
            level,
            bytes: small.iter().map(|source| source.bytes).sum(),
        });
        Ok(large)
    }

    /// Unit of the model whose C++ Verilator wrote to `dir`, by the name of its class.
    pub(crate) fn of_model(dir: &Path, class: &str, opt_level: u32) -> Result<Self, Error> {
        let mut files = files_in(dir)?;
        files.retain(|file| file.extension().is_some_and(|ext| ext == "cpp"));
        Ok(Self {
            files,
            includes: vec![dir.to_owned()],
            headers: Headers::Model(dir.join(format!("{class}__pch.h"))),
            opt_level,
        })
    }
}

/// A C++ compiler with the flags that Verilated code needs.
pub(crate) struct Compiler {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    version: String,
    include: PathBuf,
    /// Name of `include` in keys of caches.
    include_name: PathBuf,
}

impl Compiler {
    /// The compiler that `CXX` names, else the system's.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] where it cannot be run.
    pub(crate) fn find(toolchain: &Toolchain) -> Result<Self, Error> {
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .cargo_metadata(false)
            .cargo_warnings(false)
            .debug(false)
            .warnings(false)
            .opt_level(FAST);
        // `cc` expects what cargo tells build scripts.
        let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
        // What it tries lies there, and is in the way of nothing.
        let scratch = tempfile::tempdir().map_err(Error::io(&env::temp_dir()))?;
        build.target(&target).host(&target).out_dir(scratch.path());
        configure(&mut build, toolchain);
        build.pic(true);
        let tool = build.try_get_compiler()?;
        let mut arguments = tool.args().to_vec();
        arguments.push("-fvisibility=hidden".into());
        if tool.is_like_gnu() {
            // A unique symbol is so in its library, not in the process.
            arguments.push("-fno-gnu-unique".into());
            // The compiled header fills its heap: it would look through it again and again for what it can free.
            arguments.extend(["--param", "ggc-min-heapsize=1000000"].map(OsString::from));
        }
        let version = tool
            .to_command()
            .arg("--version")
            .stderr(Stdio::null())
            .output()
            .map_err(|source| Error::NoCompiler {
                program: tool.path().to_owned(),
                source,
            })?;
        Ok(Self {
            program: tool.path().to_owned(),
            arguments,
            environment: tool
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            version: String::from_utf8_lossy(&version.stdout).into_owned(),
            include: toolchain.include(),
            include_name: Path::new(".").join(toolchain.name()).join("include"),
        })
    }

    /// All that the objects depend on besides sources, headers and optimisation of a unit: program, version, flags
    /// and the header that is included everywhere.
    pub(crate) fn identity(&self) -> String {
        let arguments = format!("{:?}", self.arguments).replace(
            &*self.include.to_string_lossy(),
            &self.include_name.to_string_lossy(),
        );
        format!(
            "{} {} {SLOW} {} {} {}",
            self.program.display(),
            arguments.replace(&*workspace_root().to_string_lossy(), "."),
            self.version,
            GYRE_RTL_H.1,
            GYRE_RTL_CPP.1,
        )
    }

    /// The runtime of Verilator and of this crate, whose own sources are written to `dir`.
    pub(crate) fn runtime(&self, dir: &Path, coverage: bool) -> Result<Unit, Error> {
        let more = coverage.then_some(&COVERAGE_RUNTIME);
        let files = RUNTIME.iter().chain(more);
        let mut files: Vec<PathBuf> = files.map(|file| self.include.join(file)).collect();
        let own = dir.join(GYRE_RTL_CPP.0);
        fs::write(&own, GYRE_RTL_CPP.1).map_err(Error::io(&own))?;
        files.push(own);
        Ok(Unit {
            files,
            includes: vec![dir.to_owned()],
            headers: Headers::Separate,
            opt_level: FAST,
        })
    }

    /// Compiles all units into `out`, a core for each file, the largest first; returns the objects of each.
    ///
    /// `progress` hears after each file of the bytes of source that are done, and of all of them.
    pub(crate) fn compile(
        &self,
        units: &[Unit],
        out: &Path,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<Vec<PathBuf>>, Error> {
        let header = out.join(GYRE_RTL_H.0);
        fs::write(&header, GYRE_RTL_H.1).map_err(Error::io(&header))?;
        let mut precompile = Vec::new();
        let mut compile = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            let mut precompiled = BTreeMap::new();
            let sources = unit.sources(&out.join(format!("{number}.small.cpp")))?;
            let count = |level| {
                sources
                    .iter()
                    .filter(|source| source.level == level)
                    .count()
            };
            for (index, source) in sources.iter().enumerate() {
                let object = out.join(format!("{number}.{index}.o"));
                let mut task = Task {
                    cost: source.bytes,
                    unit: number,
                    ..Task::new(&source.file, object, source.level)
                };
                task.includes.clone_from(&unit.includes);
                match &unit.headers {
                    Headers::Model(common) if count(source.level) >= PRECOMPILED_FROM => {
                        let before = precompiled.entry(source.level).or_insert_with(|| {
                            let level = source.level;
                            let copy = out.join(format!("{number}.O{level}.h"));
                            let mut header = Task::new(common, copy.with_extension("h.gch"), level);
                            header.includes.clone_from(&unit.includes);
                            header.header = true;
                            precompile.push(header);
                            copy
                        });
                        task.before = Some(before.clone());
                    }
                    Headers::Precompiled(headers) => {
                        task.before = headers.get(&source.level).cloned();
                    }
                    Headers::Separate | Headers::Model(_) => {}
                }
                compile.push(task);
            }
        }
        for task in &precompile {
            // Taken in place of the header that it is named after.
            let named = task.object.with_extension("");
            fs::write(&named, including(&header, &task.file)).map_err(Error::io(&named))?;
        }
        let total: u64 = compile.iter().map(|task| task.cost).sum();
        self.run(&precompile, &header, &|_| {})?;
        let mut order: Vec<&Task> = compile.iter().collect();
        order.sort_by_key(|task| std::cmp::Reverse(task.cost));
        let order: Vec<Task> = order.into_iter().cloned().collect();
        let done = std::sync::atomic::AtomicU64::new(0);
        self.run(&order, &header, &|task| {
            let before = done.fetch_add(task.cost, Ordering::Relaxed);
            progress(before + task.cost, total);
        })?;
        let mut objects = vec![Vec::new(); units.len()];
        for task in compile {
            objects[task.unit].push(task.object);
        }
        Ok(objects)
    }

    /// Runs the compiler for every task, as many at a time as there are cores.
    fn run(
        &self,
        tasks: &[Task],
        header: &Path,
        done: &(dyn Fn(&Task) + Sync),
    ) -> Result<(), Error> {
        let next = AtomicUsize::new(0);
        let worker = || -> Result<(), Error> {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let failed = self.run_one(task, header);
                if failed.is_err() {
                    // Nobody begins another.
                    next.store(tasks.len(), Ordering::Relaxed);
                }
                failed?;
                done(task);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs()).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("a worker does not panic"))
                .collect::<Vec<_>>()
        })
        .into_iter()
        .collect()
    }

    fn run_one(&self, task: &Task, header: &Path) -> Result<(), Error> {
        let mut command = self.command();
        command.arg(format!("-O{}", task.level));
        match &task.before {
            // To be taken, it must be the first.
            Some(precompiled) => command.arg("-include").arg(precompiled),
            None if task.header => &mut command,
            None => command.arg("-include").arg(header),
        };
        for dir in &task.includes {
            command.arg("-I").arg(dir);
        }
        if task.header {
            command
                .args(["-x", "c++-header"])
                .arg(task.object.with_extension(""));
        } else {
            command.arg("-c").arg(&task.file);
        }
        command.arg("-o").arg(&task.object);
        self.finish(&mut command, &task.file)
    }

    /// Compiles Verilator's own header at an optimisation level: writes `header`, and beside it the compiled form.
    pub(crate) fn precompile(&self, header: &Path, level: u32) -> Result<(), Error> {
        let (common, own) = (
            self.include.join("verilated.h"),
            header.with_file_name(GYRE_RTL_H.0),
        );
        fs::write(&own, GYRE_RTL_H.1).map_err(Error::io(&own))?;
        let text = including(Path::new(GYRE_RTL_H.0), &common);
        fs::write(header, text).map_err(Error::io(header))?;
        let mut compiled = header.as_os_str().to_owned();
        compiled.push(".gch");
        let mut task = Task::new(&common, compiled.into(), level);
        task.header = true;
        self.run_one(&task, header)
    }

    /// Links objects into one.
    pub(crate) fn combine(&self, objects: &[PathBuf], combined: &Path) -> Result<(), Error> {
        let mut command = self.command();
        command.args(["-r", "-nostdlib", "-o"]).arg(combined);
        self.finish(command.args(objects), combined)
    }

    /// Links a shared library that shows the symbol `entry` alone.
    pub(crate) fn link(
        &self,
        objects: &[PathBuf],
        entry: &str,
        library: &Path,
    ) -> Result<(), Error> {
        let script = library.with_extension("map");
        let text = format!("{{ global: {entry}; local: *; }};\n");
        fs::write(&script, text).map_err(Error::io(&script))?;
        let mut option = OsString::from("-Wl,--version-script=");
        option.push(&script);
        let mut command = self.command();
        command
            .args(["-shared", "-Wl,-Bsymbolic", "-Wl,-z,now"])
            .arg(option)
            .arg("-o")
            .arg(library)
            .args(objects);
        self.finish(&mut command, library)?;
        fs::remove_file(&script).map_err(Error::io(&script))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command to its end.
    fn finish(&self, command: &mut Command, file: &Path) -> Result<(), Error> {
        let output = gyre_files::run(command).map_err(|source| self.not_run(source))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Compile {
            file: file.to_owned(),
            status: output.status.to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn not_run(&self, source: io::Error) -> Error {
        Error::NoCompiler {
            program: self.program.clone(),
            source,
        }
    }
}

/// One run of the compiler.
#[derive(Clone)]
struct Task {
    file: PathBuf,
    object: PathBuf,
    level: u32,
    includes: Vec<PathBuf>,
    /// A precompiled header's name.
    before: Option<PathBuf>,
    /// Whether the object is one.
    header: bool,
    /// Bytes of source.
    cost: u64,
    /// Number of the unit that the object belongs to.
    unit: usize,
}

impl Task {
    fn new(file: &Path, object: PathBuf, level: u32) -> Self {
        Self {
            file: file.to_owned(),
            object,
            level,
            includes: Vec::new(),
            before: None,
            header: false,
            cost: 0,
            unit: 0,
        }
    }
}

/// A header that includes this crate's own one first.
fn including(own: &Path, common: &Path) -> String {
    format!(
        "#include \"{}\"\n#include \"{}\"\n",
        own.display(),
        common.display()
    )
}

fn size(file: &Path) -> Result<u64, Error> {
    Ok(fs::metadata(file).map_err(Error::io(file))?.len())
}

/// Processes at a time: the machine's cores.
fn jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Sets the flags of Verilated code and its users, without the optimisation level and [`GYRE_RTL_H`].
fn configure(build: &mut cc::Build, toolchain: &Toolchain) {
    build
        .cpp(true)
        .std("c++17")
        // As system headers, so that warnings are about the project's own code.
        .flag("-isystem")
        .flag(toolchain.include())
        .flag("-isystem")
        .flag(toolchain.include().join("vltstd"))
        .flag("-pthread")
        .flag("-faligned-new")
        // Straight code, read once a cycle: padding would only take room in the caches.
        .flag("-fno-align-functions")
        .flag("-fno-align-jumps")
        .flag("-fno-align-labels")
        .flag("-fno-align-loops");
    if env::consts::ARCH == "x86_64" {
        build.flag("-fcf-protection=none");
    }
    for (name, value) in [
        ("VM_COVERAGE", "0"),
        ("VM_SC", "0"),
        ("VM_TIMING", "0"),
        ("VM_TRACE", "1"),
        ("VM_TRACE_VCD", "1"),
        ("VM_TRACE_FST", "0"),
        ("VM_TRACE_SAIF", "0"),
    ] {
        build.define(name, value);
    }
}
