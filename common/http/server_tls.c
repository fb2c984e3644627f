/*
 * Certificates are replaced file by file (certbot), or both at once behind a symbolic link (a
 * mounted Secret). So a pair that does not fit may only be half replaced: it is tried again, and
 * reported if it does not fit at the next try either, once for each state of the files.
 *
 * Files are compared by their stamps instead of being watched by inotify, because the links in
 * their paths are what changes, at any level.
 */
#include "common/http/server_tls.h"

#include <errno.h>
#include <pthread.h>

#include "common/http/tls_certificate.h"
#include "common/http/tls_session.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"

/* The try after which unusable files are reported. */
#define REPORTED_TRY 2

enum tls_metric {
	EXPIRY,
	LOADS,
	LOAD_FAILURES,
	FAILED_HANDSHAKES,
	PLAIN_REQUESTS,
	N_TLS_METRICS,
};

static const struct metric_def metric_defs[N_TLS_METRICS] = {
	[EXPIRY] = {"_tls_certificate_expiry_timestamp_seconds", NULL,
		    "When the certificate of the listeners, or one of its chain, expires, in "
		    "seconds since 1970",
		    METRIC_GAUGE},
	[LOADS] = {"_tls_certificate_loads_total", NULL,
		   "Certificates of the listeners that were loaded, the first one included"},
	[LOAD_FAILURES] = {"_tls_certificate_load_failures_total", NULL,
			   "Replaced certificates that could not be used, so that the listeners "
			   "kept the one before"},
	[FAILED_HANDSHAKES] = {"_tls_failed_handshakes_total", NULL,
			       "Connections that ended before their TLS handshake was complete"},
	[PLAIN_REQUESTS] = {"_tls_plain_requests_total", NULL,
			    "Connections that sent plain HTTP instead of a TLS handshake"},
};
METRIC_TABLE(metric_table, metric_defs);

struct server_tls {
	char *cert_file;
	char *key_file;
	struct metric metrics[N_TLS_METRICS];

	/* of server_tls_refresh() */
	struct file_stamp cert_stamp;
	struct file_stamp key_stamp;
	unsigned n_tries; /* since the files changed to what cannot be used; 0: it can */

	pthread_mutex_t lock;
	struct tls_certificate *current;
};

/* Returns the time as RFC 3339, in text. */
static const char *show_time(time_t t, char *text, size_t size)
{
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text;
}

static int load(struct server_tls *t, struct err *err)
{
	struct tls_certificate *c, *before;
	time_t now = time(NULL);
	char ends[32], begins[32];
	int r;

	r = tls_certificate_load(&c, t->cert_file, t->key_file, err);
	if (r < 0)
		return r;
	show_time(c->ends, ends, sizeof(ends));
	show_time(c->begins, begins, sizeof(begins));
	if (c->ends <= now || c->begins > now)
		log_warn("the TLS certificate is not valid at this time; clients will refuse it",
			 "file=%s valid_from=%s valid_until=%s", LOG_QUOTED(t->cert_file), begins,
			 ends);
	else
		log_info("loaded TLS certificate", "file=%s valid_until=%s",
			 LOG_QUOTED(t->cert_file), ends);
	metric_set(&t->metrics[EXPIRY], c->ends > 0 ? (uint64_t)c->ends : 0);
	metric_add(&t->metrics[LOADS], 1);

	pthread_mutex_lock(&t->lock);
	before = t->current;
	t->current = c;
	pthread_mutex_unlock(&t->lock);
	tls_certificate_unref(before);
	return 0;
}

/* Stores the stamps of both files. Returns whether one of them has changed. */
static bool stamp_files(struct server_tls *t)
{
	struct file_stamp cert = file_stamp(t->cert_file);
	struct file_stamp key = file_stamp(t->key_file);
	bool changed =
		!file_stamp_equal(&cert, &t->cert_stamp) || !file_stamp_equal(&key, &t->key_stamp);

	t->cert_stamp = cert;
	t->key_stamp = key;
	return changed;
}

void server_tls_refresh(struct server_tls *t)
{
	struct err err = {""};

	if (stamp_files(t))
		t->n_tries = 0;
	else if (t->n_tries == 0)
		return;
	if (load(t, &err) == 0) {
		t->n_tries = 0;
		return;
	}
	if (t->n_tries < REPORTED_TRY && ++t->n_tries == REPORTED_TRY) {
		metric_add(&t->metrics[LOAD_FAILURES], 1);
		log_warn("cannot use the replaced TLS certificate; keeping the one before",
			 "error=%s", LOG_QUOTED(err.msg));
	}
}

int server_tls_new(struct server_tls **ret, const char *cert_file, const char *key_file,
		   struct err *err)
{
	CLEANUP(server_tls_freep) struct server_tls *t = NULL;
	bool has_cert = cert_file && *cert_file;
	bool has_key = key_file && *key_file;
	int r;

	if (has_cert != has_key)
		return err_set(err, -EINVAL, "--tls-cert and --tls-key go together");
	if (!has_cert) {
		*ret = NULL;
		return 0;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&t->lock, NULL);
	t->cert_file = strdup(cert_file);
	t->key_file = strdup(key_file);
	if (!t->cert_file || !t->key_file)
		return err_set(err, -ENOMEM, "out of memory");
	stamp_files(t);
	r = load(t, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void server_tls_free(struct server_tls *t)
{
	if (!t)
		return;
	tls_certificate_unref(t->current);
	pthread_mutex_destroy(&t->lock);
	free(t->cert_file);
	free(t->key_file);
	free(t);
}

int server_tls_register_metrics(struct server_tls *t, const char *prefix, struct metrics *ms)
{
	return metrics_register_as(ms, prefix, &metric_table, t->metrics, t);
}

struct tls_certificate *server_tls_certificate(struct server_tls *t)
{
	struct tls_certificate *c;

	pthread_mutex_lock(&t->lock);
	c = tls_certificate_ref(t->current);
	pthread_mutex_unlock(&t->lock);
	return c;
}

void server_tls_count_failed(struct server_tls *t)
{
	metric_add(&t->metrics[FAILED_HANDSHAKES], 1);
}

void server_tls_count_plain(struct server_tls *t)
{
	metric_add(&t->metrics[PLAIN_REQUESTS], 1);
}
