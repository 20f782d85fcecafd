//! Files that people name.

use std::path::{Path, PathBuf};

/// A file, or all files of a folder and the folders in it, in the order of their paths.
pub(crate) fn below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    // What is a link may lead back to where it is.
    let inside = |path: PathBuf| if path.is_dir() && !path.is_symlink() { below(&path) } else { vec![path] };
    paths.into_iter().flat_map(inside).collect()
}
