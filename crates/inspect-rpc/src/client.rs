//! A client with the questions and answers of an [`sluice_inspect::Inspector`].

use std::path::PathBuf;
use std::time::Duration;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_dryrun::Sources;
use sluice_inspect::{
    Addon, AddonFilter, Difference, Events, EventsFilter, Explained, InspectError, JournalFilter, Line,
    Listed, ProblemFilter, Question, Resource, ResourceFilter, Rollout, Shard, Target, Trace, Usage,
    UsageFilter,
};
use sluice_proto::inspect::v1 as proto;
use sluice_proto::inspect::v1::inspect_client::InspectClient;
use sluice_protocol::JournalEntry;
use sluice_protocol::ProblemRow;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use crate::convert;
use crate::status::error;

/// How long the server may take to be reached.
const REACH: Duration = Duration::from_secs(5);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long that of a difference may take.
const LONG_PATIENCE: Duration = Duration::from_secs(120);
/// The largest message that is taken.
const LARGEST: usize = 64 << 20;

/// Where the server is, and how it is asked.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// `http://host:port` or `https://host:port`.
    pub url: String,
    /// File with a token in its first line.
    pub token_file: Option<PathBuf>,
    /// File with the certificates of who signs the server's.
    pub ca: Option<PathBuf>,
}

/// Asks a server.
#[derive(Clone, Debug)]
pub struct Client {
    inner: InspectClient<InterceptedService<Channel, Bearer>>,
}

/// Lines of the journal as they come.
#[derive(Debug)]
pub struct Lines(Streaming<proto::WatchJournalResponse>);

/// Puts the token onto every call.
#[derive(Clone, Debug)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

// === impl Access ===

