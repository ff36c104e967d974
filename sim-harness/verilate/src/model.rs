// SPDX-License-Identifier: MIT OR Apache-2.0
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::digest::{Digest, files_in};
use crate::file_list::FileList;
use crate::includes::included;
use crate::root::{absolute, relative};
use crate::{Error, Toolchain, workspace_root};

/// Statements after which Verilator starts another C++ file, so that several cores compile a model.
const SPLIT: &str = "20000";

/// One Verilated model: a top module with its parameters, and the C++ class made from it.
#[derive(Clone, Debug)]
pub struct Model {
    top: String,
    prefix: String,
    sources: Vec<PathBuf>,
    library_dirs: Vec<PathBuf>,
    include_dirs: Vec<PathBuf>,
    file_list: Option<PathBuf>,
    parameters: Vec<(String, String)>,
    defines: Vec<(String, String)>,
    trace: bool,
    coverage: bool,
    tree: Option<PathBuf>,
}

/// The folder of the workspace that [`Model::tree`] stands in for.
const TREE: &str = "rtl";

impl Model {
    /// A model of the module `top`, as the C++ class `V<top>`.
    pub fn new(top: &str) -> Self {
        Self {
            top: top.to_owned(),
            prefix: format!("V{top}"),
            sources: Vec::new(),
            library_dirs: Vec::new(),
            include_dirs: Vec::new(),
            file_list: None,
            parameters: Vec::new(),
            defines: Vec::new(),
            trace: false,
            coverage: false,
            tree: None,
        }
    }

    /// Takes what lies in the workspace's `rtl/` from `dir` instead, a tree like it. The model is the same as if `dir`
    /// were `rtl/`: its messages name files as `rtl/...`.
    pub fn tree(mut self, dir: Option<&Path>) -> Self {
        self.tree = dir.map(absolute);
        self
    }

    /// Names the C++ class, and its header `<prefix>.h`; unique among the models of a program.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.to_owned();
        self
    }

    /// Adds a source file; packages before their users.
    pub fn source(mut self, file: impl AsRef<Path>) -> Self {
        self.sources.push(absolute(file.as_ref()));
        self
    }

    /// Adds a directory where a module is looked up by its file's name.
    pub fn library_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.library_dirs.push(absolute(dir.as_ref()));
        self
    }

    /// Adds a directory for `` `include ``.
    pub fn include_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.include_dirs.push(absolute(dir.as_ref()));
        self
    }

    /// Takes sources and directories from a command file such as `rtl/gyre.f`, ahead of those added
    /// one by one. The top module's own file is found in its directories.
    pub fn file_list(mut self, file: impl AsRef<Path>) -> Self {
        self.file_list = Some(absolute(file.as_ref()));
        self
    }

    /// Sets a parameter of the top module; `value` as SystemVerilog writes it.
    pub fn parameter(mut self, name: &str, value: impl Display) -> Self {
        self.parameters.push((name.to_owned(), value.to_string()));
        self
    }

    /// Defines a preprocessor macro.
    pub fn define(mut self, name: &str, value: impl Display) -> Self {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }

    /// Whether the model can write waveforms; without, it is faster.
    pub fn trace(mut self, trace: bool) -> Self {
        self.trace = trace;
        self
    }

    /// Whether the model of a [`crate::Library`] counts how often each line and branch of the RTL is run; with, it is slower.
    pub fn coverage(mut self, coverage: bool) -> Self {
        self.coverage = coverage;
        self
    }

    /// Hash of all SystemVerilog that it may be made of: names and content of sources and of files in the directories, not
    /// parameters nor tools.
    ///
    /// # Errors
    /// A file list or a file that cannot be read.
    pub fn sources_digest(&self) -> Result<String, Error> {
        let resolved = self.resolve()?;
        let mut digest = Digest::new();
        for source in &resolved.sources {
            digest.file(source)?;
        }
        for dir in resolved.library_dirs.iter().chain(&resolved.include_dirs) {
            digest.dir(dir)?;
        }
        Ok(digest.finish())
    }

    /// The top module.
    pub(crate) fn top(&self) -> &str {
        &self.top
    }

    pub(crate) fn counts_coverage(&self) -> bool {
        self.coverage
    }

    /// The C++ class.
    pub(crate) fn class(&self) -> &str {
        &self.prefix
    }

    /// The model with its file list read and its top module's file found.
    pub(crate) fn resolve(&self) -> Result<Resolved<'_>, Error> {
        let there = |path: &PathBuf| self.in_tree(path);
        let list = match &self.file_list {
            Some(file) => FileList::read(&there(file))?,
            None => FileList::default(),
        };
        let own = |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().map(there).collect() };
        let mut sources = list.sources;
        sources.extend(own(&self.sources));
        let library_dirs = [list.library_dirs, own(&self.library_dirs)].concat();
        let include_dirs = [list.include_dirs, own(&self.include_dirs)].concat();
        let own_file = format!("{}.sv", self.top);
        if !sources.iter().any(|source| source.ends_with(&own_file))
            && let Some(file) = library_dirs
                .iter()
                .map(|dir| dir.join(&own_file))
                .find(|file| file.is_file())
        {
            sources.push(file);
        }
        Ok(Resolved {
            model: self,
            sources,
            library_dirs,
            include_dirs,
        })
    }

    /// The tree of RTL that it is of.
    pub(crate) fn tree_name(&self) -> PathBuf {
        self.tree
            .clone()
            .unwrap_or_else(|| absolute(Path::new(TREE)))
    }

    /// Where a path of the workspace lies, with another tree in the place of `rtl/`.
    fn in_tree(&self, path: &Path) -> PathBuf {
        match (&self.tree, path.strip_prefix(absolute(Path::new(TREE)))) {
            (Some(tree), Ok(inside)) => tree.join(inside),
            _ => path.to_owned(),
        }
    }
}

