/*
 * Methods, classes and their names, as far as the stacks in use need them. Pure.
 *
 * Stacks refer to methods, those to classes and symbols, and classes to symbols. Constant pools
 * come in any order, so each kind is read on its own, after what refers to it: methods are asked
 * for, then jfr_names_read() finds what they are called.
 */
#ifndef COMMON_JFR_JFR_NAMES_H
#define COMMON_JFR_JFR_NAMES_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/number_index.h"
#include "common/jfr/jfr_constants.h"

#define JFR_METHODS_MAX 32768u
#define JFR_CLASSES_MAX 16384u
#define JFR_SYMBOLS_MAX 49152u
#define JFR_NONE UINT32_MAX

struct jfr_symbol {
	uint64_t id;      /* first, for number_index_find() */
	const char *text; /* NULL: not found */
	uint32_t len;
	uint32_t string; /* number of the constant that has the text, or JFR_NONE */
};

struct jfr_class {
	uint64_t id;      /* first, for number_index_find() */
	const char *name; /* NULL: not known */
	const char *file;
	uint32_t symbol; /* number, or JFR_NONE */
};

struct jfr_method {
	uint64_t id;          /* first, for number_index_find() */
	const char *function; /* NULL: not known */
	const char *file;
	uint32_t class; /* number, or JFR_NONE */
	uint32_t name;  /* number of a symbol, or JFR_NONE */
	bool is_native; /* class is a library, file is it in brackets */
	bool is_kernel;
	bool is_note; /* no code */
};

/* The methods looked up last: stacks name the same ones again and again. */
#define JFR_METHOD_CACHE 4096u
struct jfr_method_cache {
	uint64_t id;
	uint32_t method; /* number + 1; 0: empty */
};

struct jfr_names {
	const struct jfr_constants *constants; /* borrowed */
	struct arena *arena;                   /* borrowed */
	struct jfr_plan method_plan, class_plan, symbol_plan;
	struct jfr_method *methods;
	struct jfr_method_cache *cache; /* by bits of the id */
	struct jfr_class *classes;
	struct jfr_symbol *symbols;
	struct jfr_symbol *strings; /* those that symbols refer to; allocated when the first does */
	uint32_t n_methods, n_classes, n_symbols, n_strings;
	uint32_t methods_max, classes_max, symbols_max;
	struct number_index method_ids, class_ids, symbol_ids, string_ids;
	bool is_full; /* some names are missing for lack of room */
	int error;    /* -ENOMEM */
};

/* n_bytes: size of the chunk, which bounds the number of names. Returns 0, -ENOMEM or -EFBIG. */
int jfr_names_init(struct jfr_names *n, const struct jfr_constants *c, struct arena *a,
		   uint64_t n_bytes) MUST_CHECK;

/* Asks for a method or class. Returns NULL if there is no room. */
struct jfr_method *jfr_names_want_method(struct jfr_names *n, uint64_t id);
struct jfr_class *jfr_names_want_class(struct jfr_names *n, uint64_t id);

/*
 * Finds the names of all that was asked for. Returns 0, -ENOMEM, -EBADMSG or an error of the
 * source; what was found before that has names.
 */
int jfr_names_read(struct jfr_names *n) MUST_CHECK;

/* NULL if it was not asked for. */
const struct jfr_method *jfr_names_method(const struct jfr_names *n, uint64_t id);
const struct jfr_class *jfr_names_class(const struct jfr_names *n, uint64_t id);

#endif /* COMMON_JFR_JFR_NAMES_H */
