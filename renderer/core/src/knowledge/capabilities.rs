//! What clusters can do, as charts ask for it.

use sluice_api::Digest;
use sluice_protocol::Capabilities;

/// What a cluster can do.
#[derive(Clone, Debug)]
pub struct ClusterCapabilities {
    digest: Digest,
    chart: sluice_chart::Capabilities,
}

// === impl ClusterCapabilities ===

impl ClusterCapabilities {
    /// As its agent's row says it.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub fn of_row(body: &[u8]) -> Result<Self, String> {
        let row: Capabilities = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let Capabilities { version, major, minor, api_versions } = row;
        Ok(Self::of(sluice_chart::Capabilities::of_cluster(&version, (&major, &minor), api_versions)?))
    }

    /// As somebody else says it.
    pub fn of(chart: sluice_chart::Capabilities) -> Self {
        let parts: Vec<_> = chart.texts().map(str::as_bytes).collect();
        Self { digest: Digest::of(&parts), chart }
    }

    /// Equal digests are equal capabilities.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// Version of its server.
    pub fn version(&self) -> &str {
        self.chart.version()
    }

    pub(crate) fn chart(&self) -> &sluice_chart::Capabilities {
        &self.chart
    }
}

impl PartialEq for ClusterCapabilities {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}
