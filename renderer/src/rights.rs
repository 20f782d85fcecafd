//! What tenants may read: the management cluster is asked, once for all shards and causes of this process, again and again, and
//! when a shard asks anew because something has changed. What is asked while an answer is on its way is one question more, for all.
//! An answer that cannot be had anew stays, but for whom something has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use kube::Client;
use serde_json::{Value, json};
use sluice_api::ObjectKey;
use sluice_kube::{remedy_of_denial, resource_of};
use sluice_protocol::Shard;
use sluice_renderer_core::{ExternalInput, Question, Right};
use sluice_tasks::{End, Group, Kept, Tasks};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// After this long it is asked again whether a right that was granted still is.
const AGAIN: Duration = Duration::from_secs(60);
/// And after this long whether one that was denied, or of which nothing could be learned, is granted now.
const RETRY: Duration = Duration::from_secs(5);
/// So many questions are asked at once.
const AT_ONCE: usize = 8;
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Unbounded, as every input of a shard: the core only updates its memory.
type Sender = mpsc::UnboundedSender<ExternalInput>;

/// All questions of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Rights {
    asked: Arc<Mutex<BTreeMap<Question, Asked>>>,
    news: Arc<Notify>,
    _task: Arc<Group>,
}

/// What one shard asks. It ends when this is dropped.
pub(crate) struct Inquirer {
    rights: Rights,
    shard: Shard,
    sender: Sender,
}

/// One question.
struct Asked {
    readers: HashMap<Shard, Reader>,
    /// When it is asked next.
    due: Instant,
}

/// A shard that asks.
struct Reader {
    sender: Sender,
    /// The number of its newest question.
    asked: u64,
    /// What it was told last, and which of its questions that answered.
    told: Option<(u64, Right)>,
}

// === impl Rights ===

impl Rights {
    /// Begins to ask whatever will be asked.
    pub(crate) fn start(client: Client, tasks: &Tasks) -> Self {
        let task = tasks.group("rights");
        let rights = Self { asked: Arc::default(), news: Arc::default(), _task: Arc::new(task) };
        let (asked, news) = (rights.asked.clone(), rights.news.clone());
        rights._task.keep(Kept::Rights, move || {
            let (asked, news, client) = (asked.clone(), news.clone(), client.clone());
            async move {
                keep_asking(&client, &asked, &news).await;
                End::Done
            }
        });
        rights
    }

    /// What `shard` will ask; it is told through `sender`.
    pub(crate) fn inquirer(&self, shard: Shard, sender: Sender) -> Inquirer {
        Inquirer { rights: self.clone(), shard, sender }
    }
}

fn lock(asked: &Mutex<BTreeMap<Question, Asked>>) -> MutexGuard<'_, BTreeMap<Question, Asked>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn keep_asking(client: &Client, asked: &Mutex<BTreeMap<Question, Asked>>, news: &Notify) {
    loop {
        let now = Instant::now();
        let due: Vec<_> = lock(asked)
            .iter()
            .filter(|(_, one)| one.due <= now)
            .map(|(question, _)| question.clone())
            .collect();
        let ask = |question: Question| async move {
            let Some(numbers) = lock(asked).get(&question).map(Asked::numbers) else { return };
            let right = ask(client, &question).await;
            if let Some(one) = lock(asked).get_mut(&question) {
                one.set(&question, &numbers, &right, Instant::now());
            }
        };
        stream::iter(due).for_each_concurrent(AT_ONCE, ask).await;
        let next = lock(asked).values().map(|one| one.due).min();
        tokio::select! {
            () = news.notified() => {}
            () = tokio::time::sleep_until(next.unwrap_or(now)), if next.is_some() => {}
        }
    }
}

/// Asks the management cluster.
async fn ask(client: &Client, question: &Question) -> Right {
    match review(client, question).await {
        Ok(true) => Right::Granted,
        Ok(false) => Right::Denied,
        Err(error) => Right::Unavailable(format!("{error}{}", remedy_of_denial(&error))),
    }
}

