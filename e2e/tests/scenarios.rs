//! Every scenario, in three ways: through `sluice build`, through `sluice up` on simulated clusters, and through
//! `sluice up` on real API servers (`make e2e`).
#![allow(clippy::unwrap_used)]

use std::path::Path;

use sluice_e2e::fleet::Fleet;
use sluice_e2e::installed::{Installation, account};
use sluice_e2e::scenario::{Player, Scenario, differences, untold};
use sluice_e2e::up::Up;
use sluice_e2e::{mistakes, real};

/// Clusters that a scenario may use.
const CLUSTERS: usize = 3;

macro_rules! scenarios {
    ($($name:ident: $folder:literal,)*) => {
        const FOLDERS: &[&str] = &[$($folder),*];

        mod build {
            $(#[test]
            fn $name() {
                super::play_on_files($folder);
            })*
        }

        mod up {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::play_on_simulated_clusters($folder).await;
            })*
        }
    };
}

scenarios! {
    a_network_policy_by_label: "a-network-policy-by-label",
    b_network_policy_by_lua: "b-network-policy-by-lua",
    b4_what_stays: "b4-what-stays",
    b5_a_release_changes_hands: "b5-a-release-changes-hands",
    b6_made_anew: "b6-made-anew",
    b7_copy_of_the_event: "b7-copy-of-the-event",
    c_one_policy_per_service: "c-one-policy-per-service",
    c12_lua_modules: "c12-lua-modules",
    ch_a_chart_for_each_event: "ch-a-chart-for-each-event",
    ch_a_chart_with_its_crd: "ch-a-chart-with-its-crd",
    ch_three_megabytes: "ch-three-megabytes",
    ch_values_from_a_secret: "ch-values-from-a-secret",
    ch_what_the_cluster_can_do: "ch-what-the-cluster-can-do",
    d_ingress_for_https: "d-ingress-for-https",
    d13_what_a_server_holds: "d13-what-a-server-holds",
    de_a_failure_prunes_nothing: "de-a-failure-prunes-nothing",
    de_a_kind_and_its_objects: "de-a-kind-and-its-objects",
    de_a_kind_of_others: "de-a-kind-of-others",
    de_a_paused_cluster_tells: "de-a-paused-cluster-tells",
    de_check_by_rule: "de-check-by-rule",
    de_checks_of_a_lane: "de-checks-of-a-lane",
    de_checks_of_nothing: "de-checks-of-nothing",
    de_continue_on_error: "de-continue-on-error",
    de_continue_on_error_of_a_trigger: "de-continue-on-error-of-a-trigger",
    de_depends_on: "de-depends-on",
    de_depends_on_a_chain: "de-depends-on-a-chain",
    de_depends_on_in_a_namespace: "de-depends-on-in-a-namespace",
    de_depends_on_what_an_event_makes: "de-depends-on-what-an-event-makes",
    de_drift: "de-drift",
    de_drift_exclusions: "de-drift-exclusions",
    de_drift_exclusions_in_a_list: "de-drift-exclusions-in-a-list",
    de_drift_fields_of_others: "de-drift-fields-of-others",
    de_drift_left_alone: "de-drift-left-alone",
    de_drift_of_a_chart: "de-drift-of-a-chart",
    de_drift_of_a_trigger: "de-drift-of-a-trigger",
    de_dry_run: "de-dry-run",
    de_dry_run_takes_nothing: "de-dry-run-takes-nothing",
    de_exclusions_of_a_chart: "de-exclusions-of-a-chart",
    de_failure_budget: "de-failure-budget",
    de_failure_budget_in_percent: "de-failure-budget-in-percent",
    de_failures_in_a_row: "de-failures-in-a-row",
    de_few_at_a_time: "de-few-at-a-time",
    de_health_and_dependents: "de-health-and-dependents",
    de_job_check: "de-job-check",
    de_lanes_fail_apart: "de-lanes-fail-apart",
    de_leave_and_dependents: "de-leave-and-dependents",
    de_max_update_in_percent: "de-max-update-in-percent",
    de_max_update_zero: "de-max-update-zero",
    de_not_drained: "de-not-drained",
    de_numbers_outside: "de-numbers-outside",
    de_one_after_another: "de-one-after-another",
    de_one_time: "de-one-time",
    de_one_time_of_a_trigger: "de-one-time-of-a-trigger",
    de_order_of_kinds: "de-order-of-kinds",
    de_pauses_with_ends: "de-pauses-with-ends",
    de_pre_deploy_check: "de-pre-deploy-check",
    de_prune_guard: "de-prune-guard",
    de_readiness_checks: "de-readiness-checks",
    de_reloader: "de-reloader",
    de_reloader_chart: "de-reloader-chart",
    de_reloader_trigger: "de-reloader-trigger",
    de_reloader_workloads: "de-reloader-workloads",
    de_removal_checks: "de-removal-checks",
    de_removal_in_reverse: "de-removal-in-reverse",
    de_rollout_and_back: "de-rollout-and-back",
    de_rollout_approval: "de-rollout-approval",
    de_rollout_of_a_trigger: "de-rollout-of-a-trigger",
    de_rollout_passes_over: "de-rollout-passes-over",
    de_rollout_rolls_back: "de-rollout-rolls-back",
    de_rollout_soak: "de-rollout-soak",
    de_rollout_stopped_by_hand: "de-rollout-stopped-by-hand",
    de_rollout_stops: "de-rollout-stops",
    de_subresources: "de-subresources",
    de_transition: "de-transition",
    de_transition_chart: "de-transition-chart",
    de_transition_in_a_namespace: "de-transition-in-a-namespace",
    de_transition_waits: "de-transition-waits",
    de_two_checks: "de-two-checks",
    de_waits_for_what_fails: "de-waits-for-what-fails",
    de_what_events_take_away: "de-what-events-take-away",
    de_window: "de-window",
    de_withdraw_on_delete: "de-withdraw-on-delete",
    de_withdraw_on_delete_away: "de-withdraw-on-delete-away",
    e_http_route_kind_later: "e-http-route-kind-later",
    f_cross_cluster: "f-cross-cluster",
    g_edits: "g-edits",
    h_clusters_come_and_go: "h-clusters-come-and-go",
    i_emptied_part: "i-emptied-part",
    seed_000_01: "seed-000-01",
    seed_000_02: "seed-000-02",
    seed_001_01: "seed-001-01",
    seed_001_02: "seed-001-02",
    seed_001_03: "seed-001-03",
    seed_001_04: "seed-001-04",
    seed_001_05: "seed-001-05",
    seed_001_06: "seed-001-06",
    seed_002_01: "seed-002-01",
    seed_003_01: "seed-003-01",
    seed_004_01: "seed-004-01",
    seed_004_02: "seed-004-02",
    seed_004_03: "seed-004-03",
    seed_004_04: "seed-004-04",
    seed_004_05: "seed-004-05",
    seed_004_06: "seed-004-06",
    tr_all_together: "tr-all-together",
    tr_being_deleted: "tr-being-deleted",
    tr_chosen_among_all: "tr-chosen-among-all",
    tr_cloud_event: "tr-cloud-event",
    tr_cloud_event_delete: "tr-cloud-event-delete",
    tr_cloud_event_sent_again: "tr-cloud-event-sent-again",
    tr_cloud_events_together: "tr-cloud-events-together",
    tr_cluster_api: "tr-cluster-api",
    tr_cluster_refs: "tr-cluster-refs",
    tr_cluster_sets: "tr-cluster-sets",
    tr_cross_cluster_service: "tr-cross-cluster-service",
    tr_destination_cluster: "tr-destination-cluster",
    tr_dry_run: "tr-dry-run",
    tr_extra_labels: "tr-extra-labels",
    tr_generator: "tr-generator",
    tr_http_routes: "tr-http-routes",
    tr_ingress_for_https: "tr-ingress-for-https",
    tr_integers: "tr-integers",
    tr_kind_list: "tr-kind-list",
    tr_leave_policies: "tr-leave-policies",
    tr_list_of_texts: "tr-list-of-texts",
    tr_local_for_each_destination: "tr-local-for-each-destination",
    tr_local_profile: "tr-local-profile",
    tr_local_profile_in_its_namespace: "tr-local-profile-in-its-namespace",
    tr_lua_content: "tr-lua-content",
    tr_names_of_references: "tr-names-of-references",
    tr_namespace_quota: "tr-namespace-quota",
    tr_object_of_any_kind: "tr-object-of-any-kind",
    tr_object_without_namespace: "tr-object-without-namespace",
    tr_of_2023: "tr-of-2023",
    tr_of_2024: "tr-of-2024",
    tr_one_for_event: "tr-one-for-event",
    tr_optional_reference: "tr-optional-reference",
    tr_order_in_a_set: "tr-order-in-a-set",
    tr_patches: "tr-patches",
    tr_patches_from: "tr-patches-from",
    tr_profile_in_its_namespace: "tr-profile-in-its-namespace",
    tr_profile_name_format: "tr-profile-name-format",
    tr_reference_by_cluster: "tr-reference-by-cluster",
    tr_reference_without_namespace: "tr-reference-without-namespace",
    tr_role_request: "tr-role-request",
    tr_rules: "tr-rules",
    tr_secret_content: "tr-secret-content",
    tr_secret_on_demand: "tr-secret-on-demand",
    tr_set_of_a_namespace: "tr-set-of-a-namespace",
    tr_shared_reference: "tr-shared-reference",
    tr_skip_namespace_creation: "tr-skip-namespace-creation",
    tr_source_by_cluster: "tr-source-by-cluster",
    tr_suspend: "tr-suspend",
    tr_tenants_events: "tr-tenants-events",
    tr_tier_changes: "tr-tier-changes",
    tr_tier_of_references: "tr-tier-of-references",
    tr_two_kinds_of_one_name: "tr-two-kinds-of-one-name",
    tr_two_renderings: "tr-two-renderings",
}

