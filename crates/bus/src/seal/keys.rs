//! The private keys of a stage, and where they are kept.
//!
//! A stage has a key for digests, which never changes, and identities with numbers: the highest is the newest. Whoever comes first
//! makes them; whoever finds something takes that, so all replicas and successors have the same.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;

use sluice_api::DigestKey;
use sluice_protocol::Role;

use crate::seal::envelope::{Identity, KeyId};

/// Name of the key for digests.
const DIGEST: &str = "digest";
/// Begin of the names of identities; their number follows.
const IDENTITY: &str = "identity-";

/// What a store answers, later; or why it cannot be used, without a word of what it holds.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Where the private keys of stages are kept.
pub trait KeyStore: Debug + Send + Sync {
    /// All that it has of a stage, by name.
    fn load<'a>(&'a self, stage: &'a str) -> Stored<'a, BTreeMap<String, Vec<u8>>>;

    /// Keeps something of a stage, unless there is something of this name, which stays.
    fn add<'a>(&'a self, stage: &'a str, name: &'a str, bytes: Vec<u8>) -> Stored<'a, ()>;

    /// Forgets something of a stage.
    fn remove<'a>(&'a self, stage: &'a str, name: &'a str) -> Stored<'a, ()>;
}

/// Keys in files that nobody else may read: `<stage>.<name>` in one folder.
#[derive(Clone, Debug)]
pub struct KeyFiles(PathBuf);

/// The keys of one stage, as they were when they were read.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    pub(crate) digest: Option<DigestKey>,
    pub(crate) identities: BTreeMap<u32, Identity>,
}

/// Whose keys a role uses.
pub(crate) fn stage_of(role: &Role) -> String {
    match role {
        // What people and operators are shown is sealed for Inspect.
        Role::People | Role::Operator => Role::Inspect.name().to_owned(),
        // That of its cluster is among what it is called.
        role => role.to_string(),
    }
}

/// Whether rows are sealed for a role. Who only looks has no key but that of Inspect, and makes none.
pub(crate) fn reads(role: &Role) -> bool {
    matches!(role, Role::Matcher | Role::Renderer | Role::Deployer(_) | Role::Inspect)
}

/// Whether a role writes rows that may be secret.
pub(crate) fn writes(role: &Role) -> bool {
    matches!(role, Role::Agent(_) | Role::Matcher | Role::Renderer)
}

/// The keys of a role, made where there are none yet.
pub(crate) async fn ensure(store: &dyn KeyStore, role: &Role) -> Result<Keyring, String> {
    let stage = stage_of(role);
    let found = Keyring::read(&store.load(&stage).await?)?;
    let mut makes = Vec::new();
    if writes(role) && found.digest.is_none() {
        let mut key = vec![0; 32];
        getrandom::fill(&mut key).map_err(|error| error.to_string())?;
        makes.push((DIGEST.to_owned(), key));
    }
    if reads(role) && found.identities.is_empty() {
        makes.push((name(1), Identity::generate()));
    }
    if makes.is_empty() {
        return Ok(found);
    }
    for (name, key) in makes {
        store.add(&stage, &name, key).await?;
    }
    // Somebody else may have been faster.
    Keyring::read(&store.load(&stage).await?)
}

/// Makes the keys of a role, where there are none yet: for who prepares an installation. What only looks has none of its own.
///
/// # Errors
/// What the store says.
pub async fn make_keys(store: &dyn KeyStore, role: &Role) -> Result<(), String> {
    ensure(store, role).await.map(drop)
}

/// What an identity of this number is called.
pub(crate) fn name(number: u32) -> String {
    format!("{IDENTITY}{number}")
}

// === impl Keyring ===

impl Keyring {
    /// What a store has.
    pub(crate) fn read(kept: &BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        let mut ring = Self::default();
        for (name, bytes) in kept {
            let refuse =
                |reason: &str| format!("key {name:?}: {reason}; put the right one there, or take it away");
            if name == DIGEST {
                let key = <[u8; 32]>::try_from(&bytes[..]).map_err(|_| refuse("it is not 32 bytes"))?;
                ring.digest = Some(DigestKey::new(key));
            } else if let Some(number) = name.strip_prefix(IDENTITY).and_then(|number| number.parse().ok()) {
                let identity = Identity::read(bytes).map_err(|error| refuse(&error.to_string()))?;
                ring.identities.insert(number, identity);
            }
        }
        Ok(ring)
    }

