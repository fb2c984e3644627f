/*
 * The objects in the cluster that bear the label of Coroot's operator, as events show them: which
 * resource each belongs to, and whether an event shows what we wrote ourselves or a drift. Pure.
 *
 * The event about a write may come before or after the answer to it. So a change that comes while
 * the owner is being reconciled is only noted, and judged by object_table_settle() at the end.
 */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_TABLE_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_TABLE_H

#include <jansson.h>

#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/render/object_kinds.h"
#include "common/base.h"
#include "common/data/table.h"

#define OBJECT_TABLE_MAX 50000u

struct known_object {
	UT_hash_handle hh;
	char *key; /* kind/namespace/name */
	enum object_kind kind;
	const char *namespace; /* "" if cluster-scoped; these four are in key's storage */
	const char *name;
	const char *uid;
	const char *owner; /* uid of its resource; "" if it has none */
	uint64_t digest;
	uint64_t status_digest;
	uint64_t applied; /* digest that our last write resulted in; 0: none */
	bool unsettled;   /* an event differed from it while the owner was running */
	bool labelled;    /* it has our label, so that it is one of ours to delete */
	bool leaving;     /* we have asked for its deletion */
	bool listed;
};

struct object_table {
	struct known_object *objects;
	size_t n;
};

enum object_change {
	OBJECT_UNCHANGED,
	OBJECT_PROGRESSED, /* only the status of its pods has changed */
	OBJECT_APPEARED,   /* it is new to us */
	OBJECT_DRIFTED,    /* it is not what we wrote last */
};

void object_table_fini(struct object_table *t);

/*
 * An event or a list shows the object. Returns an object_change, -ENOMEM, -ENAMETOOLONG,
 * or -ENOSPC if there are OBJECT_TABLE_MAX others. *ret is the object, or NULL on failure.
 */
int object_table_saw(struct object_table *t, enum object_kind kind, const json_t *object,
		     struct known_object **ret) MUST_CHECK;
/*
 * The answer to our write shows the object. Returns 1 if the write has changed it, 0 if it was like
 * that, or an error as above.
 */
int object_table_wrote(struct object_table *t, enum object_kind kind,
		       const json_t *object) MUST_CHECK;
void object_table_remove(struct object_table *t, struct known_object *o);

/* namespace is NULL or "" for cluster-scoped kinds. NULL if it is not known. */
struct known_object *object_table_find(struct object_table *t, enum object_kind kind,
				       const char *namespace, const char *name);

/* Whether an object of that owner has drifted while the owner was running. */
bool object_table_settle(struct object_table *t, const char *owner);

/* A list of all objects of the kind: those that are not seen before its end no longer exist. */
void object_table_list_begin(struct object_table *t, enum object_kind kind);
void object_table_list_end(struct object_table *t, enum object_kind kind,
			   void (*removed)(void *ctx, const char *owner), void *ctx);

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_TABLE_H */
