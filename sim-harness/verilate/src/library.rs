// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models as shared libraries, compiled when they are asked for.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use crate::Error;
use crate::compiler::{Compiler, FAST, Headers, SLOW, Unit};
use crate::digest::Digest;
use crate::header::{Port, read_ports};
use crate::model::{Model, Resolved};
use crate::root::{Places, absolute};
use crate::store::{Held, Item, Progress, Store};
use crate::toolchain::{Toolchain, locate};

/// Bytes of a cache unless `GYRE_CACHE_MB` says otherwise: some dozens of models.
const CACHE_BYTES: u64 = 1 << 30;

/// The library of an entry of the cache.
const LIBRARY: &str = "model.so";
/// Verilator's runtime, one object.
const RUNTIME: &str = "runtime.o";
/// Verilator's header; the compiled one beside it is found by its name.
const HEADER: &str = "verilated.h";
/// The file of every wrapper that lists the ports.
const PORTS: &str = "gyre_ports.inc";

/// C++ of a model, for a check before anything is compiled.
pub struct Generated<'a> {
    /// Ports of the top module.
    pub ports: &'a [Port],
    /// The C++ structure that holds all signals, as text.
    pub root_header: &'a str,
}

type Check = dyn Fn(&Generated<'_>) -> Result<(), String> + Send + Sync;

/// Verilator and C++ compiler, looked for once a process.
struct Tools {
    toolchain: Toolchain,
    compiler: Compiler,
}

impl Tools {
    fn find() -> Result<&'static Self, Error> {
        static TOOLS: OnceLock<Tools> = OnceLock::new();
        if let Some(tools) = TOOLS.get() {
            return Ok(tools);
        }
        let toolchain = locate()?;
        let compiler = Compiler::find(&toolchain)?;
        Ok(TOOLS.get_or_init(|| Tools {
            toolchain,
            compiler,
        }))
    }

    /// An item of the cache that depends on the tools alone.
    fn get(
        &self,
        store: &Store,
        name: &str,
        file: &'static str,
        build: impl Fn(&Path) -> Result<(), Error>,
    ) -> Result<Held, Error> {
        let mut digest = Digest::new();
        self.identify(&mut digest);
        let item = Item {
            name,
            key: &digest.finish(),
            file,
        };
        store.get(&item, &|_| {}, build)
    }

    /// Adds all that compiled code depends on besides its sources.
    fn identify(&self, digest: &mut Digest) {
        digest.text(&self.toolchain.version.to_string());
        digest.text(&self.toolchain.root.to_string_lossy());
        digest.text(&self.compiler.identity());
        digest.text(&processor());
    }
}

/// A Verilated model and the C++ around it, as a shared library with one entry.
pub struct Library {
    name: String,
    model: Model,
    wrapper: Vec<(&'static str, Cow<'static, str>)>,
    entry: &'static str,
    opt_level: u32,
    check: Option<Box<Check>>,
    elaboration: Option<(Model, String)>,
    folder: Option<PathBuf>,
}

