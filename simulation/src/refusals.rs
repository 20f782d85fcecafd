//! What an API server refuses: once, for a while, or from the end of the faults on for ever.
//!
//! | answer | to whom | for how long |
//! |---|---|---|
//! | 403 | watches; or the deployer's lists, its writes of objects, or its inventories | a while |
//! | 422 | what would write one of the objects | a while; in some schedules one cluster's for ever |
//! | 404 of a proxy in between | any one call, any one list of a watch | once |

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use sluice_api::object;
use sluice_deployer_core::{Class, Failure, Request};

use crate::coverage::Fault;
use crate::management::SERVERS;

/// How a server says that an object is invalid.
pub(crate) const INVALID: &str = "the object is invalid";

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The agent may not list its kinds.
    Watches,
    /// The deployer may not list anything.
    Lists,
    /// It may not write or delete objects.
    Objects,
    /// It may not read or write inventories.
    Inventories,
    /// The objects whose names begin so are invalid.
    Invalid(&'static str),
}

/// What one cluster refuses for ever: the objects whose names begin so are invalid there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasting {
    pub(crate) cluster: &'static str,
    start: &'static str,
}

/// What may be invalid.
const NAMES: [&str; 7] = ["each-s1", "each-", "more-", "all-", "own", "both", "here-"];

impl Lasting {
    /// That of a schedule, if it has one. It draws by itself: other schedules are as they would be without it.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(!seed);
        random.random_bool(0.2).then(|| Self {
            cluster: SERVERS[random.random_range(0..SERVERS.len())],
            start: NAMES[random.random_range(0..NAMES.len())],
        })
    }

    /// What the server refuses from then on.
    pub(crate) fn refused(self) -> Refused {
        Refused::Invalid(self.start)
    }

    /// Whether it is about this object, or about one that comes before it in its profile: it waits for that.
    pub(crate) fn is_about(self, cluster: &str, name: &str) -> bool {
        let is_refused = |name: &str| name.starts_with(self.start);
        self.cluster == cluster && (is_refused(name) || before(name).iter().any(|name| is_refused(name)))
    }
}

/// What profiles deploy before an object: names, or how they begin.
fn before(name: &str) -> Vec<&str> {
    match name.strip_prefix("more-") {
        Some(first) => vec![first],
        None if name == "both" => vec!["all-", "more-all-", "own"],
        None => Vec::new(),
    }
}

/// Each with the time until which it lasts.
#[derive(Default)]
pub(crate) struct Refusals(Vec<(i64, Refused)>);

impl Refused {
    /// One of them.
    pub(crate) fn pick(random: &mut SmallRng) -> Self {
        match random.random_range(0..7) {
            0 | 1 => Self::Watches,
            2 => Self::Lists,
            3 => Self::Objects,
            4 => Self::Inventories,
            _ => Self::Invalid(NAMES[random.random_range(0..NAMES.len())]),
        }
    }

    /// Whether it is about this call, and how the server says no.
    fn answer(self, request: &Request) -> Option<(Fault, Failure)> {
        let is_about = match self {
            Self::Watches => false,
            Self::Lists => matches!(request, Request::Inventories | Request::List(_)),
            Self::Objects => {
                matches!(request, Request::Apply { .. } | Request::Delete { .. } | Request::Release { .. })
            }
            Self::Inventories => matches!(
                request,
                Request::ReadInventory(_) | Request::WriteInventory { .. } | Request::DeleteInventory { .. }
            ),
            Self::Invalid(start) => {
                matches!(request, Request::Apply { object, .. } if object::name(object).starts_with(start))
            }
        };
        let (fault, text) = match self {
            Self::Invalid(_) => (Fault::Invalid, INVALID),
            _ => (Fault::Forbidden, "the user may not do this"),
        };
        is_about.then(|| (fault, Failure::new(Class::Refused, text)))
    }
}

impl Refusals {
    /// Refuses this from now on until then.
    pub(crate) fn begin(&mut self, refused: Refused, until: i64) {
        self.0.push((until, refused));
    }

    /// What has lasted long enough ends.
    pub(crate) fn pass_time(&mut self, now: i64) {
        self.0.retain(|(until, _)| now < *until);
    }

    /// Whether watches may not list.
    pub(crate) fn refuse_watches(&self) -> bool {
        self.0.iter().any(|(_, refused)| *refused == Refused::Watches)
    }

    /// How a call of the deployer is refused.
    pub(crate) fn refuse(&self, request: &Request) -> Option<(Fault, Failure)> {
        self.0.iter().find_map(|(_, refused)| refused.answer(request))
    }
}

/// What the shell makes of a 404 that does not come from the server: never that an object or a kind is not there.
pub(crate) fn proxy_answer(request: &Request, is_plain: bool) -> Failure {
    let planned = match request {
        Request::Delete { .. } | Request::Release { .. } | Request::DeleteInventory { .. } => true,
        Request::Apply { against, .. } | Request::WriteInventory { against, .. } => against.is_some(),
        Request::Inventories
        | Request::List(_)
        | Request::Read(_)
        | Request::Content(_)
        | Request::Along { .. }
        | Request::Prove { .. }
        | Request::Rehearse { .. }
        | Request::RehearseDelete { .. }
        | Request::ReadInventory(_)
        | Request::Keep { .. }
        | Request::ReadKept { .. }
        | Request::DropKept(_) => false,
    };
    match (is_plain, planned) {
        (true, _) => Failure::new(Class::NoKind, "404 page not found"),
        (false, true) => Failure::new(Class::Conflict, "not found"),
        (false, false) => Failure::new(Class::Refused, "not found"),
    }
}
