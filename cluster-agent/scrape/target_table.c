/*
 * Strings of a target share one allocation, and an endpoint ends with its path: with 5,000 pods
 * of three or more endpoints, every malloc() less counts.
 *
 * What arrives here has been checked by pod_target.c. It is checked once more for the
 * properties on which the safety of requests depends (an address that is numeric, a path that
 * cannot change the host or add a query), so that a mistake there cannot send requests
 * elsewhere.
 */
#include "cluster-agent/scrape/target_table.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>

static const struct scrape_container unknown_container = {"", "", ""};

struct target_table {
	struct target *targets;
	size_t n_endpoints;
};

const char *target_state_name(enum target_state s)
{
	static const char *const names[TARGET_STATE_MAX] = {
		[TARGET_PENDING] = "pending",
		[TARGET_UP] = "up",
		[TARGET_DOWN] = "down",
		[TARGET_REFUSED] = "refused",
		[TARGET_INVALID] = "invalid",
		[TARGET_ELSEWHERE] = "elsewhere",
		[TARGET_NOT_OFFERED] = "not_offered",
	};

	assert(s < TARGET_STATE_MAX);
	return names[s];
}

int target_table_new(struct target_table **ret)
{
	struct target_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

void target_table_free(struct target_table *t)
{
	struct target *target, *tmp;

	if (!t)
		return;
	HASH_ITER(hh, t->targets, target, tmp)
	{
		HASH_DEL(t->targets, target);
		target_free(target);
	}
	free(t);
}

size_t target_table_endpoints(const struct target_table *t)
{
	return t->n_endpoints;
}

struct target *target_table_find(const struct target_table *t, const char *uid)
{
	struct target *target;

	HASH_FIND_STR(t->targets, uid, target);
	return target;
}

struct target *target_table_first(const struct target_table *t)
{
	return t->targets;
}

struct target *target_table_next(const struct target *target)
{
	return target->hh.next;
}

int target_table_adopt(struct target_table *t, struct target *target)
{
	HASH_ADD_KEYPTR(hh, t->targets, target->uid, strlen(target->uid), target);
	if (!TABLE_ADDED(hh, target))
		return -ENOMEM;
	t->n_endpoints += target->n_endpoints;
	return 0;
}

void target_table_remove(struct target_table *t, struct target *target)
{
	t->n_endpoints -= target->n_endpoints;
	HASH_DEL(t->targets, target);
}

static bool is_address(const char *ip)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, ip, address) == 1 || inet_pton(AF_INET6, ip, address) == 1;
}

/*
 * Returns why the target must not be requested, or NULL: its URL could name another host than
 * the pod.
 */
static const char *danger_of(const struct scrape_target *from)
{
	if (from->n_endpoints > 0 && !is_address(from->ip) && !from->settings)
		return "the pod's IP is not an address";
	for (size_t i = 0; i < from->n_endpoints; i++)
		if (from->endpoints[i].path[0] != '/' || strpbrk(from->endpoints[i].path, "?#"))
			return "a path does not begin with '/' or has a query";
	return NULL;
}

/* A pod may have both a problem and endpoints that the problem does not concern. */
static const char *problem_of(const struct scrape_target *from)
{
	const char *danger = danger_of(from);

	if (from->problem[0])
		return from->problem;
	if (danger)
		return danger;
	return from->n_endpoints > 0 ? "" : "nothing to scrape";
}

struct text_copy {
	const char *from;
	const char **to;
};

static int copy_texts(struct target *target, const struct text_copy *texts, size_t n)
{
	size_t len = 0;
	char *at;

	for (size_t i = 0; i < n; i++)
		len += strlen(texts[i].from) + 1;
	at = target->strings = malloc(len);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		len = strlen(texts[i].from) + 1;
		memcpy(at, texts[i].from, len);
		*texts[i].to = at;
		at += len;
	}
	return 0;
}

