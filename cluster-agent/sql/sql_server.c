#include "cluster-agent/sql/sql_server.h"

#include <errno.h>

#include "cluster-agent/store/store.h"
#include "common/data/buf.h"

/* Copies the value at *pos, and moves *pos past the tab or newline at its end. */
static int take_value(const char **pos, char *ret, size_t size)
{
	size_t len = strcspn(*pos, "\t\n");

	if ((*pos)[len] == '\0' || len == 0 || len >= size)
		return -EBADMSG;
	memcpy(ret, *pos, len);
	ret[len] = '\0';
	*pos += len + 1;
	return 0;
}

int sql_server_read(struct sql_server *ret, struct store *store, struct err *err)
{
	const struct store_query q = {.sql = "SELECT version(), timezone()", .format = "TSV"};
	CLEANUP(buf_fini) struct buf out;
	struct sql_server s = {0};
	const char *pos;
	int r;

	buf_init(&out, 1024);
	r = store_query(store, &q, &out, err);
	if (r < 0)
		return r;
	pos = out.data ? out.data : "";
	if (take_value(&pos, s.version, sizeof(s.version)) < 0 ||
	    take_value(&pos, s.time_zone, sizeof(s.time_zone)) < 0)
		return err_set(err, -EBADMSG, "the engine does not say its version");
	if (gethostname(s.name, sizeof(s.name) - 1) < 0)
		return err_set(err, -errno, "gethostname: %m");
	*ret = s;
	return 0;
}
