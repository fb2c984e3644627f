#include "cluster-agent/cluster_symbols.h"

#include <errno.h>

#include "cluster-agent/cluster_store.h"
#include "cluster-agent/receive/symbol_handler.h"
#include "cluster-agent/symbols/debuginfod.h"
#include "cluster-agent/symbols/symbol_store.h"

static int start_debuginfod(struct cluster_symbols *s, const struct cluster_options *o,
			    struct err *err)
{
	const struct debuginfod_config cfg = {
		.urls = o->debuginfod_urls,
		.ca_file = o->ca_file,
		.insecure_skip_verify = o->insecure_skip_verify,
		.max_file_bytes = o->debuginfod_max_bytes,
		.store = s->store,
	};

	return debuginfod_new(&s->debuginfod, &cfg, err);
}

int cluster_symbols_open(struct cluster_symbols *s, const struct cluster_options *o,
			 struct err *err)
{
	AUTO_FREE char *dir = NULL;
	struct symbol_store_config cfg = {
		.max_bytes = o->max_symbols_bytes,
		.lock_wait_ns = CLUSTER_STORE_LOCK_WAIT_NS,
	};
	int r;

	if (asprintf(&dir, "%s/symbols", o->data_dir) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	cfg.dir = dir;
	r = symbol_store_open(&s->store, &cfg, err);
	if (r == 0)
		r = start_debuginfod(s, o, err);
	return r == 0 ? symbol_handler_new(&s->uploads, s->store) : r;
}

int cluster_symbols_register(struct cluster_symbols *s, struct metrics *ms)
{
	int r = symbol_store_register(s->store, ms);

	if (r == 0)
		r = symbol_handler_register(s->uploads, ms);
	return r == 0 && s->debuginfod ? debuginfod_register(s->debuginfod, ms) : r;
}

void cluster_symbols_stop(struct cluster_symbols *s)
{
	if (s->uploads)
		symbol_handler_stop(s->uploads);
}

void cluster_symbols_close(struct cluster_symbols *s)
{
	symbol_handler_free(s->uploads);
	debuginfod_free(s->debuginfod);
	symbol_store_close(s->store);
}
