// SPDX-License-Identifier: MIT OR Apache-2.0
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::version::{MINIMUM, Version};

/// Why a model could not be built.
///
/// `Debug` prints the message.
#[derive(thiserror::Error)]
pub enum Error {
    /// The project's own Verilator has not been set up.
    #[error(
        "Verilator is not set up: {0} does not exist; run `make setup`, or name a Verilator {MINIMUM} or newer by VERILATOR or VERILATOR_ROOT"
    )]
    NotSetUp(PathBuf),

    /// `VERILATOR` names something that does not run.
    #[error("VERILATOR={program}: {problem}")]
    BadProgram {
        /// The variable's value.
        program: String,
        /// Its fault.
        problem: String,
    },

    /// The Verilator found is older than the RTL needs.
    #[error(
        "the Verilator of {root} is {found}, but {MINIMUM} or newer is needed; unset VERILATOR and VERILATOR_ROOT to use the project's own"
    )]
    TooOld {
        /// `VERILATOR_ROOT` of the one found.
        root: PathBuf,
        /// Its version.
        found: Version,
    },

    /// The program is not where it should be.
    #[error("no program {verilator}; VERILATOR names the one that goes with {root}")]
    NoProgram {
        /// Where it was looked for.
        verilator: PathBuf,
        /// `VERILATOR_ROOT`.
        root: PathBuf,
    },

    /// The version could not be read from Verilator's own header.
    #[error(
        "{header}: no line `#define VERILATOR_VERSION \"MAJOR.MINOR ...\"`; expected the header of Verilator {MINIMUM} or newer"
    )]
    UnreadableVersion {
        /// `include/verilated_config.h` under the Verilator root.
        header: PathBuf,
    },

    /// The root of a Verilator has no header of its version.
    #[error(
        "VERILATOR_ROOT={root}: {source}; expected the root of Verilator {MINIMUM} or newer, with {header}"
    )]
    NoRoot {
        /// `VERILATOR_ROOT`.
        root: PathBuf,
        /// The header in it.
        header: &'static str,
        /// Message of the system.
        source: io::Error,
    },

    /// A file list has a line that is not understood.
    #[error(
        "{file}:{line}: {found:?}: expected a source file, `-y DIR`, `+incdir+DIR`, `+libext+EXT` or a `//` comment"
    )]
    FileList {
        /// The file list.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The word that was not understood.
        found: String,
    },

    /// A file list names something that is not there.
    #[error("{}:{line}: {} is not there: expected {expected}", file.display(), path.display())]
    NotListed {
        /// The file list.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The path.
        path: PathBuf,
        /// Kind of what should be there.
        expected: &'static str,
    },

    /// Verilator refused the RTL.
    #[error("Verilator failed on {top} ({status}):\n{output}")]
    Verilator {
        /// The top module.
        top: String,
        /// How the process ended.
        status: String,
        /// Its output.
        output: String,
    },

    /// A port in the header of generated C++ is declared in an unknown form.
    #[error("{file}:{line}: {found:?}: expected VL_IN*(&name,msb,lsb..) or VlUnpacked<..> &name")]
    Declaration {
        /// The header.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The declaration.
        found: String,
    },

    /// RTL whose interface does not fit.
    #[error("{0}")]
    Interface(String),

    /// No C++ compiler was found.
    #[error("no C++ compiler: {0}")]
    Compiler(#[from] cc::Error),

    /// The C++ compiler cannot be run.
    #[error("C++ compiler {program}: cannot run it: {source}; CXX names another")]
    NoCompiler {
        /// The program.
        program: PathBuf,
        /// Message of the system.
        source: io::Error,
    },

    /// Generated C++ did not compile, or its objects did not link.
    #[error("{file}: the C++ compiler failed ({status}):\n{output}")]
    Compile {
        /// Source, or result.
        file: PathBuf,
        /// How the compiler ended.
        status: String,
        /// Its output.
        output: String,
    },

    /// The sources of the models are not there.
    #[error(
        "no checkout of Gyre: {} has no rtl/gyre.f; models are compiled from it when they are asked for",
        .0.display()
    )]
    NoCheckout(PathBuf),

    /// An installation that is not whole.
    #[error("{0} does not exist: the installation of Gyre is not whole; `make install` writes it")]
    NotInstalled(PathBuf),

    /// An installed program without a folder for its models.
    #[error(
        "no folder for models: neither XDG_CACHE_HOME nor HOME is set to an absolute path; GYRE_CACHE names one"
    )]
    NoCache,

    /// A cache of models that cannot be trusted.
    #[error("{}: {problem}; GYRE_CACHE names another folder for models", path.display())]
    Untrusted {
        /// Folder or file.
        path: PathBuf,
        /// Its fault.
        problem: String,
    },

    /// A file named as the folder of a cache, or of one.
    #[error("{}: is no folder: expected one for models; GYRE_CACHE names another", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },

    /// A folder named as a cache that holds something else.
    #[error(
        "{}: is no cache of models, {found} is in it: expected an empty folder or one that does not exist; GYRE_CACHE names another folder for models",
        path.display()
    )]
    NoCacheFolder {
        /// The folder.
        path: PathBuf,
        /// Something in it that no cache makes.
        found: String,
    },

    /// RTL that includes a file whose name only the preprocessor knows.
    #[error("{file}:{line}: `include {found}: expected the file's name in quotes")]
    Include {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The word behind the directive.
        found: String,
    },

    /// A cache that cannot be written, and does not have the model.
    #[error(
        "{}: cannot be written, and does not have the model {name}; GYRE_CACHE names another folder for models",
        path.display()
    )]
    ReadOnly {
        /// The cache.
        path: PathBuf,
        /// The model.
        name: String,
    },

    /// Not enough room to build a model.
    #[error(
        "{}: {free} MB are free on its file system: expected {needed} MB or more to build a model; GYRE_CACHE names another folder for models",
        path.display()
    )]
    DiskFull {
        /// The cache.
        path: PathBuf,
        /// Megabytes free.
        free: u64,
        /// Megabytes that a build takes.
        needed: u64,
    },

    /// A variable of the environment has a value that is not understood.
    #[error("{variable}={value}: expected {expected}")]
    Environment {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// Values that are valid.
        expected: &'static str,
    },

    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Message of the system.
        source: io::Error,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Whether the RTL is at fault, not the machine that it is built on.
    pub fn refuses_rtl(&self) -> bool {
        matches!(
            self,
            Self::Verilator { .. }
                | Self::FileList { .. }
                | Self::NotListed { .. }
                | Self::Include { .. }
                | Self::Interface(_)
        )
    }

    /// Whether a variable of the environment has a wrong value, or a part of Gyre is missing.
    pub fn refuses_environment(&self) -> bool {
        matches!(
            self,
            Self::Environment { .. }
                | Self::BadProgram { .. }
                | Self::NoProgram { .. }
                | Self::NoRoot { .. }
                | Self::UnreadableVersion { .. }
                | Self::NotSetUp(_)
                | Self::TooOld { .. }
                | Self::NoCheckout(_)
                | Self::NotInstalled(_)
                | Self::NoCache
                | Self::NoCacheFolder { .. }
                | Self::NoFolder { .. }
        )
    }

    /// Whether there is no C++ compiler.
    pub(crate) fn is_without_compiler(&self) -> bool {
        matches!(self, Self::Compiler(_) | Self::NoCompiler { .. })
    }

    /// For `map_err`: the I/O error with the path it happened at.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| Error::Io {
            path: path.to_owned(),
            source,
        }
    }
}
