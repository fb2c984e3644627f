#include "node-agent/host_identity.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>

#include "common/telemetry/log.h"

static const char *const id_files[] = {
	"/proc/1/root/etc/machine-id",
	"/etc/machine-id",
	"/proc/1/root/var/lib/dbus/machine-id",
	"/sys/devices/virtual/dmi/id/product_uuid",
};

/* Copies the letters and digits of the first line, in lower case. */
static void clean_id(char *id, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && text[i] != '\n' && n < HOST_ID_MAX_BYTES; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			id[n++] = c;
	}
	id[n] = '\0';
}

static bool read_id(char *id, const char *root, const char *file)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	char text[128];
	ssize_t n;

	if (asprintf(&path, "%s%s", root, file) < 0) {
		path = NULL;
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	if (n <= 0)
		return false;
	clean_id(id, text, (size_t)n);
	return id[0] != '\0';
}

/*
 * The agent may run in a container with a UTS namespace of its own, while the host's name is that
 * of process 1. uname(2) only reads the caller's namespace, so this thread enters the other and
 * returns.
 */
static void read_name(char *name)
{
	AUTO_CLOSE int own = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int host = open("/proc/1/ns/uts", O_RDONLY | O_CLOEXEC);
	bool entered = own >= 0 && host >= 0 && setns(host, CLONE_NEWUTS) == 0;
	struct utsname u;

	if (uname(&u) == 0)
		snprintf(name, HOST_NAME_MAX_BYTES + 1, "%s", u.nodename);
	if (entered && setns(own, CLONE_NEWUTS) < 0)
		log_warn("cannot return to the agent's own UTS namespace", "error=\"%m\"");
}

void host_identity_read(struct host_identity *ret, const char *root, const char *node_name)
{
	*ret = (struct host_identity){0};
	if (node_name && node_name[0])
		snprintf(ret->name, sizeof(ret->name), "%s", node_name);
	else
		read_name(ret->name);
	for (size_t i = 0; i < ARRAY_SIZE(id_files); i++) {
		if (read_id(ret->id, strcmp(root, "/") == 0 ? "" : root, id_files[i]))
			return;
	}
}
