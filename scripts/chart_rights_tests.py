#!/usr/bin/env python3
"""Who may do what, and who may speak with whom: rights and network policies of the chart `sluice`. HELM names helm."""

import unittest

from chart_render import find, of_kind, place_of
from chart_tests import POLICIES, SERVICES, SLUICE, STAGES, deployment, pod

RULE = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
ISSUER = {"inspect.oidc.issuer": "https://id.example", "inspect.oidc.clientId": "sluice"}
WITH_RIGHTS = ["agent", "renderer", "deployer", "inspect"]
WRITES = {"create", "update", "patch", "delete", "deletecollection", "*"}
DNS = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]


def subjects(documents, account):
    """The roles that an account has."""
    for one in of_kind(documents, "ClusterRoleBinding", "RoleBinding"):
        if account in [subject["name"] for subject in one["subjects"]]:
            yield one["kind"], one["roleRef"]["kind"], one["roleRef"]["name"]


class Rights(unittest.TestCase):
    """In the management cluster."""

    def test_the_matcher_has_no_right_at_all(self):
        for values in [{}, {"rbac.namespaces": ["projectsveltos"]}, {"bus.accounts.create": False}]:
            documents = SLUICE.objects(values)
            self.assertEqual(list(subjects(documents, "sluice-matcher")), [])
            roles = [place_of(one) for one in of_kind(documents, "ClusterRole", "Role") if "matcher" in one["metadata"]["name"]]
            self.assertEqual(roles, [])
            self.assertIs(pod(documents, "matcher")["automountServiceAccountToken"], False)

    def test_every_other_has_its_own_role(self):
        documents = SLUICE.objects()
        for component in WITH_RIGHTS:
            found = {name for kind, _, name in subjects(documents, f"sluice-{component}") if kind == "ClusterRoleBinding"}
            self.assertEqual(found, {f"sluice-{component}"})

    def test_every_role_is_bound_and_every_binding_has_its_role(self):
        values = {"rbac.namespaces": ["projectsveltos", "team-a"], "rbac.tenants": [{"namespace": "team-a", "name": "deployer"}]}
        for given in [{}, values]:
            documents = SLUICE.objects(given)
            for role, binding in [("Role", "RoleBinding"), ("ClusterRole", "ClusterRoleBinding")]:
                made = {place_of(one)[1:] for one in of_kind(documents, role) if one["metadata"]["labels"]["app.kubernetes.io/component"] != "people"}
                bound = {(one["metadata"].get("namespace", ""), one["roleRef"]["name"]) for one in of_kind(documents, binding) if one["roleRef"]["kind"] == role}
                self.assertEqual(made, bound)

    def test_named_namespaces_give_roles_in_place_of_a_cluster_role(self):
        documents = SLUICE.objects({"rbac.namespaces": ["projectsveltos", "team-a"]})
        for stage in ["renderer", "deployer"]:
            places = {one["metadata"]["namespace"] for one in of_kind(documents, "Role") if one["metadata"]["name"] == f"sluice-{stage}-writes"}
            self.assertLessEqual({"projectsveltos", "team-a"}, places)
            everywhere, named = (find(made, "ClusterRole", f"sluice-{stage}")["rules"] for made in (SLUICE.objects(), documents))
            self.assertLess(self.written(named), self.written(everywhere))
        self.assertEqual([one for one in of_kind(SLUICE.objects(), "Role") if one["metadata"]["name"].endswith("-writes")], [])

    def written(self, rules):
        return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"] if verb in WRITES}

    def test_more_rules_reach_whom_they_are_for(self):
        for component in WITH_RIGHTS:
            documents = SLUICE.objects({"rbac.extraRules": {component: [RULE]}})
            having = [one["metadata"]["name"] for one in of_kind(documents, "ClusterRole", "Role") if RULE in one["rules"]]
            self.assertEqual(having, [f"sluice-{component}"])

    def test_what_is_read_and_deployed_is_for_one_stage_each(self):
        for key, stage in {"rbac.read": "renderer", "rbac.deploy": "deployer"}.items():
            documents = SLUICE.objects({key: [RULE]})
            self.assertEqual([one["metadata"]["name"] for one in of_kind(documents, "ClusterRole", "Role") if RULE in one["rules"]], [f"sluice-{stage}"])

    def test_deployers_write_secrets_only_to_renew_tokens(self):
        writes = lambda values: [
            (one["kind"], rule["verbs"]) for one in of_kind(SLUICE.objects(values), "ClusterRole", "Role") if "deployer" in one["metadata"]["name"]
            for rule in one["rules"] if "secrets" in rule["resources"] and WRITES & set(rule["verbs"])
        ]
        self.assertEqual(writes({}), [])
        self.assertEqual(writes({"rbac.renewTokens": True}), [("ClusterRole", ["get", "patch"])])
        self.assertEqual(writes({"rbac.renewTokens": True, "rbac.namespaces": ["team-a"]}), [("Role", ["get", "patch"])])

    def test_inspect_reads_secrets_only_to_answer_diff(self):
        reads = lambda values: [rule for rule in find(SLUICE.objects(values), "ClusterRole", "sluice-inspect")["rules"] if "secrets" in rule["resources"]]
        self.assertEqual(reads({}), [])
        self.assertEqual([rule["verbs"] for rule in reads({"inspect.diff": True})], [["list"]])

    def test_without_rbac_no_stage_is_given_a_right(self):
        documents = SLUICE.objects({"rbac.create": False})
        self.assertEqual(of_kind(documents, "ClusterRole", "ClusterRoleBinding"), [])
        self.assertEqual({one["metadata"]["name"] for one in of_kind(documents, "Role", "RoleBinding")}, {"sluice-setup"}, "the hook's own")

    def test_an_account_that_is_there_is_bound(self):
        documents = SLUICE.objects({"agent.serviceAccount.create": False, "agent.serviceAccount.name": "mine"})
        self.assertNotIn("mine", [one["metadata"]["name"] for one in of_kind(documents, "ServiceAccount")])
        self.assertEqual(pod(documents, "agent")["serviceAccountName"], "mine")
        self.assertIn(("ClusterRoleBinding", "ClusterRole", "sluice-agent"), list(subjects(documents, "mine")))

    def test_people_have_roles_that_add_to_theirs(self):
        kinds = lambda values: {one["metadata"]["name"] for one in of_kind(SLUICE.objects(values), "ClusterRole")} & {"sluice-view", "sluice-edit"}
        self.assertEqual(kinds({}), {"sluice-view", "sluice-edit"})
        self.assertEqual(kinds({"rbac.people": False}), set())


