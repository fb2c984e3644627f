#include "common/system/cgroup_text.h"

#define MOUNT_FIELDS 5 /* of a line of mountinfo: id, parent, device, root, mount point */

static bool is(struct cgroup_span t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

/* Removes everything up to the next separator from the front of rest, and returns it. */
static struct cgroup_span cut(struct cgroup_span *rest, char separator)
{
	const char *end = rest->len > 0 ? memchr(rest->p, separator, rest->len) : NULL;
	struct cgroup_span first = {rest->p, end ? (size_t)(end - rest->p) : rest->len};
	size_t used = first.len + (end != NULL);

	*rest = (struct cgroup_span){rest->p + used, rest->len - used};
	return first;
}

static bool has_word(struct cgroup_span list, const char *word)
{
	while (list.len > 0) {
		if (is(cut(&list, ','), word))
			return true;
	}
	return false;
}

/* A line is "4:cpu,cpuacct:/path", or "0::/path" for v2. */
bool cgroup_text_path(const char *controller, struct cgroup_span text, struct cgroup_span *ret)
{
	while (text.len > 0) {
		struct cgroup_span path = cut(&text, '\n');
		struct cgroup_span number = cut(&path, ':'), controllers = cut(&path, ':');

		if (path.len == 0 || path.p[0] != '/')
			continue;
		if (controller ? has_word(controllers, controller)
			       : is(number, "0") && controllers.len == 0) {
			*ret = path;
			return true;
		}
	}
	return false;
}

/* A path with escapes is not worth decoding. */
static bool is_plain_path(struct cgroup_span t)
{
	return t.len > 0 && t.p[0] == '/' && !memchr(t.p, '\\', t.len);
}

/* "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu" */
static bool parse_mount(const char *controller, struct cgroup_span line, struct cgroup_mount *ret)
{
	struct cgroup_span fields[MOUNT_FIELDS] = {0}, type;

	for (size_t i = 0; i < MOUNT_FIELDS; i++)
		fields[i] = cut(&line, ' ');
	if (!is_plain_path(fields[3]) || !is_plain_path(fields[4]))
		return false;
	while (line.len > 0 && !is(cut(&line, ' '), "-"))
		;
	type = cut(&line, ' ');
	(void)cut(&line, ' ');
	*ret = (struct cgroup_mount){fields[3], fields[4]};
	return controller ? is(type, "cgroup") && has_word(line, controller) : is(type, "cgroup2");
}

bool cgroup_text_next_mount(const char *controller, struct cgroup_span *rest,
			    struct cgroup_mount *ret)
{
	while (rest->len > 0) {
		if (parse_mount(controller, cut(rest, '\n'), ret))
			return true;
	}
	return false;
}
