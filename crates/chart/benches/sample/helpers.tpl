{{- define "shop.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "shop.fullname" -}}
{{- $name := include "shop.name" .root }}
{{- if contains $name .root.Release.Name }}
{{- printf "%s-%s" .root.Release.Name .part | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s-%s" .root.Release.Name $name .part | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "shop.selector" -}}
app.kubernetes.io/name: {{ include "shop.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "shop.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "shop.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "shop.image" -}}
{{- $registry := .root.Values.global.registry | default "docker.io" }}
{{- printf "%s/%s:%s" $registry .image.repository (.image.tag | default .root.Chart.AppVersion | toString) }}
{{- end }}

{{- define "shop.port" -}}
{{- range .ports }}{{ if eq .name "http" }}{{ .port }}{{ end }}{{ end }}
{{- end }}