#[test]
fn every_scenario_is_played() {
    assert_eq!(Scenario::names().unwrap(), FOLDERS);
}

/// Scenarios with something of which `sluice explain` cannot tell that it is there, and why.
const UNTOLD: &[(&str, &str)] = &[
    ("de-a-failure-prunes-nothing", AS_A_WHOLE),
    ("de-a-kind-of-others", NOT_WELL),
    ("de-check-by-rule", NOT_WELL),
    ("de-checks-of-a-lane", AS_A_WHOLE),
    ("de-continue-on-error", AS_A_WHOLE),
    ("de-continue-on-error-of-a-trigger", AS_A_WHOLE),
    ("de-failure-budget", NOT_WELL),
    ("de-failure-budget-in-percent", NOT_WELL),
    ("de-health-and-dependents", NOT_WELL),
    ("de-lanes-fail-apart", AS_A_WHOLE),
    ("de-max-update-in-percent", NOT_WELL),
    ("de-max-update-zero", NOT_WELL),
    ("de-pre-deploy-check", AS_A_WHOLE),
    ("de-prune-guard", NOT_WELL),
    ("de-rollout-and-back", NOT_WELL),
    ("de-rollout-of-a-trigger", NOT_WELL),
    ("de-rollout-rolls-back", NOT_WELL),
    ("de-rollout-stops", NOT_WELL),
    ("de-transition-chart", NOT_WELL),
    ("de-transition-waits", NOT_WELL),
    ("tr-skip-namespace-creation", AS_A_WHOLE),
];
const AS_A_WHOLE: &str = "another object or a check of the profile fails, and deployers say of a profile only as a whole what became of it";
const NOT_WELL: &str = "it is there, and its profile is not well";

