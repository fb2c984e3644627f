{{- define "coroot-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of cluster-scoped objects: two releases may have one name, in two namespaces. */}}
{{- define "coroot-operator.clusterName" -}}
{{- $name := include "coroot-operator.fullname" . -}}
{{- eq $name .Release.Namespace | ternary $name (printf "%s-%s" .Release.Namespace $name) -}}
{{- end -}}

{{/* As in Coroot's own chart, so that its Deployment can be upgraded: selectors cannot change. */}}
{{- define "coroot-operator.selector" -}}
app.kubernetes.io/name: coroot-operator
{{- end -}}

{{- define "coroot-operator.podLabels" -}}
{{ include "coroot-operator.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: coroot
app.kubernetes.io/component: operator
{{- end -}}

{{- define "coroot-operator.labels" -}}
{{ include "coroot-operator.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "coroot-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "coroot-operator.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "coroot-operator.registry" -}}
{{- $url := regexReplaceAll "^https?://" .Values.registry.url "" -}}
{{- $global := dig "imageRegistry" "" (.Values.global | default dict) -}}
{{- $registry := $global | default .Values.image.registry | default $url | trimSuffix "/" -}}
{{- required "image.registry is not set: add --set image.registry=REGISTRY, from which the images coroot-node-agent, coroot-cluster-agent and coroot-cluster-agent-store can be pulled" $registry -}}
{{- end -}}

{{/* list ROOT GIVEN NAME: an image by its whole name if that is given, else of the registry */}}
{{- define "coroot-operator.image" -}}
{{- $root := index . 0 -}}
{{- if index . 1 -}}
{{- index . 1 -}}
{{- else -}}
{{- printf "%s/%s:%s" (include "coroot-operator.registry" $root) (index . 2) ($root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "coroot-operator.ownImage" -}}
{{- $image := .Values.image -}}
{{- $name := $image.repository -}}
{{- if not (contains "/" $name) -}}
{{- $name = printf "%s/%s" (include "coroot-operator.registry" .) $name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/*
Two operators that look after the same resources undo what the other did, and replace pods for ever.
Who may make our ClusterRole for all namespaces may list Deployments, or the API server refuses it.
*/}}
{{- define "coroot-operator.refuseSecond" -}}
{{- if not .Values.watchNamespace -}}
{{- $own := printf "%s/%s" .Release.Namespace (include "coroot-operator.fullname" .) -}}
{{- range (lookup "apps/v1" "Deployment" "" "" | default dict).items -}}
{{- $name := printf "%s/%s" .metadata.namespace .metadata.name -}}
{{- if and (ne $name $own) (eq "coroot-operator" (dig "labels" "app.kubernetes.io/name" "" .metadata)) -}}
{{- fail (printf "an operator is there already, Deployment %s in namespace %s, and two would undo what the other does: uninstall it first, or give both a watchNamespace" .metadata.name .metadata.namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" on OpenShift */}}
{{- define "coroot-operator.openshift" -}}
{{- $given := toString .Values.openshift.enabled -}}
{{- if or (eq $given "true") (and (eq $given "auto") (.Capabilities.APIVersions.Has "security.openshift.io/v1")) -}}true{{- end -}}
{{- end -}}

{{/* SecurityContextConstraints of the node agent */}}
{{- define "coroot-operator.nodeAgentScc" -}}
{{- .Values.openshift.nodeAgentScc | default (printf "%s-node-agent" (include "coroot-operator.clusterName" .)) -}}
{{- end -}}
