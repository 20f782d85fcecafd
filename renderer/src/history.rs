//! That the management cluster only goes forward. Where it was restored from a backup, what users have made since is not in it: a renderer
//! would take that for deleted, and withdraw what it led to.
//!
//! ```text
//! mark in the management cluster ── every 30 s one more ──► the same number on the bus
//! a list of the management cluster ─► its mark is smaller than the bus' ─► no renderer works until somebody says that this is meant
//! ```

// D-0415: a management cluster that went back withdraws nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::api::{Api, ApiResource, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::{Value, json};
use sluice_api::model::{ACCEPTED, INVENTORY, MARK, NAMESPACE};
use sluice_api::object;
use sluice_bus::{Bus, now_micros};
use sluice_kube::{Raw, remedy_of_denial};
use sluice_protocol::{About, Problem, Revision};
use sluice_runtime::{Context, Reporter};
use sluice_tasks::{End, Once};
use tokio_util::sync::CancellationToken;

/// How often the mark grows: a backup that is older by as much is told from the present.
const EVERY: Duration = Duration::from_secs(30);
/// Pause before a server that does not answer is asked again.
const AGAIN: Duration = Duration::from_secs(1);
const FIELD_MANAGER: &str = "sluice-renderer";

/// What a process knows of it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct History {
    client: Client,
    bus: Bus,
    reporter: Reporter,
    /// The greatest mark that this process has seen; 0 before it works.
    seen: Arc<AtomicU64>,
    /// The restore that it knows of, as [`Mark::restored`].
    restored: Arc<AtomicU64>,
    /// Cancelled once the management cluster has gone back.
    back: CancellationToken,
}

/// The mark of the management cluster.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mark {
    /// 0 where there is none.
    number: u64,
    /// Whether somebody has said that it is meant to be so small.
    is_accepted: bool,
    /// Version of its object; empty where there is none.
    version: String,
    /// When it grew last, microseconds since 1970.
    time: i64,
    /// The number with which renderers went on after the last restore; 0 where there was none. Since then versions of objects count anew.
    restored: u64,
}

/// What a mark says of the management cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    /// It went back, and that is meant.
    Accepted,
    Back,
}

/// `known` is the mark on the bus, or the greatest one that this process has seen; 0 where there is none.
fn direction(mark: &Mark, known: u64) -> Direction {
    match mark.number >= known {
        true => Direction::Forward,
        false if mark.is_accepted => Direction::Accepted,
        false => Direction::Back,
    }
}

/// The mark with which a renderer goes on.
fn next(mark: &Mark, known: u64) -> Mark {
    let number = mark.number.max(known) + 1;
    let restored = match direction(mark, known) {
        // Greater than any before: marks only grow.
        Direction::Accepted => number,
        _ => mark.restored,
    };
    Mark { number, restored, is_accepted: false, ..mark.clone() }
}

// === impl History ===

impl History {
    pub(crate) fn new(context: &Context, client: &Client) -> Self {
        Self {
            client: client.clone(),
            bus: context.bus.clone(),
            reporter: Reporter::new(context, "management"),
            seen: Arc::default(),
            restored: Arc::default(),
            back: CancellationToken::new(),
        }
    }

