/* kube_client over TLS: certificates of both sides, and files of them that change. */
#include <errno.h>
#include <microhttpd.h>

#include "common/system/clock.h"
#include "common/text/json_writer.h"
#include "test/lib/kube_fixture.h"
#include "test/lib/raw_server.h"
#include "test/lib/tls_server.h"
#include "test/lib/unit.h"

/* s_server answers any path with a page. */
static const struct kube_request page = {.max_response_bytes = 1 << 20};

static struct tls_server server;

static int set_up(void **state)
{
	server = (struct tls_server){0};
	return kube_fixture_set_up(state);
}

static int tear_down(void **state)
{
	tls_server_stop(&server);
	return kube_fixture_tear_down(state);
}

static void start(struct kube_fixture *f, const char *host)
{
	if (server.pid <= 0)
		tls_server_start(&server);
	snprintf(f->url, sizeof(f->url), "https://%s:%u", host, server.port);
	f->cfg.server = f->url;
	kube_fixture_connect(f);
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *len, void **request)
{
	static char text[] = "ok";
	struct MHD_Response *r;
	enum MHD_Result ok;

	(void)cls, (void)url, (void)method, (void)version, (void)data, (void)len;
	/* an answer before the request is complete would close the connection */
	if (!*request) {
		*request = text;
		return MHD_YES;
	}
	r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT);
	ok = MHD_queue_response(conn, 200, r);
	MHD_destroy_response(r);
	return ok;
}

/*
 * Uses a server that keeps connections open, unlike OpenSSL's: an open one would say nothing
 * about the new CA.
 */
TEST_FIXTURE(a_replaced_ca_counts_at_the_next_request, set_up, tear_down)
{
	struct kube_fixture *f = *state;
	struct MHD_Daemon *d =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL,
				 answer, NULL, MHD_OPTION_HTTPS_MEM_KEY, tls_key,
				 MHD_OPTION_HTTPS_MEM_CERT, tls_cert, MHD_OPTION_END);

	assert_non_null(d);
	snprintf(f->url, sizeof(f->url), "https://127.0.0.1:%u",
		 MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	f->cfg.server = f->url;
	f->cfg.ca_file = kube_fixture_path(f, "ca");
	kube_fixture_connect(f);
	for (int i = 0; i < 2; i++) {
		kube_fixture_write(f, "ca", tls_cert);
		kube_fixture_ask(f, page);
		kube_fixture_assert_ok(f);
		kube_fixture_write(f, "ca", tls_other_cert);
		kube_fixture_ask(f, page);
		kube_fixture_assert_failed(f, -EKEYREJECTED, "");
	}
	kube_client_free(TAKE_PTR(f->client));
	MHD_stop_daemon(d);
}

TEST_FIXTURE(the_ca_may_stand_in_the_configuration_or_be_ignored, set_up, tear_down)
{
	struct kube_fixture *f = *state;
	char *ca = strdup(tls_cert);

	f->cfg.ca_pem = ca;
	start(f, "127.0.0.1");
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
	f->cfg.ca_pem = NULL;
	f->cfg.insecure_skip_verify = true;
	start(f, "127.0.0.1");
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
	free(ca);
}

TEST_FIXTURE(the_certificate_may_be_for_another_name, set_up, tear_down)
{
	static char name[] = "127.0.0.1";
	struct kube_fixture *f = *state;
	char *ca = strdup(tls_cert);

	f->cfg.ca_pem = ca;
	/* the same server, but not what its certificate says */
	start(f, "[::ffff:127.0.0.1]");
	kube_fixture_ask(f, page);
	kube_fixture_assert_failed(f, -EKEYREJECTED, "");
	f->cfg.tls_server_name = name;
	start(f, "[::ffff:127.0.0.1]");
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
	free(ca);
}

TEST_FIXTURE(a_client_certificate_is_shown_and_followed, set_up, tear_down)
{
	struct kube_fixture *f = *state;

	server.wants_certificate = true;
	f->cfg.insecure_skip_verify = true;
	start(f, "127.0.0.1");
	kube_fixture_ask(f, page);
	assert_true(f->error < 0);

	kube_fixture_write(f, "cert", tls_cert);
	kube_fixture_write(f, "key", "garbage");
	f->cfg.cert_file = kube_fixture_path(f, "cert");
	f->cfg.key_file = kube_fixture_path(f, "key");
	start(f, "127.0.0.1");
	kube_fixture_ask(f, page);
	assert_true(f->error < 0);
	kube_fixture_write(f, "key", tls_key);
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
}

TEST_FIXTURE(a_plugin_may_give_a_certificate, set_up, tear_down)
{
	static char version[] = "client.authentication.k8s.io/v1beta1";
	struct kube_fixture *f = *state;
	CLEANUP(buf_fini) struct buf out;
	struct json_writer w;

	buf_init(&out, 10000);
	json_writer_init(&w, &out);
	json_open(&w, '{');
	json_member_text(&w, "kind", "ExecCredential");
	json_member_text(&w, "apiVersion", version);
	json_key(&w, "status");
	json_open(&w, '{');
	json_member_text(&w, "clientCertificateData", tls_cert);
	json_member_text(&w, "clientKeyData", tls_key);
	json_close(&w, '}');
	json_close(&w, '}');
	assert_int_equal(json_writer_finish(&w), 0);
	kube_fixture_write(f, "credential", out.data);
	kube_fixture_write_script(f, "plugin", "printf x >>$dir/runs; cat $dir/credential");

	server.wants_certificate = true;
	f->cfg.insecure_skip_verify = true;
	f->cfg.exec.command = kube_fixture_path(f, "plugin");
	f->cfg.exec.api_version = version;
	start(f, "127.0.0.1");
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
	kube_fixture_ask(f, page);
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_size(f, "runs"), 1);
}

static int ignore(void *ctx, const char *data, size_t len)
{
	(void)ctx, (void)data, (void)len;
	return 0;
}

TEST_FIXTURE(what_is_under_way_outlives_a_change_of_the_ca, set_up, tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {
		.reply =
			"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789012345678901234567"
			"8901234567890123456789012345678901234567890123456789012345678901234567890"
			"1234567890123456789",
		.byte_pause_us = 2000,
	};

	kube_fixture_write(f, "ca", tls_cert);
	f->cfg.ca_file = kube_fixture_path(f, "ca");
	raw_server_start(&s);
	s.url[strlen(s.url) - 1] = '\0';
	f->cfg.server = s.url;
	kube_fixture_connect(f);
	for (int i = 0; i < 4; i++) {
		kube_fixture_send(f, (struct kube_request){.on_data = ignore});
		kube_fixture_pass(f, 20 * NS_PER_MS);
		kube_fixture_write(f, "ca", i % 2 ? tls_cert : tls_other_cert);
	}
	kube_fixture_wait(f);
	kube_fixture_assert_ok(f);
	kube_client_free(TAKE_PTR(f->client));
	raw_server_stop(&s);
}
