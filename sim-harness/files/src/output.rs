// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::interrupt::Unfinished;
use crate::{Fault, claims, folder_of, kind};

/// An output that is being written.
#[derive(Debug)]
pub struct Output(Kind);

#[derive(Debug)]
enum Kind {
    /// A stream, which keeps what was written to it before.
    Stream(File),
    /// A file whose folder takes no other.
    Direct(File),
    /// A file beside the place of the output.
    Beside(NamedTempFile, Target),
}

/// The place of an output, with the mark that it is unfinished.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    unfinished: Unfinished,
}

/// Begins an output. A regular file that is there does not change before [`Output::finish`], unless its folder takes no
/// other file.
///
/// # Errors
/// Those of the system; anything else than a regular file, standard output or `/dev/null`, without waiting for it.
pub fn create(path: &Path) -> io::Result<Output> {
    let output = begin(path)?;
    if let Kind::Direct(file) = &output.0 {
        file.set_len(0)?;
    }
    Ok(output)
}

/// Refuses an output of an option that could not be written, and changes nothing.
///
/// # Errors
/// As [`create`]; a file that the command reads, or that another option writes.
pub fn check(option: &'static str, path: &Path) -> io::Result<()> {
    if let Kind::Stream(_) = begin(path)?.0 {
        return Ok(());
    }
    Ok(claims::output(option, path)?)
}

fn begin(path: &Path) -> io::Result<Output> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link may name a file that is still to be made.
            let path = match fs::read_link(path) {
                Ok(named) => path.with_file_name(named),
                Err(_) => path.to_owned(),
            };
            let file = beside(&path, 0o666, ".part")?;
            return Ok(Output::beside(file, path));
        }
        Err(error) => return Err(error),
    };
    let direct = || OpenOptions::new().write(true).open(path);
    if let Some(stream) = own_stream(&found)? {
        return Ok(Output(Kind::Stream(stream)));
    }
    if is_null(&found) {
        return direct().map(|file| Output(Kind::Stream(file)));
    }
    if !found.is_file() {
        return Err(Fault::NoOutput(kind(found.file_type())).into());
    }
    // Its owner may have taken the right to write.
    let there = direct()?;
    // What a link names is replaced, not the link.
    let path = path.canonicalize()?;
    let mode = found.mode() & 0o7777;
    match beside(&path, mode, ".part") {
        Ok(file) => {
            // Whatever the user's mask.
            fs::set_permissions(file.path(), Permissions::from_mode(mode))?;
            Ok(Output::beside(file, path))
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Ok(Output(Kind::Direct(there)))
        }
        Err(error) => Err(error),
    }
}

/// Writes `bytes` as an output.
///
/// # Errors
/// As [`create`]; those of the system.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut output = create(path)?;
    output.write_all(bytes)?;
    output.finish()
}

impl Output {
    fn beside(file: NamedTempFile, path: PathBuf) -> Self {
        let unfinished = Unfinished::file(file.path(), &path);
        Self(Kind::Beside(file, Target { path, unfinished }))
    }

    /// Puts the output in its place.
    ///
    /// # Errors
    /// Those of the system.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Kind::Stream(mut file) | Kind::Direct(mut file) => file.flush(),
            Kind::Beside(file, target) => {
                let Target { path, unfinished } = target;
                unfinished.finish(|| file.persist(&path).map_err(|error| error.error))?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    /// As [`Write::write`]; that the reader of a stream has gone is no error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Stream(file) => match file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
                written => written,
            },
            Kind::Direct(file) => file.write(bytes),
            // Its own errors name a file that nobody gave.
            Kind::Beside(file, _) => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Stream(file) | Kind::Direct(file) => file.flush(),
            Kind::Beside(file, _) => file.as_file_mut().flush(),
        }
    }
}

/// A file beside an output that is made first, of a name of its own; it goes when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: TempPath,
    output: PathBuf,
    unfinished: Unfinished,
}

impl Scratch {
    /// An empty one for the output `path`, with a name that has this ending.
    ///
    /// # Errors
    /// Those of the system.
    pub fn beside(path: &Path, ending: &str) -> io::Result<Self> {
        let folder = fs::metadata(path).is_ok_and(|found| found.is_file());
        let path = match folder {
            true => path.canonicalize()?,
            false => path.to_owned(),
        };
        // Beside a stream lie devices.
        let made = match fs::metadata(&path) {
            Ok(found) if !found.is_file() => tempfile::Builder::new().suffix(ending).tempfile(),
            _ => beside(&path, 0o600, ending),
        };
        let file = made?.into_temp_path();
        let unfinished = Unfinished::file(&file, &path);
        Ok(Self {
            path: file,
            output: path,
            unfinished,
        })
    }

