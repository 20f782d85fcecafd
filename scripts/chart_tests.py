#!/usr/bin/env python3
"""What the templates of the charts make of their values, one test for each promise. HELM names helm.

scripts/check_charts.py looks at whole installations; here is one value at a time.
"""

import pathlib
import tempfile
import unittest

import chart_leaves
from chart_render import CHARTS, Chart, find, of_kind, place_of, pods, with_stand_in

STAGES = ["agent", "matcher", "renderer", "deployer"]
SERVICES = [*STAGES, "inspect"]
POLICIES = {"networkPolicies.enabled": True}
TLS = {"bus.tls.enabled": True}
DIGEST = "sha256:" + "2" * 64
PLACE = tempfile.TemporaryDirectory()
SLUICE = Chart(with_stand_in(pathlib.Path(PLACE.name)), {"image.registry": "registry.example/sluice"})
CRDS = Chart(CHARTS / "sluice-crds")


def deployment(documents, component):
    return find(documents, "Deployment", f"sluice-{component}")


def pod(documents, component):
    return deployment(documents, component)["spec"]["template"]["spec"]


def container(documents, component):
    return pod(documents, component)["containers"][0]


def env(documents, component):
    return {one["name"]: one.get("value") for one in container(documents, component)["env"]}


def files(documents, component):
    """Where each Secret is mounted, by its name."""
    places = {mount["name"]: mount["mountPath"] for mount in container(documents, component)["volumeMounts"]}
    return {volume["secret"]["secretName"]: places[volume["name"]] for volume in pod(documents, component)["volumes"] if "secret" in volume}


class Values(unittest.TestCase):
    """Each does something, and what is none is refused."""

    def test_each_value_does_something(self):
        found, every = chart_leaves.complaints(SLUICE)
        self.assertGreater(len(every), 200, "so few values are not all of them")
        self.assertEqual(found, [])
        self.assertEqual(list(chart_leaves.unused(every)), [])

    def test_each_value_of_the_definitions_does_something(self):
        found, every = chart_leaves.complaints(CRDS)
        self.assertEqual(len(every), 2)
        self.assertEqual(found, [])

    def refused(self, chart, values, *words):
        said = chart.refusal(values)
        self.assertTrue(said, f"{values} was taken")
        for word in words:
            self.assertIn(word, said)

    def test_a_key_that_is_none_is_named(self):
        for key in ["nothing", "agent.nothing", "bus.tls.nothing", "inspect.oidc.nothing", "networkPolicies.nothing", "monitoring.rules.nothing"]:
            self.refused(SLUICE, {key: 1}, "'nothing'")
        self.refused(CRDS, {"commonLabel": {}}, "'commonLabel'")

    def test_a_component_that_is_none_is_named(self):
        # Helm says the name and what is allowed; the place that it says of a name is not to be relied on.
        self.refused(SLUICE, {"image.digests": {"agnet": DIGEST}}, "'agnet'", "'cli'")
        self.refused(SLUICE, {"bus.accounts.secrets": {"agnet": "there"}}, "'agnet'", "'inspect'")
        self.refused(SLUICE, {"rbac.extraRules": {"matcher": []}}, "'matcher'", "'deployer'")

    def test_a_value_of_another_type_is_named(self):
        for key, value in {
            "agent.replicas": "three",
            "agent.replicas ": -1,
            "agent.enabled": "yes",
            "bus.shards": 257,
            "bus.sealed": "no",
            "commonLabels": {"a": 1},
            "image.digests": {"agent": "1.0"},
            "image.pullSecrets": [{"name": "registry"}],
            "inspect.autoscaling.kind": "keda",
            "matcher.tolerations": {"key": "a"},
            "networkPolicies.apiServers": [{"cidr": "192.0.2.0/24"}],
            "rbac.namespaces": ["Team"],
            "rbac.tenants": [{"name": "a"}],
            "stages.podAnnotations": {"a": True},
        }.items():
            self.refused(SLUICE, {key.strip(): value}, "/" + key.strip().replace(".", "/"))
        self.refused(CRDS, {"commonLabels": []}, "/commonLabels")

    def test_what_lacks_its_counterpart_names_the_value(self):
        for values, name in [
            ({"image.registry": ""}, "image.registry"),
            ({"nats.enabled": False}, "bus.url"),
            ({"stages.serviceAccount.name": "one"}, "stages.serviceAccount.name"),
            ({"inspect.oidc.caSecret": "ca"}, "inspect.oidc.issuer"),
            ({"inspect.oidc.audiences": ["a"]}, "inspect.oidc.issuer"),
        ]:
            self.refused(SLUICE, values, name)


