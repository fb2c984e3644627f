/*
 * Sends profiles as many node agents would: each node makes one profile of each of its containers
 * per interval, at a moment of its own, and posts them a few at once over connections of its own.
 * What is not answered with 200 is sent again with the same key, after the time that the receiver
 * asks for, so that in the end everything has been answered.
 *
 * senders NODES=1000 CONTAINERS=20 SERVICES=400 INTERVAL=60 SECONDS=300 SAMPLES=1200 POOL=2000 \
 *	   NEW=2000 URL… prints a line of JSON every ten seconds and one at the end. NEW is per
 * million observations. SIGTERM ends it at once.
 */
#include <errno.h>
#include <signal.h>

#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/text/parse.h"
#include "common/upload/upload_item.h"
#include "common/upload/upload_url.h"
#include "test/bench/senders/sent_profile.h"

#define AT_ONCE 4u
#define TICK_NS (10 * NS_PER_MS)
#define REPORT_NS (10 * NS_PER_S)
#define RETRY_NS NS_PER_S
#define MAX_LATENCIES 4000000u

enum setting { NODES, CONTAINERS, SERVICES, INTERVAL, SECONDS, SAMPLES, POOL, NEW, N_SETTINGS };
static const char *const names[N_SETTINGS] = {"NODES",   "CONTAINERS", "SERVICES", "INTERVAL",
					      "SECONDS", "SAMPLES",    "POOL",     "NEW"};
static uint64_t settings[N_SETTINGS] = {1000, 20, 400, 60, 300, 1200, 2000, 2000};

struct node;
struct upload {
	struct node *node;
	struct upload *next; /* while it waits to be sent again */
	struct buf body;
	char *url;
	char header[32 + UPLOAD_KEY_DIGITS];
	uint64_t first_ns, again_ns;
};

struct node {
	struct http_client *client;
	unsigned number;
	unsigned n_left; /* profiles of this interval that are not made yet */
	unsigned n_sending;
	uint64_t due_ns;
	struct upload *waiting;
};

static struct loop *loop;
static struct loop_source *timer;
static struct sent_profile_maker *maker;
static struct node *nodes;
static const char *const *urls;
static unsigned n_urls;
static uint64_t start_ns, end_ns, report_ns;
static uint32_t *latencies_us;
static struct {
	uint64_t made, answered, refused, failed, bytes, stacks, pending, late;
	size_t n_latencies, reported;
	int last_status;
} counts;

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_ms(const uint32_t *sorted, size_t n, double q)
{
	return n > 0 ? sorted[(size_t)(q * (double)(n - 1))] / 1000.0 : 0;
}

/* Of the answers since the last report, or of all. */
static void report(bool last)
{
	size_t from = last ? 0 : counts.reported, n = counts.n_latencies - from;
	uint32_t *l = latencies_us + from;

	if (!last)
		counts.reported = counts.n_latencies;
	qsort(l, n, sizeof(*l), compare_u32);
	printf("{\"last\":%s,\"seconds\":%.1f,\"made\":%llu,\"answered\":%llu,\"refused\":%llu,"
	       "\"failed\":%llu,\"bytes\":%llu,\"stacks\":%llu,\"pending\":%llu,\"late\":%llu,"
	       "\"lastStatus\":%d,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f}\n",
	       last ? "true" : "false", (double)(clock_monotonic_ns() - start_ns) / 1e9,
	       (unsigned long long)counts.made, (unsigned long long)counts.answered,
	       (unsigned long long)counts.refused, (unsigned long long)counts.failed,
	       (unsigned long long)counts.bytes, (unsigned long long)counts.stacks,
	       (unsigned long long)counts.pending, (unsigned long long)counts.late,
	       counts.last_status, quantile_ms(l, n, 0.5), quantile_ms(l, n, 0.9),
	       quantile_ms(l, n, 0.99), quantile_ms(l, n, 1));
	fflush(stdout);
}

