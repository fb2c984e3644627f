#include "test/store/sql_fixture.h"

#include <errno.h>

#include <curl/curl.h>

#include "cluster-agent/store/store_chdb.h"
#include "common/access/access.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

const char *sql_dir;
struct store *sql_store;
struct clickhouse_port *sql_port;

static struct access *access_of_port;

void answer_fini(struct answer *a)
{
	buf_fini(&a->body);
	buf_fini(&a->headers);
}

static size_t keep(char *data, size_t size, size_t n, void *ctx)
{
	return buf_add(ctx, data, size * n) == 0 ? size * n : 0;
}

void ask_bytes(struct answer *a, const char *target, const void *body, size_t len,
	       const char *header)
{
	CURL *c = curl_easy_init();
	struct curl_slist *headers = header ? curl_slist_append(NULL, header) : NULL;
	char url[4096];

	assert_non_null(c);
	buf_init(&a->body, 10000000);
	buf_init(&a->headers, 10000);
	assert_int_equal(buf_add(&a->body, "", 0), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", clickhouse_port_number(sql_port),
		 target);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &a->body);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, &a->headers);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, 300L);
	if (body) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)len);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	}
	assert_int_equal(curl_easy_perform(c), CURLE_OK);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &a->status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
}

void ask(struct answer *a, const char *target, const char *body, const char *header)
{
	ask_bytes(a, target, body, body ? strlen(body) : 0, header);
}

int sql_port_open(const char *key)
{
	return sql_port_open_within(key, 0);
}

int sql_port_open_within(const char *key, uint64_t memory_bytes)
{
	struct clickhouse_port_config cfg = {
		.store = sql_store, .listen = "127.0.0.1:0", .memory_bytes = memory_bytes};
	struct err err = {0};
	int r;

	access_free(access_of_port);
	access_of_port = NULL;
	r = access_new(&access_of_port, &(struct access_config){.write_key = key}, &err);
	cfg.access = access_of_port;
	if (r == 0)
		r = clickhouse_port_new(&sql_port, &cfg, &err);

	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r;
}

int sql_fixture_start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(86400) * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {0};

	(void)state;
	sql_dir = cfg.data_dir;
	if (store_chdb_open(&sql_store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	return sql_port_open(NULL);
}

int sql_fixture_stop(void **state)
{
	(void)state;
	clickhouse_port_free(sql_port);
	access_free(access_of_port);
	store_close(sql_store);
	return 0;
}
