// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hardware threads of the host, as Linux describes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu};

use crate::place::Place;

/// Linux's description of logical processors.
const CPUS: &str = "/sys/devices/system/cpu";

/// Failed query of the host's hardware threads.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The description of the hardware cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file does not contain a number.
    #[error("{}: `{text}`, expected a whole number", .path.display())]
    Number {
        /// File.
        path: PathBuf,
        /// Its contents.
        text: String,
    },
    /// The affinity of a thread cannot be read.
    #[error("the affinity of the thread is not known: {0}")]
    Affinity(io::Error),
    /// A logical processor is missing from the description.
    #[error("logical processor {cpu} has no description")]
    Unknown {
        /// Its number.
        cpu: usize,
    },
}

/// The affinity of a software thread to a hardware thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Affinity {
    /// Logical processor, the operating system's number of the hardware thread.
    pub cpu: usize,
    /// The hardware thread.
    pub place: Place,
    /// Whether the software thread is bound to it; otherwise this is its momentary place.
    pub pinned: bool,
}

/// The hardware threads of a real machine (AF-1): a package is a processor, a die a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    places: BTreeMap<usize, Place>,
}

impl Host {
    /// Reads the description of this host.
    ///
    /// # Errors
    /// [`HostError::Read`], [`HostError::Number`].
    pub fn discover() -> Result<Self, HostError> {
        Self::read(Path::new(CPUS))
    }

    /// Reads a description in the format of `/sys/devices/system/cpu`: folders `cpu0`, `cpu1`, ..., each with
    /// `topology/physical_package_id`, `die_id` and `core_id`. Off-line processors have no topology and are skipped.
    /// Without `die_id`, a package is one die.
    ///
    /// # Errors
    /// [`HostError::Read`], [`HostError::Number`].
    pub fn read(folder: &Path) -> Result<Self, HostError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| HostError::Read { path, source }
        };
        // Keyed by the system's (package, die, core), whose numbers may have gaps.
        let mut cores: BTreeMap<(i64, i64, i64), BTreeSet<usize>> = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let name = entry.map_err(failed(folder))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
            let Some(cpu) = number.and_then(|number| number.parse().ok()) else {
                continue;
            };
            let topology = folder.join(name).join("topology");
            if !topology.exists() {
                continue;
            }
            let package = number_in(&topology.join("physical_package_id"))?;
            let core = number_in(&topology.join("core_id"))?;
            let die = match number_in(&topology.join("die_id")) {
                Err(HostError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    0
                }
                die => die?,
            };
            cores.entry((package, die, core)).or_default().insert(cpu);
        }
        let mut places = BTreeMap::new();
        let mut at = Place::default();
        let mut before: Option<(i64, i64)> = None;
        for ((package, die, _), cpus) in cores {
            match before {
                None => {}
                Some((p, _)) if p != package => {
                    at = Place {
                        processor: at.processor + 1,
                        ..Place::default()
                    };
                }
                Some((_, d)) if d != die => {
                    at.module += 1;
                    at.core = 0;
                }
                Some(_) => at.core += 1,
            }
            before = Some((package, die));
            for (thread, cpu) in (0..).zip(cpus) {
                places.insert(cpu, Place { thread, ..at });
            }
        }
        Ok(Self { places })
    }

    /// The places of all hardware threads, by logical processor.
    #[must_use]
    pub fn places(&self) -> &BTreeMap<usize, Place> {
        &self.places
    }

    /// The affinity of the calling thread.
    ///
    /// # Errors
    /// [`HostError::Affinity`], [`HostError::Unknown`].
    pub fn affinity(&self) -> Result<Affinity, HostError> {
        let set = sched_getaffinity(None).map_err(|error| HostError::Affinity(error.into()))?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&c| set.is_set(c)).collect();
        let (cpu, pinned) = match allowed[..] {
            [cpu] => (cpu, true),
            _ => (sched_getcpu(), false),
        };
        let place = self.places.get(&cpu).copied();
        let place = place.ok_or(HostError::Unknown { cpu })?;
        Ok(Affinity { cpu, place, pinned })
    }
}

fn number_in(path: &Path) -> Result<i64, HostError> {
    let text = fs::read_to_string(path).map_err(|source| HostError::Read {
        path: path.to_owned(),
        source,
    })?;
    let text = text.trim();
    text.parse().map_err(|_| HostError::Number {
        path: path.to_owned(),
        text: text.to_owned(),
    })
}
