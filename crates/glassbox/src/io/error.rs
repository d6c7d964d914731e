//! An error with its file and operation.

use std::io;
use std::path::{Path, PathBuf};

/// A failed file operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}: {source}", path.display())]
pub struct IoError {
    /// The file or directory.
    pub path: PathBuf,
    /// The operation, a verb: "write", "force", "open".
    pub operation: &'static str,
    /// The operating system's error.
    pub source: io::Error,
}

impl IoError {
    /// An error of `operation` on `path`.
    pub fn new(path: &Path, operation: &'static str, source: impl Into<io::Error>) -> Self {
        Self { path: path.to_path_buf(), operation, source: source.into() }
    }

    /// The standard library's kind of the cause.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}
