#include "cluster-agent/scrape/scrape_group.h"

#include <errno.h>

#include "common/http/http.h"
#include "version.h"

/* The texts of settings, so that they are copied and compared in one way. */
#define N_TEXTS 7u

static void list_texts(struct scraper_auth *a, const char **ret[static N_TEXTS])
{
	const char **const all[N_TEXTS] = {&a->ca_file,      &a->tls_server_name, &a->cert_file,
					   &a->key_file,     &a->token_file,      &a->username,
					   &a->password_file};

	memcpy(ret, all, sizeof(all));
}

#pragma GCC diagnostic push
/* the analyzer loses what is reached by a pointer to a pointer; scrape_group_free() frees it */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
static int copy_texts(struct scrape_settings *s)
{
	const char **texts[N_TEXTS];
	int r = 0;

	list_texts(&s->auth, texts);
	for (size_t i = 0; i < N_TEXTS; i++) {
		if (!*texts[i])
			continue;
		*texts[i] = strdup(*texts[i]);
		if (!*texts[i])
			r = -ENOMEM;
	}
	return r;
}
#pragma GCC diagnostic pop

bool scrape_group_has(const struct scrape_group *g, const struct scrape_settings *settings)
{
	struct scrape_settings own = g->settings, other = *settings;
	const char **a[N_TEXTS], **b[N_TEXTS];

	list_texts(&own.auth, a);
	list_texts(&other.auth, b);
	for (size_t i = 0; i < N_TEXTS; i++)
		if (!*a[i] != !*b[i] || (*a[i] && strcmp(*a[i], *b[i]) != 0))
			return false;
	return own.interval_ns == other.interval_ns &&
	       own.auth.insecure_skip_verify == other.auth.insecure_skip_verify &&
	       own.auth.over_http == other.auth.over_http;
}

static int make_clients(struct scrape_group *g, const struct scraper_config *scraper)
{
	const struct scraper_auth *auth = &g->settings.auth;
	const struct http_client_config cfg = {
		.ca_file = auth->ca_file,
		.insecure_skip_verify = auth->insecure_skip_verify,
		.cert_file = auth->cert_file,
		.key_file = auth->key_file,
		.user_agent = "coroot-cluster-agent/" VERSION,
		.proxy = "",
		.max_idle_connections = scraper->max_in_flight / SCRAPE_GROUP_CLIENTS + 1,
	};
	int r = 0;

	for (size_t i = 0; i < g->n_clients && r == 0; i++)
		r = http_client_new(&g->clients[i], scraper->loop, &cfg);
	return r;
}

int scrape_group_new(struct scrape_group **ret, const struct scrape_settings *settings,
		     const struct scraper_config *cfg, unsigned n_clients)
{
	CLEANUP(scrape_group_freep) struct scrape_group *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->settings = *settings;
	g->n_clients = n_clients;
	r = copy_texts(&g->settings);
	if (r < 0)
		return r;
	scrape_credentials_init(&g->credentials, &g->settings.auth);
	r = make_clients(g, cfg);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(g);
	return 0;
}

void scrape_group_free(struct scrape_group *g)
{
	const char **texts[N_TEXTS];

	if (!g)
		return;
	for (size_t i = 0; i < g->n_clients; i++)
		http_client_free(g->clients[i]);
	scrape_credentials_fini(&g->credentials);
	list_texts(&g->settings.auth, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): ours, and const for everybody else */
		free((void *)(uintptr_t)*texts[i]);
	free(g);
}
