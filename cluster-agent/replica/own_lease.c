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
	*o = (struct own_lease){0};
	lease_record_init(&o->record, name, holder);
}

/* Whether the Lease's other holder is alive, so that the Lease must be left to it. */
static bool is_rival(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns)
{
	return o->was_held && l->holder[0] &&
	       lease_record_is_alive(&o->record, l, sent_ns, now_ns, REPLICA_EXPIRY_NS);
}

bool own_lease_read(struct own_lease *o, const struct lease *l, uint64_t sent_ns, uint64_t now_ns)
{
	enum lease_owner owner = lease_record_read(&o->record, l);

	o->has_rival = owner == LEASE_OTHERS && is_rival(o, l, sent_ns, now_ns);
	if (owner == LEASE_ABSENT)
		o->was_taken = o->is_taking = false;
	if (owner != LEASE_OTHERS || o->has_rival)
		return owner == LEASE_OURS;
	lease_record_take(&o->record, l);
	o->record.seen_version[0] = '\0'; /* if it fails, the rival is given all its time again */
	o->was_taken = o->is_taking = true;
	return false;
}

void own_lease_written(struct own_lease *o, const struct lease *l, uint64_t now_ns)
{
	lease_record_written(&o->record, l);
	if (o->is_taking)
		o->taken_ns = now_ns;
	o->is_taking = false;
	o->was_held = true;
	o->has_rival = false;
}

bool own_lease_may_delete(const struct own_lease *o, uint64_t now_ns)
{
	if (!o->was_held || o->record.step != LEASE_WRITE || o->is_taking)
		return false;
	return !o->was_taken || now_ns >= o->taken_ns + REPLICA_HANDOVER_NS;
}
