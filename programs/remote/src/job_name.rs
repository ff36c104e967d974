// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name of a job on its host, and the shared memory by name of its programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

use smallvec::SmallVec;

/// The variable of a task's environment that has the name.
const VARIABLE: &str = "GYRE_JOB";

/// Where shared memory by name lies.
const SHARED_MEMORY: &str = "/dev/shm";

/// Longest name of shared memory, in bytes.
const NAME_MAX: usize = 255;

/// The host's name of shared memory, another in every run. It is not on the heap: a program may send what is left in a place of
/// its heap that it has not written, such as padding of a structure, and the hash of the run would show it.
pub type HostName = SmallVec<[u8; NAME_MAX]>;

/// The name of a job, unique among the running jobs of the host. It is appended to names of shared memory of the job's programs,
/// so that jobs do not share memory, and all of it is removed when the job ends. Nothing in the simulated machine depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName(String);

impl JobName {
    /// Makes a new name, of this process and the time. All names have the same length, so that they take the same place in the
    /// memory of tasks.
    #[must_use]
    pub fn unique() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let microseconds = now.unwrap_or_default().as_micros();
        Self(format!("gyre_{:08x}_{microseconds:016x}", process::id()))
    }

    /// The name of the job whose task this process is, if it is one's.
    #[must_use]
    pub fn inherited() -> Option<Self> {
        env::var(VARIABLE).ok().map(Self)
    }

    /// The name that [`as_str`](Self::as_str) has given.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As text without spaces.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Gives it to a task's process.
    pub fn give(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// Whether an environment, as the system shows that of a process, has it.
    pub(crate) fn is_in(&self, environment: &[u8]) -> bool {
        let own = format!("{VARIABLE}={}", self.0);
        environment
            .split(|&byte| byte == 0)
            .any(|entry| entry == own.as_bytes())
    }

    /// Name on the host of shared memory that a program of the job calls `name`.
    #[must_use]
    pub fn shared_memory(&self, name: &[u8]) -> HostName {
        let mut host_name = HostName::from_slice(name);
        host_name.push(b'.');
        host_name.extend_from_slice(self.0.as_bytes());
        host_name
    }

    /// Removes the job's remaining shared memory, such as that of killed programs.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn remove_shared_memory(&self) -> io::Result<()> {
        self.remove_from(Path::new(SHARED_MEMORY))
    }

    fn remove_from(&self, folder: &Path) -> io::Result<()> {
        // A host without named shared memory has none of this job.
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension() != Some(OsStr::new(&self.0)) {
                continue;
            }
            match fs::remove_file(&path) {
                // Its program has just done so.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn x6_names_of_shared_memory_stay_off_the_heap() {
        let name = JobName::unique().shared_memory(b"/mpich_shm_of_a_task");
        assert!(!name.spilled(), "{} bytes", name.len());
    }

    #[test]
    fn x6_names_of_jobs_have_one_length() {
        let JobName(name) = JobName::unique();
        assert_eq!(name.len(), "gyre_".len() + 8 + 1 + 16);
    }

    #[test]
    fn x6_a_process_of_a_job_has_its_name_in_its_environment() {
        let name = JobName("gyre_1_2".into());
        assert!(name.is_in(b"A=b\0GYRE_JOB=gyre_1_2\0C=d\0"));
        for other in [
            &b""[..],
            b"GYRE_JOB=gyre_1_23\0",
            b"OTHER_GYRE_JOB=gyre_1_2\0",
            b"A=GYRE_JOB=gyre_1_2\0",
            b"GYRE_JOB\0gyre_1_2\0",
        ] {
            assert!(!name.is_in(other));
        }
    }

    #[test]
    fn x6_a_jobs_shared_memory_goes_and_that_of_others_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, other) = (JobName("gyre_1_2".into()), JobName("gyre_1_23".into()));
        let file = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
        let files = [
            (file(&ours.shared_memory(b"a")), false),
            (file(&ours.shared_memory(b"b.gyre_1_23")), false),
            (file(&other.shared_memory(b"a")), true),
            (file(b"gyre_1_2"), true),
        ];
        for (path, _) in &files {
            fs::write(path, "").expect("a file");
        }
        ours.remove_from(folder.path()).expect("removed");
        for (path, stays) in &files {
            assert_eq!(path.exists(), *stays, "{}", path.display());
        }
        ours.remove_from(Path::new("/no/such/folder"))
            .expect("nothing to remove");
    }
}
