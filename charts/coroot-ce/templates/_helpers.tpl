{{/* The spec: all values but those of the chart itself, without what is null. As YAML. */}}
{{- define "coroot-ce.spec" -}}
{{- $spec := include "coroot-ce.withoutNulls" (omit .Values "chart" "global") | fromYaml -}}
{{- if .Values.chart.retain -}}
{{- $retained := dict "storage" (dict "reclaimPolicy" "Retain") -}}
{{- if hasKey $spec "clickhouse" -}}
{{- $_ := set $retained "clickhouse" (dict "storage" (dict "reclaimPolicy" "Retain") "keeper" (dict "storage" (dict "reclaimPolicy" "Retain"))) -}}
{{- end -}}
{{- $spec = merge $spec $retained -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* "true" if volumes with profiles go with the resource. */}}
{{- define "coroot-ce.deletes" -}}
{{- $spec := include "coroot-ce.spec" . | fromYaml -}}
{{- $deletes := ne (dig "storage" "reclaimPolicy" "" $spec) "Retain" -}}
{{- if $spec.externalClickhouse -}}
{{- $deletes = false -}}
{{- else if hasKey $spec "clickhouse" -}}
{{- $deletes = ne (dig "storage" "reclaimPolicy" "" ($spec.clickhouse | default dict)) "Retain" -}}
{{- end -}}
{{- if and $deletes (not $spec.agentsOnly) -}}true{{- end -}}
{{- end -}}

{{/* A map without the members that are null, also in maps inside it. As YAML. */}}
{{- define "coroot-ce.withoutNulls" -}}
{{- $left := dict -}}
{{- range $name, $value := . -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $left $name (include "coroot-ce.withoutNulls" $value | fromYaml) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $left $name $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $left -}}
{{- end -}}

{{- define "coroot-ce.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: coroot
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* list ROOT COMPONENT: the labels of pods that the operator makes of the resource */}}
{{- define "coroot-ce.selector" -}}
app.kubernetes.io/managed-by: coroot-operator
app.kubernetes.io/part-of: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* list ROOT COMPONENT: those pods as a peer of a NetworkPolicy */}}
{{- define "coroot-ce.peer" -}}
podSelector:
  matchLabels:
    {{- include "coroot-ce.selector" . | nindent 4 }}
{{- end -}}

{{/* the pod of `helm test` as one */}}
{{- define "coroot-ce.testPeer" -}}
podSelector:
  matchLabels:
    app.kubernetes.io/name: {{ .Chart.Name }}
    app.kubernetes.io/instance: {{ .Release.Name | quote }}
    app.kubernetes.io/component: test
{{- end -}}

{{/* Level that Pod Security enforces in the namespace; empty if it is not labelled, or not there. */}}
{{- define "coroot-ce.podSecurity" -}}
{{- if .Values.chart.podSecurityCheck -}}
{{- $namespace := lookup "v1" "Namespace" "" .Release.Namespace | default dict -}}
{{- dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" $namespace -}}
{{- end -}}
{{- end -}}

{{/*
How long the name of a release can be, by what the operator calls StatefulSets: with more than 52
characters their pods cannot be made. Without a server, as long as Helm likes.
*/}}
{{- define "coroot-ce.longestName" -}}
{{- $suffix := "-coroot" -}}
{{- if and .Values.clickhouse (not .Values.externalClickhouse) -}}
{{- $suffix = printf "-clickhouse-shard-%d" (sub (int (.Values.clickhouse.shards | default 1)) 1) -}}
{{- end -}}
{{- .Values.agentsOnly | empty | ternary (sub 52 (len $suffix)) 53 -}}
{{- end -}}
