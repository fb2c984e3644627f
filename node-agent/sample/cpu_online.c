#include "node-agent/sample/cpu_online.h"

#include <errno.h>

struct cursor {
	const char *p;
	const char *end;
};

static int take_number(struct cursor *c, unsigned *ret)
{
	const char *start = c->p;
	unsigned v = 0;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
		v = v * 10 + (unsigned)(*c->p - '0');
		if (v >= CPU_ONLINE_MAX)
			return -ERANGE;
		c->p++;
	}
	*ret = v;
	return c->p > start ? 0 : -EBADMSG;
}

static bool take_char(struct cursor *c, char ch)
{
	if (c->p == c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

static int take_range(struct cursor *c, struct cpu_set_bits *s)
{
	unsigned first, last;
	int r;

	r = take_number(c, &first);
	if (r < 0)
		return r;
	last = first;
	if (take_char(c, '-'))
		r = take_number(c, &last);
	if (r < 0)
		return r;
	if (last < first)
		return -EBADMSG;
	for (unsigned cpu = first; cpu <= last; cpu++)
		cpu_set_add(s, cpu);
	return 0;
}

int cpu_online_parse(const char *text, size_t len, struct cpu_set_bits *ret)
{
	struct cpu_set_bits s = {0};
	struct cursor c = {text, text + len};
	bool more;

	while (c.end > c.p && c.end[-1] == '\n')
		c.end--;
	/* the kernel writes an empty set as an empty line */
	more = c.p < c.end;
	while (more) {
		int r = take_range(&c, &s);

		if (r < 0)
			return r;
		more = take_char(&c, ',');
	}
	if (c.p != c.end)
		return -EBADMSG;
	*ret = s;
	return 0;
}

void cpu_set_add(struct cpu_set_bits *s, unsigned cpu)
{
	if (cpu < CPU_ONLINE_MAX)
		s->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

void cpu_set_remove(struct cpu_set_bits *s, unsigned cpu)
{
	if (cpu < CPU_ONLINE_MAX)
		s->words[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

unsigned cpu_set_count(const struct cpu_set_bits *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(s->words); i++)
		n += (unsigned)__builtin_popcountll(s->words[i]);
	return n;
}

struct cpu_set_bits cpu_set_minus(const struct cpu_set_bits *a, const struct cpu_set_bits *b)
{
	struct cpu_set_bits s;

	for (size_t i = 0; i < ARRAY_SIZE(s.words); i++)
		s.words[i] = a->words[i] & ~b->words[i];
	return s;
}
