/*
 * The selection of a query: service, type, range, instance and labels.
 *
 * An instance is a container of a service: its container.id, or "namespace/pod" where profiles do
 * not have that (those that Coroot's agents scraped, or pods push). "id@host" names it where the
 * same id exists on several hosts, as systemd units do.
 *
 * A reader who has chosen an instance of one type keeps it when he looks at another, so each of
 * the two forms also selects profiles of the other: "/k8s/<namespace>/<pod>/<container>" those
 * of the pod, and "<namespace>/<pod>" those of all its containers.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_QUERY_FILTER_H
#define CLUSTER_AGENT_QUERY_READ_QUERY_FILTER_H

#include "common/base.h"

struct label_matchers;
struct profile_source;
struct stack_cache;
struct store_ticket;
struct symbol_store;

/* What `where` calls the instance: "instance" matches either of its forms. */
#define QUERY_FILTER_INSTANCE "instance"

/* Strings are borrowed. Times in ns since the epoch; [from, to). */
struct query_filter {
	const char *service;         /* NULL: all in `services` */
	const char *const *services; /* NULL: all that there are */
	size_t n_services;
	const char *type;
	const char *instance;               /* NULL or "": all */
	const struct label_matchers *where; /* which the labels must match; NULL: no condition */
	bool plain_labels;                  /* names in `where` are those of label_sql.h */
	int64_t from_ns;
	int64_t to_ns;
	const struct store_ticket *ticket; /* by which queries are cancelled; may be NULL */
	struct profile_source *source; /* where profiles are found, kept for further queries of the
					* same services, type and range; may be NULL */
	struct stack_cache *stacks;    /* where to look for frames first; may be NULL */
	struct symbol_store *symbols;  /* names for frames that have none; may be NULL */
};

/* The selection and the baseline that it is compared with. */
struct query_sides {
	const struct query_filter *selection;
	const struct query_filter *base; /* of the same type; NULL: no comparison */
	bool by_share; /* of a profile counts the part within the range, as it does with a base */
};

#endif /* CLUSTER_AGENT_QUERY_READ_QUERY_FILTER_H */