class Replicas(unittest.TestCase):
    """How many there are of each, and who may be away."""

    def budgets(self, values):
        return {one["metadata"]["name"].removeprefix("sluice-") for one in of_kind(SLUICE.objects(values), "PodDisruptionBudget")}

    def test_a_budget_is_for_more_than_one_replica(self):
        self.assertEqual(self.budgets({}), set(SERVICES))
        self.assertEqual(self.budgets({"agent.replicas": 1, "matcher.replicas": 0}), {"renderer", "deployer", "inspect"})
        self.assertEqual(self.budgets({"stages.podDisruptionBudget.enabled": False}), set())

    def test_a_budget_of_what_is_scaled_goes_by_the_least(self):
        self.assertIn("agent", self.budgets({"agent.replicas": 1, "agent.autoscaling.kind": "hpa"}))
        self.assertNotIn("agent", self.budgets({"agent.autoscaling.kind": "hpa", "agent.autoscaling.min": 1}))

    def test_what_is_scaled_has_no_replicas_of_its_own(self):
        for kind in ["hpa", "keda"]:
            documents = SLUICE.objects({"matcher.autoscaling.kind": kind})
            self.assertNotIn("replicas", deployment(documents, "matcher")["spec"])
            self.assertEqual(deployment(documents, "agent")["spec"]["replicas"], 2)

    def test_hpa_goes_by_processor(self):
        documents = SLUICE.objects({"renderer.autoscaling": {"kind": "hpa", "min": 3, "max": 9, "cpuPercent": 55}})
        self.assertEqual(of_kind(documents, "ScaledObject"), [])
        (scaler,) = of_kind(documents, "HorizontalPodAutoscaler")
        spec = scaler["spec"]
        self.assertEqual(spec["scaleTargetRef"], {"apiVersion": "apps/v1", "kind": "Deployment", "name": "sluice-renderer"})
        self.assertEqual((spec["minReplicas"], spec["maxReplicas"]), (3, 9))
        self.assertEqual(spec["metrics"][0]["resource"]["target"]["averageUtilization"], 55)

    def test_keda_goes_by_lag(self):
        documents = SLUICE.objects({"renderer.autoscaling": {"kind": "keda", "min": 3, "max": 9, "lagRows": 5, "prometheus": "http://prometheus.example"}})
        self.assertEqual(of_kind(documents, "HorizontalPodAutoscaler"), [])
        (scaler,) = of_kind(documents, "ScaledObject")
        spec = scaler["spec"]
        self.assertEqual((spec["scaleTargetRef"]["name"], spec["minReplicaCount"], spec["maxReplicaCount"]), ("sluice-renderer", 3, 9))
        asked = spec["triggers"][0]["metadata"]
        self.assertEqual((asked["serverAddress"], asked["threshold"]), ("http://prometheus.example", "5"))
        self.assertIn('stage="renderer"', asked["query"])

    def test_inspect_has_no_lag_to_scale_by(self):
        documents = SLUICE.objects({"stages.autoscaling.kind": "keda"})
        self.assertEqual(len(of_kind(documents, "ScaledObject")), 4)
        self.assertEqual(deployment(documents, "inspect")["spec"]["replicas"], 2)
        self.assertEqual(len(of_kind(SLUICE.objects({"stages.autoscaling.kind": "hpa"}), "HorizontalPodAutoscaler")), 5)

    def test_what_is_not_enabled_is_not_there(self):
        for component in SERVICES:
            names = [place_of(one)[2] for one in SLUICE.objects({f"{component}.enabled": False})]
            self.assertEqual([name for name in names if name == f"sluice-{component}"], [], component)


