# Everything a person or a machine does here. `make up` first, `make test` second.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ROOT := $(CURDIR)
# A machine keeps its caches outside the checkout; a person finds them in it.
ifeq ($(CI),true)
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sluice
else
CACHE :=
endif
export CARGO_TARGET_DIR ?= $(if $(CACHE),$(CACHE)/target,$(ROOT)/target)
export SLUICE_BUILD ?= $(if $(CACHE),$(CACHE)/build,$(ROOT)/build)

# Puts a nats-server that is new enough on PATH.
WITH_NATS = nats="$$(scripts/install-nats.sh)"; export PATH="$$(dirname "$$nats"):$$PATH"
ARGS ?=

.PHONY: help need up test parts-of-test fmt fmt-check lint doc unit layers style crds crds-check proto deny alone e2e monitoring survive load perf ci images deb site upgrade charts manifests rights release page over

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

need:
	@scripts/need.sh

up: need ## everything on this machine: a bus, simulated clusters, all stages, the examples (ARGS="--clusters 5")
	@$(WITH_NATS); [ -x "$$CARGO_TARGET_DIR/up/sluice" ] || echo "compiling Sluice: some minutes the first time; then it says how to go on"; \
	cargo build --profile up --locked --bin sluice; \
	exec "$$CARGO_TARGET_DIR/up/sluice" up $(ARGS)

# The cheap ones first.
TEST = need fmt-check style layers lint doc crds-check unit

test: $(TEST) ## all checks and tests but the end-to-end ones

parts-of-test:
	@echo $(TEST)

fmt: ## format the code
	cargo fmt --all

fmt-check:
	cargo fmt --all --check

lint: ## clippy, warnings are errors
	cargo clippy --workspace --all-targets --locked -- -D warnings

doc: ## the API documentation, warnings are errors; decisions, links, messages, kinds and supported versions of the documents
	scripts/check_decisions.py
	scripts/check_links.py
	scripts/check_troubleshooting.py
	scripts/check_support.py
	scripts/kind_pages.py --check
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

unit: ## unit, property and integration tests against a real nats-server
	$(WITH_NATS); cargo test --workspace --locked

layers: ## each crate is what the table of ARCHITECTURE.md says; pure crates stay pure
	scripts/check_layers.sh

style: ## sizes of files and functions, whether the simulation's mutants fit the code, and the tests of scripts
	python3 scripts/check_style.py .
	scripts/perf_judge_test.py
	simulation/mutants.py --check

crds: ## write deploy/crds and docs/kinds anew
	cargo run --quiet --locked -p sluice-api --example write_crds -- deploy/crds
	scripts/kind_pages.py

crds-check:
	scripts/check_crds.sh

proto: ## promise what was added to the contract in proto/
	cargo run --quiet --locked -p sluice-proto --example promise -- proto/sluice.binpb

deny: ## licences, bans and sources of the dependencies; advisories where their database can be fetched
	scripts/deny.sh

alone: ## every crate compiles without the features that others turn on; fuzz targets
	scripts/check_alone.sh

e2e: need ## the scenarios against a real kube-apiserver (VERSIONS="1.33 1.36": of each of these Kubernetes)
	$(WITH_NATS); VERSIONS="$(VERSIONS)" scripts/e2e.sh $(ARGS)

monitoring: need ## rules and dashboards: their tests, and every query against a pipeline under load
	$(WITH_NATS); export PATH="$$(scripts/install-prometheus.sh):$$PATH"; cargo build --locked --bin sluice; \
	scripts/check_monitoring.py "$$CARGO_TARGET_DIR/debug/sluice"

page: need ## the page of Inspect in a real browser (needs Chromium; by hand)
	$(WITH_NATS); cargo build --locked --bin sluice; scripts/check_page.py "$$CARGO_TARGET_DIR/debug/sluice"; \
	scripts/check_login.py "$$CARGO_TARGET_DIR/debug/sluice"

survive: need ## real processes killed, paused and cut off; slow, not part of ci
	$(WITH_NATS); cargo build --locked --workspace --bins; \
	cargo test --locked --workspace --test survival --test survival_cluster --test killed_deployer --test rollout_faults --test transition_faults --test pull_place --test short_lived --test hostile_agent -- --ignored --test-threads=1 $(ARGS)

rights: need ## each right of each stage is needed, and given by the chart; part of e2e
	$(WITH_NATS); scripts/e2e.sh --only-rights

upgrade: need ## the last release beside this one, stage by stage, under load (SLUICE_FORMER_REF: another commit)
	$(WITH_NATS); SLUICE_FORMER="$$(scripts/former.sh)"; export SLUICE_FORMER; cargo build --locked --workspace --bins; \
	cargo test --locked --workspace --test upgrade -- --ignored --test-threads=1 --nocapture $(ARGS)

over: need ## what rows of docs/compatibility.md deploy, given to Sveltos and taken over again (SLUICE_SCENARIO: some of them)
	$(WITH_NATS); cargo build --locked --workspace --bins; \
	cargo test --locked --workspace --test import_rows -- --ignored --nocapture $(ARGS)

load: need ## the load generator and its table
	$(WITH_NATS); cargo build --release --locked --workspace --bins; \
	exec "$$CARGO_TARGET_DIR/release/sluice-loadtest" $(ARGS)

perf: need ## what an event costs, against the version kept last (ARGS="--quick", ARGS=--keep)
	$(WITH_NATS); exec scripts/perf.py $(ARGS)

site: ## the documents as a site with search, in target/site
	scripts/site.sh

ci: ## what the machine does: test, and as far as there is time charts, e2e, monitoring, deny, alone and perf
	.ci/run

# PROGRAMS names a folder with programs that are built already; without it they are compiled.
RELEASE_BUILD = $(if $(PROGRAMS),,cargo build --release --locked --workspace --bins)

images: need ## container images of each stage and of sluice (REGISTRY, TAG, PROGRAMS; ENGINE: podman, docker or buildah; ARGS=check)
	$(RELEASE_BUILD)
	REGISTRY="$(or $(REGISTRY),localhost)" TAG="$(TAG)" PROGRAMS="$(PROGRAMS)" scripts/images.sh $(or $(ARGS),build)

deb: need ## a Debian package of the release build into dist/ (PROGRAMS)
	$(RELEASE_BUILD)
	PROGRAMS="$(PROGRAMS)" scripts/deb.sh

release: need ## everything of a release into dist/: programs, images, charts, SBOM, checksums (COSIGN_KEY signs; PROGRAMS)
	PROGRAMS="$(PROGRAMS)" scripts/release.sh

charts: ## the Helm charts and what is made from them: lint, filled in, and looked at; each value does something
	HELM="$$(scripts/install-helm.sh)"; PYTHONPATH="$$(scripts/python-yaml.sh)"; export HELM PYTHONPATH; \
	scripts/check_charts.py; scripts/chart_rights_tests.py; scripts/chart_tests.py

manifests: ## write what is made from the charts anew: deploy/kustomize, deploy/install.yaml, README.md and the schema
	HELM="$$(scripts/install-helm.sh)"; PYTHONPATH="$$(scripts/python-yaml.sh)"; export HELM PYTHONPATH; scripts/chart_values.py; scripts/manifests.py
