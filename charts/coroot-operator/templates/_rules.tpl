{{/* The rights of docs/operator.md. */}}

{{- define "coroot-operator.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "coroot-operator.serviceAccount" . | quote }}
    namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{/* What admits the pods on OpenShift: its own, and those of the agents and the server. */}}
{{- define "coroot-operator.sccRules" -}}
- apiGroups: [security.openshift.io]
  resources: [securitycontextconstraints]
  resourceNames: [nonroot-v2, {{ include "coroot-operator.nodeAgentScc" . | quote }}]
  verbs: [use]
{{- end -}}

{{/* What cannot be had by a Role, or must outlive the namespace. */}}
{{- define "coroot-operator.clusterRules" -}}
# whether its own is being deleted; labels of pods' namespaces
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch]
# roles of the agents, which see pods of all namespaces
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings]
  verbs: [get, list, watch, create, patch, delete]
# held, because it is granted to the agents; the latter if they are asked for labels of nodes
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end -}}

{{- define "coroot-operator.namespacedRules" -}}
- apiGroups: [coroot.com]
  resources: [coroots]
  verbs: [get, list, watch, patch]
- apiGroups: [coroot.com]
  resources: [coroots/status]
  verbs: [patch]
- apiGroups: [coroot.com]
  resources: [coroots/finalizers]
  verbs: [update]
# storage is never deleted
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [configmaps, serviceaccounts, services]
  verbs: [get, list, watch, create, patch, delete]
# why pods cannot be created, for the status; those about the resource itself
- apiGroups: [""]
  resources: [events]
  verbs: [list, create, patch]
- apiGroups: [apps]
  resources: [daemonsets, deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
{{- end -}}

{{/* Neither listed nor watched nor deleted. */}}
{{- define "coroot-operator.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
{{- end -}}
