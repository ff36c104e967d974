// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of compiled models, which processes share.
//!
//! An entry is a folder `<name>-<key>` with one file that matters (a library, as a rule), its digest and how long it took to
//! build; `<name>-<key>.lock` beside it says by its time when the entry was used last. A process that builds an entry holds
//! its lock alone, those that use it share it: an entry in use is never removed. The kernel releases locks of ended processes.
//!
//! A cache knows its own by a marker file and by the names that it gives: nothing else in its folder is removed or counted,
//! and a folder without the marker that holds anything else is refused.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gyre_files::Unfinished;
use rustix::fs::Access;

use crate::Error;
use crate::digest::{KEY_DIGITS, digest_of, read};

/// Extension of the file with the SHA-256 of an entry's file, as `sha256sum` writes it.
const DIGEST: &str = "sha256";
/// Seconds that the build took.
const SECONDS: &str = "seconds";
/// Hash of what the entry was made of, without the compiler.
const SOURCES: &str = "sources";
/// Bytes of such a note, at most.
const NOTE_BYTES: u64 = 1 << 10;
const LOCK: &str = "lock";
const PART: &str = "part";

/// The marker of a cache: a tag that programs for backups know, too.
const MARKER: &str = "CACHEDIR.TAG";
const MARK: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is a cache of models that Gyre has compiled. It may be removed.\n";

/// Megabytes that a build takes for a while, most of them precompiled headers.
const BUILD_MB: u64 = 400;

/// How often a lock is tried, and how long between, before another process is held to build.
const LOOKS: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Progress of a build, for a caller that waits for the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Another process builds it.
    Waiting,
    /// The cached entry is damaged; it is built again.
    Damaged,
    /// A build has begun; the last one of this model took so long.
    Begins {
        /// None: it was never built here.
        expected: Option<Duration>,
    },
    /// Verilator has written the C++.
    Verilated,
    /// So many bytes of C++ are compiled.
    Compiled {
        /// Bytes.
        done: u64,
        /// Bytes of the model.
        total: u64,
    },
    /// It can be loaded.
    Ready,
}

/// A folder of compiled models, bounded in size.
pub(crate) struct Store {
    dir: PathBuf,
    /// Bytes of all entries.
    limit: u64,
    /// Megabytes that must be free for a build.
    needed: u64,
    /// Whether it can be written; else nobody removes anything either.
    writable: bool,
}

/// A request to the cache.
pub(crate) struct Item<'a> {
    /// Name of the entry.
    pub(crate) name: &'a str,
    /// Hash of all that it is made from.
    pub(crate) key: &'a str,
    /// The file that is made.
    pub(crate) file: &'static str,
}

/// An entry in use: it stays until this is dropped.
#[derive(Debug)]
pub struct Held {
    file: PathBuf,
    _lock: Option<File>,
}

impl Held {
    /// The shared library.
    pub fn library(&self) -> &Path {
        &self.file
    }
}