static int copy_strings(struct target *target, const struct scrape_target *from)
{
	struct text_copy
		texts[7 + 3 * SCRAPE_TARGET_MAX_CONTAINERS + 2 * SCRAPE_TARGET_MAX_LABELS] = {
			{from->uid, &target->uid},
			{from->namespace, &target->namespace},
			{from->pod, &target->pod},
			{from->node, &target->node},
			{from->service, &target->service},
			{from->ip, &target->ip},
			{problem_of(from), &target->problem},
		};
	size_t n = 7;

	target->n_containers = from->n_containers < SCRAPE_TARGET_MAX_CONTAINERS
				       ? from->n_containers
				       : SCRAPE_TARGET_MAX_CONTAINERS;
	target->containers = calloc(target->n_containers + 1, sizeof(*target->containers));
	target->n_labels = from->n_labels < SCRAPE_TARGET_MAX_LABELS ? from->n_labels
								     : SCRAPE_TARGET_MAX_LABELS;
	target->labels = calloc(target->n_labels + 1, sizeof(*target->labels));
	if (!target->containers || !target->labels)
		return -ENOMEM;
	for (size_t i = 0; i < target->n_labels; i++) {
		texts[n++] = (struct text_copy){from->labels[i].name, &target->labels[i].name};
		texts[n++] = (struct text_copy){from->labels[i].value, &target->labels[i].value};
	}
	for (size_t i = 0; i < target->n_containers; i++) {
		const struct scrape_container *c = &from->containers[i];
		struct scrape_container *to = &target->containers[i];

		texts[n++] = (struct text_copy){c->name, &to->name};
		texts[n++] = (struct text_copy){c->coroot_service, &to->coroot_service};
		texts[n++] = (struct text_copy){c->process, &to->process};
	}
	return copy_texts(target, texts, n);
}

static const char *service_of(const struct target *t, const struct scrape_container *c,
			      enum kube_naming naming)
{
	return naming == KUBE_NAMING_COROOT && c->coroot_service[0] ? c->coroot_service
								    : t->service;
}

const char *target_endpoint_service(const struct target_endpoint *e, enum kube_naming naming)
{
	return service_of(e->target, e->container, naming);
}

const char *target_service(const struct target *t, enum kube_naming naming)
{
	return service_of(t, t->n_containers > 0 ? t->containers : &unknown_container, naming);
}

static bool is_same(const struct target_endpoint *e, const struct scrape_endpoint *other)
{
	return e->kind == other->kind && e->https == other->https && e->port == other->port &&
	       strcmp(e->path, other->path) == 0;
}

static int add_endpoint(struct target *target, const struct scrape_endpoint *from)
{
	size_t len = strlen(from->path) + 1;
	struct target_endpoint *e;

	for (size_t i = 0; i < target->n_endpoints; i++)
		if (is_same(target->endpoints[i], from))
			return 0;
	e = calloc(1, sizeof(*e) + len);
	if (!e)
		return -ENOMEM;
	e->target = target;
	e->container = from->container < target->n_containers ? &target->containers[from->container]
							      : &unknown_container;
	e->kind = from->kind;
	e->https = from->https;
	e->port = from->port;
	e->asked_for = from->asked_for;
	memcpy(e->path, from->path, len);
	target->several_ports |= target->n_endpoints > 0 && target->endpoints[0]->port != e->port;
	target->endpoints[target->n_endpoints++] = e;
	return 0;
}

int target_new(struct target **ret, const struct scrape_target *from)
{
	CLEANUP(target_freep) struct target *target = calloc(1, sizeof(*target));
	size_t n = danger_of(from) ? 0 : from->n_endpoints;
	int r;

	if (!target)
		return -ENOMEM;
	target->is_local = from->is_local;
	target->is_pod = !from->settings && !from->is_local;
	r = copy_strings(target, from);
	if (r < 0)
		return r;
	if (n > SCRAPE_TARGET_MAX_ENDPOINTS)
		n = SCRAPE_TARGET_MAX_ENDPOINTS;
	target->endpoints = calloc(n + 1, sizeof(*target->endpoints));
	if (!target->endpoints)
		return -ENOMEM;
	target->n_endpoints = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_endpoint(target, &from->endpoints[i]);
	if (r < 0)
		return r;
	/* the caller decides whether this replica owns it */
	target->state = n == 0 ? TARGET_INVALID : TARGET_ELSEWHERE;
	*ret = TAKE_PTR(target);
	return 0;
}

