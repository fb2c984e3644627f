/*
 * Which of the things that sampling needs is missing, in words that say what
 * to change.
 */
#ifndef NODE_AGENT_SAMPLE_PRIVILEGES_H
#define NODE_AGENT_SAMPLE_PRIVILEGES_H

#include "common/base.h"
#include "common/err.h"

/* What privileges_explain() judges by; gathered by privileges_read(). */
struct privileges {
	uint64_t effective; /* capabilities, one bit each */
	bool effective_known;
	bool root;               /* effective user id 0 */
	bool btf;                /* the kernel describes its types */
	int perf_event_paranoid; /* -100: cannot be read */
	bool locked_down;        /* lockdown=confidentiality: no BPF reads of kernel memory */
	uint64_t memlock_bytes;  /* soft limit; UINT64_MAX: none */
	unsigned kernel_major;
	unsigned kernel_minor;
};

enum privileges_step {
	PRIVILEGES_LOAD_BPF,
	PRIVILEGES_OPEN_PERF_EVENT,
};

/* Capabilities of the CapEff line of /proc/<pid>/status. Pure. -EBADMSG when there is none. */
int privileges_parse_status(const char *text, size_t len, uint64_t *ret) MUST_CHECK;

/* What is readable; the rest keeps a value that blames nothing. */
void privileges_read(struct privileges *ret);

/* Pure. Sets err to one sentence for a step that failed with code, and returns code. */
int privileges_explain(const struct privileges *p, enum privileges_step step, int code,
		       struct err *err);

#endif /* NODE_AGENT_SAMPLE_PRIVILEGES_H */
