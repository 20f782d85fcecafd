{{/*
A component: its Deployment, ServiceAccount and PodDisruptionBudget. Takes (dict "root" $ "component" … "image" … "command" (list …) "args"
(list …) "env" YAML "mounts" YAML "volumes" YAML "port" (dict "name" … "number" …) "probes" YAML "token" whether it speaks with the API).
*/}}
{{- define "sluice.workload" -}}
{{- $values := include "sluice.component" . | fromYaml }}
{{- $name := printf "%s-%s" (include "sluice.fullname" .root) .component }}
{{- $selector := include "sluice.selector" . }}
{{- $scaled := include "sluice.scaled" . }}
{{- if $values.serviceAccount.create }}
{{- if .root.Values.stages.serviceAccount.name }}
{{- fail "stages.serviceAccount.name: one account is not made for every stage; name one of each stage, agent.serviceAccount.name, or say with stages.serviceAccount.create=false that it is there" }}
{{- end }}
apiVersion: v1
kind: ServiceAccount
metadata:
{{- include "sluice.metadata" (dict "root" .root "component" .component "name" (include "sluice.account" .) "annotations" $values.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
---
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
{{- include "sluice.metadata" (dict "root" .root "component" .component "name" $name) | nindent 2 }}
spec:
  {{- if not $scaled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  selector:
    matchLabels:
{{ $selector | indent 6 }}
  template:
    metadata:
      labels:
{{ $selector | indent 8 }}
        app.kubernetes.io/part-of: sluice
{{- with $values.podLabels }}
{{ toYaml . | indent 8 }}
{{- end }}
{{- with $values.podAnnotations }}
      annotations:
{{ toYaml . | indent 8 }}
{{- end }}
    spec:
      serviceAccountName: {{ include "sluice.account" . }}
      automountServiceAccountToken: {{ .token }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
{{- range . }}
        - name: {{ . }}
{{- end }}
{{- end }}
{{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
{{- end }}
      securityContext:
{{ toYaml $values.podSecurityContext | indent 8 }}
{{- with $values.nodeSelector }}
      nodeSelector:
{{ toYaml . | indent 8 }}
{{- end }}
{{- with $values.tolerations }}
      tolerations:
{{ toYaml . | indent 8 }}
{{- end }}
{{- with $values.affinity }}
      affinity:
{{ toYaml . | indent 8 }}
{{- end }}
      topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
{{ toYaml $values.topologySpreadConstraints | indent 8 }}
{{- else }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
{{ $selector | indent 14 }}
{{- end }}
{{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "sluice.image" (dict "root" .root "component" .image) }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: {{ toJson .command }}
{{- with concat (.args | default list) $values.extraArgs }}
          args: {{ toJson . }}
{{- end }}
          env:
            - name: SLUICE_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: SLUICE_LOG_FORMAT
              value: {{ $values.logFormat }}
{{ include "sluice.bus.env" . | indent 12 }}
{{- with .env }}
{{ . | indent 12 }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . | indent 12 }}
{{- end }}
          ports:
            - {name: {{ .port.name }}, containerPort: {{ .port.number }}}
{{ .probes | indent 10 }}
          securityContext:
{{ toYaml $values.securityContext | indent 12 }}
{{- with $values.resources }}
          resources:
{{ toYaml . | indent 12 }}
{{- end }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
{{- with include "sluice.bus.mounts" . }}
{{ . | indent 12 }}
{{- end }}
{{- with .mounts }}
{{ . | indent 12 }}
{{- end }}
{{- with $values.extraVolumeMounts }}
{{ toYaml . | indent 12 }}
{{- end }}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 64Mi}
{{- with include "sluice.bus.volumes" . }}
{{ . | indent 8 }}
{{- end }}
{{- with .volumes }}
{{ . | indent 8 }}
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . | indent 8 }}
{{- end }}
{{- /* One replica has nobody who stands in for it. */}}
{{- if and $values.podDisruptionBudget.enabled (gt (int (ternary $values.autoscaling.min $values.replicas (ne $scaled ""))) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
{{- include "sluice.metadata" (dict "root" .root "component" .component "name" $name) | nindent 2 }}
spec:
  maxUnavailable: {{ $values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
{{ $selector | indent 6 }}
{{- end }}
{{- end }}

{{/* Live as long as it answers; ready when it has what it works with. A stage without the bus is not ready, and is not restarted for that. */}}
{{- define "sluice.stage.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}