async fn review(client: &Client, Question { account, object }: &Question) -> Result<bool, String> {
    let (plural, is_namespaced) = plural(client, object).await?;
    let mut attributes = json!({"verb": "get", "group": object.gvk.group, "version": object.gvk.version, "resource": plural,
        "name": object.name});
    if is_namespaced {
        attributes["namespace"] = object.namespace.clone().into();
    }
    let spec = json!({"user": account.user(), "groups": account.groups(), "resourceAttributes": attributes});
    let review =
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
    let request = http::Request::post(REVIEWS).header("content-type", "application/json");
    let request = request.body(review.to_string().into_bytes()).map_err(|error| error.to_string())?;
    let answer: Value = client.request(request).await.map_err(|error| error.to_string())?;
    let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool);
    allowed.ok_or_else(|| "the answer to the review has no status.allowed".to_owned())
}

/// What the kind of an object is called in paths, and whether it has namespaces.
async fn plural(client: &Client, object: &ObjectKey) -> Result<(String, bool), String> {
    match (object.gvk.group.as_str(), object.gvk.kind.as_str()) {
        ("", "ConfigMap") => return Ok(("configmaps".to_owned(), true)),
        ("", "Secret") => return Ok(("secrets".to_owned(), true)),
        _ => {}
    }
    let resource = resource_of(client, &object.gvk).await.map_err(|error| error.to_string())?;
    let (resource, is_namespaced) = resource.ok_or_else(|| format!("it has no kind {}", object.gvk))?;
    Ok((resource.plural, is_namespaced))
}

// === impl Asked ===

impl Asked {
    /// The questions that who is asked now answers, by shard.
    fn numbers(&self) -> HashMap<Shard, u64> {
        self.readers.iter().map(|(shard, reader)| (*shard, reader.asked)).collect()
    }

    /// Takes the answer to these questions. What has been asked meanwhile is asked at once.
    fn set(&mut self, question: &Question, numbers: &HashMap<Shard, u64>, right: &Right, now: Instant) {
        for (shard, reader) in &mut self.readers {
            if let Some(number) = numbers.get(shard) {
                reader.tell(question, *number, right);
            }
        }
        let is_answered = |(shard, reader): (&Shard, &Reader)| numbers.get(shard) == Some(&reader.asked);
        let rest = if *right == Right::Granted { AGAIN } else { RETRY };
        self.due = if self.readers.iter().all(is_answered) { now + rest } else { now };
    }
}

// === impl Reader ===

impl Reader {
    /// Tells what is new. That nobody could be asked again changes nothing of what was said of the same question.
    fn tell(&mut self, question: &Question, number: u64, right: &Right) {
        let before = self.told.as_ref().filter(|(told, _)| *told == number).map(|(_, right)| right);
        let failed = matches!(right, Right::Unavailable(_));
        let is_known = matches!(before, Some(Right::Granted | Right::Denied));
        if before == Some(right) || (failed && is_known) {
            return;
        }
        self.told = Some((number, right.clone()));
        if self.sender.send(ExternalInput::Right(question.clone(), right.clone(), number)).is_err() {
            tracing::debug!(%question, "a shard that asked this has ended");
        }
    }
}

// === impl Inquirer ===

impl Inquirer {
    /// Tells whether the tenant may read this, as it is from now on.
    pub(crate) fn ask(&self, question: Question, number: u64) {
        let mut all = lock(&self.rights.asked);
        let new = || Asked { readers: HashMap::new(), due: Instant::now() };
        let asked = all.entry(question).or_insert_with(new);
        asked.due = Instant::now();
        let reader = || Reader { sender: self.sender.clone(), asked: number, told: None };
        asked.readers.entry(self.shard).or_insert_with(reader).asked = number;
        self.rights.news.notify_one();
    }

    /// Tells of it no more.
    pub(crate) fn unask(&self, question: &Question) {
        let mut all = lock(&self.rights.asked);
        let Some(asked) = all.get_mut(question) else { return };
        asked.readers.remove(&self.shard);
        if asked.readers.is_empty() {
            all.remove(question);
        }
    }
}

impl Drop for Inquirer {
    fn drop(&mut self) {
        lock(&self.rights.asked).retain(|_, asked| {
            asked.readers.remove(&self.shard);
            !asked.readers.is_empty()
        });
    }
}

#[cfg(test)]
mod tests;
