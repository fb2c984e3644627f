/*
 * Frames of real processes of CPython 3.6 to 3.15: each has the name, file and lines that the
 * process said itself. Recorded by "check_python_frames PID FILE" (test/python); only the memory
 * that was read then is there.
 */
#include <dirent.h>
#include <errno.h>

#include "node-agent/interpreter/python/python_names.h"
#include "test/lib/python_recording.h"
#include "test/lib/unit.h"

#define FOLDER "test/data/python"
#define PIECES_MAX 1024u

struct piece {
	uint64_t at;
	uint8_t *bytes;
	size_t n;
};

struct recorded {
	struct python_layout layout;
	uint64_t bias;
	struct piece pieces[PIECES_MAX];
	unsigned n_pieces;
	unsigned n_frames;
};

static int read_recorded(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct recorded *r = ctx;

	for (unsigned i = r->n_pieces; i-- > 0;) {
		const struct piece *p = &r->pieces[i];

		if (at >= p->at && at - p->at <= p->n && n <= p->n - (at - p->at)) {
			memcpy(to, p->bytes + (at - p->at), n);
			return 0;
		}
	}
	return -EFAULT;
}

static void read_layout(struct recorded *r, const char *line)
{
	const char *at;

#define READ(member)                        \
	at = strstr(line, " " #member "="); \
	assert_non_null(at);                \
	r->layout.member = (__typeof__(r->layout.member))strtoull(strchr(at, '=') + 1, NULL, 10);
	PYTHON_RECORDING_LAYOUT(READ)
#undef READ
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10) & 15;
}

/* "ADDRESS BYTES" */
static void read_memory(struct recorded *r, const char *line)
{
	struct piece *p = &r->pieces[r->n_pieces++];
	char *hex;

	assert_true(r->n_pieces <= PIECES_MAX);
	p->at = strtoull(line, &hex, 16);
	hex++;
	p->n = strcspn(hex, "\n") / 2;
	p->bytes = malloc(p->n + 1);
	assert_non_null(p->bytes);
	for (size_t i = 0; i < p->n; i++)
		p->bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}

/* "CODE CHECK AT FUNCTION|FILE|LINE|START" */
static void check_frame(struct recorded *r, const char *line)
{
	const struct interpreter_memory memory = {read_recorded, r};
	struct interpreter_frame f = {0};
	struct interpreter_name name;
	char text[2048], *rest;

	f.code = strtoull(line, &rest, 16);
	f.check = (uint32_t)strtoul(rest, &rest, 16);
	f.at = strtoull(rest, &rest, 16);
	assert_int_equal(python_name_read(&r->layout, r->bias, &memory, &f, &name), 0);
	(void)snprintf(text, sizeof(text), " %s|%s|%u|%u\n", name.function, name.file, name.line,
		       name.start_line);
	assert_string_equal(text, rest);
	r->n_frames++;
	/* another object is there now */
	f.check ^= 1;
	assert_int_equal(python_name_read(&r->layout, r->bias, &memory, &f, &name), -ESTALE);
}

static void check_file(const char *name)
{
	static struct recorded r;
	AUTO_FREE char *line = NULL;
	char path[256];
	size_t cap = 0;
	FILE *f;

	r = (struct recorded){0};
	(void)snprintf(path, sizeof(path), FOLDER "/%s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		if (strncmp(line, "layout", 6) == 0)
			read_layout(&r, line);
		else if (strncmp(line, "bias ", 5) == 0)
			r.bias = strtoull(line + 5, NULL, 16);
		else if (strncmp(line, "memory ", 7) == 0)
			read_memory(&r, line + 7);
		else if (strncmp(line, "frame ", 6) == 0)
			check_frame(&r, line + 6);
	}
	fclose(f);
	for (unsigned i = 0; i < r.n_pieces; i++)
		free(r.pieces[i].bytes);
	assert_true(r.n_frames > 10);
}

TEST(frames_of_real_processes_have_their_names)
{
	DIR *d = opendir(FOLDER);
	unsigned n = 0;
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		check_file(e->d_name);
		n++;
	}
	closedir(d);
	assert_true(n >= 11);
}
