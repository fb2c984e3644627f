/*
 * Methods that were compiled before a program runs ("ReadyToRun"), as all of .NET's own assemblies
 * are: which method the code at an address of an image is of. Pure; all bytes are hostile.
 *
 * Source: docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime, and its readytorun.h,
 * nativeformatreader.h and zapsig.cpp.
 */
#ifndef NODE_AGENT_DOTNET_READY_TO_RUN_H
#define NODE_AGENT_DOTNET_READY_TO_RUN_H

#include "common/base.h"
#include "node-agent/dotnet/dotnet_metadata.h"
#include "node-agent/dotnet/pe_image.h"

/* Of the header. */
enum ready_to_run_flag {
	READY_TO_RUN_COMPONENT = 0x20, /* the code is in the image of a composite */
};

#define READY_TO_RUN_FUNCTIONS_MAX 2097152u

struct ready_to_run {
	uint16_t major; /* of the format */
	uint16_t minor;
	uint32_t flags;
	uint32_t n_functions;
	uint32_t function_bytes;   /* of an element of functions */
	struct pe_range functions; /* RUNTIME_FUNCTION, ascending */
	struct pe_range methods;   /* their code, by row of MethodDef */
	struct pe_range instances; /* that of generic methods with arguments */
	struct pe_range cold;      /* code that was split off */
	struct pe_range debug;     /* what it was compiled from, by function */
};

/*
 * Finds what an image has. Returns 0; -ENOENT if it has no compiled code; -ENOTSUP if its code is
 * in a composite image, or is one for several assemblies, or for a processor or of a format that is
 * not known; -EBADMSG if it is damaged; or an error of byte_source_read().
 */
int ready_to_run_open(struct ready_to_run *ret, const struct pe_image *pe,
		      const struct byte_source *src) MUST_CHECK;

/* A piece of code: a method has one for its body, and more for its handlers of exceptions. */
struct ready_to_run_function {
	uint32_t index;
	uint32_t start; /* RVAs */
	uint32_t end;   /* exclusive */
	uint32_t unwind;
};

/* The function with this index, below n_functions. Returns 0 or an error as above. */
int ready_to_run_function(const struct ready_to_run *r, const struct pe_image *pe,
			  const struct byte_source *src, uint32_t index,
			  struct ready_to_run_function *ret) MUST_CHECK;

/* The function that an RVA is in. Returns 0, -ENOENT or an error as above. */
int ready_to_run_find(const struct ready_to_run *r, const struct pe_image *pe,
		      const struct byte_source *src, uint32_t rva,
		      struct ready_to_run_function *ret) MUST_CHECK;

/* The methods of an image in the order of their code. */
struct ready_to_run_methods;

/*
 * Reads which method begins at which function; 8 bytes each. Returns 0, -ENOMEM, -EFBIG if that
 * would be more than max_bytes, -EBADMSG or an error of byte_source_read().
 */
int ready_to_run_methods_new(struct ready_to_run_methods **ret, const struct ready_to_run *r,
			     const struct pe_image *pe, const struct dotnet_metadata *md,
			     const struct byte_source *src, size_t max_bytes) MUST_CHECK;
void ready_to_run_methods_free(struct ready_to_run_methods *m);
DEFINE_CLEANUP(struct ready_to_run_methods *, ready_to_run_methods_free);
size_t ready_to_run_methods_bytes(const struct ready_to_run_methods *m);

/*
 * A row of MethodDef, or with this bit the RVA of the signature of a generic method with arguments.
 */
#define READY_TO_RUN_INSTANCE UINT32_C(0x80000000)

/*
 * Stores the method that a function belongs to, and the first function of that method, both as
 * indexes; UINT32_MAX if the function's code was split off and lies elsewhere. Returns 0 or
 * -ENOENT.
 */
int ready_to_run_methods_find(const struct ready_to_run_methods *m, uint32_t function,
			      uint32_t *ret, uint32_t *ret_first) MUST_CHECK;

/*
 * Stores the name of what was found, like dotnet_method_name(). Returns as that, and -ENOTSUP if
 * the method is another assembly's, which has the name.
 */
int ready_to_run_method_name(uint32_t method, const struct pe_image *pe,
			     const struct dotnet_metadata *md, const struct byte_source *src,
			     char *to, size_t cap) MUST_CHECK;

/*
 * The row of MethodDef of what was found. Returns 0, -ENOTSUP if it is another assembly's or known
 * by a MemberRef only, or an error as above.
 */
int ready_to_run_method_row(uint32_t method, const struct pe_image *pe,
			    const struct byte_source *src, uint32_t *ret) MUST_CHECK;

/*
 * The offset in the intermediate language that code comes from, at an offset from the start of a
 * method, which begins with this function. Returns 0, -ENOENT if that is not said, or an error as
 * debug_bounds_find().
 */
int ready_to_run_il_offset(const struct ready_to_run *r, const struct pe_image *pe,
			   const struct byte_source *src, uint32_t first, uint32_t native_offset,
			   uint32_t *ret) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_READY_TO_RUN_H */
