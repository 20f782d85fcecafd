//! The row of one destination, or why it gets none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::secrets::is_secret;
use sluice_api::{ClusterRef, ProfileId, few};
use sluice_protocol::rows::{Cause, Desired};

use crate::error::{Error, Result};

/// A destination and the body of its row, or why there is none.
pub(crate) type Rendition = (ClusterRef, Result<RowBody, NoRow>);

/// A destination and its row.
pub(crate) type DestinationRow = (ClusterRef, RowBody);

/// Who else has the name of the profile on destinations of it.
pub(crate) type Taken = BTreeMap<ClusterRef, Cause>;

/// The body of a row.
#[derive(Clone)]
pub(crate) struct RowBody {
    pub(crate) bytes: Arc<[u8]>,
    /// Whether there is a Secret in it.
    pub(crate) secret: bool,
}

// === impl RowBody ===

impl RowBody {
    /// The same, with the word that no value of it may be shown.
    ///
    /// # Errors
    /// That it is no object, which it is.
    pub(crate) fn hidden(self) -> Result<Self> {
        let read = || -> serde_json::Result<Arc<[u8]>> {
            let desired: Desired = serde_json::from_slice(&self.bytes)?;
            Ok(serde_json::to_vec(&Desired { hidden: true, ..desired })?.into())
        };
        let bytes = read().map_err(|error| Error::Json(error.to_string()))?;
        Ok(Self { bytes, secret: self.secret })
    }
}

/// Why a destination gets no row.
pub(crate) enum NoRow {
    /// Something is wrong.
    Failed(Error),
    /// It is not known what the cluster can do.
    Unknown,
}

/// What is said where it is not known what clusters can do.
pub(crate) fn waiting(clusters: &BTreeSet<ClusterRef>) -> Option<String> {
    (!clusters.is_empty()).then(|| {
        format!(
            "charts wait until the agents of {} have said what these clusters can do; start the agents, or upgrade them",
            few(", ", clusters)
        )
    })
}

/// The body of a row, with the Jobs of its checks, in which there may be something secret.
pub(crate) fn body_of(desired: &Desired, has_secret_jobs: bool) -> Result<RowBody> {
    let mut objects = desired.policies.iter().flat_map(|policy| &policy.objects);
    let secret = has_secret_jobs || objects.any(is_secret);
    Ok(RowBody {
        bytes: serde_json::to_vec(desired).map_err(|error| Error::Json(error.to_string()))?.into(),
        secret,
    })
}

/// What is said where two causes would make a profile of one name.
pub(crate) fn name_taken(profile: &ProfileId, user: &Cause) -> Error {
    let remedy = "make spec.profileNameFormat differ, or rename one of them".to_owned();
    Error::Taken { object: profile.to_string(), by: user.to_string(), remedy }
}