impl Store {
    /// The cache at `dir`, made if it is not there, of at most `limit` bytes.
    ///
    /// # Errors
    /// A folder that belongs to another user, or that others can write; one that holds anything else than a cache.
    pub(crate) fn open(dir: PathBuf, limit: u64) -> Result<Self, Error> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&dir);
        made.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Error::NoFolder { path: dir.clone() }
            }
            _ => Error::io(&dir)(source),
        })?;
        trusted(&dir)?;
        let writable = rustix::fs::access(&dir, Access::WRITE_OK).is_ok();
        mark(&dir, writable)?;
        Ok(Self {
            dir,
            limit,
            needed: BUILD_MB,
            writable,
        })
    }

    /// The entry of an item, held. A missing one is made by `build`, in the folder that it is given.
    pub(crate) fn get(
        &self,
        item: &Item<'_>,
        progress: &(dyn Fn(Progress) + Sync),
        build: impl Fn(&Path) -> Result<(), Error>,
    ) -> Result<Held, Error> {
        let entry = Entry {
            path: self.dir.join(format!("{}-{}", item.name, item.key)),
        };
        if !self.writable {
            return self.held(&entry, item)?.ok_or_else(|| Error::ReadOnly {
                path: self.dir.clone(),
                name: item.name.to_owned(),
            });
        }
        loop {
            let Some(lock) = entry.lock(Mode::Shared, progress)? else {
                continue;
            };
            if entry.is_intact(item.file)? == Some(true) {
                let now = SystemTime::now();
                lock.set_modified(now)
                    .map_err(Error::io(&entry.lock_path()))?;
                return Ok(Held {
                    file: entry.path.join(item.file),
                    _lock: Some(lock),
                });
            }
            drop(lock);
            let Some(lock) = entry.lock(Mode::Exclusive, progress)? else {
                continue;
            };
            // Somebody may have been faster.
            match entry.is_intact(item.file)? {
                Some(true) => continue,
                Some(false) => {
                    progress(Progress::Damaged);
                    remove(&entry.path)?;
                }
                None => {}
            }
            self.build(item, &entry, progress, &build)?;
            self.shrink(&entry)?;
            drop(lock);
            progress(Progress::Ready);
        }
    }

    /// An entry of a cache that cannot be written, if it is there.
    fn held(&self, entry: &Entry, item: &Item<'_>) -> Result<Option<Held>, Error> {
        let lock = gyre_files::open(&entry.lock_path()).ok();
        // Who can write may be about to remove it.
        if lock
            .as_ref()
            .is_some_and(|lock| lock.lock_shared().is_err())
        {
            return Ok(None);
        }
        let there = entry.is_intact(item.file)? == Some(true);
        Ok(there.then(|| Held {
            file: entry.path.join(item.file),
            _lock: lock,
        }))
    }

    /// The key of an entry called `name` that was made of these sources, by whatever compiler; the one used last.
    pub(crate) fn made_of(&self, name: &str, sources: &str) -> Result<Option<String>, Error> {
        let mut last = None;
        for entry in self.entries()? {
            let file = entry.path.file_name().and_then(|file| file.to_str());
            let Some((of, key)) = file.and_then(|file| file.rsplit_once('-')) else {
                continue;
            };
            let noted = gyre_files::read_text(&entry.path.join(SOURCES), NOTE_BYTES);
            if of == name && noted.is_ok_and(|noted| noted == sources) {
                last = last.max(Some((entry.used()?, key.to_owned())));
            }
        }
        Ok(last.map(|(_, key)| key))
    }

    /// Notes what an entry was made of, unless that is known.
    pub(crate) fn note_sources(
        &self,
        held: &Held,
        sources: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        let note = held.file.with_file_name(SOURCES);
        match note.exists() || !self.writable {
            true => Ok(()),
            false => write(&note, &sources()),
        }
    }

    fn build(
        &self,
        item: &Item<'_>,
        entry: &Entry,
        progress: &(dyn Fn(Progress) + Sync),
        build: &impl Fn(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let free = free_mb(&self.dir)?;
        if free < self.needed {
            return Err(Error::DiskFull {
                path: self.dir.clone(),
                free,
                needed: self.needed,
            });
        }
        progress(Progress::Begins {
            expected: self.expected(item.name)?,
        });
        let started = Instant::now();
        // What a build that was killed has left: the lock says that none is under way. Its compilers may still write there, so
        // each build has a folder of its own.
        for left in self.parts_of(&entry.path)? {
            remove_part(&left)?;
        }
        let part = entry.new_part()?;
        let unfinished = Unfinished::folder(&part);
        let made = build(&part).and_then(|()| {
            let file = part.join(item.file);
            let private = Permissions::from_mode(0o600);
            fs::set_permissions(&file, private).map_err(Error::io(&file))?;
            let digest = digest_of(&read(&file, u64::MAX)?);
            let digest = format!("{digest}  {}\n", item.file);
            write(&file.with_added_extension(DIGEST), &digest)?;
            let seconds = started.elapsed().as_secs_f64();
            write(&part.join(SECONDS), &format!("{seconds:.1}\n"))?;
            unfinished.finish(|| fs::rename(&part, &entry.path).map_err(Error::io(&entry.path)))
        });
        if made.is_err() {
            remove_part(&part)?;
        }
        made
    }

    /// Folders of builds of an entry, under way or left behind.
    fn parts_of(&self, entry: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut parts = Vec::new();
        for found in fs::read_dir(&self.dir).map_err(Error::io(&self.dir))? {
            let path = found.map_err(Error::io(&self.dir))?.path();
            if Own::of(&path) == Some(Own::Part) && entry_of(&path) == entry {
                parts.push(path);
            }
        }
        Ok(parts)
    }

    /// How long the last build of a model of this name took.
    fn expected(&self, name: &str) -> Result<Option<Duration>, Error> {
        let mut last = None;
        for entry in self.entries()? {
            let same = entry
                .path
                .file_name()
                .and_then(|file| file.to_str()?.rsplit_once('-'))
                .is_some_and(|(of, _)| of == name);
            if let Ok(text) = gyre_files::read_text(&entry.path.join(SECONDS), NOTE_BYTES)
                && let Ok(seconds) = text.trim().parse::<f64>()
                && same
            {
                last = last.max(Some((entry.used()?, seconds.to_bits())));
            }
        }
        let seconds = last.map(|(_, bits)| f64::from_bits(bits));
        Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
    }

    /// Removes remains of builds that were interrupted or refused.
    fn sweep(&self) -> Result<(), Error> {
        for found in fs::read_dir(&self.dir).map_err(Error::io(&self.dir))? {
            let path = found.map_err(Error::io(&self.dir))?.path();
            let entry = Entry {
                path: entry_of(&path),
            };
            let own = Own::of(&path);
            match own {
                Some(Own::Part) => {}
                Some(Own::Lock) if !entry.path.exists() => {}
                _ => continue,
            }
            let file = entry.open_lock()?;
            // Else a build is under way, or the entry in use.
            if file.try_lock().is_ok() {
                if own == Some(Own::Part) {
                    remove_part(&path)?;
                }
                if !entry.path.exists() {
                    remove(&entry.lock_path())?;
                }
            }
        }
        Ok(())
    }

    /// Removes the entries that were not used for longest, never `keep` nor one in use, until the rest fits.
    fn shrink(&self, keep: &Entry) -> Result<(), Error> {
        self.sweep()?;
        let mut entries = Vec::new();
        let mut total = 0;
        for entry in self.entries()? {
            let bytes = entry.bytes()?;
            total += bytes;
            entries.push((entry.used()?, bytes, entry));
        }
        entries.sort_by(|a, b| (a.0, &a.2.path).cmp(&(b.0, &b.2.path)));
        for (_, bytes, entry) in entries {
            if total <= self.limit {
                break;
            }
            if entry.path == keep.path {
                continue;
            }
            let file = entry.open_lock()?;
            match file.try_lock() {
                Ok(()) => {
                    remove(&entry.path)?;
                    // Who has it open sees that it is not the one in the folder any more.
                    remove(&entry.lock_path())?;
                    total -= bytes;
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(&entry.lock_path())(error));
                }
            }
        }
        Ok(())
    }

    /// Finished entries, in no order.
    fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.dir).map_err(Error::io(&self.dir))? {
            let path = found.map_err(Error::io(&self.dir))?.path();
            if Own::of(&path) == Some(Own::Entry) {
                entries.push(Entry { path });
            }
        }
        Ok(entries)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

