/*
 * Connects the stages of scraping.
 *
 * Discovery reports every pod that asks to be scraped; the replica set says which of them are
 * this replica's. The scraper asks for that (owns) at each slot instead of being given a filtered
 * list, so that a change of members takes effect at once and without another round of discovery.
 * Containers of this host are this replica's alone.
 * All of this runs on the loop thread; only /targets and /readyz are read by threads of the HTTP
 * server, hence the atomic flag.
 */
#include "cluster-agent/pod_scraping.h"

#include <errno.h>
#include <stdatomic.h>

#include "cluster-agent/discover/discovery.h"
#include "cluster-agent/discover/docker_discovery.h"
#include "cluster-agent/replica/replica_set.h"
#include "cluster-agent/scrape/scraper.h"
#include "cluster-agent/scrape/target_file.h"
#include "common/kubernetes/kube_client.h"
#include "common/kubernetes/kube_config_load.h"
#include "common/kubernetes/place_labels.h"
#include "common/limits.h"
#include "common/system/open_files.h"
#include "common/telemetry/log.h"

#define HOST_NAME_BYTES 256
/* A request uses one socket, and may leave an idle connection for later. */
#define SOCKETS_PER_REQUEST 2

/* Members are in the order in which they are made. */
struct pod_scraping {
	struct pod_scraping_config cfg;
	struct kube_config kube;
	struct kube_client *client;   /* NULL without an API server */
	struct replica_set *replicas; /* NULL without --replica-group */
	struct place_labels *places;  /* NULL without an API server */
	struct scraper *scraper;
	struct discovery *discovery;     /* NULL without an API server */
	struct target_file *file;        /* NULL without --scrape-config */
	struct docker_discovery *docker; /* NULL without --scrape-docker-socket */
	_Atomic bool synced;
};

static const char *given(const char *s)
{
	return s && s[0] ? s : NULL;
}

static bool has_api_server(const struct cluster_options *o)
{
	return given(o->kubeconfig) || kube_config_in_cluster(KUBE_SERVICE_ACCOUNT_DIR);
}

bool pod_scraping_wanted(const struct cluster_options *o)
{
	return o->scrape_interval_ns > 0 &&
	       (given(o->scrape_config) || given(o->scrape_docker_socket) || has_api_server(o));
}

static bool owns(void *ctx, const char *uid)
{
	const struct pod_scraping *p = ctx;

	return !p->replicas || replica_set_owns(p->replicas, uid);
}

static void put(void *ctx, uint64_t number, const struct upload_label *labels, struct buf *body)
{
	struct pod_scraping *p = ctx;

	p->cfg.put(p->cfg.ctx, number, labels, body);
}

static size_t labels_of_place(void *ctx, const char *namespace, const char *node,
			      struct place_label ret[static PLACE_LABELS_MAX])
{
	const struct pod_scraping *p = ctx;

	return place_labels_find(p->places, namespace, node, ret);
}

static void ownership_changed(void *ctx)
{
	struct pod_scraping *p = ctx;

	if (p->scraper)
		scraper_ownership_changed(p->scraper);
}

static int upsert(void *ctx, const struct scrape_target *t)
{
	struct pod_scraping *p = ctx;

	return scraper_upsert(p->scraper, t);
}

static void remove_target(void *ctx, const char *uid)
{
	struct pod_scraping *p = ctx;

	scraper_remove(p->scraper, uid);
}

static int make_client(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	int r;

	if (!has_api_server(o))
		return 0;
	if (given(o->kubeconfig))
		r = kube_config_load_file(&p->kube, o->kubeconfig, given(o->kube_context), err);
	else
		r = kube_config_load_service_account(&p->kube, KUBE_SERVICE_ACCOUNT_DIR, err);
	return r < 0 ? r : kube_client_new(&p->client, p->cfg.loop, &p->kube, err);
}

