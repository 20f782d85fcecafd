//! Whether a server goes forward. One that was restored from a backup counts its resourceVersions on from where the backup was. A watch that
//! goes on from a later version says nothing until they have grown as far again, and nobody says that anything is wrong.

// D-0416: a cluster that went back is read anew.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::Api;
use kube::api::ListParams;

use crate::raw::Raw;

/// How long a server may take to say how new it is. Of a fleet many may be away: who asks all of them waits for each.
const PATIENCE: Duration = Duration::from_secs(5);

/// The greatest resourceVersion that a server has shown; 0 before it has shown one.
#[derive(Debug, Default)]
pub(crate) struct Newest(u64);

impl Newest {
    /// It has shown an object of this version.
    pub(crate) fn saw(&mut self, version: u64) {
        self.0 = self.0.max(version);
    }

    /// It says of itself that it is at this version, or none (0): whether it went back.
    pub(crate) fn is_back(&mut self, version: u64) -> bool {
        if version == 0 {
            return false;
        }
        let is_back = version < self.0;
        self.0 = version;
        is_back
    }
}

/// The version of the server that a list of now has, 0 when it says none; `None` when it does not answer in time, or refuses it.
pub(crate) async fn version_of(api: &Api<Raw>, patience: Duration) -> Option<u64> {
    let one = ListParams::default().limit(1);
    let listed = tokio::time::timeout(patience, api.list_metadata(&one)).await.ok()?.ok()?;
    Some(listed.metadata.resource_version.and_then(|version| version.parse().ok()).unwrap_or(0))
}

/// A server that is asked from time to time whether it went back.
#[derive(Debug, Default)]
pub struct Watermark(Mutex<Newest>);

impl Watermark {
    /// Asks by the list of one of these objects: whether the server is older than it was when it was asked last. Who does not answer is
    /// not.
    pub async fn is_back(&self, api: &Api<Raw>) -> bool {
        let Some(version) = version_of(api, PATIENCE).await else { return false };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_back(version)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::fake_api::inside::answering;

    #[test]
    fn a_smaller_version_than_one_that_was_shown_is_told_once() {
        let mut newest = Newest::default();
        assert!(!newest.is_back(3) && !newest.is_back(7) && !newest.is_back(7) && !newest.is_back(0));
        newest.saw(9);
        newest.saw(8);
        assert!(newest.is_back(8), "an object was newer");
        assert!(!newest.is_back(8), "from there it goes on");
    }

    #[tokio::test]
    async fn a_server_that_went_back_is_told_from_one_that_does_not_answer() {
        let server = answering(|request| {
            let version = match request.number {
                0 => "7",
                1 => return (500, "busy".to_owned()),
                2 => "",
                3 => "9",
                _ => "8",
            };
            (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": []}).to_string())
        });
        let resource = kube::core::ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
        };
        let (api, mark) = (Api::all_with(server.clone(), &resource), Watermark::default());
        let mut told = Vec::new();
        for _ in 0..6 {
            told.push(mark.is_back(&api).await);
        }
        assert_eq!(told, [false, false, false, false, true, false]);
    }
}
