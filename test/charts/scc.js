// What OpenShift's admission says of a pod: a SecurityContextConstraints object as a function.
//
// Only what the pods of these charts can differ in is here, by the rules of the admission plugin
// (github.com/openshift/apiserver-library-go, pkg/securitycontextconstraints): a field of the pod
// that is not set is filled in first, and a container's own field wins over the pod's.
"use strict";

const NONE = {
  allowHostDirVolumePlugin: false,
  allowHostIPC: false,
  allowHostNetwork: false,
  allowHostPID: false,
  allowHostPorts: false,
  allowPrivilegeEscalation: false,
  allowPrivilegedContainer: false,
  readOnlyRootFilesystem: false,
};
const VOLUMES = [
  ...["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"],
  ...["persistentVolumeClaim", "projected", "secret"],
];

// Those that OpenShift 4.11 and newer have, as far as they matter here. Namespaces have a range of
// users and groups.
const RANGE = { min: 1000680000, max: 1000689999 };
const BUILT_IN = {
  "restricted-v2": {
    ...NONE,
    allowedCapabilities: ["NET_BIND_SERVICE"],
    requiredDropCapabilities: ["ALL"],
    runAsUser: { type: "MustRunAsRange" },
    fsGroup: { type: "MustRunAs" },
    supplementalGroups: { type: "RunAsAny" },
    seLinuxContext: { type: "MustRunAs" },
    seccompProfiles: ["runtime/default"],
    volumes: VOLUMES,
  },
  "nonroot-v2": {
    ...NONE,
    allowedCapabilities: ["NET_BIND_SERVICE"],
    requiredDropCapabilities: ["ALL"],
    runAsUser: { type: "MustRunAsNonRoot" },
    fsGroup: { type: "RunAsAny" },
    supplementalGroups: { type: "RunAsAny" },
    seLinuxContext: { type: "MustRunAs" },
    seccompProfiles: ["runtime/default"],
    volumes: VOLUMES,
  },
};

const SECCOMP = { RuntimeDefault: "runtime/default", Unconfined: "unconfined" };

function userProblem(scc, uid) {
  const { type, uid: only } = scc.runAsUser;
  if (type === "MustRunAs" && uid !== undefined && uid !== only) return `runs as user ${uid}`;
  if (type === "MustRunAsNonRoot" && uid === 0) return "runs as root";
  if (type === "MustRunAsRange" && uid !== undefined && !(uid >= RANGE.min && uid <= RANGE.max))
    return `runs as user ${uid}, outside of the namespace's range`;
}

// A required drop that is missing is filled in.
function capabilityProblems(scc, { add = [] } = {}) {
  const allowed = scc.allowedCapabilities || [];
  return add.filter((c) => !allowed.includes(c) && !allowed.includes("*")).map((c) => `adds ${c}`);
}

function containerProblems(scc, pod, c) {
  const own = { ...pod.securityContext, ...c.securityContext };
  const seccomp = SECCOMP[own.seccompProfile?.type];
  const checks = [
    [own.privileged && !scc.allowPrivilegedContainer, "is privileged"],
    [own.allowPrivilegeEscalation && !scc.allowPrivilegeEscalation, "may gain privileges"],
    [
      scc.readOnlyRootFilesystem && own.readOnlyRootFilesystem === false,
      "writes to its root file system",
    ],
    // of MustRunAs without options the namespace has the level, and the type is the default one
    [own.seLinuxOptions?.type && scc.seLinuxContext.type === "MustRunAs", "has an SELinux type"],
    [
      seccomp && !(scc.seccompProfiles || []).some((p) => p === "*" || p === seccomp),
      `has the seccomp profile ${seccomp}`,
    ],
    [!scc.allowHostPorts && (c.ports || []).some((p) => p.hostPort), "has a port of the host"],
  ];
  return [
    ...checks.filter(([is]) => is).map(([, text]) => text),
    userProblem(scc, own.runAsUser),
    ...capabilityProblems(scc, c.securityContext?.capabilities),
  ].filter(Boolean);
}

function volumeProblems(scc, volumes = []) {
  if (scc.volumes.includes("*")) return [];
  return volumes
    .map((v) => Object.keys(v).find((key) => key !== "name"))
    .filter(
      (type) =>
        !scc.volumes.includes(type) || (type === "hostPath" && !scc.allowHostDirVolumePlugin),
    )
    .map((type) => `has a volume ${type}`);
}

// Why scc refuses the pod: an empty list if it admits it.
function problems(scc, pod) {
  const own = pod.securityContext || {};
  const checks = [
    [pod.hostPID && !scc.allowHostPID, "sees the host's processes"],
    [pod.hostNetwork && !scc.allowHostNetwork, "is in the host's network"],
    [pod.hostIPC && !scc.allowHostIPC, "is in the host's IPC"],
    [
      scc.fsGroup.type === "MustRunAs" &&
        own.fsGroup !== undefined &&
        !(own.fsGroup >= RANGE.min && own.fsGroup <= RANGE.max),
      `has the group ${own.fsGroup}`,
    ],
  ];
  const containers = [...(pod.initContainers || []), ...pod.containers];
  return [
    ...checks.filter(([is]) => is).map(([, text]) => text),
    ...volumeProblems(scc, pod.volumes),
    ...containers.flatMap((c) => containerProblems(scc, pod, c)),
  ];
}

module.exports = { BUILT_IN, problems };
