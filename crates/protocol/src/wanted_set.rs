//! Which rows of `desired` something is about, in a few characters.

use crate::Shard;
use std::collections::BTreeMap;

use sluice_api::{Digest, ProfileId};

/// What renderers want of one cluster, row by row. Who writes down what came of it writes the digest beside it; who reads that can
/// tell from the rows' heads whether it is still about what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedSet(BTreeMap<(ProfileId, Shard), Digest>);

impl WantedSet {
    /// The row of a profile, by the renderer of this shard. That of a RoleRequest does not count: it deploys no add-on.
    pub fn add(&mut self, profile: &ProfileId, origin: Shard, row: Digest) {
        if !profile.is_role_request() {
            self.0.insert((profile.clone(), origin), row);
        }
    }

    /// The same for the same rows, in whatever order they came.
    pub fn digest(&self) -> Digest {
        let rows = self.0.iter().map(|((profile, origin), row)| format!("{profile} {origin} {row}"));
        Digest::of(&[rows.collect::<Vec<_>>().join("\n").as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_with_each_row_and_with_nothing_else() {
        let row = |text: &str| Digest::of(&[text.as_bytes()]);
        let of = |rows: &[(&str, u16, &str)]| {
            let mut set = WantedSet::default();
            rows.iter().for_each(|(name, origin, text)| {
                set.add(&ProfileId::cluster(*name), Shard::new(*origin), row(text))
            });
            set.digest()
        };
        let two = of(&[("p", 0, "x"), ("q", 3, "y")]);
        assert_eq!(of(&[("q", 3, "y"), ("p", 0, "x")]), two);
        assert_eq!(of(&[("p", 0, "w"), ("q", 3, "y"), ("p", 0, "x")]), two, "the newest row counts");
        for other in [&[("p", 0, "x")][..], &[("p", 0, "x"), ("q", 2, "y")], &[("p", 0, "x"), ("q", 3, "x")]]
        {
            assert_ne!(of(other), two, "{other:?}");
        }
    }

    #[test]
    fn the_rights_of_a_tenant_are_no_add_on() {
        let row = Digest::of(&[b"x"]);
        let mut set = WantedSet::default();
        set.add(&ProfileId::role_request("r"), Shard::FIRST, row);
        assert_eq!(set, WantedSet::default());
        set.add(&ProfileId::cluster("r"), Shard::FIRST, row);
        assert_ne!(set.digest(), WantedSet::default().digest());
    }

    #[test]
    fn a_profile_of_a_namespace_is_another_than_one_without() {
        let of = |profile: ProfileId| {
            let mut set = WantedSet::default();
            set.add(&profile, Shard::FIRST, Digest::of(&[b"x"]));
            set.digest()
        };
        assert_ne!(of(ProfileId::new("n", "p")), of(ProfileId::cluster("p")));
    }
}
