/*
 * Compares what the symbolizer has for addresses of a file with what addr2line and llvm-addr2line
 * have: function, source file and line of each inlined call and of the function around them.
 *
 * The addresses are spread evenly over the bytes of all functions that nm(1) lists. Functions are
 * compared as the agent shows them, files by their path without what does not change it ("//",
 * "/./", "/x/../"). Of functions that a linker has put at one address, because their code is equal,
 * any is as good as another.
 */
#ifndef TEST_LIB_LINE_TRUTH_H
#define TEST_LIB_LINE_TRUTH_H

#include <ctype.h>

#include "common/limits.h"
#include "node-agent/lines/line_answer.h"
#include "test/lib/symbol_truth.h"

#define LINE_TRUTH_TEXT_BYTES 4096u
#define LINE_TRUTH_CYCLE 64u /* addresses */

enum line_truth_tool {
	LINE_TRUTH_GNU,
	LINE_TRUTH_LLVM,
	LINE_TRUTH_TOOLS,
};

struct line_truth_frame {
	char function[LIMIT_SYMBOL_NAME_BYTES + 1];
	char file[LINE_TRUTH_TEXT_BYTES];
	unsigned line;
};

struct line_truth_frames {
	struct line_truth_frame frames[SYMBOL_LOCATION_FRAMES_MAX];
	unsigned n;
};

struct line_truth_result {
	size_t n;                      /* addresses */
	size_t inlined;                /* that are in inlined calls by our account */
	size_t no_line;                /* that have no line by our account */
	size_t same[LINE_TRUTH_TOOLS]; /* as this tool has it */
	size_t same_either;
	size_t neither;
};

/* ---- what a tool says ---- */

/* Leaves out what does not change a path; a part that ".." removes may be a link, which is none. */
static inline void line_truth_clean_path(char *path)
{
	char *to = path;

	while (strncmp(path, "./", 2) == 0)
		memmove(path, path + 2, strlen(path + 2) + 1);
	for (const char *from = path; *from;) {
		const char *end = from + 1 + strcspn(from + 1, "/");
		size_t len = (size_t)(end - from);

		if (len == 3 && strncmp(from, "/..", 3) == 0 && to > path) {
			while (to > path && *--to != '/')
				;
		} else if (!(len == 1 && *from == '/') && !(len == 2 && from[1] == '.')) {
			memmove(to, from, len);
			to += len;
		}
		from = end;
	}
	*to = '\0';
}

