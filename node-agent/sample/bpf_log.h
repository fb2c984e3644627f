/*
 * What libbpf says: to our log at debug, and the verifier's last words kept
 * for an error message. Loop thread only.
 */
#ifndef NODE_AGENT_SAMPLE_BPF_LOG_H
#define NODE_AGENT_SAMPLE_BPF_LOG_H

#include "common/base.h"

/* From now on; libbpf has one such setting per program. Forgets what was kept. */
void bpf_log_install(void);

/* The last line of the last verifier log that refused a program; "" when there was none. */
const char *bpf_log_verifier_line(void);

/* The line before the verifier's statistics. Pure; for the test. */
void bpf_log_last_line(const char *log, char *ret, size_t size);

#endif /* NODE_AGENT_SAMPLE_BPF_LOG_H */
