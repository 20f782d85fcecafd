//! The table of all tasks: what each is for, and what its end means.
//!
//! A task that holds nothing a new one would not read again is [`Kept`]. Everything else runs [`Once`]: its early end
//! stops the shard, which restarts, where the rows it stands for are read again with the shard; and the process
//! otherwise, since the next process reads everything again.

// D-0701: every task has a declared fate.
/// What happens when a task ends although it should not: it panicked, or returned [`crate::End::Early`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is started again, after a rest that grows while it goes on ending.
    Restart,
    /// What it belongs to ends: its group, which is a shard; without one the process.
    StopOwner,
    /// The process stops as it does after SIGTERM, and then ends with an error. Whoever runs it starts it again.
    StopProcess,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskRow {
    pub(crate) name: &'static str,
    pub(crate) fate: Fate,
}

/// Makes an enum of rows, each with its name in logs and metrics, and its fate.
macro_rules! kinds {
    ($(#[$text:meta])* $table:ident { $($(#[$why:meta])* $task:ident: $name:literal => $fate:ident,)* }) => {
        $(#[$text])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $table {
            $($(#[$why])* $task,)*
        }

        impl $table {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$task,)*];

            pub(crate) const fn kind(self) -> TaskRow {
                match self {
                    $(Self::$task => TaskRow { name: $name, fate: Fate::$fate },)*
                }
            }
        }
    };
}

kinds! {
    /// Tasks that are kept running: each is started again when it ends, [`Fate::Restart`].
    Kept {
        /// Asks the bus whether messages come through. It knows nothing; without it every lease would lapse 15 s later.
        Echo: "echo" => Restart,
        /// Says which keys a stage reads with, and takes those that come. It reads both again.
        BusKeys: "bus-keys" => Restart,
        /// Says over one server of the bus that this replica lives, and hears the others. It joins again.
        Link: "link" => Restart,
        /// Hears which clusters have an agent of their own. It listens again, and until then takes nobody for dead.
        OwnAgents: "own-agents" => Restart,
        /// Keeps a small table of the bus in memory. It reads all of it again.
        Feed: "feed" => Restart,
        /// Reads the heads of rows for shards that are being taken over. Those that it has not told all ask again, or begin again.
        Heads: "heads" => Restart,
        /// Deletes consumers that nobody reads from. Those it misses are forgotten by the server itself.
        Consumers: "consumers" => Restart,
        /// Sends journal lines. They are for people, and losing some loses no work.
        Journal: "journal" => Restart,
        /// Watches the registrations or kubeconfigs of clusters. It lists them again.
        Registrations: "registrations" => Restart,
        /// Tells of pauses of clusters that begin or end by themselves. It looks at all of them again.
        Pauses: "pauses" => Restart,
        /// Watches one kind of the management cluster. It lists it again, and the other kinds go on.
        Management: "management" => Restart,
        /// Watches an object of the management cluster that templates read, or all of its kind and namespace. It lists again.
        Resource: "resource" => Restart,
        /// Fetches a chart, and looks for it again. What it has fetched is kept.
        Chart: "chart" => Restart,
        /// Asks what tenants may read. What it was told is kept, and asked again.
        Rights: "rights" => Restart,
        /// Watches one kind of a managed cluster. It lists it again, and the other kinds go on.
        ClusterWatch: "cluster-watch" => Restart,
        /// Reads the CloudEvents that are sent to a cluster. It reads them again from the first one that is still there.
        CloudEvents: "cloud-events" => Restart,
        /// Asks what a managed cluster can do. It asks again.
        Capabilities: "capabilities" => Restart,
        /// Writes what is wrong with users' objects into their status. It looks at all of them again.
        Verdicts: "verdicts" => Restart,
        /// Tells a shard how many add-ons the whole fleet has. It counts them again.
        FleetSize: "fleet-size" => Restart,
        /// Renews tokens of kubeconfigs. It looks again at when each is due.
        Tokens: "tokens" => Restart,
        /// Asks managed clusters whether they were restored from a backup. It asks again, and what it was told is kept.
        Restores: "restores" => Restart,
        /// Writes into the management cluster what deployers show that are in their clusters. It reads all of it again.
        Shown: "shown" => Restart,
        /// Says which clusters that pull are silent. It listens on, and has patience anew.
        Heard: "heard" => Restart,
        /// Keeps the metrics of shards up to date. It only reads.
        ShardMetrics: "shard-metrics" => Restart,
        /// Sends traces to a collector. It listens again; what was told meanwhile is in no trace.
        Traces: "traces" => Restart,
        /// Writes Kubernetes Events about drift. They are for people, and losing some loses no work.
        DriftEvents: "drift-events" => Restart,
        /// Reaches the bus for who answers questions. It tries again, and until then the bus is away.
        Reach: "reach" => Restart,
    }
}

kinds! {
    /// Tasks that run once.
    Once {
        /// Follows the lives of the streams. What it remembers is how a wipe or a loss is noticed at all.
        Incarnations: "incarnations" => StopProcess,
        /// Looks for rows that a stream has acknowledged and lost, or says that it has. Nobody else would ask for the same rows.
        Audit: "audit" => StopProcess,
        /// Keeps the lease of this replica, on a thread of its own.
        Membership: "membership" => StopProcess,
        /// Writes problem rows. What it remembers is what has to be said again.
        Problems: "problems" => StopProcess,
        /// Sees whether the management cluster goes back, and ends then: the next process waits until that is meant.
        History: "history" => StopProcess,
        /// Writes projections. What waits in it is nowhere else.
        Projector: "projector" => StopProcess,
        /// Serves metrics and health. Whoever asks would take the process for dead.
        Admin: "admin" => StopProcess,
        /// Waits for SIGINT and SIGTERM. A process that cannot be stopped must not run.
        Signals: "signals" => StopProcess,
        /// Says that the process is ready once something is there. It would never be ready.
        Readiness: "readiness" => StopProcess,
        /// Takes journal lines for whoever shows them. They would stand still.
        JournalReader: "journal-reader" => StopProcess,
        /// Serves the Inspect service. Nobody else answers at its address.
        Inspect: "inspect" => StopProcess,
        /// Serves charts in `sluice up`. Nobody else has them.
        Repository: "repository" => StopProcess,
        /// One stage of `sluice up`. The others are of no use alone.
        Stage: "stage" => StopProcess,
        /// A shard: the supervisor begins it again after a rest.
        Shard: "shard" => StopOwner,
        /// Sends a list or the journal to one who has asked. Its end is the end of that answer.
        Answer: "answer" => StopOwner,
        /// Replaces the fence row of an output. The shard waits for it.
        Claim: "claim" => StopOwner,
        /// Reads the heads of own rows. The shard waits for them.
        OwnRows: "own-rows" => StopOwner,
        /// Reads the input of a shard. The shard lives from it.
        Input: "input" => StopOwner,
        /// Asks the leader whether the input has been read to its end. The shard waits for the answer.
        InputEnd: "input-end" => StopOwner,
        /// Keeps large bodies that the shard's rows name from expiring.
        ContentRefs: "content-refs" => StopOwner,
        /// Passes changes of a small table, or answers of a cluster, on to a shard. Those that were taken and not passed on would be missing.
        ExternalInput: "external-input" => StopOwner,
        /// Reads a part of the input once more. The shard waits for it.
        Replay: "replay" => StopOwner,
        /// Tells a deployer which clusters can be reached. What it has told is nowhere else.
        Access: "access" => StopOwner,
        /// Watches the definitions of kinds in a cluster. What it has seen is how a kind that went in between is missed.
        Definitions: "definitions" => StopOwner,
        /// Asks a check in a cluster. Nothing else would say when its answer is another one.
        Check: "check" => StopOwner,
        /// Watches the metadata of what is deployed of a kind. What it has seen is how something that went in between is missed.
        DriftWatch: "drift-watch" => StopOwner,
        /// Watches the versions of what pods can read of a kind. What it has seen is how something that went in between is missed.
        SourceWatch: "source-watch" => StopOwner,
        /// One call to a managed cluster. The shard waits for the answer.
        Call: "call" => StopOwner,
        /// Keeps registrations until the add-ons of their clusters are withdrawn. What it was told is left there is told once.
        Departures: "departures" => StopOwner,
        /// Writes ClusterConfigurations. What waits in it is nowhere else.
        Configurations: "configurations" => StopOwner,
        /// Writes the interest rows of a shard. What waits in it is nowhere else.
        InterestWriter: "interest-writer" => StopOwner,
    }
}
