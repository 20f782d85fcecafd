//! Contents that are kept in a cluster: a Secret each, beside the inventory of their profile.

// D-1071: what a cluster can go back to is kept in the cluster.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use sluice_api::model::{INVENTORY, NAMESPACE};
use sluice_api::{Digest, ProfileId, object};
use sluice_deployer_core::{Class, Failure, KeptBody, MANAGER, Reply};
use sluice_kube::Raw;

use super::Site;

/// Label of the Secrets, with the name of the inventory beside which they are.
const KEPT: &str = "sluice.projectsveltos.io/kept";
/// The content, in a Secret.
const CONTENT: &str = "content";
/// Packed it is not larger than this: an API server takes no object above 1.5 MiB, and a Secret is a third larger on its way.
const MOST: usize = 1 << 20;
/// Unpacked it is not larger than this: no row is.
const MOST_UNPACKED: u64 = 64 << 20;

impl Site {
    /// Keeps a content, unless it is kept already, and takes away what is kept besides the other one.
    pub(super) async fn keep(
        &self,
        profile: &ProfileId,
        row: &Digest,
        body: &[u8],
        good: Option<Digest>,
    ) -> Result<Reply, Failure> {
        let (inventory, name) = (self.kept.object_name(profile), self.name_of_kept(profile, row));
        let found = self.names_of_kept(profile).await?;
        if !found.contains(&name) {
            let content = pack(body)?;
            let secret = Raw::from(json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "labels": {INVENTORY: "kept", KEPT: inventory},
                    "annotations": {"sluice.projectsveltos.io/profile": profile.path()},
                },
                "type": "Opaque",
                "immutable": true,
                "data": {CONTENT: BASE64_STANDARD.encode(content)},
            }));
            let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
            match self.secrets().create(&params, &secret).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(error) => return Err(self.failure(&error, false)),
                Ok(_) => {}
            }
        }
        let stays = [Some(name), good.map(|good| self.name_of_kept(profile, &good))];
        let others = found.iter().filter(|found| !stays.iter().flatten().any(|stays| stays == *found));
        self.take_away(others).await
    }

    /// What is kept as the content of this row.
    pub(super) async fn read_kept(&self, profile: &ProfileId, row: &Digest) -> Result<Reply, Failure> {
        let found = self.secrets().get_opt(&self.name_of_kept(profile, row)).await;
        let Some(secret) = found.map_err(|error| self.failure(&error, false))? else {
            return Ok(Reply::Kept(None));
        };
        let body = unpack(&secret.value).map_err(|why| {
            Failure::new(Class::Refused, format!("{}: {why}", object::describe(&secret.value)))
        })?;
        Ok(Reply::Kept(Some(KeptBody(body))))
    }

    /// Takes away all that is kept of a profile.
    pub(super) async fn drop_kept(&self, profile: &ProfileId) -> Result<Reply, Failure> {
        let found = self.names_of_kept(profile).await?;
        self.take_away(found.iter()).await
    }

    async fn take_away(&self, names: impl Iterator<Item = &String>) -> Result<Reply, Failure> {
        for name in names {
            match self.secrets().delete(name, &DeleteParams::background()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(self.failure(&error, false)),
                Ok(_) => {}
            }
        }
        Ok(Reply::Done)
    }

    async fn names_of_kept(&self, profile: &ProfileId) -> Result<Vec<String>, Failure> {
        let params = ListParams::default().labels(&format!("{KEPT}={}", self.kept.object_name(profile)));
        let list =
            self.secrets().list_metadata(&params).await.map_err(|error| self.failure(&error, false))?;
        Ok(list.items.into_iter().filter_map(|item| item.metadata.name).collect())
    }

    fn name_of_kept(&self, profile: &ProfileId, row: &Digest) -> String {
        format!("{}-{row}", self.kept.object_name(profile))
    }

    fn secrets(&self) -> Api<Raw> {
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "Secret".into(),
            plural: "secrets".into(),
        };
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }
}

fn pack(body: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packed.write_all(body).and_then(|()| packed.finish());
    let packed = packed.map_err(|error| Failure::new(Class::Refused, error.to_string()))?;
    if packed.len() > MOST {
        let text = format!("it has {} bytes when it is compressed, and a Secret holds {MOST}", packed.len());
        return Err(Failure::new(Class::Refused, text));
    }
    Ok(packed)
}

/// Others may write where it is kept: no more is unpacked than a row may have.
fn unpack(secret: &Value) -> Result<Arc<[u8]>, String> {
    let text = object::text(secret, &["data", CONTENT]);
    let packed = BASE64_STANDARD.decode(text).map_err(|_| format!("data.{CONTENT} is not Base64"))?;
    let mut body = Vec::new();
    let read = GzDecoder::new(&*packed).take(MOST_UNPACKED + 1).read_to_end(&mut body);
    read.map_err(|error| format!("data.{CONTENT} cannot be decompressed: {error}"))?;
    if body.len() as u64 > MOST_UNPACKED {
        return Err(format!("data.{CONTENT} is larger than any content"));
    }
    Ok(body.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn secret(content: &[u8]) -> Value {
        json!({"data": {CONTENT: BASE64_STANDARD.encode(content)}})
    }

    #[test]
    fn a_content_is_read_back_and_what_is_broken_is_refused() {
        let body = br#"{"policies":[]}"#;
        assert_eq!(&*unpack(&secret(&pack(body).unwrap())).unwrap(), body);
        assert_eq!(unpack(&json!({"data": {CONTENT: "%"}})).unwrap_err(), "data.content is not Base64");
        for broken in [&b""[..], b"{}", &pack(body).unwrap()[..12]] {
            let error = unpack(&secret(broken)).unwrap_err();
            assert!(error.starts_with("data.content cannot be decompressed"), "{error}");
        }
    }

    #[test]
    fn what_is_too_large_for_a_secret_is_not_kept_and_what_unpacks_to_too_much_not_read() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 56) as u8
        };
        let noise: Vec<u8> = (0..2 * MOST).map(|_| next()).collect();
        let failure = pack(&noise).unwrap_err();
        assert!(
            failure.class == Class::Refused && failure.message.contains("a Secret holds 1048576"),
            "{failure:?}"
        );
        let bomb = pack(&vec![0; MOST_UNPACKED as usize + 1]).unwrap();
        assert_eq!(unpack(&secret(&bomb)).unwrap_err(), "data.content is larger than any content");
    }
}
