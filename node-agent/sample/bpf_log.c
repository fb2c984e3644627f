#include "node-agent/sample/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>

#include "common/telemetry/log.h"

static char verifier_line[160];

void bpf_log_last_line(const char *log, char *ret, size_t size)
{
	const char *line = log, *best = "";
	size_t best_len = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");
		const char *next = line + len + (line[len] == '\n');

		if (strncmp(line, "-- END PROG LOAD LOG", 20) == 0)
			break;
		if (len > 0 && strncmp(line, "processed ", 10) != 0) {
			best = line;
			best_len = len;
		}
		line = next;
	}
	snprintf(ret, size, "%.*s", (int)best_len, best);
}

/* libbpf passes whole messages; the load log of a program is one message of any length. */
static PRINTF_LIKE(2, 0) int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *msg;
	int n;

	(void)level;
	n = vasprintf(&msg, fmt, ap);
	if (n < 0)
		return 0;
	if (strstr(msg, "BEGIN PROG LOAD LOG"))
		bpf_log_last_line(strchr(msg, '\n') ? strchr(msg, '\n') : "", verifier_line,
				  sizeof(verifier_line));
	msg[strcspn(msg, "\n")] = '\0';
	log_debug("libbpf", "message=%.200s", msg);
	free(msg);
	return n;
}

void bpf_log_install(void)
{
	verifier_line[0] = '\0';
	libbpf_set_print(print);
}

const char *bpf_log_verifier_line(void)
{
	return verifier_line;
}
