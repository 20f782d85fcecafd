//! Charts on disk, by the digest of their archives; and which digest a request led to the last time.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sluice_api::Digest;
use sluice_api::digest::sveltos_hash;
use sluice_renderer_core::ChartRequest;

/// So much is kept.
const KEPT: u64 = 2 << 30;

/// A folder, or none: then nothing is kept.
#[derive(Debug)]
pub(crate) struct Cache(Option<PathBuf>);

// === impl Cache ===

impl Cache {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// The archive of this digest, when it is there and is what it should be.
    pub(crate) async fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let path = self.archive(digest)?;
        let bytes = tokio::fs::read(&path).await.ok()?;
        if sveltos_hash(&bytes) != digest {
            tracing::warn!(path = %path.display(), "a kept chart is broken; it is fetched again");
            return None;
        }
        touch(&path);
        Some(bytes)
    }

    /// Keeps an archive, and that this request led to it. Whoever was not used for longest goes.
    pub(crate) async fn put(&self, request: &ChartRequest, digest: &str, bytes: &[u8]) {
        let (Some(archive), Some(folder)) = (self.archive(digest), &self.0) else { return };
        let result = async {
            tokio::fs::create_dir_all(folder).await?;
            write(&archive, bytes).await?;
            trim(folder, KEPT).await
        };
        if let Err(error) = result.await {
            tracing::warn!(folder = %folder.display(), %error, "a chart cannot be kept");
        }
        self.note(request, digest).await;
    }

    /// This request leads to that digest now.
    pub(crate) async fn note(&self, request: &ChartRequest, digest: &str) {
        let Some(path) = self.reference(request) else { return };
        if let Err(error) = write(&path, digest.as_bytes()).await {
            tracing::warn!(path = %path.display(), %error, "what a chart was cannot be kept");
        }
    }

    /// Where this request led to the last time.
    pub(crate) async fn noted(&self, request: &ChartRequest) -> Option<String> {
        tokio::fs::read_to_string(self.reference(request)?).await.ok()
    }

    /// How long ago that was.
    pub(crate) async fn age(&self, request: &ChartRequest) -> Option<Duration> {
        let written = tokio::fs::metadata(self.reference(request)?).await.ok()?.modified().ok()?;
        // What is from the future was written by another clock: nothing is known of it.
        SystemTime::now().duration_since(written).ok()
    }

    fn archive(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:")?;
        let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| self.0.as_ref().map(|folder| folder.join(format!("{hex}.tgz"))))?
    }

    /// Named by everything that is asked, so that nobody gets without a password what needs one.
    fn reference(&self, request: &ChartRequest) -> Option<PathBuf> {
        let (user, password) = request.access.login.clone().unwrap_or_default();
        let ca = request.access.ca.as_deref().unwrap_or_default();
        let parts = [&request.repository, &request.name, &request.version, &user, &password, ca];
        let digest = Digest::of(&parts.map(str::as_bytes));
        Some(self.0.as_ref()?.join(format!("{digest}.ref")))
    }
}

async fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension("part");
    tokio::fs::write(&beside, bytes).await?;
    tokio::fs::rename(&beside, path).await
}

/// It was used just now. Where that cannot be written it only goes sooner.
fn touch(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now())).ok();
}

/// Deletes what was not used for longest until no more than this is left.
async fn trim(folder: &Path, most: u64) -> std::io::Result<()> {
    let mut files = Vec::new();
    let mut entries = tokio::fs::read_dir(folder).await?;
    while let Some(entry) = entries.next_entry().await? {
        let meta = entry.metadata().await?;
        files.push((meta.modified()?, meta.len(), entry.path()));
    }
    files.sort();
    let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, length, path) in files {
        if size <= most {
            break;
        }
        tokio::fs::remove_file(&path).await?;
        size -= length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn what_is_broken_on_disk_is_not_used_and_what_is_old_goes() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(dir.path().to_owned()));
        let request = ChartRequest {
            repository: "https://h".into(),
            name: "c".into(),
            version: "1".into(),
            access: Default::default(),
        };
        let (bytes, digest) = (b"some archive".as_slice(), sveltos_hash(b"some archive"));
        cache.put(&request, &digest, bytes).await;
        assert_eq!(cache.get(&digest).await.as_deref(), Some(bytes));
        assert_eq!(cache.noted(&request).await.as_ref(), Some(&digest));
        std::fs::write(cache.archive(&digest).unwrap(), b"another").unwrap();
        assert_eq!(cache.get(&digest).await, None);
        assert_eq!(cache.get("sha256:../../x").await, None);
        trim(dir.path(), 0).await.unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(Cache::new(None).get(&digest).await, None);
    }
}
