//! Follows the journal and sends what belongs together to a collector.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use sluice_bus::{Bus, BusError, journal, now_micros};
use sluice_tasks::End;
use tonic::transport::Channel;

use crate::spans::resource_spans;
use crate::traces::{Trace, Traces};

/// How long a collector may take for an answer; then what it did not take is lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many traces are one request.
const AT_ONCE: usize = 128;
/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(500);

/// The address of a collector.
#[derive(Clone, Debug)]
pub struct Endpoint(tonic::transport::Endpoint);

/// What is sent where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The collector.
    pub endpoint: Endpoint,
    /// The share of changes that are sent, between 0 and 1.
    pub share: f64,
}

/// What cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// It is no address.
    #[error("{0:?} is no address of a collector: write http://host:4317, or https://host:4317")]
    Address(String),
    /// The bus does not tell its journal.
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl std::str::FromStr for Endpoint {
    type Err = OtlpError;

    fn from_str(text: &str) -> Result<Self, OtlpError> {
        let wrong = || OtlpError::Address(text.to_owned());
        let endpoint = tonic::transport::Endpoint::from_shared(text.to_owned()).map_err(|_| wrong())?;
        let scheme = endpoint.uri().scheme_str().unwrap_or_default().to_owned();
        if endpoint.uri().host().is_none() || !["http", "https"].contains(&scheme.as_str()) {
            return Err(wrong());
        }
        let endpoint = if scheme == "https" {
            let tls = tonic::transport::ClientTlsConfig::new().with_native_roots();
            endpoint.tls_config(tls).map_err(|_| wrong())?
        } else {
            endpoint
        };
        Ok(Self(endpoint.timeout(PATIENCE).connect_timeout(PATIENCE)))
    }
}

/// Sends a trace for each change that is kept, until the journal ends. A collector that is away costs traces and nothing else.
///
/// # Errors
/// When the bus does not tell its journal.
pub async fn follow(bus: &Bus, settings: &Settings) -> Result<End, OtlpError> {
    let mut lines = journal(bus).await?;
    let mut client = TraceServiceClient::new(settings.endpoint.0.connect_lazy());
    let (mut traces, mut trouble) = (Traces::new(settings.share), None);
    let mut tick = tokio::time::interval(TICK);
    loop {
        let mut due = Vec::new();
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => due.extend(traces.take(line, now_micros())),
                None => return Ok(End::Early),
            },
            _ = tick.tick() => due.extend(traces.due(now_micros())),
        }
        for some in due.chunks(AT_ONCE) {
            let said = send(&mut client, some).await.err();
            if said.is_some() != trouble.is_some() {
                match &said {
                    Some(error) => tracing::warn!(error, "traces are lost: the collector does not take them"),
                    None => tracing::info!("the collector takes traces again"),
                }
            }
            trouble = said;
        }
    }
}

async fn send(client: &mut TraceServiceClient<Channel>, traces: &[Trace]) -> Result<(), String> {
    let request = ExportTraceServiceRequest { resource_spans: resource_spans(traces) };
    let answer = client.export(request).await.map_err(|status| status.message().to_owned())?;
    match answer.into_inner().partial_success {
        Some(part) if part.rejected_spans > 0 => {
            Err(format!("{} spans refused: {}", part.rejected_spans, part.error_message))
        }
        _ => Ok(()),
    }
}
