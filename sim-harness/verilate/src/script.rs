//! Models that build scripts link into a test program.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cache::{Cache, Digest, files_in};
use crate::compiler::{Compiler, FAST, Linkage, Unit, configure, jobs};
use crate::model::{Model, Resolved};
use crate::toolchain::{Toolchain, locate};
use crate::{Error, workspace_root};

/// Verilates and compiles `models` and the Verilator runtime, and adds to `build` their objects, the
/// directories of their headers and the flags that code using them needs. The caller adds its own
/// C++ and calls `compile`. Returns the directory of each model's header, in the order of `models`.
///
/// Tells cargo to run the build script again when the RTL or the choice of Verilator changes.
pub fn add_models(build: &mut cc::Build, models: &[Model]) -> Result<Vec<PathBuf>, Error> {
    println!("cargo::rerun-if-env-changed=VERILATOR");
    println!("cargo::rerun-if-env-changed=VERILATOR_ROOT");
    let models = models
        .iter()
        .map(Model::resolve)
        .collect::<Result<Vec<_>, _>>()?;
    for input in models.iter().flat_map(Resolved::inputs) {
        watch(&input);
    }
    let toolchain = locate()?;
    watch(&toolchain.include().join("verilated_config.h"));

    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let cache = Cache::of_package(&out_dir, &variable("CARGO_PKG_NAME")?.to_string_lossy());
    let generated = verilate_all(&models, &toolchain, &cache)?;
    let compiler = Compiler::find(&toolchain, Linkage::Static)?;
    let objects = compile_all(&generated, &compiler, &toolchain, &cache, &out_dir)?;

    configure(build, &toolchain);
    build.flag("-include").flag(out_dir.join("gyre_rtl.h"));
    build.opt_level(FAST);
    build.includes(generated.iter().map(|generated| &generated.dir));
    build.objects(objects);
    Ok(generated
        .into_iter()
        .map(|generated| generated.dir)
        .collect())
}

/// Tells cargo to run the build script again when `path` changes. Paths inside the workspace are named from the
/// package, so that they hold for a copy of the workspace too.
fn watch(path: &Path) {
    let inside = path.strip_prefix(workspace_root()).ok();
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let depth = package.and_then(|p| Some(p.strip_prefix(workspace_root()).ok()?.iter().count()));
    let named = match (inside, depth) {
        (Some(inside), Some(depth)) => Path::new(&"../".repeat(depth)).join(inside),
        _ => path.to_path_buf(),
    };
    println!("cargo::rerun-if-changed={}", named.display());
}

/// A model's C++.
struct Generated {
    name: String,
    /// Where its sources and headers are.
    dir: PathBuf,
    /// Optimisation of the code that runs each cycle.
    opt_level: u32,
}

/// Runs Verilator on the models that are not in the cache, several at a time.
fn verilate_all(
    models: &[Resolved<'_>],
    toolchain: &Toolchain,
    cache: &Cache,
) -> Result<Vec<Generated>, Error> {
    let next = AtomicUsize::new(0);
    // Each worker takes the next model until none is left.
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match models.get(index) {
                Some(model) => done.push((index, verilate(model, toolchain, cache))),
                None => return done,
            }
        }
    };
    let mut results = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs()).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a worker does not panic"))
            .collect::<Vec<_>>()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs Verilator on one model, unless its result is in the cache.
fn verilate(
    model: &Resolved<'_>,
    toolchain: &Toolchain,
    cache: &Cache,
) -> Result<Generated, Error> {
    let name = model.model.class();
    let dir = cache.path(name, &model.digest(toolchain)?.finish());
    if !dir.exists() {
        let scratch = cache.scratch(name)?;
        model.verilate(toolchain, &scratch)?;
        cache.keep(name, &scratch, &dir)?;
    }
    Ok(Generated {
        name: name.to_owned(),
        dir,
        opt_level: model.model.optimisation().unwrap_or(FAST),
    })
}

/// Compiles what is not in the cache and returns all object files. Own sources are written to `out_dir`.
fn compile_all(
    generated: &[Generated],
    compiler: &Compiler,
    toolchain: &Toolchain,
    cache: &Cache,
    out_dir: &Path,
) -> Result<Vec<PathBuf>, Error> {
    let mut units = Vec::new();
    for generated in generated {
        let unit = Unit::of_model(&generated.dir, &generated.name, generated.opt_level)?;
        units.push((generated.name.as_str(), unit));
    }
    units.push(("runtime", compiler.runtime(out_dir, false)?));

    let mut done = Vec::new();
    let mut missing = Vec::new();
    for (name, unit) in units {
        let name = format!("{name}.objects");
        let mut digest = Digest::new();
        digest.text(&compiler.identity());
        digest.text(&toolchain.version.to_string());
        digest.text(&toolchain.name().to_string_lossy());
        digest.text(&unit.opt_level.to_string());
        let is_header = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "h");
        if unit.common.is_some() {
            for dir in &unit.includes {
                for header in files_in(dir)?.iter().filter(|file| is_header(file)) {
                    digest.file(header)?;
                }
            }
        }
        for file in &unit.files {
            digest.file(file)?;
        }
        let path = cache.path(&name, &digest.finish());
        if !path.exists() {
            missing.push((unit, name, path.clone()));
        }
        done.push(path);
    }

    if !missing.is_empty() {
        // All models at once, so that the last file of one does not leave a core idle.
        let scratch = cache.scratch("objects")?;
        let names: Vec<(String, PathBuf)> = missing
            .iter()
            .map(|(_, name, path)| (name.clone(), path.clone()))
            .collect();
        let units: Vec<Unit> = missing.into_iter().map(|(unit, _, _)| unit).collect();
        let objects = compiler.compile(&units, &scratch, &|_, _| {})?;
        for ((name, path), objects) in names.iter().zip(objects) {
            let part = cache.scratch(name)?;
            for object in objects {
                let file = part.join(object.file_name().unwrap_or_default());
                fs::rename(&object, &file).map_err(Error::io(&object))?;
            }
            cache.keep(name, &part, path)?;
        }
        fs::remove_dir_all(&scratch).map_err(Error::io(&scratch))?;
    }

    let mut objects = Vec::new();
    for dir in done {
        objects.extend(files_in(&dir)?);
    }
    Ok(objects)
}

/// A variable that cargo sets for build scripts.
fn variable(name: &'static str) -> Result<OsString, Error> {
    env::var_os(name).ok_or(Error::NotABuildScript(name))
}
