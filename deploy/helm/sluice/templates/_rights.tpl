{{/*
The rights of each component in the management cluster: exactly the calls that it makes. `sluice.rights.cluster` are those that only a ClusterRole
gives: lists and watches of all namespaces, and kinds that have none. `sluice.rights.places` are writes to one namespace each, in all or in those
of `rbac.namespaces`. `sluice.rights.home` are those in `projectsveltos`.
*/}}

{{/* Registrations, and the kubeconfigs that they name: Secrets of any name. */}}
{{- define "sluice.rights.registrations" -}}
- {apiGroups: [lib.projectsveltos.io], resources: [sveltosclusters], verbs: [list, watch]}
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [list, watch]}
- {apiGroups: [""], resources: [secrets], verbs: [list, watch]}
{{- end }}

{{- define "sluice.rights.cluster.agent" -}}
{{ include "sluice.rights.registrations" . }}
{{- end }}

{{- define "sluice.rights.cluster.renderer" -}}
# What users write, and what it reads of it.
- apiGroups: [lib.projectsveltos.io]
  resources: [eventsources, eventtriggers, eventbasedaddons, sveltosclusters, clustersets, sets, rolerequests]
  verbs: [list, watch]
- {apiGroups: [config.projectsveltos.io], resources: [profiles], verbs: [list, watch]}
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [list, watch]}
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [list, watch]}
# What it makes: the profiles of events.
- {apiGroups: [config.projectsveltos.io], resources: [clusterprofiles], verbs: [get, list, watch, create, patch, delete]}
# What it says of what users wrote.
- apiGroups: [lib.projectsveltos.io]
  resources: [eventsources/status, eventtriggers/status, eventbasedaddons/status, clustersets/status, rolerequests/status]
  verbs: [patch]
- {apiGroups: [config.projectsveltos.io], resources: [clusterprofiles/status], verbs: [patch]}
# What tenants may read.
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
{{- with .Values.rbac.read }}
# What templates read beside ConfigMaps and Secrets.
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sluice.rights.places.renderer" -}}
# Pictures of what matched, and what it says of what users wrote.
- {apiGroups: [lib.projectsveltos.io], resources: [eventreports], verbs: [create, patch, delete]}
- {apiGroups: [lib.projectsveltos.io], resources: [eventreports/status, sveltosclusters/status, sets/status], verbs: [patch]}
# Labels for selectors: the version of a cluster, and that it has an agent.
- {apiGroups: [lib.projectsveltos.io], resources: [sveltosclusters], verbs: [patch]}
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [patch]}
- {apiGroups: [config.projectsveltos.io], resources: [profiles/status], verbs: [patch]}
{{ include "sluice.rights.events" . }}
{{- end }}

{{/* Events of an object are beside it, those of kinds without a namespace in `default`. */}}
{{- define "sluice.rights.events" -}}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
{{- end }}

{{- define "sluice.rights.home.renderer" -}}
# Contents that were filled in, generators, the salt of random functions, and the mark by which a restored cluster is known.
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [create, patch, delete]}
- {apiGroups: [""], resources: [secrets], resourceNames: [sluice-random], verbs: [get]}
- {apiGroups: [""], resources: [configmaps], resourceNames: [sluice-mark], verbs: [get]}
{{- end }}

{{- define "sluice.rights.cluster.deployer" -}}
{{ include "sluice.rights.registrations" . }}
{{- if .Values.rbac.deploy }}
# What may be deployed to the management cluster itself.
- {apiGroups: [""], resources: [namespaces], verbs: [create, patch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
{{ toYaml .Values.rbac.deploy }}
{{- end }}
{{- end }}

{{- define "sluice.rights.places.deployer" -}}
# Pictures of what is deployed.
- {apiGroups: [config.projectsveltos.io], resources: [clustersummaries, clusterconfigurations, clusterreports], verbs: [create, patch, delete]}
- {apiGroups: [config.projectsveltos.io], resources: [clustersummaries/status, clusterconfigurations/status, clusterreports/status], verbs: [patch]}
# Finalizers of registrations whose add-ons are withdrawn before they go.
- {apiGroups: [lib.projectsveltos.io], resources: [sveltosclusters], verbs: [patch]}
# That something was put right, beside the ClusterSummary.
{{ include "sluice.rights.events" . }}
{{- if .Values.rbac.renewTokens }}
# Tokens in kubeconfigs of clusters: Secrets of any name.
- {apiGroups: [""], resources: [secrets], verbs: [get, patch]}
- {apiGroups: [lib.projectsveltos.io], resources: [sveltosclusters/status], verbs: [patch]}
{{- end }}
{{- end }}

{{- define "sluice.rights.home.deployer" -}}
# Inventories of what is deployed to the management cluster itself.
- {apiGroups: [""], resources: [configmaps], verbs: [{{ ternary "list, get, create, update, delete" "list" (gt (len .Values.rbac.deploy) 0) }}]}
{{- end }}

{{- define "sluice.rights.cluster.inspect" -}}
- apiGroups: [lib.projectsveltos.io]
  resources: [eventsources, eventtriggers, eventbasedaddons, sveltosclusters, clustersets, sets, eventreports]
  verbs: [list]
- {apiGroups: [config.projectsveltos.io], resources: [clusterprofiles, profiles, clusterconfigurations], verbs: [list]}
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [list]}
# Who asks.
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
{{- if .Values.inspect.diff }}
# What manifests would change.
- {apiGroups: [lib.projectsveltos.io], resources: [rolerequests], verbs: [list]}
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [list]}
{{- end }}
{{- end }}