static inline char *line_truth_read_line(char *line, size_t size, FILE *f)
{
	if (!fgets(line, (int)size, f))
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* "file:line", possibly with " (discriminator 3)" behind it; "?" is unknown. */
static inline void line_truth_parse_place(char *text, struct line_truth_frame *ret)
{
	char *end = strstr(text, " (disc"), *colon;

	if (end)
		*end = '\0';
	colon = strrchr(text, ':');
	assert(colon);
	*colon = '\0';
	ret->line = (unsigned)strtoul(colon + 1, NULL, 10);
	snprintf(ret->file, sizeof(ret->file), "%s", strcmp(text, "??") == 0 ? "" : text);
	line_truth_clean_path(ret->file);
	for (char *p = ret->file; *p; p++) {
		if (*p == ' ')
			*p = '_';
	}
}

/* Of the address whose line ("0x…") was read last; reads that of the next one. */
static inline void line_truth_read_frames(FILE *f, char *line, size_t size,
					  struct line_truth_frames *ret)
{
	struct line_truth_frame *x = ret->frames;

	ret->n = 0;
	while (line_truth_read_line(line, size, f) && strncmp(line, "0x", 2) != 0) {
		demangle(line, x->function, sizeof(x->function));
		truth_normalize(x->function);
		if (!line_truth_read_line(line, size, f))
			break;
		if (ret->n == LINE_ANSWER_FRAMES_MAX)
			continue;
		line_truth_parse_place(line, x);
		ret->n++;
		x++;
	}
}

/* ---- what we say ---- */

static inline void line_truth_ask(struct truth_check *c, uint64_t vaddr,
				  struct line_truth_frames *ret)
{
	const struct symbol_location *l;
	uint64_t offset;

	ret->n = 0;
	if (elf_layout_offset(&c->layout, vaddr, &offset) < 0)
		return;
	l = symbolizer_resolve_user(c->symbolizer, &c->mapping, offset, SYMBOL_ADDRESS_EXACT);
	for (; ret->n < l->n; ret->n++) {
		const struct symbol_frame *from = &l->frames[ret->n];
		struct line_truth_frame *to = &ret->frames[ret->n];

		snprintf(to->function, sizeof(to->function), "%s", from->function);
		truth_normalize(to->function);
		/* "[file]" if it has no line */
		snprintf(to->file, sizeof(to->file), "%s", from->file[0] == '[' ? "" : from->file);
		line_truth_clean_path(to->file);
		to->line = from->line;
	}
}

/* ---- both ---- */

/* Whether both are names of the function that has the address. */
static inline bool line_truth_twins(const struct truth *t, uint64_t vaddr, const char *a,
				    const char *b)
{
	return truth_allows(t, vaddr, a, 0) && truth_allows(t, vaddr, b, 0);
}

/* The first frame that is different, from the innermost one on; -1: none. */
static inline int line_truth_difference(const struct truth *t, uint64_t vaddr,
					const struct line_truth_frames *a,
					const struct line_truth_frames *b)
{
	for (unsigned i = 0; i < a->n && i < b->n; i++) {
		const struct line_truth_frame *x = &a->frames[i], *y = &b->frames[i];
		bool outermost = i + 1 == a->n && i + 1 == b->n;

		/* where there is no line, a file says nothing */
		if (x->line != y->line || (x->line != 0 && strcmp(x->file, y->file) != 0))
			return (int)i;
		if (strcmp(x->function, y->function) != 0 &&
		    !(outermost && line_truth_twins(t, vaddr, x->function, y->function)))
			return (int)i;
	}
	return a->n == b->n ? -1 : (int)(a->n < b->n ? a->n : b->n);
}

static inline void line_truth_print(const char *who, const struct line_truth_frames *f, int at)
{
	const struct line_truth_frame *x = &f->frames[at];

	if ((unsigned)at < f->n)
		fprintf(stderr, "    %-4s %s %s:%u\n", who, x->function, x->file, x->line);
	else
		fprintf(stderr, "    %-4s has %u\n", who, f->n);
}

struct line_truth_check {
	struct truth_check truth;
	FILE *tools[LINE_TRUTH_TOOLS];
	char lines[LINE_TRUTH_TOOLS][LINE_TRUTH_TEXT_BYTES];
	struct line_truth_frames theirs[LINE_TRUTH_TOOLS];
	struct line_truth_frames ours;
	size_t shown, max_shown;
	struct line_truth_result result;
};

static inline void line_truth_compare(struct line_truth_check *c, uint64_t vaddr)
{
	struct line_truth_result *r = &c->result;
	int differs[LINE_TRUTH_TOOLS];
	bool either = false;

	line_truth_ask(&c->truth, vaddr, &c->ours);
	for (size_t i = 0; i < LINE_TRUTH_TOOLS; i++) {
		line_truth_read_frames(c->tools[i], c->lines[i], sizeof(c->lines[i]),
				       &c->theirs[i]);
		differs[i] = line_truth_difference(c->truth.truth, vaddr, &c->ours, &c->theirs[i]);
		r->same[i] += differs[i] < 0;
		either |= differs[i] < 0;
	}
	r->n++;
	r->inlined += c->ours.n > 1;
	r->no_line += c->ours.n == 0 || c->ours.frames[0].line == 0;
	r->same_either += either;
	r->neither += !either;
	if (either || c->shown++ >= c->max_shown)
		return;
	for (size_t i = 0; i < LINE_TRUTH_TOOLS; i++) {
		fprintf(stderr, "  %#" PRIx64 ", frame %d\n", vaddr, differs[i]);
		line_truth_print("ours", &c->ours, differs[i]);
		line_truth_print(i == LINE_TRUTH_GNU ? "gnu" : "llvm", &c->theirs[i], differs[i]);
	}
}

/* Writes n addresses of the functions to f, one a line. Returns how many there are. */
static inline size_t line_truth_choose(const struct truth *t, size_t n, FILE *f)
{
	uint64_t bytes = 0, end = 0, seen = 0;
	size_t chosen = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->symbols[i].start >= end) {
			bytes += t->symbols[i].size;
			end = t->symbols[i].start + t->symbols[i].size;
		}
	}
	end = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct truth_symbol *s = &t->symbols[i];

		if (s->start < end)
			continue; /* another name */
		end = s->start + s->size;
		for (; chosen < n; chosen++) {
			uint64_t at = bytes / n ? chosen * (bytes / n) : chosen;

			if (at < seen || at - seen >= s->size)
				break;
			fprintf(f, "%#" PRIx64 "\n", s->start + (at - seen));
		}
		seen += s->size;
	}
	return chosen;
}