class Images(unittest.TestCase):
    """Where they come from."""

    def images(self, values):
        documents = SLUICE.objects(values)
        return {document["metadata"]["name"]: one["containers"][0]["image"] for document, one in pods(documents)}

    def test_a_digest_wins_over_a_tag(self):
        images = self.images({"image.tag": "9.9", "image.digests": {"agent": DIGEST, "cli": DIGEST}})
        self.assertEqual(images["sluice-agent"], f"registry.example/sluice/sluice-agent@{DIGEST}")
        self.assertEqual(images["sluice-matcher"], "registry.example/sluice/sluice-matcher:9.9")
        for name in ["sluice-inspect", "sluice-setup"]:
            self.assertEqual(images[name], f"registry.example/sluice/sluice-cli@{DIGEST}")

    def test_the_registry_is_in_every_image(self):
        images = self.images({"image.registry": "other.example:5000/mirror/", "image.prefix": "own"})
        self.assertEqual(len(images), 6)
        for name, image in images.items():
            self.assertTrue(image.startswith("other.example:5000/mirror/own-"), f"{name}: {image}")

    def test_every_pod_pulls_with_the_secrets_and_by_the_policy(self):
        for document, one in pods(SLUICE.objects({"image.pullSecrets": ["a", "b"], "image.pullPolicy": "Always"})):
            name = document["metadata"]["name"]
            self.assertEqual(one["imagePullSecrets"], [{"name": "a"}, {"name": "b"}], name)
            self.assertEqual(one["containers"][0]["imagePullPolicy"], "Always", name)


