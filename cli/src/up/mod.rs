//! `sluice up`: everything on this machine.

mod nats;
mod repository;
mod stages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sluice_api::model::Onboarding;
use sluice_dryrun::Sources;
use sluice_inspect::Inspector;
use sluice_inspect_rpc::{Settings, serve};
use sluice_kube::management_client;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::JournalEntry;
use sluice_renderer::{ChartSettings, WithdrawGuard};
use sluice_runtime::{ForgetArgs, LogArgs, LogFormat, OnboardArgs, stop_on_signals_then};
use sluice_simcluster::{FleetConfig, SimFleet};
use sluice_tasks::Tasks;
use sluice_tera::Workers;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::events::describe;
use crate::otlp::Otlp;
use crate::print::say;
use crate::reach;
use crate::seed::{self, Examples, MANAGEMENT, Managed, seed};

/// Arguments of `sluice up`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice up --clusters 5
  sluice up --nodes 3 --replicas 2")]
pub(crate) struct Args {
    /// Where data and the kubeconfig are kept.
    #[arg(long, default_value = reach::DIR)]
    dir: PathBuf,

    /// Simulated managed clusters.
    #[arg(long, default_value_t = 3)]
    clusters: usize,

    /// Load no examples; the clusters then carry no label.
    #[arg(long)]
    no_examples: bool,

    /// Folder with a `sources.yaml`: its charts are served here, in place of the repositories that it names.
    #[arg(long, value_name = "DIR")]
    sources: Option<PathBuf>,

    #[command(flatten)]
    logs: LogArgs,

    /// Nodes of the bus: 1, or 3 with a copy of every stream on each.
    #[arg(long, default_value = "1", value_parser = nats::nodes)]
    nodes: usize,

    /// Replicas of each stage.
    #[arg(long, default_value_t = 1)]
    replicas: usize,

    /// A real management cluster in place of the simulated one.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,

    /// Shards of each table, for a new bus.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    shards: u16,

    /// How long tombstones live, in seconds, for a new bus.
    #[arg(long, default_value_t = 6 * 3600)]
    tombstone_ttl: u64,

    #[command(flatten)]
    forget: ForgetArgs,

    #[command(flatten)]
    onboarding: OnboardArgs,

    #[command(flatten)]
    otlp: Otlp,

    /// Stages to run, separated by commas, or `none`.
    #[arg(long, default_value = "agent,matcher,renderer,deployer")]
    stages: String,
}

