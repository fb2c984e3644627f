/*
 * Turns the errno of a failed step into one sentence that names the missing capability or setting.
 */
#ifndef NODE_AGENT_SAMPLE_PRIVILEGES_H
#define NODE_AGENT_SAMPLE_PRIVILEGES_H

#include "common/base.h"
#include "common/err.h"

/* The facts for privileges_explain(), gathered by privileges_read(). */
struct privileges {
	uint64_t effective; /* capabilities, one bit each */
	bool effective_known;
	bool root;               /* effective user id 0 */
	bool btf;                /* the kernel describes its types */
	int perf_event_paranoid; /* -100 if unreadable */
	bool locked_down;        /* lockdown=confidentiality: no BPF reads of kernel memory */
	uint64_t memlock_bytes;  /* soft limit; UINT64_MAX if unlimited */
	unsigned kernel_major;
	unsigned kernel_minor;
};

enum privileges_step {
	PRIVILEGES_LOAD_BPF,
	PRIVILEGES_OPEN_PERF_EVENT,
};

/*
 * Parses the CapEff line of /proc/<pid>/status into *ret, one bit per capability. Pure.
 * Returns 0, or -EBADMSG if there is no such line.
 */
int privileges_parse_status(const char *text, size_t len, uint64_t *ret) MUST_CHECK;

/* Facts that cannot be read get a value that explains nothing. */
void privileges_read(struct privileges *ret);

/* Sets err to one sentence about the step that failed with `code`, and returns code. Pure. */
int privileges_explain(const struct privileges *p, enum privileges_step step, int code,
		       struct err *err);

/*
 * libbpf's messages: logged at debug level, and the last line of a verifier log is kept for an
 * error message. Loop thread only.
 */

/* Redirects libbpf's messages, for the whole process, and clears the kept line. */
void bpf_log_install(void);

/* The last line of the most recent verifier log; "" if no program was refused. */
const char *bpf_log_verifier_line(void);

/* Extracts the line before the verifier's statistics. Pure; public for its test. */
void bpf_log_last_line(const char *log, char *ret, size_t size);

#endif /* NODE_AGENT_SAMPLE_PRIVILEGES_H */