/// A place in the cache.
struct Entry {
    path: PathBuf,
}

impl Entry {
    fn lock_path(&self) -> PathBuf {
        self.path.with_extension(LOCK)
    }

    /// A folder for a build, with a name that no other has.
    fn new_part(&self) -> Result<PathBuf, Error> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let mut prefix = self.path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&format!(".{PART}"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(dir);
        Ok(folder.map_err(Error::io(dir))?.keep())
    }

    fn open_lock(&self) -> Result<File, Error> {
        let path = self.lock_path();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(&path).map_err(Error::io(&path))?;
        Ok(file)
    }

    /// The entry's lock; none if the entry was removed meanwhile, and its lock with it.
    fn lock(
        &self,
        mode: Mode,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Option<File>, Error> {
        let path = self.lock_path();
        let file = self.open_lock()?;
        let try_lock = || match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        let mut tried = try_lock();
        for _ in 0..LOOKS {
            // Who only looks whether the entry is there has the lock for a moment.
            if !matches!(tried, Err(TryLockError::WouldBlock)) {
                break;
            }
            thread::sleep(BETWEEN_LOOKS);
            tried = try_lock();
        }
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress(Progress::Waiting);
                let locked = match mode {
                    Mode::Shared => file.lock_shared(),
                    Mode::Exclusive => file.lock(),
                };
                locked.map_err(Error::io(&path))?;
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
        }
        let held = file.metadata().map_err(Error::io(&path))?.ino();
        let named = fs::metadata(&path).map(|metadata| metadata.ino());
        Ok((named.ok() == Some(held)).then_some(file))
    }

