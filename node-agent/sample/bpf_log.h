/*
 * libbpf's messages: logged at debug level, and the last line of a verifier log is kept for an
 * error message. Loop thread only.
 */
#ifndef NODE_AGENT_SAMPLE_BPF_LOG_H
#define NODE_AGENT_SAMPLE_BPF_LOG_H

#include "common/base.h"

/* Redirects libbpf's messages, for the whole process, and clears the kept line. */
void bpf_log_install(void);

/* The last line of the most recent verifier log; "" if no program was refused. */
const char *bpf_log_verifier_line(void);

/* Extracts the line before the verifier's statistics. Pure; public for its test. */
void bpf_log_last_line(const char *log, char *ret, size_t size);

#endif /* NODE_AGENT_SAMPLE_BPF_LOG_H */
