/*
 * Which CPUs are online: parser of /sys/devices/system/cpu/online ("0-3,8")
 * and the difference of two such sets. Pure.
 */
#ifndef NODE_AGENT_SAMPLE_CPU_ONLINE_H
#define NODE_AGENT_SAMPLE_CPU_ONLINE_H

#include "common/base.h"

#define CPU_ONLINE_MAX 8192 /* the largest NR_CPUS a kernel is built with */

struct cpu_set_bits {
	uint64_t words[CPU_ONLINE_MAX / 64];
};

/*
 * Returns 0, -EBADMSG if the text is malformed, or -ERANGE for a CPU number of CPU_ONLINE_MAX
 * or more. *ret is written on success only.
 */
int cpu_online_parse(const char *text, size_t len, struct cpu_set_bits *ret) MUST_CHECK;

static inline bool cpu_set_has(const struct cpu_set_bits *s, unsigned cpu)
{
	return cpu < CPU_ONLINE_MAX && s->words[cpu / 64] >> (cpu % 64) & 1;
}

void cpu_set_add(struct cpu_set_bits *s, unsigned cpu);
void cpu_set_remove(struct cpu_set_bits *s, unsigned cpu);
unsigned cpu_set_count(const struct cpu_set_bits *s);

/* CPUs in a that are not in b. */
struct cpu_set_bits cpu_set_minus(const struct cpu_set_bits *a, const struct cpu_set_bits *b);

#endif /* NODE_AGENT_SAMPLE_CPU_ONLINE_H */
