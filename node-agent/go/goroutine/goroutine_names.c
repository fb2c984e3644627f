#include "node-agent/go/goroutine/goroutine_names.h"

#include <errno.h>

static const char *const states[GOROUTINE_STATUS_MAX] = {
	[GOROUTINE_IDLE] = "[idle]",           [GOROUTINE_RUNNABLE] = "[runnable]",
	[GOROUTINE_RUNNING] = "[running]",     [GOROUTINE_SYSCALL] = "[syscall]",
	[GOROUTINE_WAITING] = "[waiting]",     [GOROUTINE_DEAD] = "[dead]",
	[GOROUTINE_COPYSTACK] = "[copystack]", [GOROUTINE_PREEMPTED] = "[preempted]",
	[GOROUTINE_LEAKED] = "[leaked]",       [GOROUTINE_DEAD_EXTRA] = "[dead]",
};

void goroutine_names_init(struct goroutine_names *n, struct go_runtime *rt)
{
	memset(n, 0, sizeof(*n));
	n->rt = rt;
}

int goroutine_names_reason(struct goroutine_names *n, const struct goroutine_place *place,
			   const char **ret)
{
	const char *state = place->status < GOROUTINE_STATUS_MAX ? states[place->status] : NULL;
	char *text = n->reasons[place->wait_reason], reason[GOROUTINE_REASON_BYTES];
	int r;

	*ret = state ? state : "[unknown]";
	if (place->wait_reason == 0)
		return 0;
	if (text[0] == '\0') {
		r = goroutine_variables_reason(n->rt, place->wait_reason, reason);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
		snprintf(text, sizeof(n->reasons[0]), "[%s]", reason);
	}
	*ret = text;
	return 0;
}