impl Args {
    /// How logs are to be written.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.logs.log_format
    }

    /// Runs until a signal.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.dir).with_context(|| format!("--dir {}", self.dir.display()))?;
        let dir = self.dir.canonicalize()?;
        let place = dir.clone();
        let sources = self.charts()?;
        let tasks = stop_on_signals_then(move || nats::stop_leftovers(&place));
        let stop = tasks.stop();
        let nats = nats::Servers::start(&dir, self.nodes).await?;
        let fleet = SimFleet::start(FleetConfig {
            listen: "127.0.0.1:0".parse()?,
            clusters: self.ids(),
            advertise: None,
        })
        .await?;
        let kubeconfig = dir.join("kubeconfig");
        self.write_kubeconfig(&fleet, &kubeconfig)?;
        let management = self.management(&fleet).await?;
        let examples = if self.no_examples { Examples::None } else { Examples::All };
        seed(&management, &self.managed(&fleet), examples).await?;
        let mirrors = repository::serve(&sources, &tasks).await?;
        let settings = self.renderer(&dir, mirrors);
        let onboarding = settings.onboarding.clone();
        let pipeline = stages::Pipeline::start(&self, nats.url(), &management, settings, &tasks).await?;
        let lines = pipeline.journal().await?;
        pipeline.ready(stop).await;
        let inspect = inspect(&pipeline, (management, onboarding), &tasks).await?;
        self.otlp.clone().start(watch::channel(Ok(pipeline.bus())).1, &tasks);
        let addresses = [(reach::ADDRESS, nats.url()), (reach::INSPECT, inspect.clone())];
        if !stop.is_cancelled() {
            for (name, url) in &addresses {
                std::fs::write(dir.join(name), url).with_context(|| dir.join(name).display().to_string())?;
            }
            say!(
                "ready kubeconfig={} nats={} admin=http://{} inspect={inspect}",
                kubeconfig.display(),
                nats.url(),
                pipeline.admin()
            );
            say!("page  {inspect}/ui/");
            if !self.no_examples && self.kubeconfig.is_none() && self.clusters > 0 {
                say!("{}", to_try(&kubeconfig));
            }
        }
        print_lines(lines, stop).await;
        addresses.iter().for_each(|(name, _)| drop(std::fs::remove_file(dir.join(name))));
        pipeline.stopped().await;
        tasks.end_kept().await;
        fleet.shutdown().await;
        nats.stop().await;
        Ok(tasks.verdict()?)
    }

    /// How renderers work here.
    fn renderer(&self, dir: &Path, mirrors: BTreeMap<String, String>) -> sluice_renderer::Settings {
        // Whoever runs this is the only tenant there is.
        let (cache, hosts) = (Some(dir.join("charts")), OwnHosts::All);
        sluice_renderer::Settings {
            charts: ChartSettings { cache, mirrors, hosts, ..ChartSettings::default() },
            // Simulated clusters begin anew each time, and the bus does not.
            guards_history: self.kubeconfig.is_some(),
            auto_deploys: true,
            withdraw_guard: Some(WithdrawGuard::USUAL),
            onboarding: self.onboarding.capi_onboard_annotation.clone(),
        }
    }

    /// What is served here: the charts of `--sources`, and those of the examples.
    fn charts(&self) -> anyhow::Result<Sources> {
        let mut sources = self.sources.as_deref().map(Sources::read).transpose()?.unwrap_or_default();
        if !self.no_examples {
            seed::add_charts(&mut sources)?;
        }
        Ok(sources)
    }

    fn ids(&self) -> Vec<String> {
        let management = self.kubeconfig.is_none().then(|| MANAGEMENT.to_owned());
        management.into_iter().chain((1..=self.clusters).map(|index| format!("cluster-{index}"))).collect()
    }

    fn managed(&self, fleet: &SimFleet) -> Vec<Managed> {
        let alone = |id: String| {
            let kubeconfig = fleet.kubeconfig(&[&id]);
            (id, kubeconfig)
        };
        self.ids().into_iter().filter(|id| id != MANAGEMENT).map(alone).collect()
    }

    async fn management(&self, fleet: &SimFleet) -> anyhow::Result<Client> {
        if self.kubeconfig.is_some() {
            return management_client(self.kubeconfig.as_deref()).await;
        }
        let file = Kubeconfig::from_yaml(&fleet.kubeconfig(&[MANAGEMENT]))?;
        Ok(Client::try_from(Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)?)
    }

    /// The kubeconfig of all clusters; a real management cluster's contexts stay in its own file.
    fn write_kubeconfig(&self, fleet: &SimFleet, path: &Path) -> anyhow::Result<()> {
        let ids = self.ids();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let text = match &self.kubeconfig {
            None => fleet.kubeconfig(&ids),
            Some(real) => with_management(real, &fleet.kubeconfig(&ids))?,
        };
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }
}

/// The simulated clusters, and the current context of `real` under the name `management`.
fn with_management(real: &Path, simulated: &str) -> anyhow::Result<String> {
    let mut all = Kubeconfig::from_yaml(simulated)?;
    let real = Kubeconfig::read_from(real)?;
    let current = real.current_context.clone().unwrap_or_default();
    let context = real.contexts.iter().find(|context| context.name == current).cloned();
    let mut context =
        context.with_context(|| format!("--kubeconfig: current-context {current:?} does not exist in it"))?;
    context.name = MANAGEMENT.to_owned();
    all.contexts.insert(0, context);
    all.clusters.extend(real.clusters);
    all.auth_infos.extend(real.auth_infos);
    all.current_context = Some(MANAGEMENT.to_owned());
    // JSON is YAML.
    Ok(serde_json::to_string_pretty(&all)?)
}

/// What to do first: an event of one of the examples, and what became of it.
fn to_try(kubeconfig: &Path) -> String {
    let kubectl = format!("kubectl --kubeconfig {} --context cluster-1", kubeconfig.display());
    let sluice = std::env::args().next().unwrap_or_else(|| "sluice".to_owned());
    let lines = [
        format!("{kubectl} create service clusterip web --tcp=80"),
        format!("{kubectl} label service web sveltos=fv"),
        format!("{kubectl} get networkpolicy"),
        format!("{sluice} status"),
        format!("{sluice} trace NetworkPolicy/front-web --cluster default/cluster-1"),
    ];
    format!("try   {}", lines.join("\n      "))
}

/// Serves answers on a free port of the loopback interface; returns the address.
async fn inspect(
    pipeline: &stages::Pipeline,
    (management, onboarding): (Client, Onboarding),
    tasks: &Tasks,
) -> anyhow::Result<String> {
    let settings = Settings { page: true, ..Settings::of_this_machine(Arc::new(Workers::new())) };
    let inspector = Inspector::new(Ok(pipeline.bus()), Ok(management)).with_onboarding(onboarding);
    let serving = serve(settings, inspector, tasks).await?;
    Ok(format!("http://{}", serving.address))
}

async fn print_lines(mut lines: mpsc::Receiver<JournalEntry>, stop: &CancellationToken) {
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => say!("{}", describe(&line)),
                None => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            () = stop.cancelled() => return,
        }
    }
}
