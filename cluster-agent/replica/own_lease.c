/*
 * Two processes may run under one name: a pod that is replaced while its node is cut off, or a
 * deployment that gives all replicas the same --replica-name. Both would own the same keys, so
 * only one may hold the Lease.
 *
 * The one that started last wins, because the other one is usually dead or about to be. The
 * loser (was_held, and now another holder) treats the winner as a rival: it does nothing, and
 * takes the Lease back only after the rival's version has not changed for REPLICA_EXPIRY_NS, by
 * its own clock. Without that asymmetry the two would take the Lease from each other with each
 * renewal.
 *
 * Every write carries uid and resourceVersion of what was read, so a write against a state that
 * has changed is refused with 409 instead of overwriting it.
 */
#include "cluster-agent/replica/own_lease.h"

#include "cluster-agent/replica/replica_times.h"

void own_lease_init(struct own_lease *o, const char *name, const char *holder)
{
	*o = (struct own_lease){.step = OWN_LEASE_READ};
	snprintf(o->name, sizeof(o->name), "%s", name);
	snprintf(o->holder, sizeof(o->holder), "%s", holder);
}

static void keep(struct own_lease *o, const struct lease *l)
{
	snprintf(o->version, sizeof(o->version), "%s", l->version);
	snprintf(o->uid, sizeof(o->uid), "%s", l->uid);
	snprintf(o->acquired, sizeof(o->acquired), "%s", l->acquired);
	o->transitions = l->transitions;
}

/* Whether the Lease's other holder is alive, so that the Lease must be left to it. */
static bool is_rival(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns)
{
	if (!o->was_held || !l->holder[0])
		return false;
	if (!o->has_rival || strcmp(o->rival_version, l->version) != 0) {
		snprintf(o->rival_version, sizeof(o->rival_version), "%s", l->version);
		o->rival_seen_ns = now_ns;
		return true;
	}
	return sent_ns < o->rival_seen_ns + REPLICA_EXPIRY_NS;
}

bool own_lease_read(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns)
{
	if (!l) {
		o->has_rival = false;
		o->version[0] = o->uid[0] = o->acquired[0] = '\0';
		o->transitions = 0;
		o->was_taken = o->is_taking = false;
		o->step = OWN_LEASE_CREATE;
		return false;
	}
	if (!strcmp(l->holder, o->holder)) {
		o->has_rival = false;
		keep(o, l);
		o->step = OWN_LEASE_WRITE;
		return true;
	}
	o->has_rival = is_rival(o, l, sent_ns, now_ns);
	if (o->has_rival)
		return false;
	keep(o, l);
	o->acquired[0] = '\0';
	o->transitions++;
	o->was_taken = o->is_taking = true;
	o->step = OWN_LEASE_WRITE;
	return false;
}

void own_lease_written(struct own_lease *o, const struct lease *l, uint64_t now_ns)
{
	keep(o, l);
	if (o->is_taking)
		o->taken_ns = now_ns;
	o->is_taking = false;
	o->was_held = true;
	o->has_rival = false;
	o->step = OWN_LEASE_WRITE;
}

void own_lease_unknown(struct own_lease *o)
{
	o->step = OWN_LEASE_READ;
}

bool own_lease_may_delete(const struct own_lease *o, uint64_t now_ns)
{
	if (!o->was_held || o->step != OWN_LEASE_WRITE || o->is_taking)
		return false;
	return !o->was_taken || now_ns >= o->taken_ns + REPLICA_HANDOVER_NS;
}

void own_lease_text(const struct own_lease *o, struct lease *ret)
{
	*ret = (struct lease){
		.name = o->name,
		.version = o->version,
		.uid = o->uid,
		.holder = o->holder,
		.acquired = o->acquired,
		.transitions = o->transitions,
	};
}
