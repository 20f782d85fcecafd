//! Charts on disk, each by the digest of its archive and by who was given it; and which digest a request led to the last time.
//!
//! The folder may be shared with others: what is kept lies in a folder of its own within it, and whatever else is there stays.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sluice_api::Digest;
use sluice_api::digest::sveltos_hash;
use sluice_renderer_core::{Access, ChartRequest};

use super::fetcher::ARCHIVE;
use super::http::origin;
use super::turns::{Bytes, Rooms};

/// So much is kept.
const KEPT: u64 = 2 << 30;
/// The part of the folder that is ours. What was kept before it had one is left to who owns the folder.
const OWN: &str = "sluice-charts";
/// Bytes of a file that holds a digest.
const REFERENCE: usize = 256;

/// A folder, or none: then nothing is kept.
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    rooms: Rooms,
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(folder: Option<PathBuf>, rooms: Rooms) -> Self {
        Self { folder: folder.map(|folder| folder.join(OWN)), rooms }
    }

    /// The archive of this digest, when it was given to who asks, and is what it should be. Whoever only knows the digest of what
    /// others were given has to show that the repository gives it to him too.
    pub(crate) async fn get(&self, request: &ChartRequest, digest: &str) -> Option<Bytes> {
        let path = self.archive(request, digest)?;
        let mut bytes = Bytes::default();
        self.rooms.make(&mut bytes, length(&path, ARCHIVE).await?).await;
        let bytes = bytes.filled(tokio::fs::read(&path).await.ok()?);
        if sveltos_hash(&bytes) != digest {
            tracing::warn!(path = %path.display(), "a kept chart is broken; it is fetched again");
            return None;
        }
        touch(&path);
        Some(bytes)
    }

    /// Keeps an archive, and that this request led to it. Whoever was not used for longest goes.
    pub(crate) async fn put(&self, request: &ChartRequest, digest: &str, bytes: &[u8]) {
        let (Some(archive), Some(folder)) = (self.archive(request, digest), &self.folder) else { return };
        let result = async {
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
        let path = self.reference(request)?;
        length(&path, REFERENCE).await?;
        tokio::fs::read_to_string(&path).await.ok()
    }

    /// How long ago that was.
    pub(crate) async fn age(&self, request: &ChartRequest) -> Option<Duration> {
        let written = tokio::fs::metadata(self.reference(request)?).await.ok()?.modified().ok()?;
        // What is from the future was written by another clock: nothing is known of it.
        SystemTime::now().duration_since(written).ok()
    }

    /// Named by the digest, and by everything that says who was given it.
    fn archive(&self, request: &ChartRequest, digest: &str) -> Option<PathBuf> {
        self.path(request, &[origin(&request.repository), digest], "tgz")
    }

    /// Named by everything that is asked.
    fn reference(&self, request: &ChartRequest) -> Option<PathBuf> {
        self.path(request, &[&request.repository, &request.name, &request.version], "ref")
    }

    /// Nobody gets without a password what needs one: a name can only be reckoned by who knows all of the access.
    fn path(&self, request: &ChartRequest, what: &[&str], kind: &str) -> Option<PathBuf> {
        let Access { login, ca, insecure_skip_tls_verify, plain_http, of_tenant } = &request.access;
        let (user, password) = login.as_ref().map_or(("", ""), |(user, password)| (user, password));
        let ways = [login.is_some(), ca.is_some(), *insecure_skip_tls_verify, *plain_http, *of_tenant];
        let ways = ways.map(u8::from);
        let mut parts: Vec<&[u8]> = what.iter().map(|part| part.as_bytes()).collect();
        let ca = ca.as_deref().unwrap_or_default();
        parts.extend([kind.as_bytes(), user.as_bytes(), password.as_bytes(), ca.as_bytes(), &ways]);
        Some(self.folder.as_ref()?.join(format!("{}.{kind}", Digest::of(&parts))))
    }
}

/// Whether a file of this name is ours: a digest, and what it is of.
fn is_own(name: &OsStr) -> bool {
    let Some((digest, kind)) = name.to_str().and_then(|name| name.split_once('.')) else { return false };
    let is_digest = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest && (matches!(kind, "tgz" | "ref") || kind.ends_with(".part"))
}

/// How long a file is; nothing of what is no file, or too large to be what is looked for.
async fn length(path: &Path, most: usize) -> Option<usize> {
    let meta = tokio::fs::symlink_metadata(path).await.ok()?;
    let length = usize::try_from(meta.len()).ok()?;
    (meta.is_file() && length <= most).then_some(length)
}

/// Others may write the same file at the same time: it is whole at every moment.
async fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        make(folder).await?;
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.part", std::process::id()));
    let written = async {
        tokio::fs::write(&beside, bytes).await?;
        tokio::fs::rename(&beside, path).await
    };
    let written = written.await;
    if written.is_err() {
        tokio::fs::remove_file(&beside).await.ok();
    }
    written
}

