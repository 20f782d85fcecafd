//! Single objects of a cluster that the core asks for.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use kube::Client;
use sluice_agent_core::{ExternalInput, Found};
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_protocol::Problem;
use sluice_runtime::Reporter;
use sluice_tasks::End;
use tokio::sync::mpsc;

/// Objects that are read at a time.
const AT_ONCE: usize = 8;
/// After so many failures of a kind in a row it is a problem.
const GIVEN_UP: u32 = 3;

/// A question of the core: its number, and the object.
pub(crate) type Question = (u64, ObjectKey);

/// Answers until nobody asks or listens any more. What cannot be read is unknown, and the core asks again.
pub(crate) async fn answer(
    cluster: ClusterRef,
    client: Client,
    mut questions: mpsc::UnboundedReceiver<Question>,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
) -> End {
    let asked = futures::stream::poll_fn(|context| questions.poll_recv(context));
    let client = &client;
    let read = |(question, key): Question| async move {
        let found = sluice_kube::read(client, &key.gvk, &key.namespace, &key.name).await;
        (question, key, found)
    };
    let mut answers = std::pin::pin!(asked.map(read).buffer_unordered(AT_ONCE));
    let mut failures = BTreeMap::<Gvk, u32>::new();
    while let Some((question, key, found)) = answers.next().await {
        let object = format!("reading of {}", key.gvk);
        let problem = |text| Problem::open("agent", &cluster, &object, text);
        let found = match found {
            Ok(found) => {
                if failures.remove(&key.gvk).is_some_and(|count| count >= GIVEN_UP) {
                    reporter.problem(Problem::resolved("agent", &cluster, &object));
                }
                found.map_or(Found::Nothing, Found::Object)
            }
            Err(error) => {
                let count = failures.entry(key.gvk.clone()).or_default();
                *count += 1;
                if *count >= GIVEN_UP {
                    let ObjectKey { namespace, name, .. } = &key;
                    reporter.problem(problem(format!(
                        "whether {namespace}/{name} is gone is not known: {error}; it is asked again, and its row stays; \
                         an agent needs the right to get what it watches"
                    )));
                }
                Found::Unknown
            }
        };
        if sender.send(ExternalInput::Looked(question, key, found)).is_err() {
            break;
        }
    }
    End::Done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;
    use sluice_kube::fake_api::{FakeApi, Request};
    use sluice_protocol::Role;
    use sluice_runtime::kit::{self, Server};
    use sluice_tasks::Tasks;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: name.into() }
    }

    /// A server with one Service that says nothing of Services while it is `shut`.
    fn answers(request: &Request, shut: &AtomicBool) -> (u16, String) {
        let failure = |code: u16, reason: &str| json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code});
        match request.path.as_str() {
            "/api/v1" => (
                200,
                json!({"groupVersion": "v1", "resources": [{"name": "services", "singularName": "",
                "namespaced": true, "kind": "Service", "verbs": ["get"]}]})
                .to_string(),
            ),
            _ if shut.load(Ordering::Relaxed) => (403, failure(403, "Forbidden").to_string()),
            "/api/v1/namespaces/n/services/there" => {
                (200, json!({"metadata": {"name": "there"}}).to_string())
            }
            _ => (404, failure(404, "NotFound").to_string()),
        }
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test awaits it")]
    async fn objects_are_there_gone_or_unknown_and_what_cannot_be_read_is_a_problem_while_it_cannot() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Agent(None), &tasks).await;
        let stop = tokio_util::sync::CancellationToken::new();
        let mut problems = sluice_bus::problem_feed(&context.bus, stop).subscribe();
        let shut = Arc::new(AtomicBool::new(false));
        let api = FakeApi::start({
            let shut = shut.clone();
            move |request| answers(request, &shut)
        });
        let ((looks, questions), (sender, mut told)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let cluster = ClusterRef::sveltos("default", "c");
        let reporter = Reporter::new(&context, "c");
        let answering = tokio::spawn(answer(cluster, api.client(), questions, sender, reporter));
        let mut ask = async |question: u64, name: &str| {
            looks.send((question, key(name))).unwrap();
            let Some(ExternalInput::Looked(answered, of, found)) = told.recv().await else {
                panic!("an answer")
            };
            assert_eq!((answered, of), (question, key(name)));
            found
        };
        assert!(
            matches!(ask(1, "there").await, Found::Object(object) if object["metadata"]["name"] == "there")
        );
        assert_eq!(ask(2, "gone").await, Found::Nothing);
        shut.store(true, Ordering::Relaxed);
        for question in 3..6 {
            assert_eq!(ask(question, "there").await, Found::Unknown);
        }
        let object = "reading of v1/Service";
        let row = kit::told(&mut problems, |row| row.object.starts_with("reading of")).await;
        assert!(
            row.error.starts_with("whether n/there is gone is not known") && row.object == object,
            "{row:?}"
        );
        shut.store(false, Ordering::Relaxed);
        assert!(matches!(ask(6, "there").await, Found::Object(_)));
        kit::told(&mut problems, |row| row.object == object && row.error.is_empty()).await;
        drop(looks);
        assert_eq!(answering.await.unwrap(), End::Done);
        tasks.stop().cancel();
    }
}
