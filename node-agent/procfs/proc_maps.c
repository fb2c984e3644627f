#include "node-agent/procfs/proc_maps.h"

#include <errno.h>

#define DELETED " (deleted)"
#define PERMS_LEN 4 /* "r-xp" */
#define EXEC 2

struct cursor {
	const char *p;
	const char *end;
};

static int digit_value(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return -1;
}

static bool take_hex(struct cursor *c, uint64_t max, uint64_t *ret)
{
	const char *start = c->p;
	uint64_t v = 0;

	while (c->p < c->end && digit_value(*c->p) >= 0) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)digit_value(*c->p);
		c->p++;
	}
	*ret = v;
	return c->p > start && v <= max;
}

static bool take_decimal(struct cursor *c, uint64_t *ret)
{
	const char *start = c->p;
	uint64_t v = 0;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v))
			return false;
		c->p++;
	}
	*ret = v;
	return c->p > start;
}

static bool take_char(struct cursor *c, char ch)
{
	if (c->p == c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

static bool take_permissions(struct cursor *c)
{
	if (c->end - c->p < PERMS_LEN)
		return false;
	c->p += PERMS_LEN;
	return true;
}

static bool take_numbers(struct cursor *c, struct proc_map *m)
{
	uint64_t dev_major, dev_minor;

	if (!take_hex(c, UINT64_MAX, &m->start) || !take_char(c, '-') ||
	    !take_hex(c, UINT64_MAX, &m->end) || !take_char(c, ' ') || m->start >= m->end ||
	    !take_permissions(c) || !take_char(c, ' ') ||
	    !take_hex(c, UINT64_MAX, &m->file_offset) || !take_char(c, ' ') ||
	    !take_hex(c, UINT32_MAX, &dev_major) || !take_char(c, ':') ||
	    !take_hex(c, UINT32_MAX, &dev_minor) || !take_char(c, ' ') || !take_decimal(c, &m->ino))
		return false;
	m->dev_major = (uint32_t)dev_major;
	m->dev_minor = (uint32_t)dev_minor;
	return c->p == c->end || *c->p == ' ';
}

void proc_map_set_path(struct proc_map *m, const char *text, size_t len)
{
	const size_t deleted_len = strlen(DELETED);

	m->path = text;
	m->path_len = len;
	m->deleted =
		len > deleted_len && memcmp(text + len - deleted_len, DELETED, deleted_len) == 0;
	if (m->deleted)
		m->path_len -= deleted_len;
}

bool proc_map_is_executable(const char *line, size_t len)
{
	const char *permissions = memchr(line, ' ', len);

	return permissions && line + len - permissions > PERMS_LEN && permissions[1 + EXEC] == 'x';
}

int proc_map_parse(const char *line, size_t len, struct proc_map *ret)
{
	struct cursor c = {line, line + len};
	struct proc_map m = {0};

	if (!take_numbers(&c, &m))
		return -EBADMSG;

	while (take_char(&c, ' '))
		;
	proc_map_set_path(&m, c.p, (size_t)(c.end - c.p));
	*ret = m;
	return 0;
}