static int make_replicas(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	char host[HOST_NAME_BYTES] = "";
	struct replica_set_config cfg = {
		.client = p->client,
		.loop = p->cfg.loop,
		.namespace = given(o->replica_namespace),
		.group = o->replica_group,
		.name = given(o->replica_name) ?: host,
		.ctx = p,
		.changed = ownership_changed,
	};
	int r;

	if (!given(o->replica_group))
		return 0;
	if (!p->client)
		return err_set(err, -EINVAL, "--replica-group needs an API server of Kubernetes");
	if (!cfg.namespace)
		cfg.namespace = kube_client_namespace(p->client);
	if (gethostname(host, sizeof(host) - 1) < 0)
		return err_set(err, -errno, "no host name; give --replica-name");
	r = replica_set_new(&p->replicas, &cfg);
	return r < 0 ? err_set(err, r, "--replica-group \"%s\", --replica-name \"%s\": %s",
			       cfg.group, cfg.name, strerror(-r))
		     : 0;
}

static int make_places(struct pod_scraping *p)
{
	const struct cluster_options *o = p->cfg.opts;
	const struct place_labels_config cfg = {
		.client = p->client,
		.loop = p->cfg.loop,
		.prefix = "coroot_cluster_agent",
		.namespace_keys = o->namespace_labels,
		.node_keys = o->node_labels,
		.namespace = given(o->kube_namespace),
	};

	return p->client ? place_labels_new(&p->places, &cfg) : 0;
}

/* Leaves descriptors for the HTTP server, which would spin without one to accept into. */
static unsigned requests_at_once(const struct cluster_options *o)
{
	size_t limit = open_files_raise();
	size_t n = open_files_share(limit) / SOCKETS_PER_REQUEST;

	if (n >= o->scrape_concurrency)
		return (unsigned)o->scrape_concurrency;
	n = n > 0 ? n : 1;
	log_warn("limiting concurrent requests to pods: too few file descriptors",
		 "limit=%zu requests=%zu wanted=%llu", limit, n,
		 (unsigned long long)o->scrape_concurrency);
	return (unsigned)n;
}

static int make_scraper(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	const struct scraper_config cfg = {
		.loop = p->cfg.loop,
		.interval_ns = o->scrape_interval_ns,
		.timeout_ns = o->scrape_timeout_ns,
		.cpu_duration_ns = o->scrape_cpu_duration_ns,
		.max_in_flight = requests_at_once(o),
		.wishes = cluster_options_forward(o) ? RECEIVER_WISHES_COROOT : RECEIVER_WISHES_OWN,
		.max_body_bytes = o->scrape_max_profile_mib * MIB,
		.max_memory_bytes = o->scrape_max_memory_mib * MIB,
		.auth = {.ca_file = given(o->scrape_ca_file),
			 .insecure_skip_verify = o->scrape_insecure_skip_verify,
			 .tls_server_name = given(o->scrape_tls_server_name),
			 .cert_file = given(o->scrape_cert_file),
			 .key_file = given(o->scrape_key_file),
			 .token_file = given(o->scrape_token_file),
			 .username = given(o->scrape_username),
			 .password_file = given(o->scrape_password_file),
			 .over_http = o->scrape_auth_over_http},
		.ctx = p,
		.owns = owns,
		.put = put,
		.place_labels = labels_of_place,
	};
	int r = scraper_new(&p->scraper, &cfg, err);

	if (r == 0 && cluster_options_forward(o))
		r = scraper_set_forwarding(p->scraper, o->coroot_url);
	return r;
}

static int make_file(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	bool kinds[PROFILE_KIND_MAX];
	int r;

	if (!given(o->scrape_config))
		return 0;
	r = cluster_options_scrape_kinds(o, kinds, err);
	return r < 0 ? r
		     : target_file_new(&p->file, p->scraper, given(o->scrape_config), kinds, err);
}

static int make_discovery(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	struct discovery_config cfg = {
		.pod_labels = o->pod_labels,
		.client = p->client,
		.loop = p->cfg.loop,
		.namespace = given(o->kube_namespace),
		.ctx = p,
		.upsert = upsert,
		.remove = remove_target,
	};
	int r = cluster_options_scrape_kinds(o, cfg.kinds, err);

	if (!p->client)
		return r;
	return r < 0 ? r : discovery_new(&p->discovery, &cfg);
}

