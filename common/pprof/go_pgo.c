#include "common/pprof/go_pgo.h"

#include <errno.h>

#include "common/pprof/unused_parts.h"

#define DEFAULT_PERIOD_NS 10000000 /* of runtime/pprof */

#define TEXT(s)                    \
	{                          \
		(s), sizeof(s) - 1 \
	}

static struct profile_value_type types[] = {
	{TEXT("samples"), TEXT("count")},
	{TEXT("cpu"), TEXT("nanoseconds")},
};

static bool is_go(const struct profile *p, const struct profile_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		if (p->functions[l->lines[i].function].start_line > 0)
			return true;
	}
	return false;
}

/* Frames of C between those of Go stay: otherwise Go functions would seem to call each other. */
static void trim(const struct profile *p, struct profile_sample *s)
{
	while (s->n_locations > 0 && !is_go(p, &p->locations[s->locations[0]])) {
		s->locations++;
		s->n_locations--;
	}
	while (s->n_locations > 0 && !is_go(p, &p->locations[s->locations[s->n_locations - 1]]))
		s->n_locations--;
}

static int64_t count_of(int64_t cpu_ns, int64_t period)
{
	int64_t n = cpu_ns / period + (cpu_ns % period >= period - period / 2);

	return n > 0 ? n : 1;
}

int go_pgo_make(struct profile *p, uint32_t type, struct err *err)
{
	int64_t *values = arena_calloc(p->arena, p->n_samples, 2 * sizeof(*values));
	uint32_t n = 0;

	if (!values)
		return arena_error(p->arena, p->n_samples * 2 * sizeof(*values));
	if (p->period <= 0)
		p->period = DEFAULT_PERIOD_NS;
	for (uint32_t i = 0; i < p->n_samples; i++) {
		struct profile_sample s = p->samples[i];
		int64_t cpu_ns = s.values[type];

		trim(p, &s);
		if (s.n_locations == 0 || cpu_ns <= 0)
			continue;
		values[2 * n] = count_of(cpu_ns, p->period);
		values[2 * n + 1] = cpu_ns;
		s.values = &values[2 * n];
		p->samples[n++] = s;
	}
	p->n_samples = n;
	p->types = types;
	p->n_types = ARRAY_SIZE(types);
	p->period_type = types[1];
	p->n_comments = 0;
	if (n > 0)
		return unused_parts_remove(p);
	return err_set(err, -ENODATA,
		       "no stack has a function of a program built by Go 1.20 or newer");
}