static void endpoint_free(struct target_endpoint *e)
{
	assert(!e->job && e->item.position == 0);
	profile_baseline_fini(&e->baseline);
	free(e->error);
	free(e->refusal);
	free(e);
}

void target_free(struct target *target)
{
	if (!target)
		return;
	for (size_t i = 0; i < target->n_endpoints; i++)
		endpoint_free(target->endpoints[i]);
	free(target->endpoints);
	free(target->containers);
	free(target->labels);
	free(target->strings);
	free(target);
}

/* They change places, and with that the targets they are of. */
static void exchange(struct target_endpoint **a, struct target_endpoint **b)
{
	struct target_endpoint *e = *a;
	struct target *target = (*b)->target;
	const struct scrape_container *container = (*b)->container;

	(*b)->target = e->target;
	(*b)->container = e->container;
	e->target = target;
	e->container = container;
	*a = *b;
	*b = e;
}

/* "" means that the process is unknown, which proves nothing. */
static bool has_restarted(const struct target_endpoint *fresh, const struct target_endpoint *old)
{
	const char *is = fresh->container->process, *was = old->container->process;

	return is[0] && was[0] && strcmp(is, was) != 0;
}

static void inherit(struct target_endpoint **fresh, struct target *old)
{
	const struct scrape_endpoint wanted = {
		(*fresh)->kind,     (*fresh)->https, (*fresh)->port, (*fresh)->path, 0,
		(*fresh)->asked_for};

	for (size_t i = 0; i < old->n_endpoints; i++) {
		bool restarted = has_restarted(*fresh, old->endpoints[i]);

		if (!is_same(old->endpoints[i], &wanted))
			continue;
		exchange(fresh, &old->endpoints[i]);
		(*fresh)->asked_for = wanted.asked_for;
		if (restarted) {
			(*fresh)->restarted = true;
			(*fresh)->n_not_found = 0;
			(*fresh)->n_repeated = 0;
		}
		return;
	}
}

void target_inherit(struct target *fresh, struct target *old)
{
	if (strcmp(fresh->ip, old->ip) != 0 || fresh->group != old->group)
		return;
	for (size_t i = 0; i < fresh->n_endpoints; i++)
		inherit(&fresh->endpoints[i], old);
}

enum target_state target_endpoint_state(const struct target_endpoint *e)
{
	return e->state == TARGET_UP && e->refusal ? TARGET_REFUSED : e->state;
}

const char *target_endpoint_error(const struct target_endpoint *e)
{
	switch (target_endpoint_state(e)) {
	case TARGET_DOWN:
	case TARGET_NOT_OFFERED:
		return e->error ?: "failed";
	case TARGET_REFUSED:
		return e->refusal;
	default:
		return "";
	}
}

enum target_state target_state_of(const struct target *target)
{
	enum target_state state = TARGET_PENDING;
	size_t n_not_offered = 0;

	if (target->n_endpoints == 0)
		return TARGET_INVALID;
	if (!target->owned)
		return TARGET_ELSEWHERE;
	for (size_t i = 0; i < target->n_endpoints; i++) {
		enum target_state of_one = target_endpoint_state(target->endpoints[i]);

		if (of_one == TARGET_UP)
			return TARGET_UP;
		if (of_one == TARGET_NOT_OFFERED)
			n_not_offered++;
		else if (state == TARGET_PENDING || of_one == TARGET_REFUSED)
			state = of_one;
	}
	return n_not_offered == target->n_endpoints ? TARGET_NOT_OFFERED : state;
}
