//! What a cluster can do: asked for again when kinds come or go, and every ten minutes, since nobody tells of a new version of
//! the server or of what it passes on to others.

use std::time::Duration;

use kube::Client;
use sluice_agent_core::ExternalInput;
use sluice_api::ClusterRef;
use sluice_kube::{definitions, discover};
use sluice_protocol::{About, Capabilities, Problem};
use sluice_runtime::Reporter;
use sluice_tasks::End;
use tokio::sync::mpsc;

/// How long what changes is collected: a definition is served a little later than it is there.
const QUIET: Duration = Duration::from_secs(1);
/// When it is looked at once more after a change.
const SOON: Duration = Duration::from_secs(10);
/// When it is looked at again without one.
const LATER: Duration = Duration::from_secs(600);
/// Pause before a server that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);
/// After so many failures in a row it is a problem.
const GIVEN_UP: u32 = 3;

/// Tells the core what its cluster can do, now and whenever that may have changed.
pub(crate) async fn follow(
    cluster: ClusterRef,
    client: Client,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
) -> End {
    // Unbounded: one word for each change of a definition, and all of them are taken at once.
    let (heard, mut changes) = mpsc::unbounded_channel();
    let reading = async {
        let (mut failures, mut changed) = (0, false);
        loop {
            let pause = match discover(&client).await {
                Ok(found) => {
                    if std::mem::take(&mut failures) >= GIVEN_UP {
                        reporter.problem(Problem::resolved("agent", &cluster, About::Capabilities));
                    }
                    let known = Capabilities {
                        version: found.version,
                        major: found.major,
                        minor: found.minor,
                        api_versions: found.api_versions.into_iter().collect(),
                    };
                    if sender.send(ExternalInput::Capabilities(known)).is_err() {
                        return;
                    }
                    if changed { SOON } else { LATER }
                }
                Err(error) => {
                    failures += 1;
                    if failures >= GIVEN_UP {
                        let text = format!("{error}; charts are not rendered for it anew; it is tried again");
                        reporter.problem(Problem::open("agent", &cluster, About::Capabilities, text));
                    }
                    AGAIN
                }
            };
            changed = tokio::select! {
                heard = changes.recv() => heard.is_some(),
                () = tokio::time::sleep(pause) => false,
            };
            if changed {
                tokio::time::sleep(QUIET).await;
                while changes.try_recv().is_ok() {}
            }
        }
    };
    let told = definitions(client.clone(), move |_| heard.send(()).is_ok(), |_| {});
    tokio::select! {
        _ = told => End::Early,
        () = reading => End::Done,
    }
}
