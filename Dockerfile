# Targets:
#   runtime   (default) compiles in a container
#   prebuilt  copies binaries that are there already: build-context folder dist/
#
# `prebuilt` stands before the compiling stage, because builders that run every stage up to the target then need no
# compiler image.

FROM docker.io/library/debian:bookworm-slim AS base
# kubectl finds the program under the second name, as `kubectl sluice`.
RUN mkdir -p /shared && chown 65532:65532 /shared \
    && ln -s sluice /usr/local/bin/kubectl-sluice
USER 65532:65532
ENV SLUICE_NATS_URL=nats://nats:4222 \
    KUBECONFIG=/shared/kubeconfig
EXPOSE 9090 8090

FROM base AS prebuilt
COPY dist/ /usr/local/bin/

FROM docker.io/library/rust:1.95-bookworm AS builder
WORKDIR /src
COPY . .
RUN cargo build --release --locked --workspace --bins \
    && mkdir /dist \
    && for program in sluice sluice-agent sluice-matcher sluice-renderer sluice-deployer sluice-simcluster sluice-loadtest; do \
         cp "target/release/$program" /dist/ || exit 1; \
       done

FROM base AS runtime
COPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=builder /dist/ /usr/local/bin/