static int make_docker(struct pod_scraping *p, struct err *err)
{
	const struct cluster_options *o = p->cfg.opts;
	struct docker_discovery_config cfg = {
		.loop = p->cfg.loop,
		.socket = given(o->scrape_docker_socket),
		.ctx = p,
		.upsert = upsert,
		.remove = remove_target,
	};
	int r = cluster_options_scrape_kinds(o, cfg.kinds, err);

	if (!cfg.socket)
		return r;
	return r < 0 ? r : docker_discovery_new(&p->docker, &cfg);
}

int pod_scraping_new(struct pod_scraping **ret, const struct pod_scraping_config *cfg,
		     struct err *err)
{
	CLEANUP(pod_scraping_freep) struct pod_scraping *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	r = make_client(p, err);
	if (r == 0)
		r = make_replicas(p, err);
	if (r == 0)
		r = make_places(p);
	if (r == 0)
		r = make_scraper(p, err);
	if (r == 0)
		r = make_file(p, err);
	if (r == 0)
		r = make_discovery(p, err);
	if (r == 0)
		r = make_docker(p, err);
	if (r < 0)
		return r;
	if (p->file)
		log_info("scraping the targets of a file", "file=%s targets=%zu",
			 LOG_QUOTED(cfg->opts->scrape_config), target_file_count(p->file));
	if (p->docker)
		log_info("scraping labelled containers", "socket=%s",
			 LOG_QUOTED(cfg->opts->scrape_docker_socket));
	if (p->client)
		log_info("scraping annotated pods", "api=%s interval_ms=%llu replica_group=%s",
			 kube_client_server(p->client),
			 (unsigned long long)(cfg->opts->scrape_interval_ns / NS_PER_MS),
			 given(cfg->opts->replica_group) ?: "");
	*ret = TAKE_PTR(p);
	return 0;
}

void pod_scraping_stop(struct pod_scraping *p)
{
	scraper_stop(p->scraper);
}

/* The client comes last, because the others cancel their requests. */
void pod_scraping_free(struct pod_scraping *p)
{
	if (!p)
		return;
	docker_discovery_free(p->docker);
	discovery_free(p->discovery);
	target_file_free(p->file);
	scraper_free(p->scraper);
	place_labels_free(p->places);
	replica_set_free(p->replicas);
	kube_client_free(p->client);
	kube_config_fini(&p->kube);
	free(p);
}

int pod_scraping_register(struct pod_scraping *p, struct metrics *ms)
{
	int r = p->discovery ? discovery_register(p->discovery, ms) : 0;

	if (r < 0)
		return r;
	r = scraper_register(p->scraper, ms);
	if (r < 0)
		return r;
	if (p->replicas)
		r = replica_set_register(p->replicas, ms);
	if (r == 0 && p->places)
		r = place_labels_register(p->places, ms);
	return r;
}

void pod_scraping_leave(struct pod_scraping *p, loop_fn done, void *ctx)
{
	scraper_stop(p->scraper);
	if (p->replicas)
		replica_set_leave(p->replicas, done, ctx);
	else
		done(ctx);
}

void pod_scraping_take_receipt(void *ctx, uint64_t number, const char *refusal)
{
	struct pod_scraping *p = ctx;

	scraper_take_receipt(p->scraper, number, refusal);
}

void pod_scraping_set_wishes(struct pod_scraping *p, const struct receiver_wishes *w)
{
	scraper_set_wishes(p->scraper, w);
}

void pod_scraping_beat(struct pod_scraping *p)
{
	bool synced = !p->discovery || discovery_synced(p->discovery);
	const char *problem = p->discovery ? discovery_problem(p->discovery) : "";

	if (p->file)
		target_file_beat(p->file);
	if (p->file && !problem[0])
		problem = target_file_problem(p->file);
	if (p->docker && !problem[0])
		problem = docker_discovery_problem(p->docker);
	atomic_store(&p->synced, synced);
	scraper_set_discovery(p->scraper, synced, problem);
}

bool pod_scraping_synced(struct pod_scraping *p)
{
	return atomic_load(&p->synced);
}

void pod_scraping_serve_targets(void *ctx, struct http_exchange *x)
{
	struct pod_scraping *p = ctx;

	scraper_serve_targets(p->scraper, x);
}
