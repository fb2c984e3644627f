#include "cluster-agent/operator/leader_lease.h"

void leader_lease_init(struct leader_lease *l, const char *name, const char *holder)
{
	*l = (struct leader_lease){0};
	lease_record_init(&l->record, name, holder);
}

bool leader_lease_read(struct leader_lease *l, const struct lease *got, uint64_t sent_ns,
		       uint64_t now_ns)
{
	enum lease_owner owner = lease_record_read(&l->record, got);

	if (owner == LEASE_OURS)
		return true;
	l->renewed = false;
	if (owner == LEASE_ABSENT)
		return true;
	if (got->holder[0] &&
	    lease_record_is_alive(&l->record, got, sent_ns, now_ns, LEADER_EXPIRY_NS))
		return false;
	lease_record_take(&l->record, got);
	return true;
}

void leader_lease_written(struct leader_lease *l, const struct lease *got, uint64_t sent_ns)
{
	lease_record_written(&l->record, got);
	l->renewed = true;
	l->renewed_ns = sent_ns;
}

bool leader_lease_leads(const struct leader_lease *l, uint64_t now_ns)
{
	return l->renewed && now_ns < l->renewed_ns + LEADER_DEADLINE_NS;
}
