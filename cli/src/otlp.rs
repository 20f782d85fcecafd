//! Traces of what happens, for a collector of OpenTelemetry.

use std::sync::Arc;

use sluice_bus::Bus;
use sluice_inspect::Reached;
use sluice_otlp::{Endpoint, Settings, follow};
use sluice_tasks::{End, Kept, Tasks};

/// Where traces go.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Otlp {
    /// Send traces of events to this collector, by OTLP over gRPC: `http://host:4317`.
    #[arg(long, env = "SLUICE_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<Endpoint>,
    /// The share of events that have a trace, between 0 and 1.
    #[arg(long, env = "SLUICE_OTLP_SHARE", value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    otlp_share: f64,
}

// === impl Otlp ===

impl Otlp {
    /// Sends traces for as long as the tasks run, where a collector is named.
    pub(crate) fn start(self, bus: Reached<Bus>, tasks: &Tasks) {
        let Some(endpoint) = self.otlp_endpoint else { return };
        let settings = Arc::new(Settings { endpoint, share: self.otlp_share });
        tasks.keep(Kept::Traces, move || {
            let (settings, mut bus) = (settings.clone(), bus.clone());
            async move {
                // Who reaches for it says why it is away.
                let Ok(reached) = bus.wait_for(Result::is_ok).await.map(|found| found.clone()) else {
                    return End::Early;
                };
                let Ok(bus) = reached else { return End::Early };
                follow(&bus, &settings).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "no traces are sent");
                    End::Early
                })
            }
        });
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1".to_owned())
}