    /// Whether the file has its noted digest; none if there is no entry.
    fn is_intact(&self, file: &str) -> Result<Option<bool>, Error> {
        if !self.path.exists() {
            return Ok(None);
        }
        let library = self.path.join(file);
        let noted = library.with_added_extension(DIGEST);
        trusted(&self.path)?;
        let noted = match gyre_files::read_text(&noted, NOTE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(false)),
            Err(error) => return Err(Error::io(&noted)(error)),
        };
        if !library.exists() {
            return Ok(Some(false));
        }
        trusted(&library)?;
        let content = read(&library, u64::MAX)?;
        let intact = noted.split(' ').next() == Some(&digest_of(&content));
        Ok(Some(intact && is_whole(&content)))
    }

    /// When it was used last.
    fn used(&self) -> Result<SystemTime, Error> {
        match fs::metadata(self.lock_path()).and_then(|metadata| metadata.modified()) {
            Ok(time) => Ok(time),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(SystemTime::UNIX_EPOCH),
            Err(error) => Err(Error::io(&self.lock_path())(error)),
        }
    }

    fn bytes(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        let files = match fs::read_dir(&self.path) {
            Ok(files) => files,
            // Another process has removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(&self.path)(error)),
        };
        for file in files.flatten() {
            bytes += file.metadata().map_or(0, |metadata| metadata.len());
        }
        Ok(bytes)
    }
}

/// What a cache makes in its folder, besides its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// A folder `<name>-<key>`.
    Entry,
    /// A file `<name>-<key>.lock`.
    Lock,
    /// A folder `<name>-<key>.<letters>.part`.
    Part,
}

impl Own {
    /// The kind of `path` by its name and the type of its file; none if no cache has made it.
    fn of(path: &Path) -> Option<Self> {
        let (stem, ending) = match path.file_name()?.to_str()?.split_once('.') {
            Some((stem, ending)) => (stem, Some(ending)),
            None => (path.file_name()?.to_str()?, None),
        };
        let (name, key) = stem.rsplit_once('-')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let own = !name.is_empty()
            && name.chars().all(is_name)
            && key.len() == KEY_DIGITS
            && key.chars().all(is_digit);
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        match ending {
            _ if !own => None,
            None if kind.is_dir() => Some(Self::Entry),
            Some(ending) if kind.is_dir() && is_part(ending) => Some(Self::Part),
            Some(LOCK) if kind.is_file() => Some(Self::Lock),
            _ => None,
        }
    }
}

/// Whether what follows the first dot of a name is that of a build's folder.
fn is_part(ending: &str) -> bool {
    let letters = ending
        .strip_suffix(PART)
        .and_then(|start| start.strip_suffix('.'));
    letters.is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The entry that a file of the cache is of.
fn entry_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str());
    let stem = name.and_then(|name| name.split('.').next());
    path.with_file_name(stem.unwrap_or_default())
}

