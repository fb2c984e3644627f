{{/* Pods of a StatefulSet whose name has more than 52 characters cannot be made. */}}
{{- define "profiling.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 38 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 38 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of cluster-scoped objects: two releases may have one name, in two namespaces. */}}
{{- define "profiling.clusterName" -}}
{{- $name := include "profiling.fullname" . -}}
{{- eq $name .Release.Namespace | ternary $name (printf "%s-%s" .Release.Namespace $name) -}}
{{- end -}}

{{/* list ROOT COMPONENT */}}
{{- define "profiling.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* list ROOT COMPONENT */}}
{{- define "profiling.labels" -}}
{{- $root := index . 0 -}}
{{ include "profiling.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: coroot
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* list ROOT IMAGE NAME: an image, by that of its values or by the name */}}
{{- define "profiling.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.repository | default (index . 2) -}}
{{- if not (contains "/" $name) -}}
{{- $registry := required "image.registry is not set: add --set image.registry=REGISTRY, from which the images coroot-node-agent, coroot-cluster-agent and coroot-cluster-agent-store can be pulled" (dig "imageRegistry" "" ($root.Values.global | default dict) | default $root.Values.image.registry | trimSuffix "/") -}}
{{- $name = printf "%s/%s" $registry $name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default $root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* list ROOT COMPONENT VALUES */}}
{{- define "profiling.serviceAccount" -}}
{{- $account := (index . 2).serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (printf "%s-%s" (include "profiling.fullname" (index . 0)) (index . 1)) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Options as arguments; a list is a flag for each item. */}}
{{- define "profiling.options" -}}
{{- range $name, $value := . }}
{{- if kindIs "slice" $value }}
{{- range $value }}
- {{ printf "--%s=%v" $name . | quote }}
{{- end }}
{{- else if and (kindIs "float64" $value) (eq (floor $value) $value) }}
- {{ printf "--%s=%d" $name (int64 $value) | quote }}
{{- else if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* "true" if profiles are stored by the engine inside the agent */}}
{{- define "profiling.embedded" -}}
{{- if not (or .Values.clickhouse.address .Values.receiver.url) -}}true{{- end -}}
{{- end -}}

{{/* "true" if there is a server with a page */}}
{{- define "profiling.server" -}}
{{- if and .Values.clusterAgent.enabled (not .Values.receiver.url) -}}true{{- end -}}
{{- end -}}

{{- define "profiling.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "profiling.fullname" .)) -}}
{{- else -}}
{{- .Values.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{- define "profiling.serverHost" -}}
{{- printf "%s-cluster-agent.%s.svc" (include "profiling.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* Where node agents send profiles. */}}
{{- define "profiling.receiverUrl" -}}
{{- if .Values.receiver.url -}}
{{- .Values.receiver.url | trimSuffix "/" -}}
{{- else -}}
{{- printf "%s://%s:%d" (empty (include "profiling.tlsSecret" .) | ternary "http" "https") (include "profiling.serverHost" .) (int .Values.clusterAgent.service.port) -}}
{{- end -}}
{{- end -}}

{{/* Secret of the keys; empty: there are none. A receiver elsewhere would not know new ones. */}}
{{- define "profiling.keysSecret" -}}
{{- if .Values.keys.existingSecret -}}
{{- .Values.keys.existingSecret -}}
{{- else if and .Values.keys.create (not .Values.receiver.url) -}}
{{- printf "%s-keys" (include "profiling.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "profiling.hasReadKey" -}}
{{- if or (not .Values.keys.existingSecret) .Values.keys.existingReadKey -}}true{{- end -}}
{{- end -}}

{{/*
list ROOT OPTION VALUE: "true" if the node agent is given the option with that value: as an option,
as a variable with a value here, or among the arguments. The value true has several names.
*/}}
{{- define "profiling.asks" -}}
{{- $agent := (index . 0).Values.nodeAgent -}}
{{- $option := index . 1 -}}
{{- $value := toString (index . 2) -}}
{{- $given := "" -}}
{{- range $agent.extraEnv }}{{ if eq .name ($option | replace "-" "_" | upper) }}{{ $given = toString .value }}{{ end }}{{ end -}}
{{- if and (hasKey $agent.options $option) (not (kindIs "invalid" (get $agent.options $option))) }}{{ $given = get $agent.options $option | toString }}{{ end -}}
{{- $args := join " " $agent.extraArgs -}}
{{- if kindIs "bool" (index . 2) -}}
{{- if or (has (lower $given) (list "true" "1" "yes" "on")) (regexMatch (printf "--%s( |$|=(true|1|yes|on))" $option) $args) -}}true{{- end -}}
{{- else if or (eq $given $value) (and (eq $value "on") (eq $given "true")) (regexMatch (printf "--%s[= ]%s" $option $value) $args) -}}true{{- end -}}
{{- end -}}

{{/* list AGENT OPTION: "true" if an agent's values give it the option, in whatever way. */}}
{{- define "profiling.given" -}}
{{- $agent := index . 0 -}}
{{- $option := index . 1 -}}
{{- $given := and (hasKey $agent.options $option) (not (kindIs "invalid" (get $agent.options $option))) -}}
{{- range $agent.extraEnv }}{{ if eq .name ($option | replace "-" "_" | upper) }}{{ $given = true }}{{ end }}{{ end -}}
{{- if or $given (regexMatch (printf "--%s( |=|$)" $option) (join " " $agent.extraArgs)) -}}true{{- end -}}
{{- end -}}

{{/* What the agents may do, as files/agents.yaml says it to this chart and to the operator. */}}
{{- define "profiling.capabilities" -}}
{{- $root := . -}}
{{- $known := (.Files.Get "files/agents.yaml" | fromYaml).agents -}}
{{- $switches := .Values.nodeAgent.capabilities -}}
{{- $all := $known.nodeAgentCapabilities -}}
{{- range $more := $known.askedCapabilities -}}
{{- $switch := get $switches $more.switch | toString -}}
{{- $asked := "" -}}
{{- range $option, $value := $more.options }}{{ $asked = print $asked (include "profiling.asks" (list $root $option $value)) }}{{ end -}}
{{- if or (eq $switch "true") (and (eq $switch "auto") $asked) }}{{ $all = concat $all $more.add }}{{ end -}}
{{- end -}}
{{- toYaml (concat $all ($switches.sysResource | ternary (list "SYS_RESOURCE") list) $switches.extra) -}}
{{- end -}}

{{/* Level that Pod Security enforces in the namespace; empty if it is not labelled, or not there. */}}
{{- define "profiling.podSecurity" -}}
{{- if .Values.podSecurityCheck -}}
{{- $namespace := lookup "v1" "Namespace" "" .Release.Namespace | default dict -}}
{{- dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" $namespace -}}
{{- end -}}
{{- end -}}

{{/* "true" on OpenShift */}}
{{- define "profiling.openshift" -}}
{{- $given := toString .Values.openshift.enabled -}}
{{- if or (eq $given "true") (and (eq $given "auto") (.Capabilities.APIVersions.Has "security.openshift.io/v1")) -}}true{{- end -}}
{{- end -}}

{{/* SecurityContextConstraints of the node agent */}}
{{- define "profiling.nodeAgentScc" -}}
{{- .Values.openshift.nodeAgentScc | default (printf "%s-node-agent" (include "profiling.clusterName" .)) -}}
{{- end -}}
