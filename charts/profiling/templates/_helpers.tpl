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
{{- $registry := required "image.registry is not set: add --set image.registry=REGISTRY, from which the images coroot-node-agent, coroot-cluster-agent and coroot-cluster-agent-store can be pulled" (trimSuffix "/" $root.Values.image.registry) -}}
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
"true" if the node agent is to write to other processes: by options, or by variables with a value
here.
*/}}
{{- define "profiling.writesToProcesses" -}}
{{- $agent := .Values.nodeAgent -}}
{{- $env := dict -}}
{{- range $agent.extraEnv }}{{ $_ := set $env .name (toString .value) }}{{ end -}}
{{- $args := join " " $agent.extraArgs -}}
{{- $heap := get $agent.options "go-heap-profiler" | default (get $env "GO_HEAP_PROFILER") | toString -}}
{{- $mutex := get $agent.options "go-mutex-profiler" | default (get $env "GO_MUTEX_PROFILER") | toString -}}
{{- $block := get $agent.options "go-block-profiler" | default (get $env "GO_BLOCK_PROFILER") | toString -}}
{{- if or (eq $heap "force") (has $mutex (list "on" "true")) (eq $block "burst") (regexMatch "--go-(heap-profiler[= ]force|mutex-profiler[= ]on|block-profiler[= ]burst)" $args) -}}true{{- end -}}
{{- end -}}

{{/*
"true" if the node agent is to load async-profiler into JVMs: by an option, or by a variable with a
value here.
*/}}
{{- define "profiling.loadsIntoJvms" -}}
{{- $agent := .Values.nodeAgent -}}
{{- $name := "enable-java-async-profiler" -}}
{{- $on := "" -}}
{{- range $agent.extraEnv }}{{ if eq .name "ENABLE_JAVA_ASYNC_PROFILER" }}{{ $on = toString .value }}{{ end }}{{ end -}}
{{- if hasKey $agent.options $name }}{{ $on = get $agent.options $name | toString }}{{ end -}}
{{- $args := join " " $agent.extraArgs -}}
{{- if or (has (lower $on) (list "true" "1" "yes" "on")) (regexMatch "--enable-java-async-profiler( |$|=(true|1|yes|on))" $args) -}}true{{- end -}}
{{- end -}}

{{/* Level that Pod Security enforces in the namespace; empty if it is not labelled, or not there. */}}
{{- define "profiling.podSecurity" -}}
{{- if .Values.podSecurityCheck -}}
{{- $namespace := lookup "v1" "Namespace" "" .Release.Namespace | default dict -}}
{{- dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" $namespace -}}
{{- end -}}
{{- end -}}
