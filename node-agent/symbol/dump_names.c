/*
 * Beside its name, a function has its number, by which a move refers to it, its lines, and the
 * files that those are in.
 *
 * perf(1) puts the code behind the header of an ELF file and expects lines to have addresses as in
 * there. V8 writes them so, others as in memory. The first line is never so far from the
 * beginning of the code that the two look alike, but where V8 has compiled the beginning away.
 *
 * A line counts only if it is in the file that the function is in: others are of inlined calls,
 * whose functions a jitdump does not name.
 */
#include "node-agent/symbol/dump_names.h"

#include <errno.h>

#include "node-agent/jit/jit_dump.h"
#include "node-agent/symbol/jit_functions.h"

#define ELF_HEADER_BYTES 64u
#define LINES_MAX 1024u           /* of a function */
#define FILE_BYTES_MAX 1024u      /* of a path */
#define MOVE_STEPS_MAX (1u << 22) /* for all moves in what is added at once */

struct line {
	uint32_t offset; /* from the beginning of the code */
	uint32_t line;
	uint32_t file; /* where it is in the texts behind the lines */
};

/* What is kept of a function, before its lines. */
struct facts {
	uint64_t index;
	uint32_t n_lines;
	uint32_t n_file_bytes;
};

#define EXTRA_BYTES (sizeof(struct facts) + LINES_MAX * sizeof(struct line) + 16 * FILE_BYTES_MAX)

struct dump_names {
	struct jit_dump *dump;
	struct jit_functions *functions;
	uint32_t move_steps; /* that are left */
	uint64_t moved;      /* the number that is looked for */
	char extra[EXTRA_BYTES];
	char name[JIT_DUMP_NAME_BYTES];
};

/* ---- what is kept of a function ---- */

static size_t lines_at(size_t i)
{
	return sizeof(struct facts) + i * sizeof(struct line);
}

/* What the addresses of lines have to be lowered by. */
static uint64_t header_before(struct jit_dump_lines lines, uint64_t address)
{
	struct jit_dump_line l;

	while (jit_dump_next_line(&lines, &l)) {
		if (l.address < address + ELF_HEADER_BYTES)
			return 0;
	}
	return ELF_HEADER_BYTES;
}

static uint32_t count_lines(struct jit_dump_lines lines)
{
	struct jit_dump_line l;
	uint32_t n = 0;

	while (n < LINES_MAX && jit_dump_next_line(&lines, &l))
		n++;
	return n;
}

/* Returns where the file is in the texts, which begin at `at` of the extra. */
static uint32_t add_file(struct dump_names *d, size_t at, uint32_t *n_bytes,
			 const struct jit_dump_line *l)
{
	const char *texts = d->extra + at;
	size_t len = l->file_len < FILE_BYTES_MAX ? l->file_len : FILE_BYTES_MAX;

	for (uint32_t i = 0; i < *n_bytes; i += (uint32_t)strlen(texts + i) + 1) {
		if (strlen(texts + i) == len && memcmp(texts + i, l->file, len) == 0)
			return i;
	}
	if (at + *n_bytes + len + 1 > sizeof(d->extra))
		return UINT32_MAX;
	memcpy(d->extra + at + *n_bytes, l->file, len);
	d->extra[at + *n_bytes + len] = '\0';
	*n_bytes += (uint32_t)len + 1;
	return *n_bytes - (uint32_t)len - 1;
}

static size_t make_extra(struct dump_names *d, const struct jit_dump_code *c)
{
	struct facts facts = {.index = c->index, .n_lines = count_lines(c->lines)};
	const uint64_t begin = c->address + header_before(c->lines, c->address);
	struct jit_dump_lines lines = c->lines;
	const size_t files = lines_at(facts.n_lines);
	struct jit_dump_line l;

	for (uint32_t i = 0; i < facts.n_lines && jit_dump_next_line(&lines, &l); i++) {
		uint64_t offset = l.address - begin;
		const struct line line = {
			.offset = offset < c->size_bytes ? (uint32_t)offset : UINT32_MAX,
			.line = l.line,
			.file = add_file(d, files, &facts.n_file_bytes, &l),
		};

		memcpy(d->extra + lines_at(i), &line, sizeof(line));
	}
	memcpy(d->extra, &facts, sizeof(facts));
	return files + facts.n_file_bytes;
}