/// Makes our folder. What is private in it, and names that passwords are in, are for nobody else on the machine.
async fn make(folder: &Path) -> std::io::Result<()> {
    if let Some(above) = folder.parent() {
        tokio::fs::create_dir_all(above).await?;
    }
    match tokio::fs::DirBuilder::new().mode(0o700).create(folder).await {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// It was used just now. Where that cannot be written it only goes sooner.
fn touch(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(SystemTime::now())).ok();
}

/// Deletes of what is ours what was not used for longest, until no more than this is left. Another process may do so too: what has
/// vanished in between is gone, and what cannot be deleted stops nothing else.
async fn trim(folder: &Path, most: u64) -> std::io::Result<()> {
    let mut files = Vec::new();
    let mut entries = tokio::fs::read_dir(folder).await?;
    while let Some(entry) = entries.next_entry().await? {
        let Ok(meta) = entry.metadata().await else { continue };
        if let Ok(used) = meta.modified()
            && meta.is_file()
            && is_own(&entry.file_name())
        {
            files.push((used, meta.len(), entry.path()));
        }
    }
    files.sort();
    let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
    let mut outcome = Ok(());
    for (_, length, path) in files {
        if size <= most {
            break;
        }
        match tokio::fs::remove_file(&path).await {
            Err(error) if error.kind() != ErrorKind::NotFound => outcome = Err(error),
            _ => size -= length,
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::turns::Turns;
    use super::*;

    const BYTES: &[u8] = b"some archive";

    fn mk_request(login: Option<&str>) -> ChartRequest {
        let login = login.map(|password| ("me".into(), password.into()));
        let access = Access { login, ..Access::default() };
        ChartRequest { repository: "https://h".into(), name: "c".into(), version: "1".into(), access }
    }

    fn mk_cache(folder: Option<&Path>) -> Cache {
        Cache::new(folder.map(Path::to_owned), Turns::default().rooms().clone())
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let names = std::fs::read_dir(folder).unwrap().map(name);
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn what_is_broken_on_disk_is_not_used_and_what_is_old_goes() {
        let dir = tempfile::tempdir().unwrap();
        let cache = mk_cache(Some(dir.path()));
        let (request, digest) = (mk_request(None), sveltos_hash(BYTES));
        cache.put(&request, &digest, BYTES).await;
        assert_eq!(cache.get(&request, &digest).await.as_deref(), Some(BYTES));
        assert_eq!(cache.noted(&request).await.as_ref(), Some(&digest));
        std::fs::write(cache.archive(&request, &digest).unwrap(), b"another").unwrap();
        assert_eq!(cache.get(&request, &digest).await.as_deref(), None);
        assert_eq!(cache.get(&request, "sha256:../../x").await.as_deref(), None);
        trim(&dir.path().join(OWN), 0).await.unwrap();
        assert_eq!(names(&dir.path().join(OWN)), Vec::<String>::new());
        assert_eq!(mk_cache(None).get(&request, &digest).await.as_deref(), None);
    }

    #[tokio::test]
    async fn what_belongs_to_others_stays_and_stops_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, own) = (mk_cache(Some(dir.path())), dir.path().join(OWN));
        let (request, digest) = (mk_request(None), sveltos_hash(BYTES));
        cache.put(&request, &digest, BYTES).await;
        let ours = names(&own);
        let archive = cache.archive(&request, &digest).unwrap();
        for folder in [dir.path(), &own] {
            std::fs::create_dir(folder.join("lost+found")).unwrap();
            std::fs::write(folder.join("accounts.tgz"), b"theirs").unwrap();
            std::fs::write(folder.join(format!("{}.txt", "a".repeat(32))), b"theirs").unwrap();
            std::os::unix::fs::symlink("nowhere", folder.join("link")).unwrap();
        }
        std::fs::create_dir(own.join(format!("{}.tgz", "a".repeat(32)))).unwrap();
        let theirs = (names(dir.path()), names(&own));
        trim(&own, 1 << 20).await.unwrap();
        assert_eq!(cache.get(&request, &digest).await.as_deref(), Some(BYTES));
        trim(&own, 0).await.unwrap();
        let left: Vec<String> = theirs.1.iter().filter(|name| !ours.contains(name)).cloned().collect();
        assert_eq!((names(dir.path()), names(&own)), (theirs.0, left));
        // What is no file is not read: it could be anything, and have no end.
        std::fs::write(dir.path().join("other"), BYTES).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), &archive).unwrap();
        assert_eq!(cache.get(&request, &digest).await.as_deref(), None);
        cache.put(&request, &digest, BYTES).await;
        assert_eq!(cache.get(&request, &digest).await.as_deref(), Some(BYTES));
    }

    #[tokio::test]
    async fn what_somebody_was_given_is_for_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let cache = mk_cache(Some(dir.path()));
        let (request, digest) = (mk_request(Some("one")), sveltos_hash(BYTES));
        cache.put(&request, &digest, BYTES).await;
        let other_way = Access { plain_http: true, ..request.access.clone() };
        let of_tenant = Access { of_tenant: true, ..request.access.clone() };
        for other in [
            mk_request(None),
            mk_request(Some("")),
            mk_request(Some("two")),
            ChartRequest { repository: "https://stranger".into(), ..request.clone() },
            ChartRequest { access: other_way, ..request.clone() },
            ChartRequest { access: of_tenant, ..request.clone() },
        ] {
            assert_eq!(cache.get(&other, &digest).await.as_deref(), None, "{other}");
            assert_eq!(cache.noted(&other).await, None, "{other}");
        }
        let beside = ChartRequest { repository: "https://h/other".into(), ..request.clone() };
        assert_eq!(cache.get(&beside, &digest).await.as_deref(), Some(BYTES));
        let mode = std::fs::metadata(dir.path().join(OWN)).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o077, 0);
    }
}