/// A model whose files are known.
pub(crate) struct Resolved<'a> {
    pub(crate) model: &'a Model,
    sources: Vec<PathBuf>,
    library_dirs: Vec<PathBuf>,
    include_dirs: Vec<PathBuf>,
}

impl Resolved<'_> {
    /// Name of a path in messages and generated code: the same in every checkout, and for every tree.
    fn named(&self, path: &Path) -> PathBuf {
        match self.model.tree.as_ref().map(|tree| path.strip_prefix(tree)) {
            Some(Ok(inside)) => Path::new(TREE).join(inside),
            _ => relative(path).to_owned(),
        }
    }

    /// Verilator's arguments for any use of the model.
    fn arguments(&self) -> Vec<OsString> {
        let model = self.model;
        let mut arguments: Vec<OsString> = [
            "--assert",
            "--no-timing",
            "--x-assign",
            "unique",
            "--x-initial",
            "unique",
            // Warnings are the business of `make lint`, which knows what is waived.
            "-Wno-fatal",
            // A parameter that a module refuses at elaboration ends the build all the same.
            "-Werror-USERFATAL",
            "-Werror-USERERROR",
            // A misspelt name is no net of its own.
            "-Werror-IMPLICIT",
            "--quiet-stats",
            "--top-module",
            &model.top,
            "--prefix",
            &model.prefix,
        ]
        .map(OsString::from)
        .to_vec();
        if model.trace {
            arguments
                .extend(["--trace-vcd", "--trace-structs", "--trace-params"].map(OsString::from));
        }
        if model.coverage {
            arguments.push("--coverage-line".into());
        }
        for (name, value) in &model.parameters {
            arguments.push(format!("-G{name}={value}").into());
        }
        for (name, value) in &model.defines {
            arguments.push(format!("-D{name}={value}").into());
        }
        for dir in &self.include_dirs {
            arguments.push(concat("+incdir+", &self.named(dir)));
        }
        for dir in &self.library_dirs {
            arguments.push("-y".into());
            arguments.push(self.named(dir).into());
        }
        arguments.extend(self.sources.iter().map(|source| self.named(source).into()));
        arguments
    }

    /// Arguments that make C++ of it, without the output directory.
    fn generate() -> [&'static str; 4] {
        ["--cc", "-O3", "--output-split", SPLIT]
    }

    /// Hash of everything that the generated C++ depends on.
    pub(crate) fn digest(&self, toolchain: &Toolchain) -> Result<Digest, Error> {
        let mut digest = Digest::new();
        digest.text(&toolchain.version.to_string());
        digest.text(&toolchain.name().to_string_lossy());
        for argument in Self::generate() {
            digest.text(argument);
        }
        for argument in self.arguments() {
            digest.text(&argument.to_string_lossy());
        }
        for source in &self.sources {
            digest.file(source)?;
        }
        let mut files = self.sources.clone();
        for dir in self.library_dirs.iter().chain(&self.include_dirs) {
            digest.dir(dir)?;
            files.extend(files_in(dir)?);
        }
        for (name, file) in included(&files, |name| self.places_of(name))? {
            digest.text(&name);
            digest.file(&file)?;
        }
        Ok(digest)
    }

    /// Where Verilator may look for a file that is included.
    fn places_of(&self, name: &str) -> Vec<PathBuf> {
        let dirs = self.library_dirs.iter().chain(&self.include_dirs);
        // It runs in the workspace, or in a folder like that.
        let from_root = self.model.in_tree(&absolute(Path::new(name)));
        dirs.map(|dir| dir.join(name)).chain([from_root]).collect()
    }

    /// Runs Verilator into `out`, which must exist.
    pub(crate) fn verilate(&self, toolchain: &Toolchain, out: &Path) -> Result<(), Error> {
        let out = out.as_os_str();
        let arguments = Self::generate().map(OsStr::new);
        self.run(
            toolchain,
            &[&arguments[..], &[OsStr::new("--Mdir"), out]].concat(),
        )
    }

    /// Elaborates it only.
    pub(crate) fn lint(&self, toolchain: &Toolchain) -> Result<(), Error> {
        self.run(toolchain, &[OsStr::new("--lint-only")])
    }

    fn run(&self, toolchain: &Toolchain, arguments: &[&OsStr]) -> Result<(), Error> {
        for source in &self.sources {
            fs::metadata(source).map_err(Error::io(source))?;
        }
        let mut command = toolchain.command();
        command.args(arguments).args(self.arguments());
        let folder = self.folder()?;
        let dir = folder.as_ref().map_or(workspace_root(), TempDir::path);
        command.current_dir(dir);
        let output = gyre_files::run(&mut command).map_err(Error::io(&toolchain.verilator))?;
        if output.status.success() {
            return Ok(());
        }
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        if let Some(tree) = &self.model.tree {
            text = text.replace(&format!("{TREE}/"), &format!("{}/", tree.display()));
        }
        Err(Error::Verilator {
            top: self.model.top.clone(),
            status: output.status.to_string(),
            output: errors_of(&text),
        })
    }
}

