/*
 * Our profile types and what Pyroscope calls them: "<name>:<sample type>:<sample unit>:<period
 * type>:<period unit>". One table, both ways. Pure.
 *
 * Grafana decides by the id how it shows values (profile-metrics.json of its Pyroscope data
 * source): only those that it knows are shown as cores, or as levels. So types of several profilers
 * have the same id, and of those that a service has, the first one in the table answers: two
 * profilers measure the same CPU time, and their sum would count it twice.
 *
 * A type that is not in the table has the id "<source>:<name>:<unit>::". "<source>:<name>:<unit>"
 * is accepted as an id of any type, and so is a sixth part ":delta", which older clients append.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_PROFILE_IDS_H
#define CLUSTER_AGENT_QUERY_READ_PROFILE_IDS_H

#include "common/base.h"

struct profile_id {
	const char *type;
	const char *id;
};

#define PROFILE_IDS_MAX 128u

/* Returns the table, *ret_n rows; of rows with the same id, the first that a service has counts. */
const struct profile_id *profile_ids(size_t *ret_n);

#define PROFILE_ID_PARTS 5u

/* Sets *ret and *ret_len to a part of an id, within that text; "" if it has fewer. */
void profile_id_part(const char *id, unsigned part, const char **ret, size_t *ret_len);

#define PROFILE_ID_MAX_TYPES 24u
#define PROFILE_ID_TYPE_BYTES 256u

/* The types that an id stands for, in the order of preference. */
struct profile_id_types {
	const char *items[PROFILE_ID_MAX_TYPES];
	size_t n_items;
	char own[PROFILE_ID_TYPE_BYTES]; /* storage of a type that is not in the table */
};

/* Fills ret, which must not be moved. Returns 0, or -EINVAL for an id of less than three parts. */
int profile_id_types(struct profile_id_types *ret, const char *id) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_IDS_H */
