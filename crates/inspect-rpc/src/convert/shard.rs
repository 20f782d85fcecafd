//! Who works on what.

use sluice_inspect::Shard;
use sluice_proto::inspect::v1 as proto;

use super::time::{micros, stamp};

pub(crate) fn message(shard: Shard) -> proto::Shard {
    let Shard { stage, shard, replica, since } = shard;
    proto::Shard { stage: stage.into_owned(), shard, replica, since: stamp(since) }
}

pub(crate) fn answer(shard: proto::Shard) -> Shard {
    let proto::Shard { stage, shard, replica, since } = shard;
    Shard { stage: stage.into(), shard, replica, since: micros(since) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_comes_back_as_it_was() {
        let shard =
            Shard { stage: "agent".into(), shard: "03".into(), replica: "r".into(), since: 1_000_001 };
        assert_eq!(answer(message(shard.clone())), shard);
    }
}
