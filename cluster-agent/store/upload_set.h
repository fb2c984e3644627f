/*
 * Which uploads were stored lately, so that a client's repetition is not stored again. Pure.
 *
 * A fixed number of places; a new upload takes the place of the oldest of the few it may go to.
 * Forgetting costs a profile counted twice, and only if its sender repeats it after that.
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_STORE_UPLOAD_SET_H
#define CLUSTER_AGENT_STORE_UPLOAD_SET_H

#include "cluster-agent/store/store_writer.h"
#include "common/base.h"

#define UPLOAD_SET_PLACES 32768u

struct upload_set;

/* -ENOMEM is the only failure. */
int upload_set_new(struct upload_set **ret) MUST_CHECK;
void upload_set_free(struct upload_set *s);
DEFINE_CLEANUP(struct upload_set *, upload_set_free);

/* How many of its tables are written; 0 when the upload is unknown. */
unsigned upload_set_get(const struct upload_set *s, struct upload_id id);
/* now_ns orders the entries by age. n_tables must be 1..255. */
void upload_set_put(struct upload_set *s, struct upload_id id, unsigned n_tables, uint64_t now_ns);

#endif /* CLUSTER_AGENT_STORE_UPLOAD_SET_H */
