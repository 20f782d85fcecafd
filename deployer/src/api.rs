//! Carrying out a deployer's requests on one cluster.

// D-1003: the API server fences a stale deployer.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use dashmap::DashMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_api::{Gvk, ObjectKey, ServiceAccount, object};
use sluice_deployer_core::{
    Class, Failure, Kept, Live, MANAGER, Reply, Request, Version, is_own, without_marks,
};
use sluice_difference::Hide;
use sluice_kube::{NEVER, Raw, Watermark, resource_of, segment};

use fields::{How, seen};

use crate::tenants::{Acting, Caller, Tenants};
use crate::{failure, own, tenants};

mod along;
mod content;
mod fields;
mod inventories;
mod jobs;
mod kept;
mod namespaces;
mod prove;
mod rehearse;
mod subresources;

// D-1002: server-side apply with one field manager.
/// Selects what profiles have deployed, by a label that everything has which is applied.
pub(crate) const DEPLOYED: &str = "projectsveltos.io/reason";
/// Objects of one page of a list.
const PAGE: u32 = 500;
/// A call that takes longer counts as failed; whether it worked is unknown.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// One cluster that is deployed to.
pub(crate) struct Site {
    client: Client,
    kept: Kept,
    /// Resources by kind, as discovery told them, and whether their objects are in namespaces. Entries are copied out, and
    /// none is held while discovery is asked.
    resources: DashMap<Gvk, (ApiResource, bool)>,
    tenants: Tenants,
    newest: Watermark,
}

impl Site {
    /// A registered cluster.
    pub(crate) fn new(client: Client) -> Arc<Self> {
        Self::keeping(client, Kept::Registered)
    }

    /// The management cluster.
    pub(crate) fn management(client: Client) -> Arc<Self> {
        Self::keeping(client, Kept::Management)
    }

    fn keeping(client: Client, kept: Kept) -> Arc<Self> {
        let (resources, tenants, newest) = (DashMap::new(), Tenants::default(), Watermark::default());
        Arc::new(Self { client, kept, resources, tenants, newest })
    }

    /// Whether the cluster is older than when this was asked last.
    pub(crate) async fn is_back(&self) -> bool {
        self.newest.is_back(&self.config_maps()).await
    }

    fn is_management(&self) -> bool {
        self.kept == Kept::Management
    }

    /// Carries out a request; never longer than [`TIMEOUT`], and what writes only while it is `allowed`.
    pub(crate) async fn call(&self, request: Request, allowed: impl Fn() -> bool) -> Reply {
        let reads = request.is_read();
        let run = while_allowed(|| reads || allowed(), self.run(request));
        let result = match tokio::time::timeout(TIMEOUT, run).await {
            Ok(Some(result)) => result,
            Ok(None) => Err(Failure::new(Class::Transient, "this replica's membership has lapsed")),
            Err(_) => {
                Err(Failure::new(Class::Unanswered, format!("no answer within {} s", TIMEOUT.as_secs())))
            }
        };
        result.unwrap_or_else(Reply::Failed)
    }

    async fn run(&self, request: Request) -> Result<Reply, Failure> {
        match request {
            Request::Inventories => self.inventories().await,
            Request::List(gvk) => self.known(&gvk, self.list(&gvk).await),
            Request::Read(key) => self.known(&key.gvk, self.read(&key).await),
            Request::Content(key) => self.content(&key).await,
            Request::Along { holder, profile } => self.along(&holder, &profile).await,
            Request::Apply { object, against, subresources, make_namespace, excluded, watched, account } => {
                let caller = self.caller(account)?;
                let object = self.as_allowed(object, against.as_ref(), &excluded).await?;
                let how = How { against, make_namespace, watched };
                match subresources.is_empty() {
                    true => self.apply(&object, how, &caller).await,
                    false => self.apply_parts(&object, how, &subresources, &caller).await,
                }
            }
            Request::Prove { object, account } => self.prove(&object, &self.caller(Some(account))?).await,
            Request::Rehearse { object, excluded, make_namespace, hidden, account } => {
                let hide = if hidden { Hide::All } else { Hide::OfSecrets };
                self.rehearse(&object, &excluded, (make_namespace, hide), &self.caller(account)?).await
            }
            Request::RehearseDelete { key, against } => {
                self.known(&key.gvk, self.rehearse_delete(&key, against).await)
            }
            Request::Delete { key, against, account } => {
                let caller = self.caller(account)?;
                self.known(&key.gvk, self.delete(&key, against, &caller).await)
            }
            Request::Release { key, against, account } => {
                let caller = self.caller(account)?;
                self.known(&key.gvk, self.release(&key, against, &caller).await)
            }
            Request::ReadInventory(profile) => self.read_inventory(&profile).await,
            Request::WriteInventory { inventory, against } => self.write_inventory(&inventory, against).await,
            Request::DeleteInventory { profile, against } => {
                let name = self.kept.object_name(&profile);
                delete(&self.config_maps(), &name, against, &self.caller(None)?).await
            }
            Request::Keep { profile, row, body, good } => self.keep(&profile, &row, &body.0, good).await,
            Request::ReadKept { profile, row } => self.read_kept(&profile, &row).await,
            Request::DropKept(profile) => self.drop_kept(&profile).await,
        }
    }

