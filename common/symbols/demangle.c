#include "common/symbols/demangle.h"

#include <setjmp.h>

#include <libiberty/demangle.h>

#include "common/text/utf8.h"

struct output {
	char *to;
	size_t cap;
	size_t len;
	bool is_rust; /* the Rust demangler is the one that is running */
	jmp_buf full;
};

static bool is_ascii(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80)
			return false;
	}
	return true;
}

/*
 * libiberty's callback cannot stop the demangler, so output that explodes is left by
 * longjmp(). This leaks nothing, because the callback variants keep their state on the stack,
 * with one exception: the Rust demangler has allocated memory while it passes on a decoded
 * Punycode identifier. It does that in one piece, which always has a character beyond ASCII,
 * so no jump leaves such a piece. The limit still holds, since everything in Rust names that
 * multiplies output prints ASCII separators in between.
 */
static void append(const char *s, size_t len, void *ctx)
{
	struct output *out = ctx;
	size_t room = out->cap - 1 - out->len;
	size_t n = len < room ? len : room;

	if (n > 0) /* s may be NULL if there is nothing to add */
		memcpy(out->to + out->len, s, n);
	out->len += n;
	if (len > room && (!out->is_rust || is_ascii(s, len)))
		longjmp(out->full, 1);
}

/* Returns the length without suffixes such as " [clone .part.0] [clone .cold]". */
static size_t without_clones(const char *s, size_t len)
{
	static const char clone[] = " [clone ";

	for (size_t i = 0; i + sizeof(clone) - 1 < len && s[len - 1] == ']'; i++) {
		if (memcmp(s + i, clone, sizeof(clone) - 1) == 0)
			return i;
	}
	return len;
}

/* Returns false if the name is not mangled. setjmp() is here, where no local variable changes. */
static bool demangle_into(const char *name, struct output *out)
{
	if (setjmp(out->full))
		return true;
	out->is_rust = true;
	if (rust_demangle_callback(name, 0, append, out))
		return true;
	out->is_rust = false;
	out->len = 0;
	return name[0] == '_' && name[1] == 'Z' &&
	       cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out);
}

static size_t copy_plain(const char *name, size_t len, char *to, size_t cap)
{
	if (len > cap - 1)
		len = cap - 1;
	memcpy(to, name, len);
	return len;
}

size_t demangle(const char *name, char *to, size_t cap)
{
	char mangled[DEMANGLE_INPUT_MAX_BYTES + 1];
	struct output out = {.to = to, .cap = cap};
	size_t len = strnlen(name, sizeof(mangled));
	const char *version = memchr(name, '@', len);

	if (version && version != name)
		len = (size_t)(version - name);
	if (name[0] != '_' || len == sizeof(mangled)) {
		len = copy_plain(name, len, to, cap);
	} else {
		memcpy(mangled, name, len);
		mangled[len] = '\0';
		if (demangle_into(mangled, &out) && out.len > 0)
			len = without_clones(to, out.len);
		else
			len = copy_plain(mangled, len, to, cap);
	}
	len = utf8_make_printable(to, len);
	to[len] = '\0';
	return len;
}