/// Add a scenario here only with the reason.
#[test]
fn of_everything_that_is_there_but_in_these_scenarios_explain_can_tell() {
    let names: Vec<&str> = UNTOLD.iter().map(|(name, _)| *name).collect();
    assert_eq!(untold().unwrap(), names);
}

fn play_on_files(name: &str) {
    let scenario = Scenario::load(name).unwrap();
    for (number, (state, expected)) in scenario.states().unwrap().iter().zip(&scenario.expected).enumerate() {
        let built = state.build().unwrap();
        // What is dropped of an object is told, and stops nothing.
        let wrong: Vec<_> =
            built.problems.iter().filter(|problem| !sluice_dryrun::is_note(problem)).collect();
        assert!(wrong.is_empty(), "{name}, step {number}: {wrong:#?}");
        let clusters = built.clusters.keys().chain(expected.clusters.keys()).chain(expected.pending.keys());
        for cluster in clusters {
            let objects = built.clusters.get(cluster).cloned().unwrap_or_default();
            let found = differences(cluster, &expected.of(cluster, false), &objects);
            assert!(found.is_empty(), "{name}, step {number}:\n{}", found.join("\n"));
        }
    }
}

async fn play_on_simulated_clusters(name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let scenario = Scenario::load(name).unwrap();
    let arguments =
        [format!("--clusters={CLUSTERS}"), "--no-examples".into(), sources(&Scenario::sources(name))];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let mut fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    fleet.nats = up.nats_url().to_owned();
    let played = Player::new(&scenario, &fleet).play(Some(up.inspect_url())).await;
    assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), up.log_end());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_told_in_the_status_of_its_object_until_it_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--clusters=1".into(), "--no-examples".into(), sources(&mistakes::sources())];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    let played = mistakes::play(&fleet, true).await;
    assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), up.log_end());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd and kube-apiserver: make e2e"]