/// Makes sure that a folder is a cache: marks one that is empty, or holds nothing but what a cache makes.
fn mark(dir: &Path, writable: bool) -> Result<(), Error> {
    let marker = dir.join(MARKER);
    let written = match fs::symlink_metadata(&marker) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MARK.len() as u64 => {
            read(&marker, MARK.len() as u64)?
        }
        Ok(_) => return Err(foreign(dir, MARKER)),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io(&marker)(error)),
    };
    if written == MARK.as_bytes() {
        return Ok(());
    }
    // Another process may be about to write it.
    if !MARK.as_bytes().starts_with(&written) {
        return Err(foreign(dir, MARKER));
    }
    for found in fs::read_dir(dir).map_err(Error::io(dir))? {
        let path = found.map_err(Error::io(dir))?.path();
        let name = path.file_name().unwrap_or_default();
        if name != MARKER && Own::of(&path).is_none() {
            return Err(foreign(dir, &name.to_string_lossy()));
        }
    }
    match writable {
        true => write(&marker, MARK),
        false => Ok(()),
    }
}

fn foreign(dir: &Path, name: &str) -> Error {
    Error::NoCacheFolder {
        path: dir.to_owned(),
        found: name.to_owned(),
    }
}

/// Refuses files that another user owns or can write: they would run with the user's rights.
fn trusted(path: &Path) -> Result<(), Error> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    let user = rustix::process::geteuid().as_raw();
    let wrong = |problem| Error::Untrusted {
        path: path.to_owned(),
        problem,
    };
    // The system's administrator could do anything anyway.
    if metadata.uid() != user && metadata.uid() != 0 {
        return Err(wrong(format!(
            "belongs to user {}: expected {user}, who runs this",
            metadata.uid()
        )));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(wrong(format!(
            "has mode {mode:04o}: expected that nobody but its owner can write it"
        )));
    }
    Ok(())
}

/// Whether an object of 64 bits has all bytes that its header speaks of: a library that was cut would end the process
/// where it is used. Other files have no length to keep.
fn is_whole(content: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x7fELF\x02";
    if !content.starts_with(MAGIC) {
        return true;
    }
    let bytes = |at: usize| content.get(at..)?.first_chunk::<8>().copied();
    let word = |at| bytes(at).map(u64::from_le_bytes);
    let half = |at| bytes(at).map(|[low, high, ..]| u64::from(u16::from_le_bytes([low, high])));
    // The table of sections stands at the end: its place, and the size and number of its entries.
    let end = || word(0x28)?.checked_add(half(0x3a)? * half(0x3c)?);
    let whole = end().is_some_and(|end| end <= content.len() as u64);
    whole || cfg!(target_endian = "big")
}

fn free_mb(dir: &Path) -> Result<u64, Error> {
    let system = rustix::fs::statvfs(dir).map_err(|error| Error::io(dir)(error.into()))?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize) >> 20)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(path))
}

/// Removes a file or a folder with all that is in it, if it is there.
fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

