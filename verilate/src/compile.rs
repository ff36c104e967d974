use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cache::{Cache, Digest, files_in};
use crate::model::{Model, Resolved, relative};
use crate::toolchain::{Toolchain, locate};
use crate::{Error, workspace_root};

/// Verilator's own C++ that every model needs.
const RUNTIME: [&str; 3] = [
    "verilated.cpp",
    "verilated_threads.cpp",
    "verilated_vcd_c.cpp",
];

/// Optimisation of the code that runs each cycle.
const FAST: u32 = 2;
/// Optimisation of the code that runs once, which Verilator puts in files named `*__Slow.cpp`.
const SLOW: u32 = 0;

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
    let cache = Cache::of_package(&out_dir, &variable("CARGO_PKG_NAME")?);
    let generated = verilate_all(&models, &toolchain, &cache)?;
    let objects = compile_all(&generated, &toolchain, &cache)?;

    configure(build, &toolchain);
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

/// A model's C++, or the runtime's.
struct Generated {
    name: String,
    /// Where its headers are.
    dir: PathBuf,
    /// Its C++ files.
    files: Vec<PathBuf>,
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

/// Processes that cargo lets this build script use.
fn jobs() -> usize {
    env::var("NUM_JOBS")
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(1, NonZero::<usize>::get)
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
    let mut files = files_in(&dir)?;
    files.retain(|file| file.extension().is_some_and(|ext| ext == "cpp"));
    Ok(Generated {
        name: name.to_owned(),
        dir,
        files,
        opt_level: model.model.optimisation().unwrap_or(FAST),
    })
}

/// Compiles what is not in the cache and returns all object files.
fn compile_all(
    generated: &[Generated],
    toolchain: &Toolchain,
    cache: &Cache,
) -> Result<Vec<PathBuf>, Error> {
    let own = workspace_root().join("verilate/runtime");
    watch(&own);
    let mut files: Vec<PathBuf> = RUNTIME
        .iter()
        .map(|file| toolchain.include().join(file))
        .collect();
    files.push(own.join("gyre_rtl.cpp"));
    let runtime = Generated {
        name: "runtime".to_owned(),
        dir: own,
        files,
        opt_level: FAST,
    };

    let compiler = compiler_identity(toolchain)?;
    let mut done = Vec::new();
    let mut missing = Vec::new();
    for unit in generated.iter().chain([&runtime]) {
        let name = format!("{}.objects", unit.name);
        let mut digest = Digest::new();
        digest.text(&compiler);
        digest.text(&toolchain.version.to_string());
        digest.text(&relative(&toolchain.root).to_string_lossy());
        if unit.opt_level != FAST {
            digest.text(&unit.opt_level.to_string());
        }
        let headers = files_in(&unit.dir)?;
        for file in headers.iter().chain(&unit.files) {
            let is_code = file
                .extension()
                .is_some_and(|ext| ext == "cpp" || ext == "h");
            if is_code {
                digest.file(file)?;
            }
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
        let files: Vec<(&Path, usize)> = missing
            .iter()
            .enumerate()
            .flat_map(|(index, (unit, _, _))| unit.files.iter().map(move |f| (f.as_path(), index)))
            .collect();
        let mut by_level: BTreeMap<u32, Vec<(&Path, usize)>> = BTreeMap::new();
        for (file, index) in files {
            let slow = file.to_string_lossy().ends_with("__Slow.cpp");
            let opt_level = if slow {
                SLOW
            } else {
                missing[index].0.opt_level
            };
            by_level.entry(opt_level).or_default().push((file, index));
        }
        let mut objects: Vec<Vec<PathBuf>> = vec![Vec::new(); missing.len()];
        for (opt_level, files) in by_level.into_iter().rev() {
            let mut build = cc::Build::new();
            configure(&mut build, toolchain);
            build
                .opt_level(opt_level)
                .debug(false)
                .warnings(false)
                .out_dir(&scratch)
                .includes(missing.iter().map(|(unit, _, _)| &unit.dir))
                .files(files.iter().map(|(file, _)| file));
            let made = build.try_compile_intermediates()?;
            for (object, (_, index)) in made.into_iter().zip(files) {
                objects[index].push(object);
            }
        }
        for ((_, name, path), objects) in missing.iter().zip(objects) {
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

/// Sets what Verilated code and its users are compiled with, but for the optimisation level.
fn configure(build: &mut cc::Build, toolchain: &Toolchain) {
    let runtime = workspace_root().join("verilate/runtime");
    build
        .cpp(true)
        .std("c++17")
        // As system headers, so that warnings are about the project's own code.
        .flag("-isystem")
        .flag(toolchain.include())
        .flag("-isystem")
        .flag(toolchain.include().join("vltstd"))
        .flag("-include")
        .flag(runtime.join("gyre_rtl.h"))
        .flag("-pthread")
        .flag_if_supported("-faligned-new")
        .flag_if_supported("-fcf-protection=none")
        // Straight code, read once a cycle: padding would only take room in the caches.
        .flag_if_supported("-fno-align-functions")
        .flag_if_supported("-fno-align-jumps")
        .flag_if_supported("-fno-align-labels")
        .flag_if_supported("-fno-align-loops");
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

/// The compiler, its version, the flags it is called with and the header it includes everywhere.
fn compiler_identity(toolchain: &Toolchain) -> Result<String, Error> {
    let mut build = cc::Build::new();
    configure(&mut build, toolchain);
    build.opt_level(FAST).debug(false).warnings(false);
    let tool = build.try_get_compiler()?;
    let version = tool
        .to_command()
        .arg("--version")
        .output()
        .map_err(Error::io(tool.path()))?;
    // Of the command only what the compiler sees: its environment holds the profile and cargo's pipes.
    let arguments = format!("{:?}", tool.args());
    Ok(format!(
        "{} {} {SLOW} {} {}",
        tool.path().display(),
        arguments.replace(&*workspace_root().to_string_lossy(), "."),
        String::from_utf8_lossy(&version.stdout),
        include_str!("../runtime/gyre_rtl.h"),
    ))
}

/// A variable that cargo sets for build scripts.
fn variable(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NotABuildScript(name))
}
