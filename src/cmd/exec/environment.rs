// SPDX-License-Identifier: MIT OR Apache-2.0
//! Environment variables that lead MPI programs to the machine.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of libfabric, MPICH, Open MPI and OpenMP, which a user's own override: every message goes through libfabric, and that takes
/// the machine's provider or none. Threads of OpenMP wait at once, as one thread of a task runs at a time.
const DEFAULTS: [(&str, &str); 10] = [
    ("OMP_WAIT_POLICY", "passive"),
    ("FI_PROVIDER", "gyre"),
    ("MPIR_CVAR_NOLOCAL", "1"),
    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
    // By this Open MPI takes it that a job manager has started it: it wants no daemon then, and starts by PMIx, of which the
    // provider's library has the functions.
    ("FLUX_JOB_ID", "1"),
    ("OMPI_MCA_orte_create_session_dirs", "0"),
    ("OMPI_MCA_pml", "cm"),
    ("OMPI_MCA_mtl", "ofi"),
    ("OMPI_MCA_btl", "self"),
    // Windows by messages: these two would look for networks of their own.
    ("OMPI_MCA_osc", "^rdma,ucx"),
];

/// Where libfabric looks for providers.
const PROVIDERS: &str = "FI_PROVIDER_PATH";

/// Libraries that the loader loads first.
const PRELOAD: &str = "LD_PRELOAD";

/// Folders of the provider from the executable's: of a build, and of an installation. Each holds the provider alone:
/// libfabric loads every library of such a folder as a provider.
const FOLDERS: [&str; 2] = ["libfabric", "../lib/gyre/libfabric"];
const PROVIDER: &str = "libgyre-fi.so";

/// Names of the clients of a program, as on the Blue Gene/Q: separated by commas, each with what follows a colon or slash.
const CLIENTS: &str = "PAMI_CLIENTS";

/// The names in [`CLIENTS`]; none where it is not set.
pub fn clients() -> Vec<String> {
    let text = env::var(CLIENTS).unwrap_or_default();
    let names = text.split(',').map(|name| {
        let end = name.find([':', '/']).unwrap_or(name.len());
        name[..end].trim().to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Variable by which the provider leaves collectives to the library of MPI.
const COLLECTIVES: (&str, &str) = ("GYRE_MPI_COLLECTIVES", "mpich");

/// Leaves collectives to the library of MPI, which sends messages for them.
pub fn leave_collectives(command: &mut Command) {
    command.env(COLLECTIVES.0, COLLECTIVES.1);
}

/// Sets the variables that the user has not set.
pub fn prepare(command: &mut Command) {
    let folder = provider_folder();
    for (name, value) in variables(folder.as_deref(), &|name| env::var_os(name)) {
        command.env(name, value);
    }
}

/// The provider's folder, where there is one.
fn provider_folder() -> Option<PathBuf> {
    let executable = env::current_exe().ok()?;
    let beside = executable.parent()?;
    let folders = FOLDERS.map(|folder| beside.join(folder));
    let found = folders
        .into_iter()
        .find(|folder| folder.join(PROVIDER).exists())?;
    found.canonicalize().ok()
}

/// The variables that `set` does not return.
fn variables(
    folder: Option<&Path>,
    set: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<(&'static str, OsString)> {
    let defaults = DEFAULTS.into_iter();
    let mut variables: Vec<_> = defaults.map(|(name, value)| (name, value.into())).collect();
    if let Some(folder) = folder {
        variables.push((PROVIDERS, folder.into()));
    }
    variables.retain(|(name, _)| set(name).is_none());
    if let Some(folder) = folder {
        // The same file as libfabric loads: the loader has it once.
        let mut preload = folder.join(PROVIDER).into_os_string();
        if let Some(own) = set(PRELOAD).filter(|own| !own.is_empty()) {
            preload.push(":");
            preload.push(own);
        }
        // The loader takes names apart at spaces and colons, and knows no way around it.
        let splits = |byte: &u8| b" :".contains(byte);
        if !folder.as_os_str().as_bytes().iter().any(splits) {
            variables.push((PRELOAD, preload));
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_the_users_own_variables_stay() {
        let set = |name: &str| match name {
            "OMP_WAIT_POLICY" => Some("active".into()),
            PRELOAD => Some("/own.so".into()),
            _ => None,
        };
        let folder = Path::new("/bin/libfabric");
        let others = DEFAULTS[1..].iter();
        let mut expected: Vec<_> = others.map(|&(name, value)| (name, value.into())).collect();
        expected.push((PROVIDERS, folder.into()));
        expected.push((PRELOAD, "/bin/libfabric/libgyre-fi.so:/own.so".into()));
        assert_eq!(variables(Some(folder), &set), expected);
        let defaults = variables(None, &|_| None);
        assert_eq!(defaults.len(), DEFAULTS.len());
        assert!(defaults.contains(&("OMP_WAIT_POLICY", "passive".into())));
    }

    #[test]
    fn x6_a_folder_that_the_loader_cannot_name_is_not_preloaded() {
        for folder in ["/a b", "/a:b"] {
            let found = variables(Some(Path::new(folder)), &|_| None);
            assert!(found.iter().all(|(name, _)| *name != PRELOAD), "{folder}");
        }
    }
}
