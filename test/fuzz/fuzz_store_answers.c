/* What a ClickHouse server says about its clusters, tables and disks. */
#include <stdint.h>

#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/space_guard.h"
#include "cluster-agent/store/store_engine.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each question gets the bytes up to the next NUL. */
struct server {
	struct store store;
	const char *at;
	size_t left;
};

static int answer(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct server *s = ctx;
	size_t len = strnlen(s->at, s->left);
	int r = 0;

	(void)sql;
	if (!out)
		return 0;
	r = buf_add(out, s->at, len);
	s->at += len;
	s->left -= len;
	if (s->left > 0) {
		s->at++;
		s->left--;
	}
	return r < 0 ? err_set(err, r, "too long") : 0;
}

static int maintain(struct store *s, const char *sql, struct buf *out, struct err *err)
{
	return answer(s, sql, out, err);
}

static const struct store_engine engine = {.maintain = maintain};

static void start(struct server *s, const uint8_t *data, size_t size)
{
	*s = (struct server){.at = (const char *)data, .left = size};
	s->store.engine = &engine;
}

static void read_tables(const uint8_t *data, size_t size)
{
	const struct schema_config cfg = {.ttl_ns = NS_PER_S, .storage_policy = "p"};
	struct schema_topology t;
	struct err err = {0};
	struct server s;

	start(&s, data, size);
	if (schema_find_cluster(answer, &s, NULL, &t, &err) == 0 &&
	    schema_create_database(answer, &s, &t, "d", &err) == 0)
		(void)!schema_apply(answer, &s, &t, &cfg, &err);
}

static void read_disks(const uint8_t *data, size_t size)
{
	const struct space_guard_config cfg = {.max_usage_percent = 50};
	CLEANUP(space_guard_freep) struct space_guard *g = NULL;
	struct space_guard_config own = cfg;
	struct err err = {0};
	struct server s;

	start(&s, data, size);
	own.store = &s.store;
	if (space_guard_new(&g, &own) == 0)
		(void)!space_guard_check(g, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_LEVEL_ERROR);
	read_tables(data, size);
	read_disks(data, size);
	return 0;
}
