//! How often each kind of fault happened: one that never happens protects nobody.

use std::fmt;

/// The enum and the list of what is in it.
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident,)*) => {
        /// What a schedule may do to the pipeline.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $fault,)*
        }

        /// Every fault, in the order of its discriminants.
        const ALL: &[Fault] = &[$(Fault::$fault),*];
    };
}

faults! {
    /// Somebody sends a CloudEvent.
    Sent,
    /// The same one is sent once more, after others.
    SentAgain,
    /// A replica loses everything.
    Crash,
    /// A replica does nothing for a while.
    Pause,
    /// A replica begins to work while another one still works on the same: neither knows of the other.
    Overlap,
    /// The clock of a machine is set forward.
    ClockForward,
    /// The clock of a machine is set back.
    ClockBack,
    /// A replica is replaced by one of a newer version.
    Upgraded,
    /// It is replaced by one of the older version again.
    Downgraded,
    /// A row has a newer form, which its reader cannot read.
    Newer,
    /// A replica leaves in good order and comes back.
    Leave,
    /// A replica has no connection to the bus for a while.
    Cut,
    /// All replicas of a deployer that is in its cluster have none, and for longer.
    CutOff,
    /// A replica hears nothing of the others for a while.
    Deaf,
    /// A cluster is deregistered and does not come again.
    Departed,
    /// From now on deployers do not reach a cluster.
    Unreached,
    /// An API server does not answer for a while.
    Outage,
    /// Somebody changes an object that a profile has deployed.
    Changed,
    /// Somebody takes `managedFields` off one.
    Stripped,
    /// Somebody deletes one.
    Missing,
    /// Checks of a cluster fail for a while.
    Ill,
    /// An API server does not allow something for a while.
    Forbidden,
    /// A watch may not list its kind for a while.
    Unlistable,
    /// A server does not take an object for a while.
    Invalid,
    /// A proxy answers once that there is no such thing.
    ProxyNotFound,
    /// A cluster gets another kubeconfig.
    Rekeyed,
    /// A cluster gets another kubeconfig, which leads to another API server.
    Swapped,
    /// A user takes the marks of its owner off an object, and has it from then on.
    Adopted,
    /// A finalizer holds a deleted object for a while.
    Finalizer,
    /// Once all other faults have ended, a server refuses objects of some names for ever.
    Lasting,
    /// An object stays although its profile goes.
    Released,
    /// A message reaches its server late.
    Delay,
    /// A message overtakes an older one that goes to another subject or object.
    Reorder,
    /// A row or a piece of news is delivered twice.
    Duplicate,
    /// The server says that nothing follows a row, and something does.
    Miscount,
    /// The body of a row cannot be read.
    Unreadable,
    /// The body of a row is not there yet: the row comes without it, and once more with it, after later ones.
    LateBody,
    /// A publish is stored, or a call carried out, and the answer is lost.
    Unanswered,
    /// A publish is lost on its way, and those after it are not.
    Lost,
    /// A command arrives after its sender has ended.
    Orphan,
    /// The server refuses what a deposed owner sends.
    Refused,
    /// A tombstone expires.
    Expired,
    /// A stream is deleted and made anew.
    Wipe,
    /// The interest bucket is deleted and made anew.
    WipeInterest,
    /// A stream has no leader for a while.
    Election,
    /// A node of the bus dies, and readers that were on it go on over another one.
    NodeDeath,
    /// A node has not come as far as its stream's leader.
    Lag,
    /// A node gets nothing new for a while.
    SlowNode,
    /// A reader that begins on such a node is shown a row that has been replaced.
    Replaced,
    /// A renderer learns nothing new of the management cluster for a while.
    OldView,
    /// A stream loses the last rows that it has acknowledged.
    LostTail,
    /// A message is given up by its sender, and arrives later than what is sent after it.
    GivenUp,
    /// The server does not take a group now.
    NotStored,
    /// All streams and buckets at once.
    WipeAll,
    /// A watch is cut and lists again.
    Relist,
    /// A watch shows nothing for a while, and others do.
    SlowWatch,
    /// A reader of the interest goes on over a node that lags.
    OldInterest,
    /// A service is created.
    Created,
    /// A service is changed.
    Edited,
    /// A service is deleted.
    Deleted,
    /// Labels of a registered cluster change.
    Relabelled,
    /// A cluster is registered after the pipeline has begun.
    Registered,
    /// A registration is deleted.
    Unregistered,
    /// The agent of a cluster that has not been registered for long has taken all its rows away.
    Left,
    /// A trigger is changed.
    TriggerEdited,
    /// A trigger is deleted.
    TriggerDeleted,
    /// The EventSource is changed.
    SourceEdited,
    /// The EventSource is deleted.
    SourceDeleted,
    /// A referenced ConfigMap is changed.
    ContentEdited,
    /// What a profile deploys that goes back does not work on some clusters.
    Spoiled,
    /// A cluster goes back to a former content.
    WentBack,
    /// An object that content reads by an identifier changes.
    ThingEdited,
    /// It is there for the first time, or again.
    ThingMade,
    /// It is deleted: what is made of it stays.
    ThingDeleted,
    /// What a generator makes something of is changed, or there again.
    GeneratorSourceEdited,
    /// It is deleted: what is made of it stays.
    GeneratorSourceDeleted,
    /// A cluster set selects other clusters, or is there again.
    SetEdited,
    /// A cluster set is deleted: it selects nothing.
    SetDeleted,
    /// A referenced ConfigMap is deleted.
    ContentDeleted,
    /// The patch for one destination is deleted: for that one nothing can be rendered.
    PatchDeleted,
    /// It is there again.
    PatchMade,
    /// A profile that a user wrote is changed.
    ProfileEdited,
    /// A profile that a user wrote is deleted.
    ProfileDeleted,
    /// A cluster is paused, or goes on.
    ClusterPaused,
    /// A cluster is paused until a time.
    PausedUntil,
    /// That time has come.
    WentOn,
    /// Somebody changes what a profile has deployed, also again and again.
    Contended,
    /// It is put right.
    PutRight,
    /// It rests, and that is told.
    LeftAlone,
    /// Two profiles begin to depend on each other.
    Circle,
    /// Somebody has been told that they do.
    CircleTold,
    /// They do not any more.
    CircleOpened,
    /// A profile that a user wrote is paused, or goes on.
    ProfilePaused,
    /// A trigger makes a profile of the same name as one that a user wrote.
    RivalMade,
    /// It does not any more.
    RivalDeleted,
}

const COUNT: usize = ALL.len();

/// Counts of every fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage([u64; COUNT]);

impl Default for Coverage {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

impl Coverage {
    /// It happened once more.
    pub(crate) fn note(&mut self, fault: Fault) {
        self.many(fault, 1);
    }

    /// It happened so many times more.
    pub(crate) fn many(&mut self, fault: Fault, times: u64) {
        self.0[fault as usize] += times;
    }

    /// Adds what happened in another schedule.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// The faults that never happened.
    pub fn missing(&self) -> Vec<Fault> {
        ALL.iter().copied().filter(|fault| self.0[*fault as usize] == 0).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (fault, count)) in ALL.iter().zip(self.0).enumerate() {
            let name = format!("{fault:?}").to_lowercase();
            write!(f, "{}{name} {count}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_is_named() {
        let mut coverage = Coverage::default();
        ALL.iter().filter(|fault| **fault != Fault::Wipe).for_each(|fault| coverage.note(*fault));
        assert_eq!(coverage.missing(), [Fault::Wipe]);
        let other = coverage.clone();
        coverage.add(&other);
        assert!(coverage.to_string().contains(", wipe 0, "), "{coverage}");
        assert!(coverage.to_string().contains(", crash 2, "), "{coverage}");
    }
}
