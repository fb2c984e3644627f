#include "node-agent/interpreter/perl/perl_names.h"

#include <errno.h>
#include <linux/types.h>

#include "common/text/utf8.h"
#include "node-agent/interpreter/perl/perl_offsets.h"

#include "bpf/frame_chain.h"

#define LINE_MAX 100000000u
#define PAGE_BYTES 4096u
#define HV_MAX (1u << 28)

struct reader {
	const struct perl_layout *layout;
	const struct interpreter_memory *memory;
	const struct interpreter_frame *frame;
};

static uint64_t word_at(const struct reader *k, uint64_t at)
{
	uint64_t word;

	return interpreter_read(k->memory, at, &word, sizeof(word)) < 0 ? 0 : word;
}

/* The word at offset of what the SV's body is. */
static uint64_t body_word(const struct reader *k, uint64_t sv, unsigned offset)
{
	uint64_t body = word_at(k, sv + PERL_SV_BODY);

	return body ? word_at(k, body + offset) : 0;
}

static uint32_t flags_of(const struct reader *k, uint64_t sv)
{
	uint32_t flags;

	return interpreter_read(k->memory, sv + PERL_SV_FLAGS, &flags, sizeof(flags)) < 0 ? 0
											  : flags;
}

static bool is_a(const struct reader *k, uint64_t sv, uint32_t type)
{
	return sv != 0 && (flags_of(k, sv) & PERL_SV_TYPE_MASK) == type;
}

/* ---- what the walk has seen is still there ---- */

static bool has_code(const struct reader *k)
{
	const struct interpreter_frame *f = k->frame;
	uint32_t now = f->code >= CHAIN_CODES ? chain_check(word_at(k, f->code + PERL_SV_BODY)) : 0;

	return ((f->check ^ chain_check_both(now, 0)) & 0xfff) == 0;
}

static bool has_statement(const struct reader *k)
{
	const struct interpreter_frame *f = k->frame;
	uint32_t now = chain_check_place(word_at(k, f->at + PERL_COP_TYPE_LINE),
					 word_at(k, f->at + PERL_COP_FILE));

	return f->at != 0 && (f->check ^ chain_check_both(0, now)) >> 12 == 0;
}

/* ---- texts ---- */

/* Up to the 0 at its end; memory behind it need not be there. */
static int read_text(const struct reader *k, uint64_t at, char *to, size_t cap)
{
	size_t len = 0;

	*to = '\0';
	if (at == 0)
		return -EBADMSG;
	while (len < cap - 1) {
		size_t n = PAGE_BYTES - (size_t)((at + len) % PAGE_BYTES), got;
		int r;

		n = n < cap - 1 - len ? n : cap - 1 - len;
		r = interpreter_read(k->memory, at + len, to + len, n);
		if (r < 0) {
			*to = '\0';
			return r;
		}
		got = strnlen(to + len, n);
		len += got;
		if (got < n)
			break;
	}
	to[utf8_make_printable(to, len)] = '\0';
	return 0;
}

static int read_hek(const struct reader *k, uint64_t hek, char *to, size_t cap)
{
	int32_t length;
	size_t len;
	int r;

	*to = '\0';
	if (hek == 0)
		return -EBADMSG;
	r = interpreter_read(k->memory, hek + PERL_HEK_LENGTH, &length, sizeof(length));
	if (r == 0 && length < 0)
		r = -EBADMSG;
	if (r < 0)
		return r;
	len = (size_t)length < cap ? (size_t)length : cap - 1;
	r = interpreter_read(k->memory, hek + PERL_HEK_TEXT, to, len);
	if (r < 0)
		len = 0;
	to[utf8_make_printable(to, len)] = '\0';
	return r;
}

/* ---- names of subs ---- */

/* A package may have several names, of which the first one counts. */
static int read_package(const struct reader *k, uint64_t hv, char *to, size_t cap)
{
	uint64_t aux, name;
	int32_t count;
	int r;

	*to = '\0';
	if (!is_a(k, hv, PERL_TYPE_HV) || !(flags_of(k, hv) & PERL_HV_HAS_NAME))
		return -EBADMSG;
	if (k->layout->name_in_body) {
		aux = word_at(k, hv + PERL_SV_BODY) + PERL_HV_BODY_BYTES;
	} else {
		uint64_t max = body_word(k, hv, PERL_HV_MAX);

		if (max > HV_MAX)
			return -EBADMSG;
		aux = word_at(k, hv + PERL_SV_UNION) + (max + 1) * sizeof(uint64_t);
	}
	name = word_at(k, aux + PERL_AUX_NAME);
	r = interpreter_read(k->memory, aux + PERL_AUX_NAME_COUNT, &count, sizeof(count));
	if (r == 0 && count != 0) {
		uint64_t names = name;

		name = word_at(k, names);
		if (name == 0 && count < 0)
			name = word_at(k, names + sizeof(uint64_t));
	}
	return r < 0 ? r : read_hek(k, name, to, cap);
}