    /// Who writes objects for this tenant; without one the deployer does it for itself. Everything else it does for itself: what it
    /// looks at tells it what to plan, and tells the tenant nothing.
    pub(crate) fn caller(&self, account: Option<ServiceAccount>) -> Result<Caller, Failure> {
        let there = |account: &ServiceAccount| match self.kept {
            Kept::Registered => account.in_clusters(),
            Kept::Management => account.clone(),
        };
        let acting = account.map(|account| Acting { there: there(&account), account });
        self.tenants.caller(&self.client, acting, self.is_management())
    }

    /// What an error means of a call that the deployer made for itself.
    fn failure(&self, error: &kube::Error, planned: bool) -> Failure {
        failure::of(error, planned, tenants::own(self.is_management()))
    }

    fn config_maps(&self) -> Api<Raw> {
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
        };
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    /// The metadata of everything of a kind that says that a profile deployed it.
    async fn list(&self, gvk: &Gvk) -> Result<Reply, Failure> {
        let Some((resource, _)) = self.resource(gvk).await? else { return Ok(Reply::Listed(Vec::new())) };
        let api: Api<Raw> = Api::all_with(self.client.clone(), &resource);
        let (mut found, mut params) = (Vec::new(), ListParams::default().labels(DEPLOYED).limit(PAGE));
        loop {
            let page = api.list_metadata(&params).await.map_err(|error| self.failure(&error, false))?;
            for mut item in page.items {
                item.metadata.managed_fields = None;
                let Ok(metadata) = serde_json::to_value(&item.metadata) else { continue };
                let object = json!({"metadata": metadata});
                let (namespace, name) = (object::namespace(&object).into(), object::name(&object).into());
                found.push((ObjectKey { gvk: gvk.clone(), namespace, name }, Live::of(&object)));
            }
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return Ok(Reply::Listed(found)),
            }
        }
    }

    async fn read(&self, key: &ObjectKey) -> Result<Reply, Failure> {
        let Some((api, _)) = self.api(key, &self.client).await? else { return Ok(Reply::Read(None)) };
        match api.get_opt(&segment(&key.name)).await {
            Ok(Some(object)) if self.is_management() && is_own(&object.value) => Err(own::refused(key)),
            Ok(object) => Ok(Reply::Read(object.map(|object| Live::of(&object.value)))),
            Err(error) if failure::was_not_sent(&error) => Ok(Reply::Read(None)),
            Err(error) => Err(self.failure(&error, false)),
        }
    }

    async fn apply(&self, object: &Value, how: How, caller: &Caller) -> Result<Reply, Failure> {
        let How { against, make_namespace, watched } = how;
        let (key, api, mut body) = self.applicable(object, caller).await?;
        let namespace = Some(object::namespace(&body).to_owned()).filter(|namespace| !namespace.is_empty());
        let planned = against.is_some();
        let (uid, version) = against.unzip();
        if let Some(uid) = uid {
            body["metadata"]["uid"] = uid.into();
        }
        body["metadata"]["resourceVersion"] = version.unwrap_or_else(|| NEVER.to_owned()).into();
        let params = PatchParams::apply(MANAGER).force();
        let mut result = sluice_kube::apply(&api, &key.name, &params, &body).await;
        if let (Err(error), Some(namespace)) = (&result, &namespace)
            && namespaces::is_lacking(error, &body)
        {
            if !make_namespace {
                return Err(failure::no_namespace(namespace));
            }
            self.make_namespace(namespace, caller).await?;
            result = sluice_kube::apply(&api, &key.name, &params, &body).await;
        }
        match result {
            Ok(object) => Ok(Reply::Applied(seen(&object.value, watched))),
            Err(error) if failure::is_no_kind(&error) => {
                self.forget(&key.gvk);
                Err(failure::no_kind(&key.gvk))
            }
            Err(error) => Err(caller.failure(&error, planned)),
        }
    }

    async fn delete(&self, key: &ObjectKey, against: Version, caller: &Caller) -> Result<Reply, Failure> {
        let Some((api, _)) = self.api(key, &caller.client).await? else { return Ok(Reply::Done) };
        delete(&api, &key.name, against, caller).await
    }

    async fn release(
        &self,
        key: &ObjectKey,
        (uid, version): Version,
        caller: &Caller,
    ) -> Result<Reply, Failure> {
        let Some((api, _)) = self.api(key, &caller.client).await? else { return Ok(Reply::Done) };
        let mut patch = without_marks();
        patch["metadata"]["uid"] = uid.into();
        patch["metadata"]["resourceVersion"] = version.into();
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        match api.patch(&segment(&key.name), &params, &Patch::Merge(&patch)).await {
            Ok(_) => Ok(Reply::Done),
            Err(error) => Err(caller.failure(&error, true)),
        }
    }

    /// What to do about an error of a watch of the deployer's own.
    pub(crate) fn remedy(&self, error: &str) -> String {
        self.caller(None).map(|caller| caller.remedy(error)).unwrap_or_default()
    }

    /// Its client, for watches.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Kinds of this group came or went: they are looked up anew.
    pub(crate) fn forget_group(&self, group: &str) {
        self.resources.retain(|gvk, _| gvk.group != group);
    }

    /// Where the server has no such kind, it has gone, or a proxy says so: discovery is asked when it is tried again, also when it
    /// told of the kind a moment ago.
    fn known(&self, gvk: &Gvk, result: Result<Reply, Failure>) -> Result<Reply, Failure> {
        if matches!(&result, Err(failure) if failure.class == Class::NoKind) {
            self.forget(gvk);
        }
        result
    }

    /// The kind has gone: it is looked up anew, and may come back under another name.
    fn forget(&self, gvk: &Gvk) {
        self.resources.remove(gvk);
    }

    /// A kind as discovery tells it, and whether its objects are in namespaces; `None` when the cluster has no such kind.
    async fn resource(&self, gvk: &Gvk) -> Result<Option<(ApiResource, bool)>, Failure> {
        let known = self.resources.get(gvk).map(|known| known.clone());
        if known.is_some() {
            return Ok(known);
        }
        let found = match resource_of(&self.client, gvk).await {
            Ok(found) => found,
            Err(error) if failure::was_not_sent(&error) => None,
            Err(error) => return Err(self.failure(&error, false)),
        };
        if let Some(found) = &found {
            self.resources.insert(gvk.clone(), found.clone());
        }
        Ok(found)
    }

    /// The API of an object's kind, and the namespace it is in; `None` when the cluster has no such kind.
    async fn api(
        &self,
        key: &ObjectKey,
        client: &Client,
    ) -> Result<Option<(Api<Raw>, Option<String>)>, Failure> {
        let Some((resource, namespaced)) = self.resource(&key.gvk).await? else { return Ok(None) };
        if !namespaced {
            return Ok(Some((Api::all_with(client.clone(), &resource), None)));
        }
        let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
        Ok(Some((Api::namespaced_with(client.clone(), namespace, &resource), Some(namespace.to_owned()))))
    }
}

/// Goes on with `work` only while it is allowed, which is asked again each time: kinds are looked up and connections made
/// before something is sent, and this process may have been stopped meanwhile.
async fn while_allowed<T>(allowed: impl Fn() -> bool, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| if allowed() { work.as_mut().poll(context).map(Some) } else { Poll::Ready(None) }).await
}

/// Deletes exactly this version of an object. That there is no such object only the server says: a proxy in between gives a
/// 404 as well.
async fn delete(
    api: &Api<Raw>,
    name: &str,
    (uid, resource_version): Version,
    caller: &Caller,
) -> Result<Reply, Failure> {
    let preconditions = Preconditions { uid: Some(uid), resource_version: Some(resource_version) };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
    match api.delete(&segment(name), &params).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Reply::Done),
        Err(error) => Err(caller.failure(&error, true)),
        Ok(_) => Ok(Reply::Done),
    }
}

#[cfg(test)]
mod tests;
