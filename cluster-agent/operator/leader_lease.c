#include "cluster-agent/operator/leader_lease.h"

/* All lengths were checked when the Lease was parsed. */
static void keep_version(struct leader_lease *l, const struct lease *got)
{
	snprintf(l->version, sizeof(l->version), "%s", got->version);
	snprintf(l->uid, sizeof(l->uid), "%s", got->uid);
	snprintf(l->acquired, sizeof(l->acquired), "%s", got->acquired);
	l->transitions = got->transitions;
}

void leader_lease_init(struct leader_lease *l, const char *name, const char *holder)
{
	*l = (struct leader_lease){.step = LEADER_READ};
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->holder, sizeof(l->holder), "%s", holder);
}

static bool is_expired(struct leader_lease *l, const struct lease *got, uint64_t sent_ns,
		       uint64_t now_ns)
{
	if (strcmp(l->seen_version, got->version) == 0)
		return sent_ns >= l->seen_ns + LEADER_EXPIRY_NS;
	snprintf(l->seen_version, sizeof(l->seen_version), "%s", got->version);
	l->seen_ns = now_ns;
	return false;
}

bool leader_lease_read(struct leader_lease *l, const struct lease *got, uint64_t sent_ns,
		       uint64_t now_ns)
{
	if (!got) {
		l->version[0] = l->uid[0] = l->acquired[0] = '\0';
		l->transitions = 0;
		l->renewed = false;
		l->step = LEADER_CREATE;
		return true;
	}
	if (strcmp(got->holder, l->holder) == 0) {
		keep_version(l, got);
		l->step = LEADER_WRITE;
		return true;
	}
	l->renewed = false;
	if (got->holder[0] && !is_expired(l, got, sent_ns, now_ns)) {
		l->step = LEADER_READ;
		return false;
	}
	keep_version(l, got);
	l->acquired[0] = '\0';
	l->transitions++;
	l->step = LEADER_WRITE;
	return true;
}

void leader_lease_written(struct leader_lease *l, const struct lease *got, uint64_t sent_ns)
{
	keep_version(l, got);
	l->seen_version[0] = '\0';
	l->renewed = true;
	l->renewed_ns = sent_ns;
	l->step = LEADER_WRITE;
}

void leader_lease_unknown(struct leader_lease *l)
{
	l->step = LEADER_READ;
}

bool leader_lease_leads(const struct leader_lease *l, uint64_t now_ns)
{
	return l->renewed && now_ns < l->renewed_ns + LEADER_DEADLINE_NS;
}

void leader_lease_text(const struct leader_lease *l, struct lease *ret)
{
	*ret = (struct lease){
		.name = l->name,
		.version = l->version,
		.uid = l->uid,
		.holder = l->holder,
		.acquired = l->acquired,
		.transitions = l->transitions,
	};
}
