//! What a cluster can do, as charts ask for it.

use sluice_template::Data;

/// The Kubernetes version that Helm of [`HELM_VERSION`] takes where nobody says one.
const KUBE_VERSION: &str = "v1.37.0";

/// The Helm that charts are told they are rendered by.
const HELM_VERSION: [(&str, &str); 5] = [
    ("Version", "v4.3"),
    ("GitCommit", ""),
    ("GitTreeState", ""),
    ("GoVersion", "go1.26.8"),
    ("KubeClientVersion", "v1.37"),
];

/// The API versions that every chart finds.
const API_VERSIONS: &str = include_str!("api_versions.txt");

/// What a cluster can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    version: String,
    normalized: String,
    major: String,
    minor: String,
    api_versions: Vec<String>,
}

// === impl Capabilities ===

impl Default for Capabilities {
    /// What `helm template` assumes.
    fn default() -> Self {
        Self {
            version: KUBE_VERSION.into(),
            normalized: KUBE_VERSION.into(),
            major: "1".into(),
            minor: "37".into(),
            api_versions: API_VERSIONS.lines().map(str::to_owned).collect(),
        }
    }
}

impl Capabilities {
    /// The same with the Kubernetes version of the given text, such as `1.33` or `v1.33.4-gke.1`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn with_kube_version(mut self, text: &str) -> Result<Self, String> {
        let invalid = || {
            let quoted = sluice_template::go_quoted(text);
            format!("invalid kube version '{text}': could not parse {quoted} as version")
        };
        let numbers = text.trim().trim_start_matches('v');
        let end = numbers.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(numbers.len());
        let parts: Vec<&str> = numbers[..end].trim_end_matches('.').split('.').collect();
        let parsed: Option<Vec<u64>> = parts.iter().take(3).map(|part| part.parse().ok()).collect();
        let parsed = parsed.filter(|parts| parts.len() >= 2).ok_or_else(invalid)?;
        let texts: Vec<String> = parsed.iter().map(u64::to_string).collect();
        self.version = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
        (self.major, self.minor) = (texts[0].clone(), texts[1].clone());
        self.normalized = format!("v{}", texts.join("."));
        Ok(self)
    }

    /// Those of a cluster: the version as its server says it, and everything that it serves.
    ///
    /// # Errors
    /// What is wrong with the version.
    pub fn of_cluster(
        version: &str,
        (major, minor): (&str, &str),
        api_versions: Vec<String>,
    ) -> Result<Self, String> {
        let known = Self::default().with_kube_version(version)?;
        Ok(Self { major: major.to_owned(), minor: minor.to_owned(), api_versions, ..known })
    }

    /// Everything that tells them from others.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let Self { version, normalized, major, minor, api_versions } = self;
        [version, normalized, major, minor].into_iter().chain(api_versions).map(String::as_str)
    }

    /// The same with more API versions, such as `monitoring.coreos.com/v1` or `apps/v1/Deployment`.
    pub fn with_api_versions(mut self, more: impl IntoIterator<Item = String>) -> Self {
        self.api_versions.extend(more);
        self
    }

    /// The version for constraints.
    pub(crate) fn normalized(&self) -> &str {
        &self.normalized
    }

    /// Version of the server, as it says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What templates see as `.Capabilities`.
    pub(crate) fn as_data(&self) -> Data<'_> {
        let version = vec![
            ("Version", Data::Str(&self.version)),
            ("normalizedVersion", Data::Str(&self.normalized)),
            ("Major", Data::Str(&self.major)),
            ("Minor", Data::Str(&self.minor)),
            ("GitVersion()", Data::Str(&self.version)),
            ("String()", Data::Str(&self.normalized)),
        ];
        let helm = HELM_VERSION.map(|(name, text)| (name, Data::Str(text))).to_vec();
        let versions = self.api_versions.iter().map(|version| Data::Str(version)).collect();
        Data::Struct(
            "*common.Capabilities",
            vec![
                ("KubeVersion", Data::Struct("common.KubeVersion", version)),
                ("APIVersions", Data::Versions(versions)),
                ("HelmVersion", Data::Struct("version.BuildInfo", helm)),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn kubernetes_versions_keep_their_text_and_have_a_plain_form() {
        let of = |text| Capabilities::default().with_kube_version(text).unwrap();
        let shown = |c: Capabilities| (c.version, c.normalized, c.major, c.minor);
        let texts =
            |a: &str, b: &str, c: &str, d: &str| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned());
        assert_eq!(shown(of("v1.33.4-gke.12")), texts("v1.33.4-gke.12", "v1.33.4", "1", "33"));
        assert_eq!(shown(of("1.29")), texts("v1.29", "v1.29", "1", "29"));
        assert!(Capabilities::default().with_kube_version("one").is_err());
        let eks = Capabilities::of_cluster("v1.33.4-eks-1", ("1", "33+"), vec!["v1".into()]).unwrap();
        assert_eq!(eks.texts().collect::<Vec<_>>(), ["v1.33.4-eks-1", "v1.33.4", "1", "33+", "v1"]);
    }
}
