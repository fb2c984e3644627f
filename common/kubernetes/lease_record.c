#include "common/kubernetes/lease_record.h"

#include <errno.h>
#include <sys/random.h>

void lease_record_init(struct lease_record *l, const char *name, const char *holder)
{
	*l = (struct lease_record){.step = LEASE_READ};
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->holder, sizeof(l->holder), "%s", holder);
}

int lease_holder_make(char ret[static LEASE_HOLDER_BYTES], const char *host)
{
	uint64_t process;

	if (getrandom(&process, sizeof(process), 0) != (ssize_t)sizeof(process))
		return -EIO;
	snprintf(ret, LEASE_HOLDER_BYTES, "%.*s_%016llx", LEASE_NAME_BYTES - 1, host,
		 (unsigned long long)process);
	return 0;
}

/* All lengths were checked when the Lease was parsed. */
static void keep(struct lease_record *l, const struct lease *got)
{
	snprintf(l->version, sizeof(l->version), "%s", got->version);
	snprintf(l->uid, sizeof(l->uid), "%s", got->uid);
	snprintf(l->acquired, sizeof(l->acquired), "%s", got->acquired);
	l->transitions = got->transitions;
	l->step = LEASE_WRITE;
}

enum lease_owner lease_record_read(struct lease_record *l, const struct lease *got)
{
	if (!got) {
		l->version[0] = l->uid[0] = l->acquired[0] = '\0';
		l->transitions = 0;
		l->step = LEASE_CREATE;
		return LEASE_ABSENT;
	}
	if (strcmp(got->holder, l->holder) != 0)
		return LEASE_OTHERS;
	keep(l, got);
	return LEASE_OURS;
}

bool lease_record_is_alive(struct lease_record *l, const struct lease *got, uint64_t sent_ns,
			   uint64_t now_ns, uint64_t expiry_ns)
{
	if (strcmp(l->seen_version, got->version) == 0)
		return sent_ns < l->seen_ns + expiry_ns;
	snprintf(l->seen_version, sizeof(l->seen_version), "%s", got->version);
	l->seen_ns = now_ns;
	return true;
}

void lease_record_take(struct lease_record *l, const struct lease *got)
{
	keep(l, got);
	l->acquired[0] = '\0';
	l->transitions++;
}

void lease_record_written(struct lease_record *l, const struct lease *got)
{
	keep(l, got);
	l->seen_version[0] = '\0';
}

void lease_record_unknown(struct lease_record *l)
{
	l->step = LEASE_READ;
}

void lease_record_text(const struct lease_record *l, struct lease *ret)
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
