//! Which chart somebody wants, from where; and what is known of it.

use std::fmt;
use std::sync::Arc;

use sluice_api::model::HelmChart;
use sluice_chart::Chart;

use crate::error::{Error, Result};

/// A chart of a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChartRequest {
    /// `http`, `https` or `oci` address of the repository, without a slash at its end.
    pub repository: String,
    /// Name of the chart.
    pub name: String,
    /// Its version, or a range of versions; empty is the newest.
    pub version: String,
    /// How the repository is reached.
    pub access: Access,
}

/// How a repository is reached. What is secret in it is not shown.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// User name and password.
    pub login: Option<(String, String)>,
    /// The certificate authority of the server, as PEM.
    pub ca: Option<String>,
    /// Whether the server's certificate goes unchecked.
    pub insecure_skip_tls_verify: bool,
    /// Whether a registry is spoken to without TLS.
    pub plain_http: bool,
    /// Whether a tenant asks, who may reach less than the renderer does.
    pub of_tenant: bool,
}

/// A chart that has been fetched.
pub struct LoadedChart {
    /// Digest of what was fetched: equal digests are equal charts.
    pub digest: String,
    /// What it is.
    pub chart: Chart,
}

// D-0922: the core asks for charts by effects.
/// What is known of a chart that was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartState {
    /// The newest that has been fetched.
    pub chart: Option<Arc<LoadedChart>>,
    /// Why it could not be fetched the last time.
    pub trouble: Option<String>,
    /// Whether that was more than a chart may be.
    pub limit: bool,
}

// === impl ChartRequest ===

impl ChartRequest {
    /// The chart of a release whose fields are rendered.
    ///
    /// # Errors
    /// The field and what is wrong with it.
    pub(crate) fn of(chart: &HelmChart, access: Access) -> Result<Self> {
        // Sveltos wants `<repository name>/<chart>` here, Helm and registries have no such name.
        let name = chart.chart_name.trim();
        let name = name.strip_prefix(&format!("{}/", chart.repository_name)).unwrap_or(name);
        let request = Self::new(&chart.repository_url, name, &chart.chart_version, access);
        request.map_err(|(field, wrong)| Error::value(format!("{}.{field}:", chart.path), wrong))
    }

    /// The chart of this name and version in a repository.
    ///
    /// # Errors
    /// The field of a `helmCharts[]` that is wrong, and why.
    pub fn new(
        repository: &str,
        name: &str,
        version: &str,
        access: Access,
    ) -> Result<Self, (&'static str, &'static str)> {
        let failed = |field, error| Err((field, error));
        let repository = repository.trim().trim_end_matches('/');
        let Some((scheme, rest)) = repository.split_once("://") else {
            return failed("repositoryURL", "has no scheme; use http://, https:// or oci://");
        };
        if !["http", "https", "oci"].contains(&scheme) {
            return failed("repositoryURL", "is of another kind; use http://, https:// or oci://");
        }
        if rest.split('/').next().is_none_or(|host| host.is_empty() || host.contains('@')) {
            let error = "has no host, or a user before it; name the user in registryCredentialsConfig";
            return failed("repositoryURL", error);
        }
        let name = if scheme == "oci" { name } else { name.rsplit('/').next().unwrap_or(name) };
        let is_part = |part: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
            !part.is_empty() && part.chars().all(is_letter) && part.chars().any(|letter| letter != '.')
        };
        if !name.split('/').all(is_part) {
            return failed("chartName", "is no name of a chart; use letters, digits, '-', '_' and '.'");
        }
        let (repository, version) = (repository.to_owned(), version.trim().to_owned());
        Ok(Self { repository, name: name.to_owned(), version, access })
    }
}

impl fmt::Display for ChartRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repository, name, version, .. } = self;
        let space = if version.is_empty() { "" } else { " " };
        write!(f, "chart {name}{space}{version} of {repository}")
    }
}

// === impl Access ===

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (login, ca) = (self.login.is_some(), self.ca.is_some());
        f.debug_struct("Access").field("has_login", &login).field("has_ca", &ca).finish_non_exhaustive()
    }
}

// === impl LoadedChart ===

impl PartialEq for LoadedChart {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for LoadedChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedChart").field("digest", &self.digest).finish_non_exhaustive()
    }
}

// === impl ChartState ===

impl ChartState {
    /// It could not be fetched.
    pub fn failed(trouble: impl Into<String>) -> Self {
        Self { trouble: Some(trouble.into()), ..Self::default() }
    }

    /// Why there is no new one, if the last try has failed.
    pub(crate) fn error(&self) -> Option<Error> {
        let trouble = self.trouble.clone()?;
        Some(Error::Fetch { trouble, limit: self.limit })
    }

    /// It has been fetched.
    pub fn there(chart: Arc<LoadedChart>) -> Self {
        Self { chart: Some(chart), ..Self::default() }
    }
}