static void give_up(const char *what, int r)
{
	fprintf(stderr, "senders: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void free_upload(struct upload *u)
{
	buf_fini(&u->body);
	free(u->url);
	free(u);
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct upload *u = ctx;
	struct node *n = u->node;
	uint64_t now_ns = clock_monotonic_ns();

	n->n_sending--;
	if (result->status == 200) {
		counts.answered++;
		counts.pending--;
		if (counts.n_latencies < MAX_LATENCIES)
			latencies_us[counts.n_latencies++] =
				(uint32_t)((now_ns - u->first_ns) / 1000);
		free_upload(u);
		return;
	}
	if (result->error)
		counts.failed++;
	else
		counts.refused++;
	counts.last_status = result->error ? result->error : result->status;
	u->again_ns = now_ns + (result->retry_after_ns ? result->retry_after_ns : RETRY_NS);
	u->next = n->waiting;
	n->waiting = u;
}

static void post(struct upload *u)
{
	const char *const headers[] = {u->header, NULL};
	const struct http_request req = {
		.method = "POST",
		.url = u->url,
		.headers = headers,
		.body = u->body.data,
		.body_len = u->body.len,
		.timeout_ns = 60 * NS_PER_S,
		.max_response_bytes = 65536,
	};
	int r = http_send(u->node->client, &req, on_done, u);

	if (r < 0)
		give_up("send", r);
	u->node->n_sending++;
}

static struct upload *make_upload(struct node *n)
{
	unsigned container =
		(unsigned)(n->number * settings[CONTAINERS] + n->n_left % settings[CONTAINERS]);
	unsigned service = container % (unsigned)settings[SERVICES];
	struct upload *u = calloc(1, sizeof(*u));
	char service_name[64], host[32], id[64];
	const struct upload_label labels[] = {{"service.name", service_name},
					      {"host.name", host},
					      {"container.id", id},
					      {"namespace", "default"},
					      {NULL, NULL}};
	struct upload_key key;
	int r;

	if (!u)
		give_up("upload", -ENOMEM);
	snprintf(service_name, sizeof(service_name), "/k8s/default/service-%u", service);
	snprintf(host, sizeof(host), "node-%u", n->number);
	snprintf(id, sizeof(id), "/k8s/default/service-%u-%u/main", service, container);
	u->node = n;
	u->first_ns = clock_monotonic_ns();
	buf_init(&u->body, (size_t)16 << 20);
	r = upload_url_make(&u->url, urls[n->number % n_urls], labels);
	if (r < 0)
		give_up("upload", r);
	upload_key_make(&key);
	snprintf(u->header, sizeof(u->header), "Idempotency-Key: %s", key.text);
	r = sent_profile_make(maker, service, &u->body);
	if (r < 0)
		give_up("profile", r);
	counts.stacks += (uint64_t)r;
	counts.bytes += u->body.len;
	counts.made++;
	counts.pending++;
	return u;
}

static void turn(struct node *n, uint64_t now_ns)
{
	if (now_ns >= n->due_ns && n->due_ns < end_ns) {
		counts.late += n->n_left; /* the receiver is slower than the node */
		n->n_left += (unsigned)settings[CONTAINERS];
		n->due_ns += settings[INTERVAL] * NS_PER_S;
	}
	for (struct upload **at = &n->waiting; *at && n->n_sending < AT_ONCE;) {
		struct upload *u = *at;

		if (now_ns < u->again_ns) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		post(u);
	}
	while (n->n_left > 0 && n->n_sending < AT_ONCE) {
		n->n_left--;
		post(make_upload(n));
	}
}

static void on_tick(void *ctx)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool busy = now_ns < end_ns || counts.pending > 0;

	(void)ctx;
	for (size_t i = 0; i < settings[NODES]; i++) {
		turn(&nodes[i], now_ns);
		busy |= nodes[i].n_left > 0;
	}
	if (now_ns >= report_ns) {
		report_ns += REPORT_NS;
		report(false);
	}
	loop_set_timer(timer, TICK_NS);
	if (!busy)
		loop_stop(loop);
}

static void on_term(void *ctx)
{
	(void)ctx;
	loop_stop(loop);
}

static void read_arguments(int argc, char **argv)
{
	int i = 1;

	for (; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');
		size_t s = 0, len = eq ? (size_t)(eq - argv[i]) : 0;

		while (s < N_SETTINGS &&
		       (strlen(names[s]) != len || strncmp(names[s], argv[i], len) != 0))
			s++;
		if (s == N_SETTINGS)
			break;
		if (parse_u64(eq + 1, strlen(eq + 1), 0, UINT32_MAX, &settings[s]) < 0)
			give_up(argv[i], -EINVAL);
	}
	urls = (const char *const *)argv + i;
	n_urls = (unsigned)(argc - i);
	if (n_urls == 0)
		give_up("no URL", -EINVAL);
}

static void prepare_nodes(void)
{
	const struct http_client_config cfg = {.max_idle_connections = AT_ONCE, .proxy = ""};

	nodes = calloc(settings[NODES], sizeof(*nodes));
	if (!nodes)
		give_up("nodes", -ENOMEM);
	for (size_t i = 0; i < settings[NODES]; i++) {
		uint64_t phase = settings[INTERVAL] * NS_PER_S / settings[NODES] * i;
		int r = http_client_new(&nodes[i].client, loop, &cfg);

		if (r < 0)
			give_up("client", r);
		nodes[i].number = (unsigned)i;
		nodes[i].due_ns = start_ns + phase;
	}
}

int main(int argc, char **argv)
{
	struct sent_profile_shape shape;
	int r;

	read_arguments(argc, argv);
	shape = (struct sent_profile_shape){
		.n_pool = (unsigned)settings[POOL],
		.n_samples = (unsigned)settings[SAMPLES],
		.new_per_million = (unsigned)settings[NEW],
		.duration_ns = settings[INTERVAL] * NS_PER_S,
	};
	signal(SIGPIPE, SIG_IGN);
	latencies_us = calloc(MAX_LATENCIES, sizeof(*latencies_us));
	r = latencies_us ? loop_new(&loop) : -ENOMEM;
	if (r == 0)
		r = loop_add_timer(loop, on_tick, NULL, &timer);
	if (r == 0)
		r = loop_add_signal(loop, SIGTERM, on_term, NULL);
	if (r == 0)
		r = sent_profile_maker_new(&maker, &shape);
	if (r < 0)
		give_up("start", r);
	start_ns = clock_monotonic_ns();
	end_ns = start_ns + settings[SECONDS] * NS_PER_S;
	report_ns = start_ns + REPORT_NS;
	prepare_nodes();
	loop_set_timer(timer, 0);
	r = loop_run(loop);
	report(true);
	return r < 0;
}