async fn every_scenario_is_played_on_real_api_servers() {
    let only = std::env::var("SLUICE_SCENARIO").unwrap_or_default();
    let from = std::env::var("SLUICE_SCENARIO_FROM").unwrap_or_default();
    let chosen: Vec<_> =
        FOLDERS.iter().copied().filter(|name| name.contains(&only) && *name >= from.as_str()).collect();
    assert!(!chosen.is_empty(), "SLUICE_SCENARIO: no scenario has {only:?} in its name");
    // A scenario waits most of the time, so two fleets play side by side.
    let of_fleet = |fleet: usize| chosen.iter().copied().skip(fleet).step_by(2);
    tokio::join!(play_on_real_servers(of_fleet(0)), play_on_real_servers(of_fleet(1)));
}

/// Plays these one after another on API servers of their own.
async fn play_on_real_servers(names: impl Iterator<Item = &str>) {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (planes, mut fleet) = real::fleet(dir.path(), CLUSTERS).await.unwrap();
    let rights = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights");
    let (server, admin) = (planes[0].server_url(), planes[0].kubeconfig());
    let installation =
        Installation::install(dir.path(), server, &admin, &rights.join("values.yaml")).unwrap();
    for (plane, member) in planes.iter().skip(1).zip(fleet.members.values_mut()) {
        member.kubeconfig = account(dir.path(), plane, &rights.join("managed.yaml")).unwrap();
    }
    for name in names {
        let scenario = Scenario::load(name).unwrap();
        let folder = dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let running = installation.start(&folder, &Scenario::sources(name)).await.unwrap();
        fleet.nats = running.url().to_owned();
        fleet.operator = Some(running.operator().to_owned());
        let player = Player::new(&scenario, &fleet);
        let played = player.play(None).await;
        assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), running.log_ends());
        drop(running);
        player.clear().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd and kube-apiserver: make e2e"]
async fn a_mistake_is_told_on_real_api_servers_too() {
    let dir = tempfile::tempdir().unwrap();
    let (planes, fleet) = real::fleet(dir.path(), CLUSTERS).await.unwrap();
    let kubeconfig = dir.path().join("management.kubeconfig");
    std::fs::write(&kubeconfig, planes[0].kubeconfig()).unwrap();
    let up = Up::start(dir.path(), &real::up(&kubeconfig, &mistakes::sources())).await.unwrap();
    let played = mistakes::play(&fleet, false).await;
    assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), up.log_end());
}

/// That charts are served from this folder, which need not be there.
fn sources(folder: &Path) -> String {
    format!("--sources={}", folder.display())
}
