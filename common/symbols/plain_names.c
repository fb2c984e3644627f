/*
 * Sources: gfortran's "Naming conventions", OCaml's asmcomp/emitaux.ml (emit_symbol) and
 * middle_end/compilenv.ml, GHC's GHC.Utils.Encoding.
 */
#include "common/symbols/plain_names.h"

struct text {
	char *to;
	size_t len, cap; /* len counts what did not fit, too */
};

static void add(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++, t->len++)
		if (t->len < t->cap)
			t->to[t->len] = s[i];
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool starts_with(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(s, with, n) == 0;
}

/* ---- parts and copies ---- */

static bool is_part(const char *word, size_t len)
{
	static const char *const words[] = {"cold",   "part", "constprop",  "isra",   "lto_priv",
					    "__part", "llvm", "localalias", "__uniq", "warm"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return true;
	return false;
}

/* Where the last ".word" begins; 0: there is none. */
static size_t last_word(const char *name, size_t len)
{
	const char *dot = len > 0 ? memrchr(name, '.', len) : NULL;

	return dot ? (size_t)(dot - name) : 0;
}

static bool is_number(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit(s[i]))
			return false;
	return len > 0;
}

size_t plain_name_without_parts(const char *name, size_t len)
{
	for (;;) {
		size_t word = last_word(name, len), end = len;

		if (word > 0 && is_number(name + word + 1, len - word - 1)) {
			end = word;
			word = last_word(name, end);
		}
		if (word == 0 || !is_part(name + word + 1, end - word - 1))
			return len;
		len = word;
	}
}

/* ---- Fortran ---- */

static bool is_fortran(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit(s[i]) && !(s[i] >= 'a' && s[i] <= 'z') && s[i] != '_')
			return false;
	return len > 0;
}

static void read_fortran(struct text *t, const char *name, size_t len)
{
	static const char separator[] = "_MOD_";
	const char *at = memmem(name, len, separator, sizeof(separator) - 1), *procedure;

	if (!starts_with(name, len, "__") || !at)
		return;
	procedure = at + sizeof(separator) - 1;
	if (at <= name + 2 || !is_fortran(name + 2, (size_t)(at - name) - 2) ||
	    !is_fortran(procedure, (size_t)(name + len - procedure)))
		return;
	add(t, name + 2, (size_t)(at - name) - 2);
	add(t, "::", 2);
	add(t, procedure, (size_t)(name + len - procedure));
}

/* ---- OCaml ---- */

static int hex_digit(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Without the number that the compiler appends; "fun_12" has no other name. */
static size_t without_stamp(const char *name, size_t len)
{
	size_t end = len;

	while (end > 0 && is_digit(name[end - 1]))
		end--;
	if (end == len || end < 2 || name[end - 1] != '_')
		return len;
	end--;
	return end >= 4 && memcmp(name + end - 3, "fun", 3) == 0 &&
			       (name[end - 4] == '_' || name[end - 4] == '.')
		       ? len
		       : end;
}

static void read_ocaml(struct text *t, const char *name, size_t len)
{
	static const char prefix[] = "caml";
	size_t at = sizeof(prefix) - 1;

	if (!starts_with(name, len, prefix) || len <= at || !is_upper(name[at]))
		return;
	len = without_stamp(name, len);
	while (at < len) {
		size_t left = len - at;
		char c = name[at];

		if (starts_with(name + at, left, "__") && left > 2) {
			add(t, ".", 1);
			at += 2;
		} else if (c == '$' && left > 2 && hex_digit(name[at + 1]) >= 0 &&
			   hex_digit(name[at + 2]) >= 0) {
			c = (char)(hex_digit(name[at + 1]) << 4 | hex_digit(name[at + 2]));
			add(t, &c, 1);
			at += 3;
		} else {
			add(t, &c, 1);
			at++;
		}
	}
}

/* ---- Haskell ---- */

/* The character of an escape of two letters; 0: it is none. */
static char z_character(char first, char second)
{
	static const char small[] = "a&b|c^d$e=g>h#i.l<m-n!p+q'r\\s/t*u_v%zz";
	static const char large[] = "C:L(M[N]R)ZZ";
	const char *of = first == 'z' ? small : large;

	for (size_t i = 0; of[i]; i += 2)
		if (of[i] == second)
			return of[i + 1];
	return 0;
}

/* Returns false if it is not encoded so. */
static bool add_decoded(struct text *t, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (c == 'z' || c == 'Z') {
			c = i + 1 < len ? z_character(c, s[i + 1]) : 0;
			i++;
		}
		if (c == 0)
			return false;
		add(t, &c, 1);
	}
	return true;
}

/* A module with a dot: "GHCziBase". No name of C has that by chance, so others are left alone. */
static bool is_module(const char *s, size_t len)
{
	const char *dot = memmem(s, len, "zi", 2);

	return len > 0 && is_upper(s[0]) && dot && dot + 2 < s + len && is_upper(dot[2]);
}

static void read_haskell(struct text *t, const char *name, size_t len)
{
	static const char suffix[] = "_info";
	const size_t n = sizeof(suffix) - 1;
	const char *module, *function, *end;

	if (len <= n || memcmp(name + len - n, suffix, n) != 0)
		return;
	end = name + len - n;
	module = memchr(name, '_', (size_t)(end - name));
	function = module ? memchr(module + 1, '_', (size_t)(end - module) - 1) : NULL;
	if (!function || function + 1 >= end ||
	    !is_module(module + 1, (size_t)(function - module) - 1))
		return;
	if (!add_decoded(t, module + 1, (size_t)(function - module) - 1)) {
		t->len = 0;
		return;
	}
	add(t, ".", 1);
	if (!add_decoded(t, function + 1, (size_t)(end - function) - 1))
		t->len = 0;
}

size_t plain_name_read(const char *name, size_t len, char *to, size_t cap)
{
	struct text t = {.to = to, .cap = cap};

	read_fortran(&t, name, len);
	if (t.len == 0)
		read_ocaml(&t, name, len);
	if (t.len == 0)
		read_haskell(&t, name, len);
	return t.len;
}