/* stash 0: a sub that belongs to no package. */
static int read_sub(const struct reader *k, uint64_t stash, uint64_t hek, char *to, size_t cap)
{
	size_t len = 0;

	*to = '\0';
	if (stash != 0) {
		/* the package may be gone, as those of eval; the sub is not */
		if (read_package(k, stash, to, cap - sizeof("::")) < 0)
			snprintf(to, cap, "__ANON__");
		len = (size_t)(stpcpy(to + strlen(to), "::") - to);
	}
	return read_hek(k, hek, to + len, cap - len);
}

static int read_code(const struct reader *k, uint64_t code, char *to, size_t cap)
{
	if (is_a(k, code, PERL_TYPE_GV)) {
		uint64_t gv = word_at(k, word_at(k, code + PERL_SV_UNION) + PERL_GP_EGV);

		if (!is_a(k, gv, PERL_TYPE_GV))
			gv = code;
		return read_sub(k, body_word(k, gv, PERL_GV_STASH), body_word(k, gv, PERL_GV_NAME),
				to, cap);
	}
	if (is_a(k, code, PERL_TYPE_CV) || is_a(k, code, PERL_TYPE_FORMAT)) {
		uint32_t flags = (uint32_t)body_word(k, code, PERL_CV_FLAGS);
		uint64_t stash = body_word(k, code, PERL_CV_STASH);

		if (!(flags & PERL_CV_NAMED)) { /* its name is gone with its package */
			snprintf(to, cap, "__ANON__");
			return 0;
		}
		return read_sub(k, flags & PERL_CV_LEXICAL ? 0 : stash,
				body_word(k, code, PERL_CV_NAME), to, cap);
	}
	return -EBADMSG;
}

/* ---- files and lines ---- */

/* The name of a GV that stands for a file begins with "_<". */
static int read_file_of_gv(const struct reader *k, uint64_t gv, char *to, size_t cap)
{
	int r = is_a(k, gv, PERL_TYPE_GV) ? read_hek(k, body_word(k, gv, PERL_GV_NAME), to, cap)
					  : -EBADMSG;

	if (r == 0 && strncmp(to, "_<", 2) == 0)
		memmove(to, to + 2, strlen(to + 2) + 1);
	return r;
}

static int read_file(const struct reader *k, struct interpreter_name *ret)
{
	uint64_t file = word_at(k, k->frame->at + PERL_COP_FILE);

	if (k->layout->threaded)
		return read_text(k, file, ret->file, sizeof(ret->file));
	return read_file_of_gv(k, file, ret->file, sizeof(ret->file));
}

/*
 * Text that was evaluated is freed. What is being compiled has one statement, PL_compiling, without
 * a type; its line changes.
 */
static int read_place(const struct reader *k, struct interpreter_name *ret)
{
	uint64_t line = 0;
	int r = -ESTALE;

	if (has_statement(k))
		r = read_file(k, ret);
	if (r == 0)
		r = interpreter_read(k->memory, k->frame->at + PERL_COP_TYPE_LINE, &line,
				     sizeof(line));
	if (r == 0 && !has_statement(k))
		r = -ESTALE;
	if (r < 0)
		ret->file[0] = '\0';
	else if ((uint32_t)line != 0 && line >> 32 <= LINE_MAX)
		ret->line = (uint32_t)(line >> 32);
	return r;
}

/* The last part of the file's name. */
static void name_file(const char *otherwise, struct interpreter_name *ret)
{
	const char *slash = strrchr(ret->file, '/'), *name = slash ? slash + 1 : ret->file;

	snprintf(ret->function, sizeof(ret->function), "%.*s", (int)sizeof(ret->function) - 1,
		 *name ? name : otherwise);
}

/* The program, what evaluates something, or a block that sort() runs. */
static void name_kind(uint64_t code, struct interpreter_name *ret)
{
	uint64_t kind = (code >> 3) - 1;
	bool is_file = kind & 1;

	if (code == 0)
		name_file("main", ret);
	else if ((kind >> 1 & PERL_CONTEXT_KIND_MASK) == PERL_CONTEXT_NULL)
		snprintf(ret->function, sizeof(ret->function), "(sort)");
	else if (is_file)
		name_file("(require)", ret);
	else
		snprintf(ret->function, sizeof(ret->function), "(eval)");
}

static int read_sub_frame(const struct reader *k, struct interpreter_name *ret)
{
	int r = has_code(k) ? 0 : -ESTALE;

	if (r == 0)
		r = read_code(k, k->frame->code, ret->function, sizeof(ret->function));
	if (r == 0 && !has_code(k))
		r = -ESTALE;
	if (r == 0)
		(void)read_place(k, ret);
	return r;
}

int perl_name_read(const struct perl_layout *layout, const struct interpreter_memory *memory,
		   const struct interpreter_frame *frame, struct interpreter_name *ret)
{
	const struct reader k = {layout, memory, frame};

	*ret = (struct interpreter_name){0};
	if (frame->code >= CHAIN_CODES)
		return read_sub_frame(&k, ret);
	(void)read_place(&k, ret);
	name_kind(frame->code, ret);
	return 0;
}