    /// Waits until the management cluster is at least as new as what renderers have worked with, or somebody has said that it is meant to
    /// be older; the mark of the last restore, after which rows of the time before are older than all that is there.
    pub(crate) async fn begin(&self) -> Revision {
        let mut told = String::new();
        loop {
            let text = match self.compare().await {
                Ok(None) => {
                    // Also where a former process has said it.
                    self.reporter.problem(Problem::resolved("renderer", "", about()));
                    return Revision::new(self.restored.load(Ordering::SeqCst));
                }
                Ok(Some(text)) => text,
                Err(error) => format!("{}; nothing is rendered before it can", not_compared(&error)),
            };
            self.say(&mut told, text);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Opens a problem with this text, unless that was told last.
    fn say(&self, told: &mut String, text: String) {
        if *told != text {
            tracing::warn!("{text}");
            self.reporter.problem(Problem::open("renderer", "", about(), text.clone()));
            *told = text;
        }
    }

    /// What is wrong; `None` where all is well, and from then on this process has seen a mark.
    async fn compare(&self) -> Result<Option<String>, String> {
        // The bus first: what it says was in the management cluster before.
        let known = self.bus.management_mark().await.map_err(|error| error.to_string())?.unwrap_or(0);
        let mark = self.read().await?;
        match direction(&mark, known) {
            Direction::Back => return Ok(Some(went_back(mark.number, known))),
            Direction::Accepted => {
                tracing::warn!(mark.number, known, "the management cluster went back, and that is meant")
            }
            Direction::Forward => {}
        }
        let mark = self.advance(&mark, known).await?;
        self.restored.store(mark.restored, Ordering::SeqCst);
        Ok(None)
    }

    /// Lets the mark grow while this process works; ends early when the management cluster has gone back: then the next process waits.
    pub(crate) fn keep(self, context: &Context) {
        let stop = context.tasks.stop().clone();
        context.tasks.spawn(Once::History, async move {
            let mut told = String::new();
            loop {
                tokio::select! {
                    () = stop.cancelled() => return End::Done,
                    () = self.back.cancelled() => return End::Early,
                    () = tokio::time::sleep(EVERY) => {}
                }
                match self.step().await {
                    Ok(()) if told.is_empty() => {}
                    Ok(()) => {
                        told.clear();
                        self.reporter.problem(Problem::resolved("renderer", "", about()));
                    }
                    Err(error) => self.say(&mut told, not_compared(&error)),
                }
            }
        });
    }

    async fn step(&self) -> Result<(), String> {
        let mark = self.read().await?;
        if !self.follows(&mark) {
            self.say_back(&mark);
        } else if now_micros().saturating_sub(mark.time)
            >= i64::try_from(EVERY.as_micros()).unwrap_or(i64::MAX)
        {
            self.advance(&mark, mark.number).await?;
        } else {
            self.see(mark.number).await?;
        }
        Ok(())
    }

    /// Whether what the management cluster lists now is as new as what it has listed before. Waits for its answer.
    pub(crate) async fn goes_on(&self) -> bool {
        loop {
            match self.read().await {
                Ok(mark) if self.follows(&mark) => return true,
                Ok(mark) => {
                    self.say_back(&mark);
                    return false;
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Whether the mark follows what this process has seen. Others may have gone on after a restore that it has not noticed.
    fn follows(&self, mark: &Mark) -> bool {
        direction(mark, self.seen.load(Ordering::SeqCst)) == Direction::Forward
            && mark.restored == self.restored.load(Ordering::SeqCst)
    }

    fn say_back(&self, mark: &Mark) {
        tracing::error!("{}", went_back(mark.number, self.seen.load(Ordering::SeqCst)));
        self.back.cancel();
    }

    /// Writes a greater mark than both, there and on the bus; the mark that is there then. Who was faster has done the same.
    async fn advance(&self, mark: &Mark, known: u64) -> Result<Mark, String> {
        let mut next = next(mark, known);
        // What decides is written first: the bus never knows more than the management cluster.
        match self.write(&next).await {
            Ok(()) => {}
            Err(Error::Api(status)) if status.code == 409 => {
                next = self.read().await?;
                if direction(&next, known) != Direction::Forward {
                    return Err("somebody else changes it, and does not let it grow".to_owned());
                }
            }
            Err(error) => return Err(error.to_string()),
        }
        self.see(next.number).await?;
        Ok(next)
    }

    async fn see(&self, number: u64) -> Result<(), String> {
        self.seen.fetch_max(number, Ordering::SeqCst);
        self.bus.raise_management_mark(number).await.map_err(|error| error.to_string())
    }

    async fn read(&self) -> Result<Mark, String> {
        let found = self.config_maps().get_opt(MARK).await.map_err(|error| error.to_string())?;
        found.map_or_else(|| Ok(Mark::default()), |found| mark_of(&found.value))
    }

    /// Writes it in the place of the version that it names; makes it where that is none.
    async fn write(&self, mark: &Mark) -> Result<(), Error> {
        let (number, restored) = (mark.number.to_string(), mark.restored.to_string());
        let mut data = json!({"mark": number, "time": now_micros().to_string(), "restored": restored});
        if mark.version.is_empty() {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": MARK, "namespace": NAMESPACE, "labels": {INVENTORY: "mark"}}, "data": data});
            return self.config_maps().create(&PostParams::default(), &Raw::from(object)).await.map(drop);
        }
        data[ACCEPTED] = Value::Null;
        let patch = json!({"metadata": {"resourceVersion": mark.version}, "data": data});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        self.config_maps().patch(MARK, &params, &Patch::Merge(&patch)).await.map(drop)
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
}

fn about() -> About {
    About::ManagementWatch(format!("ConfigMap {MARK}"))
}

fn mark_of(config_map: &Value) -> Result<Mark, String> {
    let text = |field: &str| object::text(config_map, &["data", field]);
    let number = text("mark").parse().map_err(|_| {
        format!(
            "ConfigMap {NAMESPACE}/{MARK}: data.mark is {:?}, not a number; delete the ConfigMap",
            text("mark")
        )
    })?;
    Ok(Mark {
        number,
        is_accepted: text(ACCEPTED) == "true",
        version: object::text(config_map, &["metadata", "resourceVersion"]).to_owned(),
        time: text("time").parse().unwrap_or(0),
        // Renderers of former versions do not write it.
        restored: text("restored").parse().unwrap_or(0),
    })
}

fn not_compared(error: &str) -> String {
    format!(
        "ConfigMap {NAMESPACE}/{MARK} cannot be compared: {error}; it is tried again{}",
        remedy_of_denial(error)
    )
}

fn went_back(number: u64, known: u64) -> String {
    format!(
        "the management cluster is older than what renderers have worked with (its mark is {number}, {known} was seen): it was restored from a backup. Nothing is rendered and nothing withdrawn; make what is missing in it again, then: sluice install accept-restore"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn mark(number: u64, is_accepted: bool) -> Mark {
        Mark { number, is_accepted, ..Mark::default() }
    }

    #[test]
    fn a_smaller_mark_than_the_known_one_is_the_past_until_somebody_accepts_it() {
        assert_eq!(direction(&mark(0, false), 0), Direction::Forward, "nobody has worked yet");
        assert_eq!(direction(&mark(7, false), 0), Direction::Forward, "the bus was lost");
        assert_eq!(direction(&mark(7, false), 7), Direction::Forward);
        assert_eq!(direction(&mark(6, false), 7), Direction::Back);
        assert_eq!(direction(&mark(0, false), 7), Direction::Back, "it was made anew");
        assert_eq!(direction(&mark(6, true), 7), Direction::Accepted);
        assert_eq!(direction(&mark(8, true), 7), Direction::Forward);
    }

    #[test]
    fn versions_count_anew_after_a_restore_that_is_accepted() {
        let first = next(&mark(6, false), 0);
        assert_eq!((first.number, first.restored), (7, 0));
        let accepted = next(&mark(6, true), 9);
        assert_eq!((accepted.number, accepted.restored, accepted.is_accepted), (10, 10, false));
        let later = next(&accepted, 10);
        assert_eq!((later.number, later.restored), (11, 10));
        // The backup was made before the first restore.
        assert_eq!(next(&mark(4, true), 11).restored, 12);
        assert_eq!(next(&mark(8, true), 7).restored, 0, "it is newer than what is known");
    }

    #[test]
    fn a_mark_is_read_and_what_is_none_is_an_error() {
        let object = |mark: &str| json!({"metadata": {"resourceVersion": "9"}, "data": {"mark": mark, "time": "5", "restored": "3", "accepted": "true"}});
        let read = Mark { number: 4, is_accepted: true, version: "9".into(), time: 5, restored: 3 };
        assert_eq!(mark_of(&object("4")), Ok(read));
        assert!(mark_of(&object("-1")).unwrap_err().contains("data.mark"));
        assert!(mark_of(&json!({})).is_err());
    }
}
