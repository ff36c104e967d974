// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name of a job on its host, and the shared memory by name of its programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

/// The variable of a task's environment that has the name.
const VARIABLE: &str = "GYRE_JOB";

/// Where shared memory by name lies.
const SHARED_MEMORY: &str = "/dev/shm";

/// The name of a job, unique among the running jobs of the host. It is appended to names of shared memory of the job's programs,
/// so that jobs do not share memory, and all of it is removed when the job ends. Nothing in the simulated machine depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName(String);

impl JobName {
    /// Makes a new name, of this process and the time.
    #[must_use]
    pub fn unique() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let microseconds = now.unwrap_or_default().as_micros();
        Self(format!("gyre_{:x}_{microseconds:x}", process::id()))
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
    pub fn shared_memory(&self, name: &[u8]) -> Vec<u8> {
        [name, b".", self.0.as_bytes()].concat()
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
    use super::*;

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
        let file = |name: Vec<u8>| folder.path().join(String::from_utf8(name).expect("text"));
        let files = [
            (file(ours.shared_memory(b"a")), false),
            (file(ours.shared_memory(b"b.gyre_1_23")), false),
            (file(other.shared_memory(b"a")), true),
            (file(b"gyre_1_2".to_vec()), true),
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
