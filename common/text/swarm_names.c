#include "common/text/swarm_names.h"

/*
 * The task's name is <service>.<slot>.<task id>, with the node's id in place of the slot for a
 * service that runs once per node.
 */
bool swarm_name(char *ret, size_t size, const char *task, const char *service, const char *stack)
{
	size_t len = stack ? strlen(stack) : 0;
	const char *slot = task ? strchr(task, '.') : NULL;
	const char *end = slot ? strchr(slot + 1, '.') : NULL;
	int n;

	if (!end || !service)
		return false;
	slot++;
	if (stack && strncmp(service, stack, len) == 0 && service[len] == '_' && service[len + 1])
		service += len + 1;
	n = snprintf(ret, size, "/swarm/%s/%s/%.*s", stack ? stack : "_", service,
		     (int)(end - slot), slot);
	return n > 0 && (size_t)n < size;
}
