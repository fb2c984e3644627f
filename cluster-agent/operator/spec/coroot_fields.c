#include "cluster-agent/operator/spec/coroot_fields.h"

#include <limits.h>

#include "cluster-agent/operator/spec/agent_variables.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/text/near_name.h"

#define AT(member) .offset = offsetof(struct coroot_spec, member)
#define PORT .min = 1, .max = 65535

static const char *const log_levels[] = {"none",    "fatal",  "critical",    "error",
					 "warning", "notice", "information", "debug",
					 "trace",   "test",   NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const reclaim_policies[] = {"Delete", "Retain", NULL};
static const char *const roles[] = {"Admin", "Editor", "Viewer", NULL};
static const char *const s3_modes[] = {"tiered", "s3only", NULL};
static const char *const service_types[] = {"ClusterIP", "NodePort", "LoadBalancer", NULL};

/*
 * Fields that several components have. at: path with its last dot; pod, vol: members of struct
 * coroot_spec.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): those are names of members and string literals */
#define SCHEDULING(at, who, pod)                                                   \
	{.path = at "nodeSelector",                                                \
	 .type = FIELD_MAP,                                                        \
	 AT(pod.node_selector),                                                    \
	 .help = "labels of the nodes on which " who " may run"},                  \
		{.path = at "priorityClassName",                                   \
		 .type = FIELD_STRING,                                             \
		 AT(pod.priority_class),                                           \
		 .rule = &text_dns_name,                                           \
		 .help = "priority class of the pods"},                            \
		{.path = at "affinity",                                            \
		 .type = FIELD_ANY,                                                \
		 AT(pod.affinity),                                                 \
		 .help = "Kubernetes' Affinity of " who},                          \
		{.path = at "podAnnotations",                                      \
		 .type = FIELD_MAP,                                                \
		 AT(pod.annotations),                                              \
		 .help = "annotations of the pods"},                               \
		{.path = at "podLabels",                                           \
		 .type = FIELD_MAP,                                                \
		 AT(pod.labels),                                                   \
		 .help = "more labels of the pods"},                               \
	{                                                                          \
		.path = at "serviceAccountAnnotations", .type = FIELD_MAP,         \
		AT(pod.account_annotations),                                       \
		.help = "annotations of the service account of the pods, such as " \
			"the cloud's role for it"                                  \
	}
#define TOLERATIONS(at, pod, text)                                                     \
	{                                                                              \
		.path = at "tolerations", .type = FIELD_ANY_LIST, AT(pod.tolerations), \
		.help = "Kubernetes' Tolerations" text                                 \
	}
#define RESOURCES(at, pod, text)                                                    \
	{                                                                           \
		.path = at "resources", .type = FIELD_RESOURCES, AT(pod.resources), \
		.help = "requests and limits" text                                  \
	}
#define STORE_RESOURCES                                                     \
	"; requests 100m and 512Mi, a limit of 2Gi for what is not given; " \
	"`limits: {}` sets none"
/* program: the agent whose environment it is */
#define ENV(at, who, pod, program)                                                         \
	{                                                                                  \
		.path = at "env", .type = FIELD_ENV, AT(pod.env), .variables = &(program), \
		.help = "environment of " who                                              \
			": its options, such as `LOG_LEVEL`; a name given here "           \
			"replaces what the operator sets"                                  \
	}
#define IMAGE(at, pod, text)                                                                       \
	{.path = at "image", .type = FIELD_OBJECT, .help = "the image" text},                      \
		{.path = at "image.name",                                                          \
		 .type = FIELD_STRING,                                                             \
		 AT(pod.image.name),                                                               \
		 .rule = &text_image,                                                              \
		 .help = "whole reference, with registry and tag; without it, the image that the " \
			 "operator was started with"},                                             \
		{.path = at "image.pullPolicy",                                                    \
		 .type = FIELD_STRING,                                                             \
		 AT(pod.image.pull_policy),                                                        \
		 .choices = pull_policies,                                                         \
		 .help = "when the image is pulled; without it, Kubernetes decides by the tag"},   \
	{                                                                                          \
		.path = at "image.pullSecrets", .type = FIELD_PULL_SECRETS,                        \
		AT(pod.image.pull_secrets),                                                        \
		.help = "Secrets for pulling it from a private registry"                           \
	}
#define STORAGE(at, vol, by_default)                                                            \
	{.path = at "storage", .type = FIELD_OBJECT, .help = "the volume of each pod"},         \
		{.path = at "storage.size",                                                     \
		 .type = FIELD_QUANTITY,                                                        \
		 AT(vol.size),                                                                  \
		 .def = by_default,                                                             \
		 .help = "its size; made larger, the volume grows if its class allows it"},     \
		{.path = at "storage.className",                                                \
		 .type = FIELD_STRING,                                                          \
		 AT(vol.class_name),                                                            \
		 .empty = true,                                                                 \
		 .rule = &text_dns_name,                                                        \
		 .help = "storage class; without it, the cluster's default; `\"\"`: none, for " \
			 "volumes made by hand"},                                               \
		{.path = at "storage.reclaimPolicy",                                            \
		 .type = FIELD_STRING,                                                          \
		 AT(vol.retain),                                                                \
		 .choices = reclaim_policies,                                                   \
		 .flag = "Retain",                                                              \
		 .def = "Delete",                                                               \
		 .help = "`Retain` keeps the volume when the resource is deleted"},             \
	{                                                                                       \
		.path = at "storage.annotations", .type = FIELD_MAP, AT(vol.annotations),       \
		.help = "annotations of the PersistentVolumeClaims"                             \
	}
#define LOG_LEVEL(at, member)                                                                     \
	{                                                                                         \
		.path = at "logLevel", .type = FIELD_STRING, AT(member), .choices = log_levels,   \
		.strict = true, .def = "warning", .help = "least severe messages that are logged" \
	}
#define AGENT_TLS(at, member)                                                                  \
	{.path = at "tls",                                                                     \
	 .type = FIELD_OBJECT,                                                                 \
	 .help = "how the agent verifies the server's certificate"},                           \
		{.path = at "tls.caSecret",                                                    \
		 .type = FIELD_SECRET_KEY,                                                     \
		 AT(member.ca),                                                                \
		 .help = "Secret with the CA that it trusts, instead of the certificate of "   \
			 "`tls.certSecret` or the CAs of the image"},                          \
	{                                                                                      \
		.path = at "tls.tlsSkipVerify", .type = FIELD_BOOLEAN, AT(member.skip_verify), \
		.def = "false", .help = "accept any certificate"                               \
	}
#define SECURITY_CONTEXT(at, pod)                                                              \
	{                                                                                      \
		.path = at "securityContext", .type = FIELD_ANY, AT(pod.security),             \
		.help = "Kubernetes' SecurityContext of the container; each member that is "   \
			"given replaces that of ours, which meets Pod Security \"restricted\"" \
	}
/* What Coroot has and we have no use for. */
#define UNUSED(p, t, text)                                         \
	{                                                          \
		.path = p, .type = t, .unused = true, .help = text \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

const struct coroot_field coroot_fields[] = {
	/* ---- for all components ---- */
	{.path = "spec.metricsRefreshInterval",
	 .type = FIELD_STRING,
	 AT(metrics_refresh_interval),
	 .rule = &text_interval,
	 .def = "15s",
	 .help = "passed on to the agents as `SCRAPE_INTERVAL`, which has no effect on profiles"},
	{.path = "spec.profilesTTL",
	 .type = FIELD_STRING,
	 AT(profiles_ttl),
	 .rule = &text_ttl,
	 .def = "7d",
	 .help = "how long profiles are kept, from 1h to 10y; a change applies to stored profiles "
		 "too"},
	{.path = "spec.agentsOnly",
	 .type = FIELD_OBJECT,
	 .help = "installs the two agents only, which send to a server elsewhere"},
	{.path = "spec.agentsOnly.corootURL",
	 .type = FIELD_STRING,
	 AT(coroot_url),
	 .required = true,
	 .rule = &text_http_url,
	 .help = "URL of that server"},
	{.path = "spec.agentsOnly.tlsSkipVerify",
	 .type = FIELD_BOOLEAN,
	 AT(tls_skip_verify),
	 .def = "false",
	 .help = "accept any certificate of it"},
	{.path = "spec.apiKey",
	 .type = FIELD_STRING,
	 AT(api_key),
	 .rule = &text_key,
	 .help = "key that the agents send and the server takes; a Secret is the better place. "
		 "Without a key here or in `projects`, the server takes profiles from everybody "
		 "who reaches it"},
	{.path = "spec.apiKeySecret",
	 .type = FIELD_SECRET_KEY,
	 AT(api_key_secret),
	 .help = "Secret with that key; wins over `apiKey`"},
	{.path = "spec.projects", .type = FIELD_OBJECTS, .help = "more keys that the server takes"},
	{.path = "spec.projects[].name",
	 .type = FIELD_STRING,
	 .required = true,
	 .rule = &text_printable,
	 .help = "for people: all projects are stored together"},
	{.path = "spec.projects[].apiKeys",
	 .type = FIELD_OBJECTS,
	 .help = "keys that the server takes from agents"},
	{.path = "spec.projects[].apiKeys[].key",
	 .type = FIELD_STRING,
	 .rule = &text_key,
	 .help = "the key itself; a Secret is the better place"},
	{.path = "spec.projects[].apiKeys[].keySecret",
	 .type = FIELD_SECRET_KEY,
	 .help = "Secret with the key; made with a random key if it does not exist"},
	{.path = "spec.projects[].apiKeys[].description",
	 .type = FIELD_STRING,
	 .rule = &text_printable,
	 .help = "for people"},
	UNUSED("spec.projects[].memberProjects", FIELD_STRINGS, "projects shown as one"),
	UNUSED("spec.projects[].remoteCoroot", FIELD_ANY, "another Coroot to read from"),
	UNUSED("spec.projects[].notificationIntegrations", FIELD_ANY, "where alerts go"),
	UNUSED("spec.projects[].applicationCategories", FIELD_ANY_LIST, "categories"),
	UNUSED("spec.projects[].customApplications", FIELD_ANY_LIST, "applications by pattern"),
	UNUSED("spec.projects[].alertingRules", FIELD_ANY_LIST, "rules of alerts"),
	UNUSED("spec.projects[].inspectionOverrides", FIELD_ANY, "objectives of inspections"),

	/* ---- node agent ---- */
	{.path = "spec.nodeAgent",
	 .type = FIELD_OBJECT,
	 .help = "the DaemonSet that profiles each node"},
	SCHEDULING("spec.nodeAgent.", "the node agent", node_agent.pod),
	{.path = "spec.nodeAgent.update_strategy",
	 .type = FIELD_ANY,
	 AT(node_agent.update_strategy),
	 .help = "Kubernetes' DaemonSetUpdateStrategy; Coroot's spelling"},
	{.path = "spec.nodeAgent.updateStrategy",
	 .type = FIELD_ANY,
	 .help = "the same; counts if `update_strategy` is not given"},
	RESOURCES("spec.nodeAgent.", node_agent.pod,
		  "; requests 100m and 200Mi, limits 500m and 1Gi for what is not given; "
		  "`limits: {}` sets none"),
	TOLERATIONS("spec.nodeAgent.", node_agent.pod, "; without any, it runs on every node"),
	ENV("spec.nodeAgent.", "the node agent", node_agent.pod, node_agent_variables),
	IMAGE("spec.nodeAgent.", node_agent.pod, " of the node agent"),
	{.path = "spec.nodeAgent.ebpfProfiler",
	 .type = FIELD_OBJECT,
	 .help = "CPU profiles of all processes"},
	{.path = "spec.nodeAgent.ebpfProfiler.enabled",
	 .type = FIELD_BOOLEAN,
	 AT(node_agent.profiler),
	 .def = "true",
	 .help = "`false`: there is no node agent, since profiles are all that it sends"},
	AGENT_TLS("spec.nodeAgent.", node_agent.tls),
	UNUSED("spec.nodeAgent.logCollector", FIELD_ANY, "logs"),
	UNUSED("spec.nodeAgent.ebpfTracer", FIELD_ANY, "traces"),
	UNUSED("spec.nodeAgent.trackPublicNetworks", FIELD_STRINGS,
	       "connections to other networks"),

	/* ---- cluster agent ---- */
	{.path = "spec.clusterAgent",
	 .type = FIELD_OBJECT,
	 .help = "the Deployment that scrapes pods"},
	SCHEDULING("spec.clusterAgent.", "the cluster agent", cluster_agent),
	RESOURCES("spec.clusterAgent.", cluster_agent, STORE_RESOURCES),
	TOLERATIONS("spec.clusterAgent.", cluster_agent, ""),
	ENV("spec.clusterAgent.", "the cluster agent", cluster_agent, cluster_agent_variables),
	IMAGE("spec.clusterAgent.", cluster_agent, " of the cluster agent"),
	SECURITY_CONTEXT("spec.clusterAgent.", cluster_agent),
	AGENT_TLS("spec.clusterAgent.", cluster_agent_tls),
	{.path = "spec.clusterAgent.storage",
	 .type = FIELD_OBJECT,
	 .help = "a volume for profiles of pods that are not sent yet"},
	{.path = "spec.clusterAgent.storage.size",
	 .type = FIELD_QUANTITY,
	 AT(cluster_agent_storage.size),
	 .help = "its size, such as `1Gi`; without it they wait in an `emptyDir`, which ends with "
		 "the pod"},
	{.path = "spec.clusterAgent.storage.className",
	 .type = FIELD_STRING,
	 AT(cluster_agent_storage.class_name),
	 .empty = true,
	 .rule = &text_dns_name,
	 .help = "storage class; without it, the cluster's default; `\"\"`: none, for volumes made "
		 "by hand"},
	UNUSED("spec.clusterAgent.kubeStateMetrics", FIELD_ANY, "metrics of the cluster"),

	/* ---- server ---- */
	SCHEDULING("spec.", "the server", server),
	RESOURCES("spec.", server, " of the server" STORE_RESOURCES),
	TOLERATIONS("spec.", server, " of the server"),
	ENV("spec.", "the server", server, cluster_agent_variables),
	{.path = "spec.communityEdition", .type = FIELD_OBJECT, .help = "the server's image"},
	IMAGE("spec.communityEdition.", server, " of the server"),
	SECURITY_CONTEXT("spec.", server),
	{.path = "spec.replicas",
	 .type = FIELD_INTEGER,
	 AT(server_replicas),
	 .min = 1,
	 .max = 100,
	 .def = "1",
	 .help = "pods of the server; more than one only with ClickHouse"},
	STORAGE("spec.", server_storage, "10Gi"),
	{.path = "spec.service",
	 .type = FIELD_OBJECT,
	 .help = "the Service by which agents and people reach the server"},
	{.path = "spec.service.type",
	 .type = FIELD_STRING,
	 AT(service.type),
	 .choices = service_types,
	 .def = "ClusterIP",
	 .help = "type of the Service"},
	{.path = "spec.service.port",
	 .type = FIELD_INTEGER,
	 AT(service.port),
	 PORT,
	 .def = "8080",
	 .help = "port of the page, the API and uploads"},
	{.path = "spec.service.nodePort",
	 .type = FIELD_INTEGER,
	 AT(service.node_port),
	 PORT,
	 .help = "port on the nodes, for the types NodePort and LoadBalancer; without it, "
		 "Kubernetes picks one"},
	{.path = "spec.service.annotations",
	 .type = FIELD_MAP,
	 AT(service.annotations),
	 .help = "annotations of the Service"},
	{.path = "spec.service.grpcPort",
	 .type = FIELD_INTEGER,
	 AT(service.grpc_port),
	 PORT,
	 .help = "port on which profiles are taken as OTLP over gRPC, as 4317; without it, none"},
	{.path = "spec.service.grpcNodePort",
	 .type = FIELD_INTEGER,
	 AT(service.grpc_node_port),
	 PORT,
	 .help = "the same on the nodes, like `nodePort`"},
	{.path = "spec.grpc", .type = FIELD_OBJECT, .help = "OTLP over gRPC"},
	{.path = "spec.grpc.disabled",
	 .type = FIELD_BOOLEAN,
	 AT(service.grpc_disabled),
	 .help = "do not take it, whatever `service.grpcPort` is"},
	UNUSED("spec.service.httpsPort", FIELD_INTEGER,
	       "a second port: with `tls`, `port` is the one of HTTPS"),
	UNUSED("spec.service.httpsNodePort", FIELD_INTEGER, "the same on the nodes"),
	{.path = "spec.ingress",
	 .type = FIELD_OBJECT,
	 AT(ingress.wanted),
	 .help = "an Ingress for the server"},
	{.path = "spec.ingress.className",
	 .type = FIELD_STRING,
	 AT(ingress.class_name),
	 .rule = &text_dns_name,
	 .help = "its class; without it, the cluster's default"},
	{.path = "spec.ingress.host",
	 .type = FIELD_STRING,
	 AT(ingress.host),
	 .rule = &text_printable,
	 .help = "name of the host that it answers for"},
	{.path = "spec.ingress.path",
	 .type = FIELD_STRING,
	 AT(ingress.path),
	 .rule = &text_url_path,
	 .def = "/",
	 .help = "prefix of the path, below which the server then works"},
	{.path = "spec.ingress.tls",
	 .type = FIELD_ANY,
	 AT(ingress.tls),
	 .help = "Kubernetes' IngressTLS, one: `hosts` and `secretName`"},
	{.path = "spec.ingress.annotations",
	 .type = FIELD_MAP,
	 AT(ingress.annotations),
	 .help = "annotations of the Ingress"},
	{.path = "spec.tls", .type = FIELD_OBJECT, .help = "the server speaks HTTPS only"},
	{.path = "spec.tls.certSecret",
	 .type = FIELD_SECRET_KEY,
	 AT(tls_cert),
	 .required = true,
	 .help = "Secret with its certificate, which the agents also trust"},
	{.path = "spec.tls.keySecret",
	 .type = FIELD_SECRET_KEY,
	 AT(tls_key),
	 .required = true,
	 .help = "Secret with the private key"},
	{.path = "spec.authAnonymousRole",
	 .type = FIELD_STRING,
	 AT(anonymous),
	 .choices = roles,
	 .flag = "",
	 .help = "lets everybody read without a login, whichever role it is"},
	{.path = "spec.authBootstrapAdminPassword",
	 .type = FIELD_STRING,
	 AT(page_key),
	 .rule = &text_key,
	 .help = "password of the page; a Secret is the better place"},
	{.path = "spec.authBootstrapAdminPasswordSecret",
	 .type = FIELD_SECRET_KEY,
	 AT(page_key_secret),
	 .help = "Secret with it; wins over `authBootstrapAdminPassword`"},

	/* ---- store ---- */
	{.path = "spec.clickhouse",
	 .type = FIELD_OBJECT,
	 AT(clickhouse.wanted),
	 .help = "ClickHouse servers with their keepers; without it and `externalClickhouse`, "
		 "profiles are stored in the server's pod"},
	{.path = "spec.clickhouse.shards",
	 .type = FIELD_INTEGER,
	 AT(clickhouse.shards),
	 .min = 1,
	 .max = 1000,
	 .def = "1",
	 .help = "parts of the data"},
	{.path = "spec.clickhouse.replicas",
	 .type = FIELD_INTEGER,
	 AT(clickhouse.replicas),
	 .min = 1,
	 .max = 100,
	 .def = "1",
	 .help = "copies of each shard"},
	SCHEDULING("spec.clickhouse.", "ClickHouse", clickhouse.pod),
	RESOURCES("spec.clickhouse.", clickhouse.pod,
		  "; requests 200m and 1Gi, a limit of 4Gi for what is not given; "
		  "`limits: {}` sets none"),
	TOLERATIONS("spec.clickhouse.", clickhouse.pod, ""),
	IMAGE("spec.clickhouse.", clickhouse.pod, " of ClickHouse"),
	STORAGE("spec.clickhouse.", clickhouse.storage, "100Gi"),
	LOG_LEVEL("spec.clickhouse.", clickhouse.log_level),
	SECURITY_CONTEXT("spec.clickhouse.", clickhouse.pod),
	{.path = "spec.clickhouse.keeper",
	 .type = FIELD_OBJECT,
	 .help = "the keepers, which coordinate replicas"},
	{.path = "spec.clickhouse.keeper.replicas",
	 .type = FIELD_INTEGER,
	 AT(clickhouse.keeper.replicas),
	 .min = 1,
	 .max = 99,
	 .def = "3",
	 .help = "how many; choose it before the first start, since a change can lose the quorum"},
	SCHEDULING("spec.clickhouse.keeper.", "the keepers", clickhouse.keeper.pod),
	RESOURCES("spec.clickhouse.keeper.", clickhouse.keeper.pod,
		  "; requests 50m and 128Mi, a limit of 1Gi for what is not given; "
		  "`limits: {}` sets none"),
	TOLERATIONS("spec.clickhouse.keeper.", clickhouse.keeper.pod, ""),
	IMAGE("spec.clickhouse.keeper.", clickhouse.keeper.pod, " of the keepers"),
	STORAGE("spec.clickhouse.keeper.", clickhouse.keeper.storage, "10Gi"),
	LOG_LEVEL("spec.clickhouse.keeper.", clickhouse.keeper.log_level),
	SECURITY_CONTEXT("spec.clickhouse.keeper.", clickhouse.keeper.pod),
	{.path = "spec.clickhouse.s3",
	 .type = FIELD_OBJECT,
	 .help = "keeps profiles in an object store"},
	{.path = "spec.clickhouse.s3.endpoint",
	 .type = FIELD_STRING,
	 AT(clickhouse.s3.endpoint),
	 .required = true,
	 .rule = &text_s3_url,
	 .help = "URL of the bucket and a folder in it"},
	{.path = "spec.clickhouse.s3.region",
	 .type = FIELD_STRING,
	 AT(clickhouse.s3.region),
	 .rule = &text_word,
	 .help = "its region"},
	{.path = "spec.clickhouse.s3.credentials",
	 .type = FIELD_OBJECT,
	 .help = "without them, the identity of the pods"},
	{.path = "spec.clickhouse.s3.credentials.accessKeyId",
	 .type = FIELD_SECRET_KEY,
	 AT(clickhouse.s3.access_key_id),
	 .help = "Secret with the id of the access key"},
	{.path = "spec.clickhouse.s3.credentials.secretAccessKey",
	 .type = FIELD_SECRET_KEY,
	 AT(clickhouse.s3.secret_access_key),
	 .help = "Secret with the access key"},
	{.path = "spec.clickhouse.s3.cacheSize",
	 .type = FIELD_QUANTITY,
	 AT(clickhouse.s3.cache_size),
	 .def = "10Gi",
	 .help = "cache on the volume; smaller than `storage.size`"},
	{.path = "spec.clickhouse.s3.mode",
	 .type = FIELD_STRING,
	 AT(clickhouse.s3.only),
	 .choices = s3_modes,
	 .strict = true,
	 .flag = "s3only",
	 .def = "tiered",
	 .help = "`tiered` moves older profiles there, `s3only` keeps all there"},
	{.path = "spec.clickhouse.s3.moveFactor",
	 .type = FIELD_STRING,
	 AT(clickhouse.s3.move_factor),
	 .rule = &text_fraction,
	 .def = "0.1",
	 .help = "profiles move when less than this part of the volume is free"},
	{.path = "spec.externalClickhouse",
	 .type = FIELD_OBJECT,
	 .help = "a ClickHouse that is there already; wins over `clickhouse`"},
	{.path = "spec.externalClickhouse.address",
	 .type = FIELD_STRING,
	 AT(external_clickhouse.address),
	 .rule = &text_addresses,
	 .help = "`host:port`, or several separated by commas; port 9000 stands for 8123, 9440 for "
		 "8443"},
	{.path = "spec.externalClickhouse.user",
	 .type = FIELD_STRING,
	 AT(external_clickhouse.user),
	 .rule = &text_printable,
	 .help = "its user"},
	{.path = "spec.externalClickhouse.database",
	 .type = FIELD_STRING,
	 AT(external_clickhouse.database),
	 .rule = &text_printable,
	 .help = "database of the tables"},
	{.path = "spec.externalClickhouse.password",
	 .type = FIELD_STRING,
	 AT(external_clickhouse.password),
	 .rule = &text_printable,
	 .help = "password of the user; a Secret is the better place"},
	{.path = "spec.externalClickhouse.passwordSecret",
	 .type = FIELD_SECRET_KEY,
	 AT(external_clickhouse.password_secret),
	 .help = "Secret with it; wins over `password`"},
	{.path = "spec.externalClickhouse.tlsEnabled",
	 .type = FIELD_BOOLEAN,
	 AT(external_clickhouse.tls),
	 .def = "false",
	 .help = "speak HTTPS with it"},
	{.path = "spec.externalClickhouse.caSecret",
	 .type = FIELD_SECRET_KEY,
	 AT(external_clickhouse.ca),
	 .help = "Secret with the CA of its certificate, instead of the CAs of the image; with it, "
		 "HTTPS is spoken"},
	{.path = "spec.externalClickhouse.tlsSkipVerify",
	 .type = FIELD_BOOLEAN,
	 AT(external_clickhouse.tls_skip_verify),
	 .def = "false",
	 .help = "accept any certificate of it"},

	/* ---- what is not about profiles ---- */
	UNUSED("spec.cacheTTL", FIELD_STRING, "how long metrics are cached"),
	UNUSED("spec.tracesTTL", FIELD_STRING, "how long traces are kept"),
	UNUSED("spec.logsTTL", FIELD_STRING, "how long logs are kept"),
	UNUSED("spec.httpDisabled", FIELD_BOOLEAN, "no plain HTTP: `tls` does that here"),
	UNUSED("spec.httpsListen", FIELD_STRING, "address of a second listener"),
	UNUSED("spec.storeMetricsInClickhouse", FIELD_BOOLEAN, "metrics in ClickHouse"),
	UNUSED("spec.enterpriseEdition", FIELD_ANY, "licence and image of that edition"),
	UNUSED("spec.prometheus", FIELD_ANY, "a Prometheus for metrics"),
	UNUSED("spec.externalPrometheus", FIELD_ANY, "a Prometheus that is there already"),
	UNUSED("spec.postgres", FIELD_ANY, "database of Coroot's settings"),
	UNUSED("spec.corootCloud", FIELD_ANY, "Coroot Cloud"),
	UNUSED("spec.disableBuiltinAlerts", FIELD_BOOLEAN, "alerts"),
	UNUSED("spec.sso", FIELD_ANY, "single sign-on"),
	UNUSED("spec.ai", FIELD_ANY, "language models"),
};
const size_t n_coroot_fields = ARRAY_SIZE(coroot_fields);

const char *coroot_field_type_text(enum coroot_field_type type)
{
	static const char *const texts[FIELD_TYPE_MAX] = {
		[FIELD_OBJECT] = "an object",
		[FIELD_OBJECTS] = "an array of objects",
		[FIELD_ANY] = "an object",
		[FIELD_ANY_LIST] = "an array of objects",
		[FIELD_STRING] = "a string",
		[FIELD_STRINGS] = "an array of strings",
		[FIELD_MAP] = "an object of strings",
		[FIELD_INTEGER] = "a whole number",
		[FIELD_BOOLEAN] = "true or false",
		[FIELD_QUANTITY] = "a quantity such as \"10Gi\"",
		[FIELD_SECRET_KEY] = "an object with the name and key of a Secret",
		[FIELD_ENV] = "an array of variables, each with a name",
		[FIELD_RESOURCES] = "an object with requests and limits",
		[FIELD_PULL_SECRETS] = "an array of objects, each with a name",
	};

	return texts[type];
}

const char *coroot_field_name(const struct coroot_field *f)
{
	return strrchr(f->path, '.') + 1;
}

bool coroot_field_is_in(const struct coroot_field *f, const char *parent)
{
	size_t len = strlen(parent);

	return strncmp(f->path, parent, len) == 0 && coroot_field_name(f) == f->path + len + 1;
}

const struct coroot_field *coroot_field_find(const char *parent, const char *name)
{
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		if (strcmp(coroot_field_name(f), name) == 0 && coroot_field_is_in(f, parent))
			return f;
	}
	return NULL;
}

const struct coroot_field *coroot_field_like(const char *parent, const char *name)
{
	unsigned max = (unsigned)strnlen(name, NEAR_NAME_BYTES) / 3, fewest = UINT_MAX;
	const struct coroot_field *best = NULL;

	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];
		unsigned n;

		if (!coroot_field_is_in(f, parent))
			continue;
		n = near_name_edits(name, coroot_field_name(f), max);
		if (n < fewest) {
			best = f;
			fewest = n;
		}
	}
	return best;
}
