/*
 * The ids of the newest uploads, so that one that is sent again is recognised. Pure.
 *
 * Of fixed size: the id that was added longest ago is forgotten for a new one. That matters only
 * if its upload is sent again afterwards: it is then stored twice. Not thread-safe.
 *
 * It is no common/data/table.h because an id takes 24 bytes and adding one never allocates.
 */
#ifndef CLUSTER_AGENT_WAL_ID_SET_H
#define CLUSTER_AGENT_WAL_ID_SET_H

#include "cluster-agent/wal/upload_id.h"
#include "common/base.h"

struct id_set;

/* Returns 0, -ENOMEM, or -EINVAL if max is 0 or beyond 2^30. Memory is used as ids come. */
int id_set_new(struct id_set **ret, size_t max) MUST_CHECK;
void id_set_free(struct id_set *s);
DEFINE_CLEANUP(struct id_set *, id_set_free);

bool id_set_has(const struct id_set *s, struct upload_id id);
/* Returns false if it was there already, which does not make it younger. */
bool id_set_add(struct id_set *s, struct upload_id id);
size_t id_set_count(const struct id_set *s);
/* How many ids were forgotten. */
uint64_t id_set_forgotten(const struct id_set *s);

#endif /* CLUSTER_AGENT_WAL_ID_SET_H */
