//! Sluice as its chart installs it: accounts, rights, keys and accounts of the bus are those of the chart. Only pods are processes here, with
//! the tokens of their ServiceAccounts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use sluice_api::yaml;
use sluice_testbed::{Launch, Process, Programs, Replica, steady_port};

use crate::chart_server::serve_charts;
use crate::control_plane::ControlPlane;
use crate::mounts::write_mount;

const NAMESPACE: &str = "projectsveltos";
/// How long bus and stages may take to be ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// A management cluster in which the chart is installed, and nothing runs.
#[derive(Debug)]
pub struct Installation {
    dir: PathBuf,
    server: String,
    /// A kubeconfig of the administrator.
    admin: PathBuf,
}

/// Bus and stages.
#[derive(Debug)]
pub struct Running {
    nats: Process,
    url: String,
    operator: PathBuf,
    replicas: Vec<Replica>,
    _charts: Option<Process>,
}

// === impl Installation ===

impl Installation {
    /// A cluster in which nothing is installed.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn none(dir: &Path, server: &str, admin: &str) -> anyhow::Result<Self> {
        let (dir, server) = (dir.to_owned(), server.to_owned());
        let there = Self { admin: dir.join("admin.kubeconfig"), dir, server };
        std::fs::write(&there.admin, admin)?;
        Ok(there)
    }

    /// Installs both charts with these values, by `helm`, which `HELM` names.
    ///
    /// # Errors
    /// What `helm` or `kubectl` say.
    pub fn install(dir: &Path, server: &str, admin: &str, values: &Path) -> anyhow::Result<Self> {
        let there = Self::none(dir, server, admin)?;
        let chart = there.prepare()?;
        // Hooks wait for pods, of which there are none here: what they bring is applied, and their command is run below.
        let arguments = [
            "install",
            "sluice",
            text(&chart)?,
            "--namespace",
            NAMESPACE,
            "--no-hooks",
            "--values",
            text(values)?,
        ];
        there.helm(&arguments)?;
        let hooks = there.helm(&["get", "hooks", "sluice", "--namespace", NAMESPACE])?;
        for object in yaml::documents(&hooks).map_err(|error| anyhow::anyhow!("hooks: {error}"))? {
            if object["kind"] != "Job" {
                there.apply(&object.to_string())?;
            }
        }
        Ok(there)
    }

    /// Installs the definitions and makes the namespace; a copy of the chart `sluice` without the bus that it depends on.
    ///
    /// # Errors
    /// What `helm` or `kubectl` say.
    pub fn prepare(&self) -> anyhow::Result<PathBuf> {
        let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/helm");
        self.helm(&["install", "sluice-crds", text(&charts.join("sluice-crds"))?])?;
        self.kubectl(&["create", "namespace", NAMESPACE])?;
        let chart = self.dir.join("sluice");
        copy_chart(&charts.join("sluice"), &chart)?;
        Ok(chart)
    }

    /// Starts everything anew: a bus, and each stage under its account. Charts come from `sources`.
    ///
    /// # Errors
    /// What does not come up.
    pub async fn start(&self, dir: &Path, sources: &Path) -> anyhow::Result<Running> {
        let programs = Programs::beside_me()?;
        self.make_secrets(&[])?;
        let (nats, url) = self.start_bus(dir).await?;
        let operator = self.mounted(dir, "sluice-nats-operator")?.join("seed");
        let (charts, mirrors) = serve_charts(dir, sources)?;
        let mut running = Running { nats, url, operator, replicas: Vec::new(), _charts: charts };
        // Only renderers may lay the bus out: whoever comes before waits for some seconds.
        for stage in ["renderer", "agent", "matcher", "deployer"] {
            running.replicas.push(self.start_stage(dir, stage, &running.url, &mirrors, &programs)?);
            if stage == "renderer" {
                running.wait_until_ready().await?;
            }
        }
        running.wait_until_ready().await?;
        Ok(running)
    }

    /// Runs `sluice install secrets` with the rights of the chart's Job.
    ///
    /// # Errors
    /// What it says.
    pub fn make_secrets(&self, more: &[&str]) -> anyhow::Result<()> {
        let setup = self.kubeconfig_of("sluice-setup")?;
        let made = Command::new(Programs::beside_me()?.find("sluice")?)
            .args(["install", "secrets", "--namespace", NAMESPACE, "--kubeconfig", text(&setup)?])
            .args(more)
            .output()?;
        ensure!(made.status.success(), "sluice install secrets: {}", String::from_utf8_lossy(&made.stderr));
        Ok(())
    }

    /// Starts a stage under its account.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_stage(
        &self,
        dir: &Path,
        stage: &'static str,
        url: &str,
        mirrors: &[String],
        programs: &Programs,
    ) -> anyhow::Result<Replica> {
        let seed = self.mounted(dir, &format!("sluice-nats-{stage}"))?.join("seed");
        let mut arguments = vec![
            format!("--nats-url={url}"),
            format!("--nats-nkey={}", seed.display()),
            format!("--name={stage}-{}", steady_port()?),
        ];
        if stage == "matcher" {
            // It has no right in any cluster: its keys are mounted.
            arguments.push(format!("--bus-keys={}", self.mounted(dir, "sluice-bus-matcher")?.display()));
        } else {
            let kubeconfig = self.kubeconfig_of(&format!("sluice-{stage}"))?.display().to_string();
            arguments.push(format!("--bus-keys=kubernetes:{kubeconfig}"));
            arguments.push(format!("--kubeconfig={kubeconfig}"));
        }
        if stage == "renderer" {
            arguments.extend(mirrors.iter().map(|mirror| format!("--chart-mirrors={mirror}")));
            arguments.push("--chart-hosts=127.0.0.1".to_owned());
        }
        let program = programs.find(&format!("sluice-{stage}"))?;
        Replica::start(stage, Launch::new(stage, program, arguments, dir))
    }

    async fn start_bus(&self, dir: &Path) -> anyhow::Result<(Process, String)> {
        let accounts = self.mounted(dir, "sluice-nats-accounts")?.join("accounts.conf");
        let port = steady_port()?;
        let config = dir.join("nats.conf");
        let text = format!(
            "server_name: n\nlisten: \"127.0.0.1:{port}\"\nmax_payload: 8MB\njetstream {{ store_dir: {:?} }}\ninclude {:?}\n",
            dir.join("nats"),
            accounts.strip_prefix(dir)?
        );
        std::fs::write(&config, text)?;
        let arguments = vec!["--config".to_owned(), config.display().to_string()];
        let mut nats = Process::start(Launch::new("nats", Programs::nats_server(), arguments, dir))?;
        let deadline = Instant::now() + START_TIMEOUT;
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if nats.ended()?.is_some() || Instant::now() > deadline {
                bail!("nats-server does not come up: {}", nats.log_end());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok((nats, format!("nats://127.0.0.1:{port}")))
    }

    /// The folder of a Secret of the namespace, as a pod has it: what has changed is replaced, and what is gone is taken away.
    ///
    /// # Errors
    /// When there is no such Secret, or the folder cannot be written.
    pub fn mounted(&self, dir: &Path, secret: &str) -> anyhow::Result<PathBuf> {
        let found: Value = serde_json::from_str(&self.kubectl(&[
            "get",
            "secret",
            secret,
            "--namespace",
            NAMESPACE,
            "--output",
            "json",
        ])?)?;
        write_mount(dir, secret, &found["data"])
    }

    /// A kubeconfig with a token of a ServiceAccount.
    ///
    /// # Errors
    /// What `kubectl` says.
    pub fn kubeconfig_of(&self, account: &str) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(format!("{account}.kubeconfig"));
        if !path.exists() {
            let token =
                self.kubectl(&["create", "token", account, "--namespace", NAMESPACE, "--duration", "6h"])?;
            std::fs::write(&path, kubeconfig(&self.server, token.trim()))?;
        }
        Ok(path)
    }

    /// Applies an object as the administrator.
    ///
    /// # Errors
    /// What `kubectl` says.
    pub fn apply(&self, object: &str) -> anyhow::Result<()> {
        let file = self.dir.join("object.json");
        std::fs::write(&file, object)?;
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", text(&file)?]).map(drop)
    }

    /// Fills in roles that are made of others, as a controller does that does not run here.
    ///
    /// # Errors
    /// What `kubectl` says.
    pub fn aggregate(&self) -> anyhow::Result<()> {
        let roles: Value =
            serde_json::from_str(&self.kubectl(&["get", "clusterroles", "--output", "json"])?)?;
        let roles = roles["items"].as_array().context("a list of roles")?;
        for role in roles {
            let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten();
            let labels: Vec<_> =
                selectors.filter_map(|selector| selector["matchLabels"].as_object()).collect();
            let is_selected = |other: &&Value| {
                labels.iter().any(|labels| {
                    labels.iter().all(|(key, value)| other["metadata"]["labels"][key] == *value)
                })
            };
            let rules = roles
                .iter()
                .filter(is_selected)
                .flat_map(|other| other["rules"].as_array().into_iter().flatten());
            let rules: Vec<&Value> = rules.collect();
            if !rules.is_empty() {
                let patch = serde_json::json!({ "rules": rules }).to_string();
                let name = role["metadata"]["name"].as_str().unwrap_or_default();
                self.kubectl(&["patch", "clusterrole", name, "--type", "merge", "--patch", &patch])?;
            }
        }
        Ok(())
    }

    /// Runs `kubectl` as the administrator.
    ///
    /// # Errors
    /// What it says.
    pub fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run("kubectl", arguments)
    }

    /// Runs `helm` as the administrator.
    ///
    /// # Errors
    /// What it says.
    pub fn helm(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let helm = std::env::var("HELM").context("HELM names no helm of version 4; `make e2e` sets it")?;
        self.run(&helm, arguments)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let done = Command::new(program)
            .args(arguments)
            .arg("--kubeconfig")
            .arg(&self.admin)
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{program} {}: {said}", arguments.join(" "));
        Ok(String::from_utf8(done.stdout)?)
    }
}

