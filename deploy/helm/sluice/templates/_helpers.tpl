{{/* Names, labels and images. */}}

{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "sluice.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* What selects the pods of a component; it never changes. Takes (dict "root" $ "component" …). */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* metadata of an object: (dict "root" $ "name" … "component" … "cluster" true "annotations" …); no namespace with "cluster". */}}
{{- define "sluice.metadata" -}}
name: {{ .name }}
{{- if not .cluster }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
  app.kubernetes.io/name: {{ include "sluice.name" .root }}
  app.kubernetes.io/instance: {{ .root.Release.Name }}
  app.kubernetes.io/component: {{ .component }}
  app.kubernetes.io/part-of: sluice
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with merge (dict) (.labels | default dict) .root.Values.commonLabels }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{/* The image of a component: (dict "root" $ "component" …); "cli" is that of `sluice`. */}}
{{- define "sluice.image" -}}
{{- $image := .root.Values.image }}
{{- $registry := required "image.registry: name the registry, with the path in it, where your images are; `make images` makes them" $image.registry }}
{{- $name := printf "%s/%s-%s" (trimSuffix "/" $registry) $image.prefix .component }}
{{- with index $image.digests .component }}
{{- printf "%s@%s" $name . }}
{{- else }}
{{- printf "%s:%s" $name ($image.tag | default .root.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* The values of a component: its own over those of all stages. Takes (dict "root" $ "component" …), gives YAML. */}}
{{- define "sluice.component" -}}
{{- mergeOverwrite (deepCopy .root.Values.stages) (deepCopy (index .root.Values .component)) | toYaml }}
{{- end }}

{{/* What scales a component, `hpa` or `keda`; nothing where its replicas are given. Inspect has no shards whose lag KEDA could go by. */}}
{{- define "sluice.scaled" -}}
{{- $kind := (include "sluice.component" . | fromYaml).autoscaling.kind }}
{{- if not (and (eq $kind "keda") (eq .component "inspect")) }}
{{- $kind }}
{{- end }}
{{- end }}

{{- define "sluice.account" -}}
{{- $values := include "sluice.component" . | fromYaml }}
{{- $values.serviceAccount.name | default (printf "%s-%s" (include "sluice.fullname" .root) .component) }}
{{- end }}

{{/* Where keys, registrations' inventories and the salt are: a fact of the API, no choice. */}}
{{- define "sluice.home" -}}projectsveltos{{- end }}