    /// The identity with this id.
    pub(crate) fn identity(&self, id: KeyId) -> Option<&Identity> {
        self.identities.values().find(|identity| identity.id == id)
    }
}

/// Name of the file that has a key of a role, which its store calls `name`, in a folder of [`KeyFiles`].
pub fn key_file(role: &Role, name: &str) -> String {
    file_name(&stage_of(role), name)
}

fn file_name(stage: &str, name: &str) -> String {
    // The token of a cluster has what file names may not have.
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    format!("{}.{name}", stage.chars().map(clean).collect::<String>())
}

// === impl KeyFiles ===

impl KeyFiles {
    /// In this folder, which is made where it is missing.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    fn path(&self, stage: &str, name: &str) -> PathBuf {
        self.0.join(file_name(stage, name))
    }

    fn told(&self, error: &std::io::Error) -> String {
        format!(
            "--bus-keys {}: {error}; name a folder that this process may read and write",
            self.0.display()
        )
    }

    fn read(&self, stage: &str) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
        let mut found = BTreeMap::new();
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            entries => entries?,
        };
        let prefix = self.path(stage, "");
        let prefix = prefix.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for entry in entries {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().into_owned();
            // A Secret of one stage that is mounted has no prefixes: its keys are those of whoever has it.
            let name = file.strip_prefix(&prefix).unwrap_or(&file);
            if name == DIGEST || name.starts_with(IDENTITY) {
                found.insert(name.to_owned(), std::fs::read(entry.path())?);
            }
        }
        Ok(found)
    }

    /// Written beside its place first: nobody reads half a key.
    fn write(&self, stage: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        std::fs::create_dir_all(&self.0)?;
        let (place, beside) =
            (self.path(stage, name), self.path(stage, &format!("{:x}.new", crate::bus::random())));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| {
            // A link is made only where there is nothing yet.
            std::fs::hard_link(&beside, &place)
        });
        std::fs::remove_file(&beside)?;
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            written => written,
        }
    }
}

impl KeyStore for KeyFiles {
    fn load<'a>(&'a self, stage: &'a str) -> Stored<'a, BTreeMap<String, Vec<u8>>> {
        Box::pin(std::future::ready(self.read(stage).map_err(|error| self.told(&error))))
    }

