// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records on disk, in the order of their keys: more of them than memory should hold.
//!
//! Sorted runs are written to a file without a name as they come, and merged when they are read. Of the runs only those are
//! open whose keys have been reached: runs that follow each other take the memory of one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use thiserror::Error;

/// Bytes of a block after which the next one begins.
const BLOCK: usize = 8 << 10;

/// Bytes of the length of a block.
const LENGTH: usize = size_of::<u32>();

/// The file of events, or of what is made of them, could not be made, written or read.
#[derive(Debug, Clone, Error)]
#[error("temporary file in {}: {source}", folder.display())]
pub struct SpoolError {
    /// Its folder.
    pub folder: PathBuf,
    /// Reason.
    pub source: Arc<io::Error>,
}

impl From<&SpoolError> for io::Error {
    fn from(error: &SpoolError) -> Self {
        Self::new(error.source.kind(), error.clone())
    }
}

/// A record that is kept.
pub(crate) trait Record: Sized {
    /// What records are in the order of.
    type Key: Ord + Copy;

    fn key(&self) -> Self::Key;

    /// Appends it to bytes.
    fn encode(&self, bytes: &mut Vec<u8>);

    /// Takes it off the front of bytes; none if they hold none.
    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])>;
}

/// A sorted run in the file.
#[derive(Debug)]
struct Run<K> {
    first: K,
    begin: u64,
    end: u64,
}

/// Sorted runs in a file.
#[derive(Debug)]
pub(crate) struct Runs<K> {
    folder: PathBuf,
    file: Option<File>,
    runs: Vec<Run<K>>,
    end: u64,
    /// The first error.
    failed: OnceLock<SpoolError>,
}

impl<K: Ord + Copy> Runs<K> {
    /// None yet, in a file that is made in a folder once there is something to write.
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            file: None,
            runs: Vec::new(),
            end: 0,
            failed: OnceLock::new(),
        }
    }

    /// Adds a run of records in order; of records with equal keys those of earlier runs come first. After an error no more
    /// is kept.
    pub(crate) fn add<R: Record<Key = K>>(&mut self, records: &[R]) {
        let Some(first) = records.first() else {
            return;
        };
        if self.failed.get().is_some() {
            return;
        }
        let mut bytes = vec![0; LENGTH];
        let mut block = 0;
        for record in records {
            if bytes.len() - block > BLOCK {
                end_block(&mut bytes, block);
                block = bytes.len();
                bytes.extend([0; LENGTH]);
            }
            record.encode(&mut bytes);
        }
        end_block(&mut bytes, block);
        match self.write(&bytes) {
            Ok(()) => {
                let begin = self.end;
                self.end += bytes.len() as u64;
                self.runs.push(Run {
                    first: first.key(),
                    begin,
                    end: self.end,
                });
            }
            Err(error) => self.fail(error),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(nameless(&self.folder)?),
        };
        file.write_all_at(bytes, self.end)
    }

    fn fail(&self, source: io::Error) {
        // The first one stays.
        let _ = self.failed.set(SpoolError {
            folder: self.folder.clone(),
            source: Arc::new(source),
        });
    }

    /// Its error, if it has had one: then not all records are there.
    pub(crate) fn error(&self) -> Option<&SpoolError> {
        self.failed.get()
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn read(&self, run: &Run<K>, at: u64) -> io::Result<(Vec<u8>, u64)> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut length = [0; LENGTH];
        file.read_exact_at(&mut length, at)?;
        let begin = at + LENGTH as u64;
        let end = begin + u64::from(u32::from_le_bytes(length));
        if end > run.end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut block = vec![0; (end - begin) as usize];
        file.read_exact_at(&mut block, begin)?;
        Ok((block, end))
    }
}

/// A file without a name in a folder: nothing is left of it, however the process ends.
fn nameless(folder: &Path) -> io::Result<File> {
    // The folder is what an error is about, not a name that nobody gave.
    tempfile::tempfile_in(folder).map_err(|error| {
        let text = error.to_string();
        let words = text.split(" at path ").next().unwrap_or(&text);
        io::Error::new(error.kind(), words)
    })
}

fn end_block(bytes: &mut [u8], block: usize) {
    // A run is far shorter.
    let length = (bytes.len() - block - LENGTH) as u32;
    bytes[block..block + LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// Records that are read from a run.
struct Cursor {
    block: Vec<u8>,
    /// Where the next record begins in the block, and the next block in the file.
    place: usize,
    next: u64,
}

/// The records of runs, and of a sorted list that follows them, in order of their keys.
pub(crate) struct Merged<'a, R: Record> {
    runs: &'a Runs<R::Key>,
    cursors: Vec<Option<Cursor>>,
    /// Of each run with records left, the first of them: of one that is not open yet, its key alone.
    heads: BinaryHeap<Reverse<Head<R>>>,
    rest: &'a [R],
    /// An error has ended it.
    broken: bool,
}

struct Head<R: Record> {
    key: R::Key,
    run: usize,
    record: Option<R>,
}

impl<R: Record> Head<R> {
    fn order(&self) -> (R::Key, usize) {
        (self.key, self.run)
    }
}

impl<R: Record> PartialEq for Head<R> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<R: Record> Eq for Head<R> {}

impl<R: Record> PartialOrd for Head<R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Record> Ord for Head<R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl<'a, R: Record> Merged<'a, R> {
    pub(crate) fn of(runs: &'a Runs<R::Key>, rest: &'a [R]) -> Self {
        let heads = runs.runs.iter().enumerate().map(|(run, found)| {
            Reverse(Head {
                key: found.first,
                run,
                record: None,
            })
        });
        Self {
            runs,
            cursors: runs.runs.iter().map(|_| None).collect(),
            heads: heads.collect(),
            rest,
            broken: false,
        }
    }
}

/// The next record of a run; none at its end.
fn next<R: Record>(
    runs: &Runs<R::Key>,
    run: usize,
    slot: &mut Option<Cursor>,
) -> io::Result<Option<R>> {
    let found = &runs.runs[run];
    let cursor = slot.get_or_insert(Cursor {
        block: Vec::new(),
        place: 0,
        next: found.begin,
    });
    if cursor.place == cursor.block.len() {
        if cursor.next == found.end {
            *slot = None;
            return Ok(None);
        }
        (cursor.block, cursor.next) = runs.read(found, cursor.next)?;
        cursor.place = 0;
    }
    let left = &cursor.block[cursor.place..];
    let (record, after) = R::decode(left).ok_or(io::ErrorKind::InvalidData)?;
    cursor.place += left.len() - after.len();
    Ok(Some(record))
}

impl<R: Record + Clone> Iterator for Merged<'_, R> {
    type Item = R;

    /// The next record; none after an error, which [`Runs::error`] has.
    fn next(&mut self) -> Option<R> {
        if self.broken {
            return None;
        }
        while let Some(mut head) = self.heads.peek_mut() {
            if let Some(rest) = self.rest.first()
                && rest.key() < head.0.key
            {
                break;
            }
            let run = head.0.run;
            let found = match next::<R>(self.runs, run, &mut self.cursors[run]) {
                Ok(found) => found,
                Err(error) => {
                    self.runs.fail(error);
                    self.broken = true;
                    return None;
                }
            };
            let record = match found {
                Some(record) => {
                    head.0.key = record.key();
                    head.0.record.replace(record)
                }
                None => PeekMut::pop(head).0.record,
            };
            // A run that has just been opened is looked at again.
            if record.is_some() {
                return record;
            }
        }
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first.clone())
    }
}