class Pods(unittest.TestCase):
    """What every pod has, and what reaches it."""

    def test_every_pod_is_restricted(self):
        documents = SLUICE.objects({"inspect.tlsSecret": "tls", "inspect.diff": True})
        self.assertEqual(len(list(pods(documents))), 6)
        for document, one in pods(documents):
            name, own = document["metadata"]["name"], one["containers"][0]["securityContext"]
            self.assertIs(one["securityContext"]["runAsNonRoot"], True, name)
            self.assertEqual(one["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"}, name)
            self.assertIs(own["readOnlyRootFilesystem"], True, name)
            self.assertIs(own["allowPrivilegeEscalation"], False, name)
            self.assertEqual(own["capabilities"], {"drop": ["ALL"]}, name)
            self.assertEqual([key for key in ("hostNetwork", "hostPID", "hostIPC") if key in one], [], name)

    def test_what_is_said_of_all_stages_reaches_each(self):
        toleration = {"key": "dedicated", "operator": "Exists"}
        documents = SLUICE.objects({
            "stages.priorityClassName": "high", "stages.tolerations": [toleration], "stages.nodeSelector": {"disk": "fast"},
            "stages.podLabels": {"cost": "a"}, "stages.podAnnotations": {"inject": "no"}, "stages.affinity": {"nodeAffinity": {}},
            "stages.extraArgs": ["--more"], "stages.extraEnv": [{"name": "MORE", "value": "1"}],
            "stages.extraVolumes": [{"name": "more", "emptyDir": {}}], "stages.extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        })
        for stage in SERVICES:
            template, spec, own = deployment(documents, stage)["spec"]["template"], pod(documents, stage), container(documents, stage)
            self.assertEqual((spec["priorityClassName"], spec["tolerations"], spec["nodeSelector"]), ("high", [toleration], {"disk": "fast"}), stage)
            self.assertEqual((template["metadata"]["labels"]["cost"], template["metadata"]["annotations"]), ("a", {"inject": "no"}), stage)
            self.assertEqual((spec["affinity"], own["args"][-1], env(documents, stage)["MORE"]), ({"nodeAffinity": {}}, "--more", "1"), stage)
            self.assertIn({"name": "more", "emptyDir": {}}, spec["volumes"], stage)
            self.assertIn({"name": "more", "mountPath": "/more"}, own["volumeMounts"], stage)

    def test_a_stage_says_otherwise_for_itself_alone(self):
        documents = SLUICE.objects({"stages.logFormat": "text", "agent.logFormat": "json", "agent.nodeSelector": {"a": "b"}})
        self.assertEqual([env(documents, stage)["SLUICE_LOG_FORMAT"] for stage in SERVICES], ["json", "text", "text", "text", "text"])
        self.assertEqual([stage for stage in SERVICES if "nodeSelector" in pod(documents, stage)], ["agent"])

    def test_every_stage_has_probes_and_ends_by_a_signal(self):
        documents = SLUICE.objects()
        for stage in SERVICES:
            own = container(documents, stage)
            named = {port["name"] for port in own["ports"]}
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
                way = next(own[probe][kind] for kind in ("httpGet", "tcpSocket", "grpc") if kind in own[probe])
                self.assertIn(way["port"], named | {port["containerPort"] for port in own["ports"]}, f"{stage}: {probe}")
            # What it holds is given up on SIGTERM, at once: whatever waits before that keeps it from those who take it over.
            self.assertNotIn("lifecycle", own, stage)
            self.assertEqual(pod(documents, stage)["terminationGracePeriodSeconds"], 30, stage)
        for stage in STAGES:
            paths = [container(documents, stage)[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")]
            self.assertEqual(paths, ["/healthz", "/readyz"], "a stage without a bus is not ready, and is not restarted")

    def test_labels_and_annotations_are_on_every_object(self):
        values = {"commonLabels": {"team": "a"}, "commonAnnotations": {"owner": "b"}, "rbac.tenants": [{"namespace": "t", "name": "d"}], **POLICIES}
        values |= {f"monitoring.{name}.enabled": True for name in ("podMonitor", "rules", "dashboards")}
        for one in [*SLUICE.objects(values), *CRDS.objects({key: values[key] for key in ("commonLabels", "commonAnnotations")})]:
            if one["metadata"]["name"] != "stand-in-for-nats":
                self.assertEqual(one["metadata"]["labels"].get("team"), "a", place_of(one))
                self.assertEqual(one["metadata"].get("annotations", {}).get("owner"), "b", place_of(one))

    def test_more_objects_are_filled_in(self):
        more = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more"}}
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Namespace }}-text\n"
        documents = SLUICE.objects({"extraObjects": [more, text]})
        self.assertTrue(find(documents, "ConfigMap", "sluice-more") and find(documents, "ConfigMap", "projectsveltos-text"))


class Bus(unittest.TestCase):
    """Where it is, and who we are on it."""

    def test_a_bus_elsewhere_is_not_installed(self):
        documents = SLUICE.objects({"nats.enabled": False, "bus.url": "nats://bus.example:4222"})
        self.assertIsNone(find(documents, "ConfigMap", "stand-in-for-nats"))
        self.assertEqual({env(documents, stage)["SLUICE_NATS_URL"] for stage in SERVICES}, {"nats://bus.example:4222"})

    def test_every_node_of_the_bus_is_named(self):
        documents = SLUICE.objects({"nats.config.cluster.enabled": True, "nats.config.cluster.replicas": 3, **TLS})
        node = "tls://sluice-nats-{}.sluice-nats-headless.projectsveltos.svc:4222"
        self.assertEqual(env(documents, "agent")["SLUICE_NATS_URL"], ",".join(node.format(number) for number in range(3)))

    def test_credentials_are_in_a_secret_of_each(self):
        documents = SLUICE.objects()
        for stage in SERVICES:
            self.assertEqual(files(documents, stage)[f"sluice-nats-{stage}"], "/etc/sluice/nats", stage)
            self.assertEqual(env(documents, stage)["SLUICE_NATS_NKEY"], "/etc/sluice/nats/seed", stage)
        self.assertEqual(of_kind(documents, "Secret"), [], "what is secret is in no manifest")

    def test_credentials_that_are_there_are_mounted(self):
        given = {"bus.accounts.create": False, "bus.accounts.secrets": {"agent": "mine"}, "bus.accounts.kind": "creds"}
        documents = SLUICE.objects(given)
        self.assertEqual(files(documents, "agent")["mine"], "/etc/sluice/nats")
        self.assertEqual(env(documents, "agent")["SLUICE_NATS_CREDS"], "/etc/sluice/nats/creds")
        self.assertFalse({"SLUICE_NATS_CREDS", "SLUICE_NATS_NKEY"} & env(documents, "renderer").keys(), "nobody asks who it is")

    def test_who_reads_registrations_knows_which_clusters_of_cluster_api_count(self):
        documents, plain = SLUICE.objects({"clusters.capiOnboardAnnotation": "example.com/onboard"}), SLUICE.objects()
        name = "SLUICE_CAPI_ONBOARD_ANNOTATION"
        for stage in SERVICES:
            wanted = None if stage == "matcher" else "example.com/onboard"
            self.assertEqual((env(documents, stage).get(name), env(plain, stage).get(name)), (wanted, None), stage)

    def test_certificates_are_mounted_and_named(self):
        given = {**TLS, "bus.tls.caSecret": "ca", "bus.tls.caKey": "root.pem", "bus.tls.clientSecret": "client", "bus.tls.first": True}
        documents = SLUICE.objects(given)
        for stage in SERVICES:
            found, places = env(documents, stage), files(documents, stage)
            self.assertEqual((places["ca"], places["client"]), ("/etc/sluice/nats-ca", "/etc/sluice/nats-tls"), stage)
            self.assertEqual(found["SLUICE_NATS_CA"], "/etc/sluice/nats-ca/root.pem", stage)
            self.assertEqual((found["SLUICE_NATS_CERT"], found["SLUICE_NATS_KEY"]), ("/etc/sluice/nats-tls/tls.crt", "/etc/sluice/nats-tls/tls.key"), stage)
            self.assertEqual(found["SLUICE_NATS_TLS_FIRST"], "true", stage)

    def test_without_tls_nothing_of_it_is_there(self):
        for stage in SERVICES:
            names = [name for name in env(SLUICE.objects(), stage) if name.startswith(("SLUICE_NATS_CA", "SLUICE_NATS_CERT", "SLUICE_NATS_TLS"))]
            self.assertEqual(names, [], stage)

    def test_keys_are_made_by_a_job_unless_there_are_none(self):
        args = lambda values: find(SLUICE.objects(values), "Job", "sluice-setup")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertEqual(args({}), ["--namespace=projectsveltos", "--shards=16"])
        self.assertIn("--no-accounts", args({"bus.accounts.create": False}))
        self.assertIn("--no-keys", args({"bus.sealed": False}))
        self.assertIsNone(find(SLUICE.objects({"bus.accounts.create": False, "bus.sealed": False}), "Job", "sluice-setup"))


class Watched(unittest.TestCase):
    """Monitoring, and what is told after an installation."""

    def kinds(self, values):
        labels = lambda one: one["metadata"].get("labels", {})
        return {one["kind"] for one in SLUICE.objects(values) if labels(one).get("app.kubernetes.io/component") == "monitoring"}

    def test_monitoring_is_there_only_when_asked_for(self):
        self.assertEqual(self.kinds({}), set())
        for name, kind in {"podMonitor": "PodMonitor", "rules": "PrometheusRule", "dashboards": "ConfigMap"}.items():
            self.assertEqual(self.kinds({f"monitoring.{name}.enabled": True}), {kind})

    def test_labels_are_those_that_the_operator_looks_for(self):
        for name, kind in {"podMonitor": "PodMonitor", "rules": "PrometheusRule"}.items():
            documents = SLUICE.objects({f"monitoring.{name}.enabled": True, f"monitoring.{name}.labels": {"release": "a"}})
            self.assertEqual(find(documents, kind, "sluice")["metadata"]["labels"]["release"], "a")
        boards = SLUICE.objects({"monitoring.dashboards.enabled": True, "monitoring.dashboards.labels": {"folder": "a"}})
        labels = [one["metadata"]["labels"] for one in of_kind(boards, "ConfigMap") if "-dashboard-" in one["metadata"]["name"]]
        self.assertTrue(labels)
        self.assertEqual({(one["grafana_dashboard"], one["folder"]) for one in labels}, {("1", "a")})

    def test_metrics_are_read_of_every_stage(self):
        documents = SLUICE.objects({"monitoring.podMonitor.enabled": True})
        spec = find(documents, "PodMonitor", "sluice")["spec"]
        for stage in STAGES:
            labels = deployment(documents, stage)["spec"]["template"]["metadata"]["labels"]
            self.assertLessEqual(spec["selector"]["matchLabels"].items(), labels.items(), stage)
            self.assertIn(spec["podMetricsEndpoints"][0]["port"], [port["name"] for port in container(documents, stage)["ports"]], stage)

    def test_notes_name_the_next_commands(self):
        said = SLUICE.notes()
        for command in ["kubectl -n projectsveltos get pods", "sluice problems --server http://127.0.0.1:8090", "sluice register cluster"]:
            self.assertIn(f"    {command}", said)
        self.assertIn("--server https://127.0.0.1:9443", SLUICE.notes({"inspect.tlsSecret": "tls", "inspect.service.port": 9443}))
        self.assertNotIn("sluice problems", SLUICE.notes({"inspect.enabled": False}))


class Definitions(unittest.TestCase):
    """The chart `sluice-crds`."""

    def test_they_stay_when_the_chart_goes(self):
        documents = CRDS.objects({"commonAnnotations": {"owner": "b"}})
        self.assertEqual({one["kind"] for one in documents}, {"CustomResourceDefinition"})
        for one in documents:
            self.assertEqual(one["metadata"]["annotations"]["helm.sh/resource-policy"], "keep", place_of(one))


if __name__ == "__main__":
    unittest.main()
