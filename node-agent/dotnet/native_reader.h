/*
 * Numbers and arrays in the form that .NET's compilers write ahead of time: numbers of one to five
 * bytes, and arrays that are trees of sixteen elements each. Pure.
 *
 * Source: src/coreclr/vm/nativeformatreader.h of dotnet/runtime.
 */
#ifndef NODE_AGENT_DOTNET_NATIVE_READER_H
#define NODE_AGENT_DOTNET_NATIVE_READER_H

#include "common/base.h"
#include "node-agent/dotnet/pe_image.h"

struct file_windows;

/* After the first error, all that is read is 0. */
struct native_reader {
	const struct pe_image *pe; /* all borrowed */
	const struct byte_source *src;
	struct file_windows *windows; /* of the same; NULL: src is read */
	int error;
};

/* A number of 1, 2 or 4 bytes at an RVA. */
uint32_t native_read_number(struct native_reader *r, uint32_t rva, uint32_t bytes);

/* A number of its own length. Returns the RVA behind it. */
uint32_t native_read_unsigned(struct native_reader *r, uint32_t rva, uint32_t *ret);
uint32_t native_read_signed(struct native_reader *r, uint32_t rva, int32_t *ret);

struct native_array {
	uint32_t n;
	uint32_t base;  /* RVA */
	uint32_t width; /* bytes of an index of blocks */
};

void native_array_open(struct native_array *ret, struct native_reader *r, uint32_t rva);
/* The RVA of an element; 0: the array has none there. */
uint32_t native_array_find(const struct native_array *a, struct native_reader *r, uint32_t index);

#endif /* NODE_AGENT_DOTNET_NATIVE_READER_H */
