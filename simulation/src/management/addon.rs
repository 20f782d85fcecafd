//! What is asked for.

/// What the management cluster asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addon {
    /// One add-on for each event, in the cluster of the event.
    Each,
    /// One add-on for all events of a cluster, in all clusters of the tier.
    All,
    /// What a profile that a user wrote deploys in all clusters of the tier.
    Own,
    /// One add-on for the CloudEvents of each subject that are sent to a cluster, there.
    Sent,
    /// What a profile of a namespace deploys in the clusters of a set of that namespace. It has the name of the user's profile.
    Team,
    /// What a profile deploys in all clusters of the tier that goes back when a content fails.
    Back,
}

impl Addon {
    pub(crate) const TRIGGERS: [Self; 2] = [Self::Each, Self::All];
    pub(crate) const ALL: [Self; 6] = [Self::Each, Self::All, Self::Own, Self::Sent, Self::Team, Self::Back];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::All => "all",
            Self::Own => "own",
            Self::Sent => "sent",
            Self::Team => "team",
            Self::Back => "back",
        }
    }
}
