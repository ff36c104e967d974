//! Models as shared libraries, compiled when they are asked for.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Error;
use crate::compiler::{Compiler, FAST, Linkage, Unit};
use crate::header::{Port, read_ports};
use crate::model::{Model, Resolved};
use crate::root::Places;
use crate::store::{Held, Progress, Store};
use crate::toolchain::{Toolchain, locate};

/// Bytes of the cache unless `GYRE_CACHE_MB` says otherwise: some dozens of models.
const CACHE_BYTES: u64 = 1 << 30;

/// What Verilator made of a model, for a check before anything is compiled.
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
        let compiler = Compiler::find(&toolchain, Linkage::Shared)?;
        Ok(TOOLS.get_or_init(|| Tools {
            toolchain,
            compiler,
        }))
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
        }
    }

    /// Adds C++ around the model, by file name: headers, and sources that end with `.cpp`. They find each other and the
    /// model's headers by `#include "NAME"`.
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

    /// Has what Verilator made looked at: an error is the reason to refuse the RTL.
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
        let tools = Tools::find()?;
        let resolved = self.model.resolve()?;
        let key = self.key(&resolved, tools)?;
        let store = Store::open(cache_dir()?, cache_bytes()?)?;
        store.get(&self.name, &key, progress, |part| {
            self.build(&resolved, tools, part, progress)
        })
    }

    /// Whether the cache has the library.
    ///
    /// # Errors
    /// As [`Library::get`], but for what only a build can find.
    pub fn is_built(&self) -> Result<bool, Error> {
        let key = self.key(&self.model.resolve()?, Tools::find()?)?;
        Ok(cache_dir()?.join(format!("{}-{key}", self.name)).exists())
    }

    /// Hash of all that the library is made from and by.
    fn key(&self, resolved: &Resolved<'_>, tools: &Tools) -> Result<String, Error> {
        let mut digest = resolved.digest(&tools.toolchain)?;
        digest.text(&tools.compiler.identity());
        digest.text(&processor());
        digest.text(&self.opt_level.to_string());
        digest.text(self.entry);
        for (name, text) in &self.wrapper {
            digest.text(name);
            digest.text(text);
        }
        if let Some((_, module)) = &self.elaboration {
            digest.text(module);
        }
        Ok(digest.finish())
    }

    fn build(
        &self,
        resolved: &Resolved<'_>,
        Tools {
            toolchain,
            compiler,
        }: &Tools,
        part: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), Error> {
        let made = |name: &str| -> Result<PathBuf, Error> {
            let dir = part.join(name);
            fs::create_dir(&dir).map_err(Error::io(&dir))?;
            Ok(dir)
        };
        let (generated, own, objects) = (made("verilated")?, made("wrapper")?, made("objects")?);
        if let Some((model, module)) = &self.elaboration {
            let file = own.join(format!("{}.sv", model.top()));
            fs::write(&file, module).map_err(Error::io(&file))?;
            let elaborated = model.clone().source(&file).resolve()?.lint(toolchain);
            elaborated.map_err(|error| refusal(error, model))?;
        }
        resolved.verilate(toolchain, &generated)?;
        let class = self.model.class();
        if let Some(check) = &self.check {
            let root = generated.join(format!("{class}___024root.h"));
            let made = Generated {
                ports: &read_ports(&generated.join(format!("{class}.h")))?,
                root_header: &fs::read_to_string(&root).map_err(Error::io(&root))?,
            };
            let tree = self.model.tree_name();
            check(&made).map_err(|text| Error::Interface(format!("{}: {text}", tree.display())))?;
        }
        progress(Progress::Verilated);

        let mut sources = Vec::new();
        for (name, text) in &self.wrapper {
            let file = own.join(name);
            fs::write(&file, text.as_bytes()).map_err(Error::io(&file))?;
            if name.ends_with(".cpp") {
                sources.push(file);
            }
        }
        let wrapper = Unit {
            files: sources,
            includes: vec![own.clone(), generated.clone()],
            common: None,
            opt_level: self.opt_level,
        };
        let units = [
            Unit::of_model(&generated, class, self.opt_level)?,
            wrapper,
            compiler.runtime(&own, self.model.counts_coverage())?,
        ];
        let compiled = |done, total| progress(Progress::Compiled { done, total });
        let compiled = compiler.compile(&units, &objects, &compiled)?;
        compiler.link(&compiled.concat(), self.entry, &part.join("model.so"))?;
        for dir in [generated, own, objects] {
            fs::remove_dir_all(&dir).map_err(Error::io(&dir))?;
        }
        Ok(())
    }
}

/// What a check's own `$error` says, of the tree that it is about; any other error as it is.
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
        .and_then(|megabytes| megabytes.checked_mul(1 << 20))
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
