/* Pods behind HTTPS, with a certificate for 127.0.0.1. */
#include <fcntl.h>
#include <microhttpd.h>

#include "test/lib/scraped_pods.h"
#include "test/lib/tls_server.h"

static struct MHD_Daemon *daemon_tls;
static char seen_authorization[64];
static char secret_file[] = "/tmp/scraper-tls-XXXXXX", ca_file[] = "/tmp/scraper-ca-XXXXXX";

static enum MHD_Result serve(void *ctx, struct MHD_Connection *c, const char *url,
			     const char *method, const char *version, const char *upload,
			     size_t *upload_size, void **connection_ctx)
{
	static const struct made_sample samples[] = {{{1, 2}, 2, {30000000}}};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	const char *authorization;
	struct MHD_Response *response;
	struct profile p;
	enum MHD_Result r;

	(void)ctx, (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
	(void)connection_ctx;
	authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
	snprintf(seen_authorization, sizeof(seen_authorization), "%s",
		 authorization ? authorization : "-");
	arena_init(&arena, MIB);
	buf_init(&out, MIB);
	p = made_profile(&arena, "cpu/nanoseconds", samples, 1);
	assert_int_equal(pprof_encode(&p, &out), 0);
	response = MHD_create_response_from_buffer(out.len, out.data, MHD_RESPMEM_MUST_COPY);
	r = MHD_queue_response(c, 200, response);
	MHD_destroy_response(response);
	return r;
}

static void write_file(char *path, const char *text)
{
	AUTO_CLOSE int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int start(void **state)
{
	(void)state;
	write_file(secret_file, "s3cret");
	write_file(ca_file, tls_cert);
	daemon_tls = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL,
				      serve, NULL, MHD_OPTION_HTTPS_MEM_KEY, tls_key,
				      MHD_OPTION_HTTPS_MEM_CERT, tls_cert, MHD_OPTION_END);
	return daemon_tls ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	MHD_stop_daemon(daemon_tls);
	unlink(secret_file);
	unlink(ca_file);
	return 0;
}

/* Scrapes one pod once, and checks the outcome. */
static void scrape(const struct scraper_auth *auth, const char *ip, bool (*until)(struct fixture *),
		   const char *outcome)
{
	const struct scraper_config cfg = {.interval_ns = 60 * NS_PER_S, .auth = *auth};
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(daemon_tls, MHD_DAEMON_INFO_BIND_PORT);
	struct scrape_endpoint e = {PROFILE_KIND_CPU, true, info->port, "/debug/pprof/profile", 0};
	struct scrape_target t = {"pod-1", "shop", "pod-1", "node-1", "svc", ip,
				  "",      NULL,   0,       &e,       1};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &cfg);
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, until);
	assert_int_equal(outcomes(&f, outcome), 1);
	assert_null(strstr(last_error(&f), "s3cret"));
}

static bool refused(struct fixture *f)
{
	return outcomes(f, "tls") > 0;
}

TEST(an_untrusted_certificate_is_refused)
{
	seen_authorization[0] = '\0';
	scrape(&(struct scraper_auth){.token_file = secret_file}, "127.0.0.1", refused, "tls");
	/* and the token was not sent */
	assert_string_equal(seen_authorization, "");
}

TEST(a_trusted_one_is_shown_the_token)
{
	scrape(&(struct scraper_auth){.token_file = secret_file, .ca_file = ca_file}, "127.0.0.1",
	       one_put, "ok");
	assert_string_equal(seen_authorization, "Bearer s3cret");
}

TEST(the_certificate_may_have_another_name_if_configured)
{
	struct scraper_auth auth = {.ca_file = ca_file};

	scrape(&auth, "127.0.0.2", refused, "tls");
	auth.tls_server_name = "127.0.0.1";
	scrape(&auth, "127.0.0.2", one_put, "ok");
}

TEST(the_certificate_may_be_ignored_if_configured)
{
	scrape(&(struct scraper_auth){.insecure_skip_verify = true}, "127.0.0.3", one_put, "ok");
	assert_string_equal(seen_authorization, "-");
}

GROUP_FIXTURE(start, stop)
