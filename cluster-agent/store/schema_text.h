/*
 * The statements that make the tables, as texts. Pure.
 *
 * Names of clusters, databases, policies and volumes are pasted into them; schema_name_is_plain()
 * says whether one may be.
 */
#ifndef CLUSTER_AGENT_STORE_SCHEMA_TEXT_H
#define CLUSTER_AGENT_STORE_SCHEMA_TEXT_H

#include "cluster-agent/store/schema.h"
#include "common/base.h"
#include "common/data/buf.h"

/* The first ones are those of enum store_table. */
enum schema_table {
	SCHEMA_PROFILES = STORE_NOTES + 1,
	SCHEMA_CLAIMS, /* store_claims.h */
	SCHEMA_TABLE_MAX,
};

/* Columns that profiling_quality got later, as the end of an ALTER TABLE. */
extern const char schema_text_quality_columns[];

/*
 * What makes queries of long ranges cheap, and is part of a table: an index, or a projection. The
 * engine keeps both with each part, reads parts without one as before, and no answer depends on it.
 */
struct schema_extra {
	const char *name;   /* as CREATE TABLE has it, "INDEX ends" */
	const char *change; /* the end of an ALTER TABLE */
	enum store_table table;
	bool is_gone; /* an earlier release had it, and the change drops it */
};

#define SCHEMA_EXTRAS 8u
extern const struct schema_extra schema_text_extras[SCHEMA_EXTRAS];

bool schema_name_is_plain(const char *name);
/* Whether there is such a table with this configuration. */
bool schema_text_is_wanted(unsigned table, const struct schema_config *cfg);
/* "profiling_samples" */
const char *schema_text_name(unsigned table);

/* All append to sql, and return 0 or -errno of buf_addf(). */
int schema_text_database(struct buf *sql, const struct schema_topology *t, const char *database);
int schema_text_create(struct buf *sql, unsigned table, const struct schema_topology *t,
		       const struct schema_config *cfg);
int schema_text_create_view(struct buf *sql, const struct schema_topology *t);
/* Only on a cluster. */
int schema_text_create_distributed(struct buf *sql, unsigned table,
				   const struct schema_topology *t);
/* "ALTER TABLE <table><suffix> ON CLUSTER …", to be continued. */
int schema_text_alter(struct buf *sql, unsigned table, const char *suffix,
		      const struct schema_topology *t);
/* "toDateTime(Start) + …", as system.tables shows it. */
/* How long rows of the table are kept. */
uint64_t schema_text_ttl_ns(unsigned table, const struct schema_config *cfg);
int schema_text_ttl(struct buf *sql, unsigned table, const struct schema_config *cfg);
/* The setting that makes tables of others recognise a repeated insert, "name = value". */
const char *schema_text_deduplication(const char *engine_full);

/* Whether engine_full of system.tables has exactly this TTL. */
bool schema_text_has_ttl(const char *engine_full, const char *ttl);

#endif /* CLUSTER_AGENT_STORE_SCHEMA_TEXT_H */
