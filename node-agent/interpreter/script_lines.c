#include "node-agent/interpreter/script_lines.h"

void script_lines_fini(struct script_lines *s)
{
	for (size_t i = 0; i < SCRIPT_LINES_MAX; i++)
		free(s->scripts[i].lines);
	*s = (struct script_lines){0};
}

const uint32_t *script_lines_find(const struct script_lines *s, uint64_t at, uint64_t length)
{
	for (size_t i = 0; i < SCRIPT_LINES_MAX; i++) {
		const struct counted *c = &s->scripts[i];

		if (c->lines && c->source.process == s->process && c->source.at == at &&
		    c->source.length == length)
			return c->lines;
	}
	return NULL;
}

void script_lines_add(struct script_lines *s, uint64_t at, uint64_t length, uint32_t *lines)
{
	struct counted *c = &s->scripts[s->next++ % SCRIPT_LINES_MAX];

	free(c->lines);
	*c = (struct counted){{s->process, at, length}, lines};
}