    fn add<'a>(&'a self, stage: &'a str, name: &'a str, bytes: Vec<u8>) -> Stored<'a, ()> {
        Box::pin(std::future::ready(self.write(stage, name, &bytes).map_err(|error| self.told(&error))))
    }

    fn remove<'a>(&'a self, stage: &'a str, name: &'a str) -> Stored<'a, ()> {
        let removed = std::fs::remove_file(self.path(stage, name));
        Box::pin(std::future::ready(removed.map_err(|error| self.told(&error))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use sluice_api::ClusterRef;

    use super::*;

    fn digest(ring: &Keyring) -> String {
        ring.digest.as_ref().map(|key| key.digest(&[b"x"]).to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn whoever_comes_first_makes_the_keys_and_all_others_have_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyFiles::new(dir.path().join("keys"));
        let (one, other) =
            (ensure(&store, &Role::Matcher).await.unwrap(), ensure(&store, &Role::Matcher).await.unwrap());
        let ids = |ring: &Keyring| ring.identities.values().map(|identity| identity.id).collect::<Vec<_>>();
        assert_eq!((ids(&one), digest(&one)), (ids(&other), digest(&other)));
        assert!(ids(&one).len() == 1 && one.identity(ids(&one)[0]).is_some());
        let renderer = ensure(&store, &Role::Renderer).await.unwrap();
        assert!(ids(&renderer) != ids(&one) && digest(&renderer) != digest(&one));
        for entry in std::fs::read_dir(dir.path().join("keys")).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn each_role_has_what_it_needs_and_who_looks_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyFiles::new(dir.path());
        let of = |cluster: &str| Role::Agent(Some(ClusterRef::sveltos("default", cluster)));
        let roles =
            [Role::Agent(None), of("a"), of("b"), Role::Matcher, Role::Renderer, Role::Deployer(None)];
        let mut digests = std::collections::BTreeSet::new();
        for role in roles {
            let ring = ensure(&store, &role).await.unwrap();
            assert_eq!(
                (ring.digest.is_some(), !ring.identities.is_empty()),
                (writes(&role), reads(&role)),
                "{role}"
            );
            digests.insert(digest(&ring));
        }
        assert_eq!(digests.len(), 6, "none but the deployer is without one");
        assert!(ensure(&store, &Role::Operator).await.unwrap().identities.is_empty());
        ensure(&store, &Role::Inspect).await.unwrap();
        assert_eq!(ensure(&store, &Role::People).await.unwrap().identities.len(), 1);
    }

    #[tokio::test]
    async fn the_secret_of_a_stage_that_is_mounted_is_a_folder_with_its_keys() {
        let (dir, mounted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let made = ensure(&KeyFiles::new(dir.path()), &Role::Matcher).await.unwrap();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let file = entry.unwrap();
            let name = file.file_name().to_string_lossy().replace("matcher.", "");
            std::fs::copy(file.path(), mounted.path().join(name)).unwrap();
        }
        let found = ensure(&KeyFiles::new(mounted.path()), &Role::Matcher).await.unwrap();
        assert_eq!(digest(&found), digest(&made));
        assert!(found.identities.keys().eq(made.identities.keys()));
    }

    #[tokio::test]
    async fn a_key_that_is_none_is_named_and_what_is_there_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyFiles::new(dir.path());
        store.add("matcher", DIGEST, b"too short".to_vec()).await.unwrap();
        store.add("matcher", DIGEST, vec![7; 32]).await.unwrap();
        let error = ensure(&store, &Role::Matcher).await.unwrap_err();
        assert!(error.contains(DIGEST) && error.contains("32 bytes") && !error.contains("short"), "{error}");
        store.remove("matcher", DIGEST).await.unwrap();
        assert!(ensure(&store, &Role::Matcher).await.is_ok());
        let error = KeyFiles::new("/proc/nowhere").add("matcher", DIGEST, vec![7; 32]).await.unwrap_err();
        assert!(error.contains("--bus-keys /proc/nowhere"), "{error}");
    }

    #[test]
    fn what_is_no_key_of_ours_is_left_alone() {
        let names = ["identity-", "identity-x", "identity--1", "readme", "Digest"];
        let kept = names.iter().map(|name| ((*name).to_owned(), b"anything".to_vec())).collect();
        let ring = Keyring::read(&kept).unwrap();
        assert!(ring.digest.is_none() && ring.identities.is_empty());
    }

    #[test]
    fn the_number_of_an_identity_is_that_of_its_name() {
        let kept = [2, 10].map(|number| (name(number), Identity::generate())).into();
        let ring = Keyring::read(&kept).unwrap();
        assert_eq!(ring.identities.keys().copied().collect::<Vec<_>>(), [2, 10], "by number, not by text");
    }

    #[test]
    fn people_and_operators_are_shown_what_is_sealed_for_inspect() {
        for role in [Role::People, Role::Operator, Role::Inspect] {
            assert_eq!(stage_of(&role), "inspect");
        }
        let of = |name: &str| stage_of(&Role::Agent(Some(ClusterRef::sveltos("default", name))));
        assert!(of("a") != of("b") && of("a") != stage_of(&Role::Agent(None)));
    }

    #[tokio::test]
    async fn the_files_of_a_stage_are_not_taken_for_those_of_another_with_a_like_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyFiles::new(dir.path());
        store.add("agent", DIGEST, vec![1; 32]).await.unwrap();
        store.add("agent.default/a", DIGEST, vec![2; 32]).await.unwrap();
        let all = store.load("agent").await.unwrap();
        assert_eq!(all, [(DIGEST.to_owned(), vec![1; 32])].into());
    }

    #[tokio::test]
    async fn no_file_of_a_stage_is_outside_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyFiles::new(dir.path().join("keys"));
        store.add("../../x", DIGEST, vec![1; 32]).await.unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(store.load("../../x").await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_has_no_keys_and_one_that_is_none_is_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(KeyFiles::new(dir.path().join("none")).load("matcher").await.unwrap().is_empty());
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = KeyFiles::new(&file).load("matcher").await.unwrap_err();
        assert!(error.contains("--bus-keys") && error.contains("name a folder"), "{error}");
    }
}