impl Library {
    /// A library called `name`, in letters, digits and `_`, of `model`. Its wrapper shows the C symbol `entry` alone.
    pub fn new(name: &str, model: Model, entry: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            model,
            wrapper: Vec::new(),
            entry,
            opt_level: FAST,
            check: None,
            elaboration: None,
            folder: None,
        }
    }

    /// Adds C++ around the model, by file name: headers, and sources that end with `.cpp`. They find each other and the
    /// model's headers by `#include "NAME"`. Beside them lies `gyre_ports.inc`, with a line `GYRE_PORT(name, bits, elements)`
    /// for each port of the model.
    pub fn wrapper(mut self, files: &[(&'static str, &'static str)]) -> Self {
        let files = files.iter().map(|&(name, text)| (name, text.into()));
        self.wrapper.extend(files);
        self
    }

    /// Adds a file of the wrapper that is written here.
    pub fn wrapper_text(mut self, name: &'static str, text: String) -> Self {
        self.wrapper.push((name, text.into()));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the C++ compiler's optimisation, 0 to 3.
    pub fn opt_level(mut self, level: u32) -> Self {
        self.opt_level = level;
        self
    }

    /// Keeps the library in `folder` instead of the cache of models, from the workspace root, and compiles it as one of many
    /// small ones there: Verilator's header is compiled once for all.
    pub fn small_in(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(absolute(folder.as_ref()));
        self
    }

    /// Checks the generated C++; an error is the reason to refuse the RTL.
    pub fn check_model(
        mut self,
        check: impl Fn(&Generated<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Has `module` elaborated first, written in SystemVerilog around the sources of `model`, whose top it is: what it
    /// reports by `$error` refuses the RTL.
    pub fn check_elaboration(mut self, model: Model, module: String) -> Self {
        self.elaboration = Some((model, module));
        self
    }

    /// The library, from the cache or built now. `progress` hears what is done, and nothing if it was there.
    ///
    /// The cache lies in `GYRE_CACHE`, else in `.tools/models` of the checkout, and holds at most `GYRE_CACHE_MB`
    /// megabytes.
    ///
    /// # Errors
    /// RTL that Verilator or a check refuses ([`Error::refuses_rtl`]); a tool, a checkout or room that is missing; a
    /// cache that others can write.
    pub fn get(&self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Held, Error> {
        let tools = match Tools::find() {
            Err(error) if error.is_without_compiler() => {
                let found = self.without_compiler()?;
                return found.map_or(Err(error), |(store, key)| {
                    let build = |_: &Path| self.only_there();
                    store.get(&self.item(&key), progress, build)
                });
            }
            tools => tools?,
        };
        let resolved = self.model.resolve()?;
        let model = resolved.digest(&tools.toolchain)?;
        let key = self.key(model.clone(), Some(&tools.compiler));
        let store = Store::open(self.folder()?, cache_bytes()?)?;
        let held = store.get(&self.item(&key), progress, |part| {
            self.build(&resolved, tools, &store, part, progress)
        })?;
        store.note_sources(&held, || self.key(model, None))?;
        Ok(held)
    }

    fn item<'a>(&'a self, key: &'a str) -> Item<'a> {
        Item {
            name: &self.name,
            key,
            file: LIBRARY,
        }
    }

    /// The cache, and the key in it of a library that was made of the same sources; none if it has none.
    fn without_compiler(&self) -> Result<Option<(Store, String)>, Error> {
        let model = self.model.resolve()?.digest(&locate()?)?;
        let sources = self.key(model, None);
        let store = Store::open(self.folder()?, cache_bytes()?)?;
        let key = store.made_of(&self.name, &sources)?;
        Ok(key.map(|key| (store, key)))
    }

    /// The error of a library that is damaged where there is no compiler.
    fn only_there(&self) -> Result<(), Error> {
        Compiler::find(&locate()?).map(drop)
    }

    /// The folder of the cache.
    fn folder(&self) -> Result<PathBuf, Error> {
        self.folder.clone().map_or_else(cache_dir, Ok)
    }

    /// Whether the cache has the library.
    ///
    /// # Errors
    /// As [`Library::get`], without errors that only a build finds.
    pub fn is_built(&self) -> Result<bool, Error> {
        let tools = match Tools::find() {
            Err(error) if error.is_without_compiler() => {
                return self.without_compiler().map(|found| found.is_some());
            }
            tools => tools?,
        };
        let model = self.model.resolve()?.digest(&tools.toolchain)?;
        let key = self.key(model, Some(&tools.compiler));
        Ok(self.folder()?.join(format!("{}-{key}", self.name)).exists())
    }

    /// Hash of all that the library is made from: the model's, the rest, and the processor; with the compiler that makes it.
    fn key(&self, model: Digest, compiler: Option<&Compiler>) -> String {
        let mut digest = model;
        if let Some(compiler) = compiler {
            digest.text(&compiler.identity());
        }
        digest.text(&processor());
        digest.text(&self.opt_level.to_string());
        digest.text(&self.folder.is_some().to_string());
        digest.text(self.entry);
        for (name, text) in &self.wrapper {
            digest.text(name);
            digest.text(text);
        }
        if let Some((_, module)) = &self.elaboration {
            digest.text(module);
        }
        digest.finish()
    }

    fn build(
        &self,
        resolved: &Resolved<'_>,
        tools: &Tools,
        store: &Store,
        part: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), Error> {
        let made = |name: &str| -> Result<PathBuf, Error> {
            let dir = part.join(name);
            fs::create_dir(&dir).map_err(Error::io(&dir))?;
            Ok(dir)
        };
        let (generated, own, objects) = (made("verilated")?, made("wrapper")?, made("objects")?);
        let compiler = &tools.compiler;
        // Verilator runs on one core.
        let (runtime, sources) = thread::scope(|scope| {
            let runtime = scope.spawn(|| self.runtime(tools, store));
            let sources = self.sources(resolved, tools, &generated, &own);
            (runtime.join().expect("it does not panic"), sources)
        });
        let (runtime, sources) = (runtime?, sources?);
        progress(Progress::Verilated);

        let mut units = vec![Unit::of_model(
            &generated,
            self.model.class(),
            self.opt_level,
        )?];
        let includes = vec![own.clone(), generated.clone()];
        let mut headers = Vec::new();
        if self.folder.is_some() {
            let level = |level| Ok((level, self.header(tools, store, level)?));
            headers = [SLOW, self.opt_level]
                .into_iter()
                .map(level)
                .collect::<Result<Vec<_>, Error>>()?;
            let by_level = headers
                .iter()
                .map(|(level, held)| (*level, held.library().to_owned()));
            units[0].headers = Headers::Precompiled(by_level.collect());
            units[0].files.extend(sources);
            units[0].includes = includes;
        } else {
            units.push(Unit {
                files: sources,
                includes,
                headers: Headers::Separate,
                opt_level: self.opt_level,
            });
        }
        let compiled = |done, total| progress(Progress::Compiled { done, total });
        let mut compiled = compiler.compile(&units, &objects, &compiled)?.concat();
        compiled.push(runtime.library().to_owned());
        compiler.link(&compiled, self.entry, &part.join(LIBRARY))?;
        drop(headers);
        for dir in [generated, own, objects] {
            fs::remove_dir_all(&dir).map_err(Error::io(&dir))?;
        }
        Ok(())
    }

    /// Runs Verilator and the checks, and writes the wrapper to `own`; returns its sources.
    fn sources(
        &self,
        resolved: &Resolved<'_>,
        tools: &Tools,
        generated: &Path,
        own: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let toolchain = &tools.toolchain;
        if let Some((model, module)) = &self.elaboration {
            let file = own.join(format!("{}.sv", model.top()));
            fs::write(&file, module).map_err(Error::io(&file))?;
            let elaborated = model.clone().source(&file).resolve()?.lint(toolchain);
            elaborated.map_err(|error| refusal(error, model))?;
        }
        resolved.verilate(toolchain, generated)?;
        let class = self.model.class();
        let ports = read_ports(&generated.join(format!("{class}.h")))?;
        if let Some(check) = &self.check {
            let root = generated.join(format!("{class}___024root.h"));
            let made = Generated {
                ports: &ports,
                root_header: &fs::read_to_string(&root).map_err(Error::io(&root))?,
            };
            let tree = self.model.tree_name();
            check(&made).map_err(|text| Error::Interface(format!("{}: {text}", tree.display())))?;
        }
        let line = |port: &Port| {
            format!(
                "GYRE_PORT({}, {}, {})\n",
                port.name, port.bits, port.elements
            )
        };
        let list = own.join(PORTS);
        fs::write(&list, ports.iter().map(line).collect::<String>()).map_err(Error::io(&list))?;
        let mut sources = Vec::new();
        for (name, text) in &self.wrapper {
            let file = own.join(name);
            fs::write(&file, text.as_bytes()).map_err(Error::io(&file))?;
            if name.ends_with(".cpp") {
                sources.push(file);
            }
        }
        Ok(sources)
    }

    /// Verilator's runtime, compiled once for all libraries of a cache.
    fn runtime(&self, tools: &Tools, store: &Store) -> Result<Held, Error> {
        let coverage = self.model.counts_coverage();
        let name = if coverage {
            "runtime_coverage"
        } else {
            "runtime"
        };
        tools.get(store, name, RUNTIME, |part| {
            let unit = tools.compiler.runtime(part, coverage)?;
            let objects = tools.compiler.compile(&[unit], part, &|_, _| {})?.concat();
            tools.compiler.combine(&objects, &part.join(RUNTIME))?;
            for object in objects {
                fs::remove_file(&object).map_err(Error::io(&object))?;
            }
            Ok(())
        })
    }

    /// Verilator's header, compiled once for all small libraries of a cache.
    fn header(&self, tools: &Tools, store: &Store, level: u32) -> Result<Held, Error> {
        tools.get(store, &format!("header_O{level}"), HEADER, |part| {
            tools.compiler.precompile(&part.join(HEADER), level)
        })
    }
}

/// The text of a check's own `$error`, with its tree; any other error as it is.
fn refusal(error: Error, model: &Model) -> Error {
    let said = match &error {
        Error::Verilator { output, .. } => output.lines().find_map(|line| {
            let (_, place) = line.split_once("%Error-USERERROR: ")?;
            place
                .splitn(4, ':')
                .nth(3)
                .map(|text| text.trim().to_owned())
        }),
        _ => None,
    };
    match said {
        Some(text) => Error::Interface(format!("{}: {text}", model.tree_name().display())),
        None => error,
    }
}

/// The folder of the cache.
fn cache_dir() -> Result<PathBuf, Error> {
    match env::var_os("GYRE_CACHE").filter(|dir| !dir.is_empty()) {
        Some(dir) => std::path::absolute(&dir).map_err(Error::io(Path::new(&dir))),
        None => Places::own().models(),
    }
}

fn cache_bytes() -> Result<u64, Error> {
    let Some(value) = env::var_os("GYRE_CACHE_MB").filter(|value| !value.is_empty()) else {
        return Ok(CACHE_BYTES);
    };
    let megabytes = value.to_str().and_then(|text| text.parse::<u64>().ok());
    megabytes
        .map(|megabytes| megabytes.saturating_mul(1 << 20))
        .ok_or_else(|| Error::Environment {
            variable: "GYRE_CACHE_MB",
            value: value.to_string_lossy().into_owned(),
            expected: "a whole number of megabytes",
        })
}

/// The processor that libraries are compiled on, as far as it matters to code: family, model and features.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    let wanted = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().trim();
        matches!(
            name,
            "vendor_id" | "cpu family" | "model" | "flags" | "Features"
        )
    };
    let lines: Vec<&str> = first.lines().filter(wanted).collect();
    format!("{} {}", env::consts::ARCH, lines.join("\n"))
}