static int on_code(void *ctx, const struct jit_dump_code *c)
{
	struct dump_names *d = ctx;

	return jit_functions_add(d->functions, &(struct jit_function){
						       .start = c->address,
						       .size_bytes = c->size_bytes,
						       .name = c->name,
						       .name_len = c->name_len,
						       .extra = d->extra,
						       .extra_len = make_extra(d, c),
					       });
}

/* ---- moves ---- */

static bool is_moved(void *ctx, const struct jit_function *f)
{
	const struct dump_names *d = ctx;
	struct facts facts;

	memcpy(&facts, f->extra, sizeof(facts));
	return facts.index == d->moved;
}

static int on_move(void *ctx, const struct jit_dump_move *m)
{
	struct dump_names *d = ctx;
	struct jit_function f;

	d->moved = m->index;
	if (!jit_functions_find_newest(d->functions, is_moved, d, &d->move_steps, &f))
		return 0;
	memcpy(d->name, f.name, f.name_len);
	memcpy(d->extra, f.extra, f.extra_len);
	f.name = d->name;
	f.extra = d->extra;
	f.start = m->to;
	f.size_bytes = m->size_bytes;
	return jit_functions_add(d->functions, &f);
}

/* ---- */

int dump_names_new(struct dump_names **ret, size_t max_bytes)
{
	CLEANUP(dump_names_freep) struct dump_names *d = calloc(1, sizeof(*d));
	const struct jit_dump_sink sink = {.on_code = on_code, .on_move = on_move, .ctx = d};

	if (!d || jit_functions_new(&d->functions, max_bytes) < 0 ||
	    jit_dump_new(&d->dump, &sink) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(d);
	return 0;
}

void dump_names_free(struct dump_names *d)
{
	if (!d)
		return;
	jit_dump_free(d->dump);
	jit_functions_free(d->functions);
	free(d);
}

int dump_names_add(struct dump_names *d, const char *data, size_t len)
{
	d->move_steps = MOVE_STEPS_MAX;
	return jit_dump_add(d->dump, data, len);
}

uint64_t dump_names_skip(struct dump_names *d, uint64_t max)
{
	return jit_dump_skip(d->dump, max);
}

bool dump_names_is_broken(const struct dump_names *d)
{
	return jit_dump_is_broken(d->dump);
}

size_t dump_names_bytes(const struct dump_names *d)
{
	return sizeof(*d) + jit_dump_bytes(d->dump) + jit_functions_bytes(d->functions);
}

/* ---- lookup ---- */

/* The line of the code at the offset, of those in the file; 0: unknown. */
static uint32_t find_line(const char *extra, const struct facts *facts, uint32_t file,
			  uint64_t offset)
{
	struct line best = {0};

	for (uint32_t i = 0; i < facts->n_lines; i++) {
		struct line l;

		memcpy(&l, extra + lines_at(i), sizeof(l));
		if (l.file == file && l.offset <= offset && l.offset >= best.offset)
			best = l;
	}
	return best.line;
}

/* Where in the texts the file of the function is; without one in its name, the first. */
static uint32_t find_file(const char *files, const struct facts *facts, struct perf_map_name *name)
{
	char file[PERF_MAP_FILE_BYTES + 1];

	for (uint32_t i = 0; i < facts->n_file_bytes; i += (uint32_t)strlen(files + i) + 1) {
		perf_map_name_file(file, files + i);
		if (strcmp(name->file, PERF_MAP_NO_FILE) == 0)
			memcpy(name->file, file, sizeof(file));
		if (strcmp(name->file, file) == 0)
			return i;
	}
	return UINT32_MAX;
}

int dump_names_find(struct dump_names *d, uint64_t address, struct perf_map_name *ret)
{
	struct jit_function f;
	struct facts facts;
	int r = jit_functions_find(d->functions, address, &f);

	if (r < 0)
		return r;
	perf_map_name_parse(ret, f.name, f.name_len);
	memcpy(&facts, f.extra, sizeof(facts));
	if (facts.n_lines > 0)
		ret->at_line = find_line(f.extra, &facts,
					 find_file(f.extra + lines_at(facts.n_lines), &facts, ret),
					 address - f.start);
	return 0;
}