/// Removes the folder of a build that failed or was killed. Compilers that outlive it may write there meanwhile: what they
/// leave goes later.
fn remove_part(path: &Path) -> Result<(), Error> {
    match remove(path) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const ROOMY: u64 = 1 << 40;
    const LIBRARY: &str = "model.so";

    fn item<'a>(name: &'a str, key: &'a str) -> Item<'a> {
        Item {
            name,
            key,
            file: LIBRARY,
        }
    }

    fn quiet(_: Progress) {}

    /// A key that ends with `digit`.
    fn key(digit: &str) -> String {
        format!("{digit:0>KEY_DIGITS$}")
    }

    fn place(store: &Store, name: &str, digit: &str) -> PathBuf {
        store.dir.join(format!("{name}-{}", key(digit)))
    }

    fn put(store: &Store, name: &str, key: &str, text: &str) -> Held {
        let build = |part: &Path| write(&part.join(LIBRARY), text);
        let key = self::key(key);
        store.get(&item(name, &key), &quiet, build).expect("built")
    }

    fn store(limit: u64) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let store = Store::open(dir.path().join("models"), limit).expect("own folder");
        (dir, store)
    }

    #[test]
    fn x8_entry_is_built_once_and_found_again() {
        let (_dir, store) = store(ROOMY);
        let built = AtomicUsize::new(0);
        for _ in 0..2 {
            let held = store.get(&item("node", &key("a")), &quiet, |part| {
                built.fetch_add(1, Ordering::Relaxed);
                write(&part.join(LIBRARY), "code")
            });
            let text = fs::read_to_string(held.expect("held").library());
            assert_eq!(text.expect("readable"), "code");
        }
        assert_eq!(built.into_inner(), 1);
    }

    #[test]
    fn x8_nobody_waits_for_who_only_looks_whether_a_model_is_there() {
        let (_dir, store) = store(ROOMY);
        let entry = Entry {
            path: place(&store, "node", "a"),
        };
        let shared = entry.lock(Mode::Shared, &|_| panic!("free"));
        let shared = shared.expect("a lock").expect("there");
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(3 * BETWEEN_LOOKS);
                drop(shared);
            });
            let alone = entry.lock(Mode::Exclusive, &|told| panic!("{told:?}"));
            alone.expect("a lock").expect("there");
        });
    }

    #[test]
    fn x8_who_wants_what_another_builds_waits_for_it() {
        let (_dir, store) = store(ROOMY);
        let (built, waited) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let notice = |progress| {
            if progress == Progress::Waiting {
                waited.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let held = store.get(&item("node", &key("a")), &notice, |part| {
                        built.fetch_add(1, Ordering::Relaxed);
                        // Others come meanwhile.
                        while waited.load(Ordering::Relaxed) < 3 {
                            thread::yield_now();
                        }
                        write(&part.join(LIBRARY), "code")
                    });
                    held.expect("held");
                });
            }
        });
        assert_eq!(built.into_inner(), 1);
    }

    #[test]
    fn x8_build_that_fails_or_was_interrupted_leaves_nothing() {
        let (_dir, store) = store(ROOMY);
        let fails = |part: &Path| {
            write(&part.join(LIBRARY), "half")?;
            Err(Error::Interface("no".to_owned()))
        };
        let error = store
            .get(&item("node", &key("a")), &quiet, fails)
            .expect_err("fails");
        assert_eq!(error.to_string(), "no");
        let entry = place(&store, "node", "a");
        let parts = || store.parts_of(&entry).expect("own folder");
        assert!(!entry.exists() && parts().is_empty());
        // A process that was killed.
        let part = entry.with_extension(format!("Ab1.{PART}"));
        fs::create_dir(&part).expect("folder");
        write(&part.join("left"), "over").expect("file");
        let held = put(&store, "node", "a", "whole");
        assert!(!held.library().with_file_name("left").exists() && parts().is_empty());
    }

    #[test]
    fn x8_compilers_of_a_killed_build_write_nothing_into_the_next() {
        let (_dir, store) = store(ROOMY);
        let left = Entry {
            path: place(&store, "node", "a"),
        };
        let left = left.new_part().expect("a folder");
        let held = store.get(&item("node", &key("a")), &quiet, |part| {
            write(&part.join(LIBRARY), "whole")?;
            // One that outlived its process ends now.
            fs::write(left.join(LIBRARY), "half").expect_err("its folder is gone");
            Ok(())
        });
        let text = fs::read_to_string(held.expect("held").library());
        assert_eq!(text.expect("readable"), "whole");
    }

    #[test]
    fn x8_damaged_library_is_built_anew() {
        let (_dir, store) = store(ROOMY);
        let library = put(&store, "node", "a", "code").library().to_owned();
        for damage in [&|| write(&library, "c0de"), &|| remove(&library), &|| {
            remove(&library.with_added_extension(DIGEST))
        }] as [&dyn Fn() -> Result<(), Error>; 3]
        {
            damage().expect("damaged");
            let seen = AtomicUsize::new(0);
            let notice = |progress| {
                if progress == Progress::Damaged {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            };
            let held = store.get(&item("node", &key("a")), &notice, |part| {
                write(&part.join(LIBRARY), "code")
            });
            let text = fs::read_to_string(held.expect("held").library());
            assert_eq!(text.expect("readable"), "code");
            assert_eq!(seen.into_inner(), 1);
        }
    }

    #[test]
    fn x5_library_that_was_cut_is_built_anew_whatever_its_digest() {
        let (_dir, store) = store(ROOMY);
        let own = std::env::current_exe().expect("a program");
        let build = |part: &Path| {
            let library = part.join(LIBRARY);
            fs::copy(&own, &library)
                .map(drop)
                .map_err(Error::io(&library))
        };
        let held = store.get(&item("node", &key("a")), &quiet, build);
        let library = held.expect("built").library().to_owned();
        let bytes = fs::read(&library).expect("readable");
        fs::write(&library, &bytes[..bytes.len() / 2]).expect("cut");
        let half = digest_of(&bytes[..bytes.len() / 2]);
        write(&library.with_added_extension(DIGEST), &half).expect("written");
        let again = store.get(&item("node", &key("a")), &quiet, build);
        let library = again.expect("built anew").library().to_owned();
        assert_eq!(
            fs::metadata(library).expect("there").len(),
            bytes.len() as u64
        );
    }

    #[test]
    fn x8_least_recently_used_goes_first_and_never_one_in_use() {
        // Room for three: a library of 1000 bytes, its digest and the seconds.
        let (_dir, store) = store(3 * 1100);
        let text = "x".repeat(1000);
        let old = |held: Held, seconds: u64| {
            let lock = held.library().parent().expect("entry").with_extension(LOCK);
            drop(held);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let file = File::options().write(true).open(lock).expect("lock");
            file.set_modified(time).expect("time");
        };
        let there = |key: &str| place(&store, "node", key).exists();
        old(put(&store, "node", "a", &text), 2);
        old(put(&store, "node", "b", &text), 1);
        old(put(&store, "node", "c", &text), 3);
        drop(put(&store, "node", "d", &text));
        assert!(there("a") && !there("b") && there("c") && there("d"));
        // Used again: now `c` is the oldest.
        let used = put(&store, "node", "a", "not built");
        drop(put(&store, "node", "e", &text));
        assert!(there("a") && !there("c") && there("d") && there("e"));
        // In use, however old.
        let lock = used.library().parent().expect("entry").with_extension(LOCK);
        let file = File::options().write(true).open(lock).expect("lock");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("time");
        drop(put(&store, "node", "f", &text));
        assert!(there("a") && !there("d") && there("e") && there("f"));
    }

    #[test]
    fn x8_folder_that_others_can_write_is_refused() {
        let (_dir, store) = store(ROOMY);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("own file");
        };
        assert_eq!(
            fs::metadata(&store.dir).expect("made").mode() & 0o777,
            0o700
        );
        let held = put(&store, "node", "a", "code");
        let entry = held.library().parent().expect("entry").to_owned();
        for path in [held.library(), &entry, &store.dir] {
            mode(path, 0o720);
            let again = Store::open(store.dir.clone(), ROOMY).and_then(|store| {
                store.get(&item("node", &key("a")), &quiet, |_| panic!("not built"))
            });
            let text = again.expect_err("refused").to_string();
            let expected = format!("{}: has mode 0720: expected", path.display());
            assert!(text.starts_with(&expected), "{text}");
            mode(path, 0o700);
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&store.dir, Some(12_345), None).expect("root may");
            let error = Store::open(store.dir.clone(), ROOMY).map(|_| ());
            let text = error.expect_err("refused").to_string();
            assert!(text.contains("belongs to user 12345"), "{text}");
        }
    }

    #[test]
    fn x8_disk_without_room_for_a_build_is_named_with_what_is_free() {
        let (_dir, store) = store(ROOMY);
        drop(put(&store, "node", "a", "code"));
        let full = Store {
            needed: 1 << 44,
            ..store
        };
        let build = |_: &Path| panic!("there is no room");
        let error = full
            .get(&item("node", &key("b")), &quiet, build)
            .expect_err("full");
        let text = error.to_string();
        let expected = format!("{}: ", full.dir.display());
        assert!(text.starts_with(&expected), "{text}");
        assert!(
            text.contains("MB are free") && text.contains(&(1u64 << 44).to_string()),
            "{text}"
        );
        let parts = full.parts_of(&place(&full, "node", "b"));
        assert!(parts.expect("own folder").is_empty());
        // What is there can be used.
        full.get(&item("node", &key("a")), &quiet, build)
            .expect("found");
    }

    #[test]
    fn x8_last_build_says_what_to_expect() {
        let (_dir, store) = store(ROOMY);
        drop(put(&store, "node", "a", "code"));
        write(&place(&store, "node", "a").join(SECONDS), "12.5\n").expect("written");
        assert_eq!(
            store.expected("node").expect("read"),
            Some(Duration::from_millis(12_500))
        );
        assert_eq!(store.expected("network").expect("read"), None);
    }

    #[test]
    fn x5_cache_leaves_alone_what_it_did_not_make() {
        // Room for one: a library of 1000 bytes, its digest and the seconds.
        let (_dir, store) = store(1100);
        let own = format!("node-{}", key("a"));
        let files = [
            "Cargo.lock",
            "download.part",
            "node-1.lock",
            "notes",
            "x-0123456789abcdef01234567.so",
            "X-0123456789ABCDEF01234567.lock",
            &format!("{own}.lock.part"),
            "-0123456789abcdef01234567.lock",
        ];
        let folders = [
            "Documents",
            "video.part",
            "a-1",
            "b c-0123456789abcdef01234567",
        ];
        for name in files {
            write(&store.dir.join(name), &"u".repeat(2000)).expect("file");
        }
        for name in folders {
            fs::create_dir(store.dir.join(name)).expect("folder");
            write(&store.dir.join(name).join("data"), &"u".repeat(2000)).expect("file");
        }
        let text = "x".repeat(1000);
        for key in ["a", "b", "c"] {
            drop(put(&store, "node", key, &text));
        }
        assert!(!place(&store, "node", "a").exists() && place(&store, "node", "c").exists());
        let again = Store::open(store.dir.clone(), 1100);
        assert!(again.is_ok(), "the marker says that it is a cache");
        for name in files {
            let left = fs::metadata(store.dir.join(name)).expect("not lost");
            assert_eq!(left.len(), 2000, "{name}");
        }
        for name in folders {
            let left = fs::metadata(store.dir.join(name).join("data")).expect("not lost");
            assert_eq!(left.len(), 2000, "{name}");
        }
    }

    #[test]
    fn x5_folder_with_other_content_is_refused_as_a_cache_by_name() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(dir.path(), private).expect("own folder");
        let refused = |name: &str| {
            let file = dir.path().join(name);
            write(&file, "mine").expect("file");
            let error = Store::open(dir.path().to_owned(), ROOMY).map(|_| ());
            let text = error.expect_err("refused").to_string();
            let path = dir.path().display();
            let expected = format!("{path}: is no cache of models, {name} is in it: expected");
            assert!(text.starts_with(&expected), "{text}");
            assert_eq!(fs::read_to_string(&file).expect("there"), "mine");
            fs::remove_file(file).expect("removed");
        };
        // The last one is the tag of another program.
        for name in ["thesis.tex", "Cargo.lock", "x.part", MARKER] {
            refused(name);
        }
        // Caches were made without a marker once.
        fs::create_dir(dir.path().join(format!("node-{}", key("a")))).expect("folder");
        write(&dir.path().join(format!("node-{}.lock", key("a"))), "").expect("file");
        refused("thesis.tex");
        Store::open(dir.path().to_owned(), ROOMY).expect("a cache");
        let marker = dir.path().join(MARKER);
        assert_eq!(fs::read_to_string(&marker).expect("marked"), MARK);
        // Another process has begun to write it.
        write(&marker, &MARK[..9]).expect("file");
        Store::open(dir.path().to_owned(), ROOMY).expect("a cache");
    }
}