impl Resolved<'_> {
    /// Where Verilator runs if there is another tree: a folder like the workspace, in which that tree is called `rtl`.
    fn folder(&self) -> Result<Option<TempDir>, Error> {
        let Some(tree) = &self.model.tree else {
            return Ok(None);
        };
        let folder = tempfile::tempdir().map_err(Error::io(&std::env::temp_dir()))?;
        let named = self.sources.iter().chain(&self.library_dirs);
        let named = named.chain(&self.include_dirs).map(|path| self.named(path));
        let mut tops: BTreeMap<PathBuf, PathBuf> = named
            .filter(|path| path.is_relative())
            .filter_map(|path| Some(PathBuf::from(path.components().next()?.as_os_str())))
            .map(|top| (top.clone(), absolute(&top)))
            .collect();
        tops.insert(PathBuf::from(TREE), tree.clone());
        for (name, target) in tops {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(target, &link).map_err(Error::io(&link))?;
        }
        Ok(Some(folder))
    }
}

/// Verilator's messages without the warnings, which do not stop it.
fn errors_of(text: &str) -> String {
    let mut shown = true;
    let mut errors = String::new();
    for line in text.lines() {
        if line.starts_with('%') {
            shown = !line.starts_with("%Warning");
        }
        if shown {
            errors += line;
            errors.push('\n');
        }
    }
    match errors.is_empty() {
        true => text.to_owned(),
        false => errors,
    }
}

fn concat(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate;

    /// Runs Verilator on the node with one parameter set.
    fn verilate_node(name: &str, value: u32) -> Result<(), Error> {
        let model = Model::new("gyre_node")
            .file_list("rtl/gyre.f")
            .parameter(name, value);
        let out = tempfile::tempdir().expect("temporary directory");
        model.resolve()?.verilate(&locate()?, out.path())
    }

    #[test]
    fn refused_parameter_stops_the_build_with_its_message() {
        // One by $error, one by $fatal.
        for (name, value, message) in [
            ("NDim", 6, "gyre_node: NDim must be 1 to 5"),
            (
                "PortFlits",
                20,
                "router_credits: PortFlits 20: expected at least",
            ),
        ] {
            let error = verilate_node(name, value).expect_err("the parameter is bad");
            let text = error.to_string();
            assert!(text.contains(message), "{message} is not in: {text}");
        }
    }
}
