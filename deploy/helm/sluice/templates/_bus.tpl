{{/* Where the bus is and who a component is on it. */}}

{{- define "sluice.bus.url" -}}
{{- if .Values.bus.url }}
{{- .Values.bus.url }}
{{- else if .Values.nats.enabled }}
{{- /* Every node by its own name: a replica says over each connection that it lives. */}}
{{- $cluster := .Values.nats.config.cluster | default dict }}
{{- $name := include "sluice.nats.fullname" . }}
{{- $scheme := ternary "tls" "nats" .Values.bus.tls.enabled }}
{{- $nodes := ternary (int $cluster.replicas) 1 (eq true $cluster.enabled) }}
{{- $urls := list }}
{{- range $i := until $nodes }}
{{- $urls = append $urls (printf "%s://%s-%d.%s-headless.%s.svc:4222" $scheme $name $i $name $.Release.Namespace) }}
{{- end }}
{{- join "," $urls }}
{{- else }}
{{- fail "bus.url: name the servers of the bus, nats://host:port, or let the chart run them with nats.enabled=true" }}
{{- end }}
{{- end }}

{{/* As the chart of NATS names its objects. */}}
{{- define "sluice.nats.fullname" -}}
{{- if .Values.nats.fullnameOverride }}
{{- .Values.nats.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default "nats" .Values.nats.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Secret of a role's credentials; nothing where the bus asks nobody. Takes (dict "root" $ "component" …). */}}
{{- define "sluice.bus.secret" -}}
{{- if .root.Values.bus.accounts.create }}
{{- printf "sluice-nats-%s" .component }}
{{- else }}
{{- index .root.Values.bus.accounts.secrets .component | default "" }}
{{- end }}
{{- end }}

{{- define "sluice.bus.env" -}}
{{- $bus := .root.Values.bus }}
- name: SLUICE_NATS_URL
  value: {{ include "sluice.bus.url" .root | quote }}
- name: SLUICE_SHARDS
  value: {{ $bus.shards | quote }}
- name: SLUICE_STREAM_REPLICAS
  value: {{ $bus.streamReplicas | quote }}
- name: SLUICE_TOMBSTONE_TTL
  value: {{ int $bus.tombstoneTtlSeconds | quote }}
{{- if include "sluice.bus.secret" . }}
{{- if $bus.accounts.create }}
- name: SLUICE_NATS_NKEY
  value: /etc/sluice/nats/seed
{{- else }}
- name: {{ ternary "SLUICE_NATS_CREDS" "SLUICE_NATS_NKEY" (eq "creds" ($bus.accounts.kind | default "seed")) }}
  value: /etc/sluice/nats/{{ $bus.accounts.kind | default "seed" }}
{{- end }}
{{- end }}
{{- if $bus.tls.enabled }}
{{- if $bus.tls.caSecret }}
- name: SLUICE_NATS_CA
  value: /etc/sluice/nats-ca/{{ $bus.tls.caKey }}
{{- end }}
{{- if $bus.tls.clientSecret }}
- name: SLUICE_NATS_CERT
  value: /etc/sluice/nats-tls/tls.crt
- name: SLUICE_NATS_KEY
  value: /etc/sluice/nats-tls/tls.key
{{- end }}
{{- if $bus.tls.first }}
- name: SLUICE_NATS_TLS_FIRST
  value: "true"
{{- end }}
{{- end }}
{{- if $bus.sealed }}
- name: SLUICE_BUS_KEYS
  {{- /* The matcher has no right in any cluster: its keys are mounted. */}}
  value: {{ ternary "/etc/sluice/keys" "kubernetes" (eq .component "matcher") }}
{{- end }}
{{- end }}

{{- define "sluice.bus.mounts" -}}
{{- if include "sluice.bus.secret" . }}
- {name: nats, mountPath: /etc/sluice/nats, readOnly: true}
{{- end }}
{{- if and .root.Values.bus.tls.enabled .root.Values.bus.tls.caSecret }}
- {name: nats-ca, mountPath: /etc/sluice/nats-ca, readOnly: true}
{{- end }}
{{- if and .root.Values.bus.tls.enabled .root.Values.bus.tls.clientSecret }}
- {name: nats-tls, mountPath: /etc/sluice/nats-tls, readOnly: true}
{{- end }}
{{- if and .root.Values.bus.sealed (eq .component "matcher") }}
- {name: keys, mountPath: /etc/sluice/keys, readOnly: true}
{{- end }}
{{- end }}

{{- define "sluice.bus.volumes" -}}
{{- with include "sluice.bus.secret" . }}
- name: nats
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- if and .root.Values.bus.tls.enabled .root.Values.bus.tls.caSecret }}
- name: nats-ca
  secret: {secretName: {{ .root.Values.bus.tls.caSecret }}, defaultMode: 0440}
{{- end }}
{{- if and .root.Values.bus.tls.enabled .root.Values.bus.tls.clientSecret }}
- name: nats-tls
  secret: {secretName: {{ .root.Values.bus.tls.clientSecret }}, defaultMode: 0440}
{{- end }}
{{- if and .root.Values.bus.sealed (eq .component "matcher") }}
- name: keys
  secret: {secretName: sluice-bus-matcher, defaultMode: 0440}
{{- end }}
{{- end }}