static inline FILE *line_truth_run(const char *tool, const char *path, const char *input)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "%s %s <%s", tool, path, input);
	f = popen(command, "re"); // NOLINT(cert-env33-c)
	assert(f);
	return f;
}

static inline void line_truth_ask_all(struct line_truth_check *c, const char *addresses)
{
	FILE *f = fopen(addresses, "re");
	char line[64];

	assert(f);
	for (size_t i = 0; i < LINE_TRUTH_TOOLS; i++)
		(void)line_truth_read_line(c->lines[i], sizeof(c->lines[i]), c->tools[i]);
	while (fgets(line, sizeof(line), f)) {
		line_truth_compare(c, strtoull(line, NULL, 16));
		if (c->result.n % LINE_TRUTH_CYCLE == 0)
			symbolizer_end_cycle(c->truth.symbolizer);
	}
	fclose(f);
}

/*
 * Compares about n addresses of the file at path and prints the first max_shown that are as none of
 * the tools has them. The tools have the file at same_path, which has the same code; that is path
 * if they can read it. Returns 0 or -1. The program that reads DWARF is this one.
 */
static inline int line_truth_check(const char *path, const char *same_path, size_t n,
				   size_t max_shown, struct line_truth_result *ret)
{
	static const char *const tools[] = {"addr2line -afi -e", "llvm-addr2line -afi -e"};
	const struct symbolizer_config cfg = {
		.line_numbers = true,
		.line_patience = 100,
		.frame_limit_bytes = (size_t)64 * 1024 * 1024,
	};
	static struct line_truth_check c;
	char addresses[] = "/tmp/line_truth_XXXXXX";
	struct truth truth;
	FILE *f = line_truth_run("nm -S --defined-only", path, "/dev/null");
	int fd = mkostemp(addresses, O_CLOEXEC), r;

	assert(fd >= 0);
	truth_read(&truth, f);
	pclose(f);
	f = fdopen(fd, "w");
	assert(f);
	(void)line_truth_choose(&truth, n, f);
	fclose(f);
	memset(&c, 0, sizeof(c));
	c.max_shown = max_shown;
	c.truth.truth = &truth;
	r = truth_check_open_with(&c.truth, path, &cfg);
	if (r == 0) {
		for (size_t i = 0; i < LINE_TRUTH_TOOLS; i++)
			c.tools[i] = line_truth_run(tools[i], same_path, addresses);
		line_truth_ask_all(&c, addresses);
		for (size_t i = 0; i < LINE_TRUTH_TOOLS; i++)
			pclose(c.tools[i]);
	}
	truth_check_close(&c.truth);
	truth_fini(&truth);
	unlink(addresses);
	*ret = c.result;
	return r;
}

#endif /* TEST_LIB_LINE_TRUTH_H */