// === impl Running ===

impl Running {
    /// URL of the bus.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The seed of the bus' operator.
    pub fn operator(&self) -> &Path {
        &self.operator
    }

    /// Has the servers of the bus read their configuration again, as the reloader beside them does when a file of it changes.
    ///
    /// # Errors
    /// When it has ended.
    pub fn reload_bus(&self) -> anyhow::Result<()> {
        self.nats.signal("HUP")
    }

    /// The replica of a stage.
    ///
    /// # Errors
    /// When there is none.
    pub fn replica(&mut self, stage: &str) -> anyhow::Result<&mut Replica> {
        let mut replicas = self.replicas.iter_mut();
        replicas.find(|replica| replica.stage() == stage).with_context(|| format!("there is no {stage}"))
    }

    /// Another replica takes the place of that of its stage.
    pub fn replace(&mut self, replica: Replica) {
        self.replicas.retain(|former| former.stage() != replica.stage());
        self.replicas.push(replica);
    }

    /// What all have logged last, for errors.
    pub fn log_ends(&self) -> String {
        let ends = self.replicas.iter().map(|replica| format!("{}:\n{}", replica.name(), replica.log_end()));
        ends.chain([format!("nats:\n{}", self.nats.log_end())]).collect::<Vec<_>>().join("\n")
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        for replica in &mut self.replicas {
            while !replica.is_ready().await {
                let ended = replica.process().ended()?.is_some();
                if ended || Instant::now() > deadline {
                    bail!("{} is not ready: {}", replica.name(), replica.log_end());
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }
}

/// Gives a managed cluster the account of deploy/managed/apply.yaml, with what `more` adds; its kubeconfig.
///
/// # Errors
/// What `kubectl` says.
pub fn account(dir: &Path, plane: &ControlPlane, more: &Path) -> anyhow::Result<String> {
    let admin = dir.join("managed.kubeconfig");
    std::fs::write(&admin, plane.kubeconfig())?;
    let there = Installation { dir: dir.to_owned(), server: plane.server_url().to_owned(), admin };
    let managed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/managed/apply.yaml");
    for file in [managed.as_path(), more] {
        there.kubectl(&["apply", "--server-side", "--filename", text(file)?])?;
    }
    there.aggregate()?;
    let token =
        there.kubectl(&["create", "token", "sluice", "--namespace", NAMESPACE, "--duration", "6h"])?;
    Ok(kubeconfig(&there.server, token.trim()))
}

/// A kubeconfig for a token of an API server on this machine.
fn kubeconfig(server: &str, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: \"{server}\", insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: c, user: {{token: \"{token}\"}}}}]\n"
    )
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is no text", path.display()))
}

/// A chart without what it depends on, which is only there when somebody has fetched it; links become what they lead to.
fn copy_chart(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (from, to) = (entry?.path(), to);
        let to = to.join(from.file_name().unwrap_or_default());
        if from.is_dir() {
            copy_chart(&from, &to)?;
        } else if from.file_name().is_some_and(|name| name == "Chart.yaml") {
            let described = std::fs::read_to_string(&from)?;
            std::fs::write(to, described.split("dependencies:").next().unwrap_or_default())?;
        } else {
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