    /// Makes it the output.
    ///
    /// # Errors
    /// As [`create`]; those of the system.
    pub fn put(self) -> io::Result<()> {
        let (file, target) = match create(&self.output)?.0 {
            Kind::Beside(file, target) => (file, target),
            Kind::Stream(mut out) | Kind::Direct(mut out) => {
                io::copy(&mut File::open(&self.path)?, &mut out)?;
                return out.flush();
            }
        };
        // As a new file there would have it.
        fs::set_permissions(&self.path, file.as_file().metadata()?.permissions())?;
        let place = self.path;
        self.unfinished.finish(|| {
            let put = place.persist(&target.path);
            put.map_err(|error| error.error)
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A new file in the folder of `path`.
fn beside(path: &Path, mode: u32, ending: &str) -> io::Result<NamedTempFile> {
    // Its name must say where it comes from, should the process be killed.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gyre-").suffix(ending);
    let made = builder.permissions(Permissions::from_mode(mode));
    // The folder is what an error is about, not a name that nobody gave.
    made.tempfile_in(folder_of(path)).map_err(|error| {
        let text = error.to_string();
        let words = text.split(" at path ").next().unwrap_or(&text);
        io::Error::new(error.kind(), words)
    })
}

/// Standard output or standard error, if a path such as `/dev/stdout` leads there.
fn own_stream(found: &Metadata) -> io::Result<Option<File>> {
    let streams = [rustix::stdio::stdout(), rustix::stdio::stderr()];
    for stream in streams {
        let Ok(own) = rustix::fs::fstat(stream) else {
            continue;
        };
        let same = own.st_dev == found.dev() && own.st_ino == found.ino();
        if same && !is_null(found) {
            return Ok(Some(File::from(rustix::io::dup(stream)?)));
        }
    }
    Ok(None)
}

fn is_null(found: &Metadata) -> bool {
    let null = fs::metadata("/dev/null").ok().map(|null| null.rdev());
    found.file_type().is_char_device() && null == Some(found.rdev())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary directory")
    }

    fn names(dir: &Path) -> Vec<String> {
        let found = fs::read_dir(dir).expect("a folder").flatten();
        let mut names: Vec<String> = found
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn x5_output_is_there_whole_or_as_it_was() {
        let dir = dir();
        let path = dir.path().join("x.json");
        let mut output = create(&path).expect("begun");
        output.write_all(b"half").expect("written");
        assert!(!path.exists());
        drop(output);
        assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
        write(&path, b"whole").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("own file");
        let mut output = create(&path).expect("begun");
        output.write_all(b"other").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"whole");
        output.finish().expect("finished");
        assert_eq!(fs::read(&path).expect("there"), b"other");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o640);
        check("--a", &path).expect("it can be written");
        assert_eq!(fs::read(&path).expect("there"), b"other");
        assert_eq!(names(dir.path()), ["x.json"]);
    }

    #[test]
    fn x5_output_through_a_link_replaces_what_the_link_names() {
        let dir = dir();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").expect("file");
        std::os::unix::fs::symlink("file", &link).expect("link");
        check("--a", &link).expect("it can be written");
        write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"new");
        assert_eq!(names(dir.path()), ["file", "link"]);
    }

    #[test]
    fn x5_outputs_that_are_no_files_are_refused_but_streams_and_null() {
        let dir = dir();
        let pipe = dir.path().join("pipe");
        let made = rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into());
        made.expect("a pipe");
        for (path, found) in [
            (pipe.as_path(), "a pipe"),
            (dir.path(), "a folder"),
            (Path::new("/dev/full"), "a device"),
        ] {
            let text = check("--a", path).expect_err("refused").to_string();
            let expected =
                format!("is {found}: expected a regular file, standard output or /dev/null");
            assert_eq!(text, expected);
        }
        write(Path::new("/dev/null"), b"nothing").expect("taken");
        let error = check("--a", &dir.path().join("no/such/folder")).expect_err("no folder");
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }

    #[test]
    fn x5_output_takes_the_place_of_no_input_and_of_no_other_output() {
        let dir = dir();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("in"), "mine").expect("file");
        std::os::unix::fs::symlink("in", at("link")).expect("link");
        std::os::unix::fs::symlink("new", at("dangling")).expect("link");
        crate::keep(&at("in")).expect("an input");
        for name in ["in", "./in", "link"] {
            let text = check("--a", &at(name)).expect_err("refused").to_string();
            assert_eq!(text, "is an input of the command: expected another file");
        }
        check("--a", &at("new")).expect("an output");
        check("--a", &at("new")).expect("the same");
        let refused = "is the output of --a: expected another file";
        let text = check("--b", &at("./new")).expect_err("refused").to_string();
        assert_eq!(text, refused);
        fs::write(at("new"), "").expect("file");
        for path in [at("new"), at("dangling")] {
            assert_eq!(
                check("--b", &path).expect_err("refused").to_string(),
                refused
            );
            assert_eq!(
                crate::keep(&path).expect_err("refused").to_string(),
                refused
            );
        }
        assert_eq!(fs::read(at("in")).expect("there"), b"mine");
    }

    #[test]
    fn x5_scratch_file_has_a_name_of_its_own_and_goes() {
        let dir = dir();
        for name in ["x.fst", "x.fst.vcd", "x.vcd.part", "x.scopes"] {
            fs::write(dir.path().join(name), "mine").expect("file");
        }
        let scratch = Scratch::beside(&dir.path().join("x.fst"), ".vcd").expect("made");
        assert!(scratch.path().exists() && scratch.path().extension() == Some("vcd".as_ref()));
        fs::write(scratch.path(), "new").expect("written");
        scratch.put().expect("it takes its place");
        assert_eq!(fs::read(dir.path().join("x.fst")).expect("there"), b"new");
        let scratch = Scratch::beside(&dir.path().join("x.fst"), ".vcd").expect("made");
        drop(scratch);
        let left = names(dir.path());
        assert_eq!(left, ["x.fst", "x.fst.vcd", "x.scopes", "x.vcd.part"]);
    }
}