impl Access {
    fn endpoint(&self) -> Result<Endpoint, InspectError> {
        let url = &self.url;
        let invalid = |says: &str| InspectError::Invalid(format!("--server {url}: {says}"));
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(invalid("write http://host:port or https://host:port"));
        }
        let endpoint = Endpoint::from_shared(url.clone()).map_err(|error| invalid(&error.to_string()))?;
        let endpoint =
            endpoint.connect_timeout(REACH).user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
        let endpoint = endpoint.map_err(|error| invalid(&error.to_string()))?;
        if !url.starts_with("https://") {
            if self.ca.is_some() {
                return Err(invalid("--server-ca is for https; write https://host:port, or leave it out"));
            }
            return Ok(endpoint);
        }
        let tls = match &self.ca {
            None => ClientTlsConfig::new().with_native_roots(),
            Some(file) => {
                let says = |error| InspectError::Invalid(format!("--server-ca {}: {error}", file.display()));
                ClientTlsConfig::new()
                    .ca_certificate(Certificate::from_pem(std::fs::read(file).map_err(says)?))
            }
        };
        endpoint.tls_config(tls).map_err(|error| invalid(&whole(&error)))
    }

    fn bearer(&self) -> Result<Bearer, InspectError> {
        let Some(file) = &self.token_file else { return Ok(Bearer(None)) };
        let says = |says: &str| InspectError::Invalid(format!("--token-file {}: {says}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| says(&error.to_string()))?;
        let token = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let token = token.ok_or_else(|| says("there is no token in it"))?;
        let value = format!("Bearer {token}").parse::<MetadataValue<Ascii>>();
        let mut value = value.map_err(|_| says("its token has letters that no header may have"))?;
        value.set_sensitive(true);
        Ok(Bearer(Some(value)))
    }
}

/// An error with what has led to it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

// === impl Client ===

impl Client {
    /// Reaches the server.
    ///
    /// # Errors
    /// When it is not there, or a file cannot be used.
    pub async fn connect(access: &Access) -> Result<Self, InspectError> {
        let (endpoint, bearer) = (access.endpoint()?, access.bearer()?);
        let channel = endpoint.connect().await;
        let says = |error| InspectError::Away(format!("--server {}: {}", access.url, whole(&error)));
        let inner = InspectClient::with_interceptor(channel.map_err(says)?, bearer);
        Ok(Self { inner: inner.max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST) })
    }

    /// As [`sluice_inspect::Inspector::trace`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn trace(&self, target: &Target) -> Result<Vec<Trace>, InspectError> {
        let asked = in_time(PATIENCE, convert::trace::question(target));
        let answer = taken(self.inner.clone().trace(asked).await)?;
        Ok(answer.traces.into_iter().map(convert::trace::answer).collect())
    }

    /// As [`sluice_inspect::Inspector::explain`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn explain(&self, question: &Question) -> Result<Explained, InspectError> {
        let asked = in_time(PATIENCE, convert::explain::question(question));
        Ok(convert::explain::answer(taken(self.inner.clone().explain(asked).await)?))
    }

    /// As [`sluice_inspect::Inspector::rollout`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn rollout(&self, key: &ObjectKey) -> Result<Rollout, InspectError> {
        let asked = in_time(PATIENCE, convert::rollout::question(key));
        Ok(convert::rollout::answer(taken(self.inner.clone().rollout(asked).await)?))
    }

    /// As [`sluice_inspect::Inspector::problems`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn problems(&self, filter: &ProblemFilter) -> Result<Listed<ProblemRow>, InspectError> {
        let asked = in_time(PATIENCE, convert::problem::question(filter));
        let stream = taken(self.inner.clone().list_problems(asked).await)?;
        all(stream, |part| (part.problems, part.missing), convert::problem::answer).await
    }

    /// As [`sluice_inspect::Inspector::addons`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn addons(&self, filter: &AddonFilter) -> Result<Listed<Addon>, InspectError> {
        let asked = in_time(PATIENCE, convert::addon::question(filter));
        let stream = taken(self.inner.clone().list_addons(asked).await)?;
        all(stream, |part| (part.addons, part.missing), convert::addon::answer).await
    }

    /// As [`sluice_inspect::Inspector::clusters`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn clusters(&self, namespace: Option<&str>) -> Result<Listed<Line>, InspectError> {
        let namespace = namespace.unwrap_or_default().to_owned();
        let asked = in_time(PATIENCE, proto::ListClustersRequest { namespace });
        let stream = taken(self.inner.clone().list_clusters(asked).await)?;
        all(stream, |part| (part.clusters, part.missing), convert::cluster::answer).await
    }

    /// As [`sluice_inspect::Inspector::triggers`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn triggers(&self) -> Result<Listed<Line>, InspectError> {
        let asked = in_time(PATIENCE, proto::ListTriggersRequest {});
        let stream = taken(self.inner.clone().list_triggers(asked).await)?;
        all(stream, |part| (part.triggers, part.missing), convert::written::trigger).await
    }

    /// As [`sluice_inspect::Inspector::profiles`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn profiles(&self, namespace: Option<&str>) -> Result<Listed<Line>, InspectError> {
        let namespace = namespace.unwrap_or_default().to_owned();
        let asked = in_time(PATIENCE, proto::ListProfilesRequest { namespace });
        let stream = taken(self.inner.clone().list_profiles(asked).await)?;
        all(stream, |part| (part.profiles, part.missing), convert::written::profile).await
    }

    /// As [`sluice_inspect::Inspector::events`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn events(&self, filter: &EventsFilter) -> Result<Listed<Events>, InspectError> {
        let asked = in_time(PATIENCE, convert::events::question(filter));
        let stream = taken(self.inner.clone().list_events(asked).await)?;
        all(stream, |part| (part.events, part.missing), convert::events::answer).await
    }

    /// As [`sluice_inspect::Inspector::usage`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn usage(&self, filter: &UsageFilter) -> Result<Listed<Usage>, InspectError> {
        let asked = in_time(PATIENCE, convert::usage::question(filter));
        let stream = taken(self.inner.clone().list_usage(asked).await)?;
        all(stream, |part| (part.usages, part.missing), convert::usage::answer).await
    }

    /// As [`sluice_inspect::Inspector::resources`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn resources(&self, filter: &ResourceFilter) -> Result<Listed<Resource>, InspectError> {
        let asked = in_time(PATIENCE, convert::resource::question(filter));
        let stream = taken(self.inner.clone().list_resources(asked).await)?;
        all(stream, |part| (part.resources, part.missing), convert::resource::answer).await
    }

    /// As [`sluice_inspect::Inspector::shards`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn shards(&self, stage: Option<&str>) -> Result<Vec<Shard>, InspectError> {
        let stage = stage.unwrap_or_default().to_owned();
        let asked = in_time(PATIENCE, proto::ListShardsRequest { stage });
        let answer = taken(self.inner.clone().list_shards(asked).await)?;
        Ok(answer.shards.into_iter().map(convert::shard::answer).collect())
    }

    /// What manifests in files would change: their names and contents, and the charts that they name.
    ///
    /// # Errors
    /// What the server says.
    pub async fn diff(
        &self,
        files: Vec<(String, String)>,
        charts: &Sources,
        only: Option<&ClusterRef>,
    ) -> Result<Difference, InspectError> {
        let asked = in_time(LONG_PATIENCE, convert::diff::question(files, charts, only));
        Ok(convert::diff::answer(taken(self.inner.clone().diff(asked).await)?))
    }

    /// As [`sluice_inspect::Inspector::journal`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn journal(&self, filter: &JournalFilter) -> Result<Lines, InspectError> {
        let asked = Request::new(convert::journal::question(filter));
        Ok(Lines(taken(self.inner.clone().watch_journal(asked).await)?))
    }
}

// === impl Lines ===

impl Lines {
    /// The next lines; none when there will be no more.
    ///
    /// # Errors
    /// Why the server has ended it.
    pub async fn next(&mut self) -> Result<Vec<JournalEntry>, InspectError> {
        let part = self.0.message().await.map_err(|status| error(&status))?;
        Ok(part.into_iter().flat_map(|part| part.lines).map(convert::journal::answer).collect())
    }
}

fn in_time<Q>(patience: Duration, question: Q) -> Request<Q> {
    let mut request = Request::new(question);
    request.set_timeout(patience);
    request
}

fn taken<M>(answer: Result<Response<M>, Status>) -> Result<M, InspectError> {
    answer.map(Response::into_inner).map_err(|status| error(&status))
}

/// The whole list of a stream.
async fn all<M, P, T>(
    mut stream: Streaming<M>,
    part: impl Fn(M) -> (Vec<P>, Vec<String>),
    answer: impl Fn(P) -> T,
) -> Result<Listed<T>, InspectError> {
    let mut listed = Listed { found: Vec::new(), missing: Vec::new() };
    while let Some(message) = stream.message().await.map_err(|status| error(&status))? {
        let (found, missing) = part(message);
        listed.found.extend(found.into_iter().map(&answer));
        listed.missing.extend(missing);
    }
    Ok(listed)
}
