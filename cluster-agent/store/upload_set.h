/*
 * Which uploads were stored recently, so that a client's repetition is not stored again. Pure.
 *
 * Bounded: beyond UPLOAD_SET_MAX the upload that was put longest ago is forgotten, and so is a
 * new one when there is no memory. Forgetting matters only if the sender repeats that upload
 * afterwards: the profile then counts twice. Not thread-safe.
 */
#ifndef CLUSTER_AGENT_STORE_UPLOAD_SET_H
#define CLUSTER_AGENT_STORE_UPLOAD_SET_H

#include "cluster-agent/store/store_writer.h"
#include "common/base.h"

#define UPLOAD_SET_MAX 32768u

struct upload_set;

/* Returns 0 or -ENOMEM. */
int upload_set_new(struct upload_set **ret) MUST_CHECK;
void upload_set_free(struct upload_set *s);
DEFINE_CLEANUP(struct upload_set *, upload_set_free);

/* Returns how many tables the upload is written to so far; 0 if it is unknown. */
unsigned upload_set_get(const struct upload_set *s, struct upload_id id);
/* Adds the upload or replaces its n_tables, which must not be 0. */
void upload_set_put(struct upload_set *s, struct upload_id id, unsigned n_tables);

#endif /* CLUSTER_AGENT_STORE_UPLOAD_SET_H */