class Networks(unittest.TestCase):
    """Each speaks with whom it needs."""

    def applied(self, values, component):
        """The policies of a component's pods."""
        documents = SLUICE.objects({**POLICIES, **values})
        holder = find(documents, "Job", "sluice-setup") if component == "setup" else deployment(documents, component)
        labels = holder["spec"]["template"]["metadata"]["labels"]
        return {one["metadata"]["name"]: one["spec"] for one in of_kind(documents, "NetworkPolicy") if self.selects(one["spec"]["podSelector"], labels)}

    def selects(self, selector, labels):
        said = selector.get("matchExpressions", [])
        self.assertEqual([one for one in said if one["operator"] != "In"], [])
        return selector.get("matchLabels", {}).items() <= labels.items() and all(labels.get(one["key"]) in one["values"] for one in said)

    def test_there_are_none_unless_asked_for(self):
        self.assertEqual(of_kind(SLUICE.objects(), "NetworkPolicy"), [])

    def test_the_default_is_to_deny(self):
        for component in [*SERVICES, "setup"]:
            deny = self.applied({}, component)["sluice"]
            self.assertEqual(deny["policyTypes"], ["Ingress", "Egress"], component)
            self.assertNotIn("ingress", deny, component)
            self.assertEqual([rule["ports"] for rule in deny["egress"]], [DNS], f"{component}: names and nothing else")

    def test_each_reaches_only_what_it_needs(self):
        for component, ways in {
            "agent": {"bus", "api"},
            "matcher": {"bus"},
            "renderer": {"bus", "api", "charts"},
            "deployer": {"bus", "api"},
            "inspect": {"bus", "api", "oidc"},
            "setup": {"api"},
        }.items():
            found = {name.removeprefix("sluice-") for name, spec in self.applied(ISSUER, component).items() if "egress" in spec and name != "sluice"}
            self.assertEqual(found, ways, component)

    def test_each_is_reached_only_at_its_port(self):
        for component, port in {**dict.fromkeys(STAGES, 9090), "inspect": 8090}.items():
            ports = [one["port"] for spec in self.applied({}, component).values() for rule in spec.get("ingress", []) for one in rule["ports"]]
            self.assertEqual(ports, [port], component)
        self.assertEqual([name for name, spec in self.applied({}, "setup").items() if "ingress" in spec], [])

    def test_without_an_issuer_there_is_no_way_to_one(self):
        self.assertNotIn("sluice-oidc", self.applied({}, "inspect"))

    def test_the_bus_is_reached_where_it_is(self):
        inside = self.applied({}, "agent")["sluice-bus"]["egress"]
        self.assertEqual(inside, [{"to": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "nats", "app.kubernetes.io/instance": "sluice"}}}], "ports": [{"port": 4222}]}])
        elsewhere = {"nats.enabled": False, "bus.url": "tls://a.example:4333,tls://b.example"}
        self.assertEqual(self.applied(elsewhere, "agent")["sluice-bus"]["egress"], [{"ports": [{"port": 4333}, {"port": 4222}]}])
        named = [{"cidr": "192.0.2.1/32", "ports": [4222]}, {"cidr": "192.0.2.2/32", "ports": [4333]}]
        ways = self.applied({**elsewhere, "networkPolicies.bus": named}, "agent")["sluice-bus"]["egress"]
        self.assertEqual(ways, [{"to": [{"ipBlock": {"cidr": one["cidr"]}}], "ports": [{"port": one["ports"][0]}]} for one in named])

    def test_who_is_named_may_come_in(self):
        peer = [{"podSelector": {"matchLabels": {"app": "prometheus"}}}]
        self.assertEqual(self.applied({"networkPolicies.metricsFrom": peer}, "agent")["sluice-from-metrics"]["ingress"][0]["from"], peer)
        self.assertEqual(self.applied({"networkPolicies.inspectFrom": peer}, "inspect")["sluice-from-inspect"]["ingress"][0]["from"], peer)
        documents = SLUICE.objects({**POLICIES, "networkPolicies.busFrom": peer})
        self.assertIn(peer[0], find(documents, "NetworkPolicy", "sluice-to-bus")["spec"]["ingress"][0]["from"])

    def test_more_ways_out_are_for_every_pod(self):
        more = {"to": [{"ipBlock": {"cidr": "192.0.2.9/32"}}]}
        for component in [*SERVICES, "setup"]:
            self.assertIn(more, self.applied({"networkPolicies.extraEgress": [more]}, component)["sluice"]["egress"])


if __name__ == "__main__":
    unittest.main()
