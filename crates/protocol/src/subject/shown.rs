//! What deployers show that are in their clusters.

/// An object of the management cluster that the deployer in a cluster shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shown {
    /// The ClusterSummary of a profile.
    Summary,
    /// The ClusterConfiguration.
    Configuration,
    /// The ClusterReport of a profile.
    Report,
}

impl Shown {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Summary, Self::Configuration, Self::Report];

    /// Its token.
    pub fn token(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Configuration => "configuration",
            Self::Report => "report",
        }
    }
}
