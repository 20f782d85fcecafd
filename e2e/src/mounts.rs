//! Secrets as files, as a pod has them.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Makes a folder hold what `data` of a Secret has: what has changed is replaced, and what is gone is taken away.
pub(crate) fn write_mount(dir: &Path, secret: &str, data: &Value) -> anyhow::Result<PathBuf> {
    let folder = dir.join(secret);
    std::fs::create_dir_all(&folder)?;
    let data = data.as_object().cloned().unwrap_or_default();
    for (key, value) in &data {
        // Written beside its place first: nobody reads half a file.
        let beside = dir.join(format!("{secret}.{key}.new"));
        std::fs::write(&beside, STANDARD.decode(value.as_str().unwrap_or_default())?)?;
        std::fs::rename(&beside, folder.join(key))?;
    }
    for entry in std::fs::read_dir(&folder)? {
        let entry = entry?;
        if !data.contains_key(&*entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(folder)
}
