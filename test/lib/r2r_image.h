/*
 * Builds an assembly of .NET with compiled code around the metadata of another: a PE file with one
 * section, in which functions, the methods that they are of, and their instructions are.
 */
#ifndef TEST_LIB_R2R_IMAGE_H
#define TEST_LIB_R2R_IMAGE_H

#include "common/base.h"
#include "node-agent/dotnet/pe_image.h"

#define R2R_RVA 0x1000u
#define R2R_OFFSET 0x400u
#define R2R_BYTES 65536u
#define R2R_FUNCTIONS 32u
#define R2R_METHODS 64u

struct r2r_function {
	const uint8_t *code;
	uint32_t code_bytes;
	uint8_t unwind[32]; /* UNWIND_INFO */
	uint32_t method;    /* row of MethodDef that begins here; 0: none */
	bool instance;      /* as one of a generic method with arguments */
	uint32_t split_off; /* index of the function that it was split off; 0: none */
};

struct r2r_image {
	uint8_t bytes[R2R_BYTES];
	uint32_t len;
	uint32_t starts[R2R_FUNCTIONS]; /* RVAs */
	uint32_t ends[R2R_FUNCTIONS];
};

static inline void r2r_put(struct r2r_image *m, uint32_t at, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n && at + i < R2R_BYTES; i++)
		m->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t r2r_add(struct r2r_image *m, uint64_t value, unsigned n)
{
	uint32_t at = m->len;

	r2r_put(m, at, value, n);
	m->len += n;
	return at;
}

static inline void r2r_align(struct r2r_image *m)
{
	m->len = (m->len + 15) & ~15U;
}

static inline uint32_t r2r_rva(uint32_t offset)
{
	return offset - R2R_OFFSET + R2R_RVA;
}

/* A number in the form of four bytes, below 2^28. */
static inline void r2r_number(struct r2r_image *m, uint32_t value)
{
	r2r_add(m, (uint64_t)value << 4 | 7, 4);
}

#define R2R_NO_FUNCTION UINT32_MAX

static inline bool r2r_has(const uint32_t *functions, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		if (functions[i] != R2R_NO_FUNCTION)
			return true;
	}
	return false;
}

/* The tree of elements first … first + n - 1, where n is 16 at the root. */
static inline void r2r_tree(struct r2r_image *m, const uint32_t *functions, unsigned first,
			    unsigned n)
{
	uint32_t at = m->len, node = 0;

	if (n == 1) {
		r2r_number(m, functions[first] << 1);
		return;
	}
	m->len += 4;
	if (r2r_has(functions, first, n / 2)) {
		node |= 1;
		r2r_tree(m, functions, first, n / 2);
	}
	if (r2r_has(functions, first + n / 2, n / 2)) {
		node |= (m->len - at) << 2 | 2;
		r2r_tree(m, functions, first + n / 2, n / 2);
	}
	if (node == 0)
		node = 16 << 2; /* an element that cannot be */
	r2r_put(m, at, (uint64_t)node << 4 | 7, 4);
}

/* functions has the index of each method's function, by row - 1. */
static inline uint32_t r2r_methods(struct r2r_image *m, const uint32_t *functions, unsigned n)
{
	uint32_t at = m->len, base;

	r2r_number(m, n << 2 | 1); /* indexes of two bytes */
	base = m->len;
	m->len += (n + 15) / 16 * 2;
	for (unsigned i = 0; i < n; i += 16) {
		r2r_put(m, base + i / 16 * 2, m->len - base, 2);
		r2r_tree(m, functions, i, 16);
	}
	return at;
}

/* A hash table with one bucket. */
static inline uint32_t r2r_instances(struct r2r_image *m, const struct r2r_function *f, unsigned n)
{
	uint32_t at = m->len, entries[R2R_FUNCTIONS] = {0}, n_entries = 0;

	r2r_add(m, 1, 1); /* one bucket, of two bytes */
	m->len += 4;
	r2r_put(m, at + 1, 4, 2);
	for (unsigned i = 0; i < n; i++) {
		if (!f[i].instance)
			continue;
		entries[n_entries++] = m->len;
		m->len += 5;
	}
	r2r_put(m, at + 3, m->len - at - 1, 2);
	for (unsigned i = 0, e = 0; i < n; i++) {
		if (!f[i].instance)
			continue;
		r2r_put(m, entries[e] + 1, (uint64_t)(m->len - entries[e] - 1) << 4 | 7, 4);
		e++;
		r2r_add(m, 0x04, 1);        /* has arguments of its own */
		r2r_add(m, f[i].method, 1); /* below 128 */
		r2r_add(m, 0x3e01, 2);      /* one, of a type that is any class */
		r2r_number(m, i << 1);
	}
	return at;
}

static inline void r2r_section(struct r2r_image *m, uint32_t *at, uint32_t type, uint32_t offset)
{
	r2r_put(m, *at, type, 4);
	r2r_put(m, *at + 4, r2r_rva(offset), 4);
	r2r_put(m, *at + 8, m->len - offset, 4);
	*at += 12;
}

static inline void r2r_headers(struct r2r_image *m, uint16_t machine)
{
	const uint32_t pe = 0x80, optional = pe + 24, section = optional + 240;

	memcpy(m->bytes, "MZ", 2);
	r2r_put(m, 60, pe, 4);
	memcpy(m->bytes + pe, "PE\0\0", 4);
	r2r_put(m, pe + 4, machine ^ 0x7b79U, 2);
	r2r_put(m, pe + 6, 1, 2);
	r2r_put(m, pe + 20, 240, 2);
	r2r_put(m, optional, 0x20b, 2);
	r2r_put(m, optional + 56, 0x10000, 4);
	r2r_put(m, optional + 108, 16, 4);
	r2r_put(m, optional + 112 + 14 * 8, R2R_RVA, 4);
	r2r_put(m, optional + 112 + 14 * 8 + 4, 72, 4);
	memcpy(m->bytes + section, ".text\0\0", 8);
	r2r_put(m, section + 8, m->len - R2R_OFFSET, 4);
	r2r_put(m, section + 12, R2R_RVA, 4);
	r2r_put(m, section + 16, m->len - R2R_OFFSET, 4);
	r2r_put(m, section + 20, R2R_OFFSET, 4);
	r2r_put(m, section + 36, 0x60000020, 4);
}

/* Builds the image of n functions, for x86-64. metadata is that of the other assembly. */
static inline void r2r_image_build(struct r2r_image *m, const struct r2r_function *f, unsigned n,
				   const void *metadata, uint32_t metadata_bytes,
				   unsigned n_methods)
{
	uint32_t methods[R2R_METHODS], unwind[R2R_FUNCTIONS], at, header, sections, n_sections = 3;

	memset(m, 0, sizeof(*m));
	memset(methods, 0xff, sizeof(methods));
	m->len = R2R_OFFSET + 72;
	header = m->len;
	sections = header + 16;
	m->len += 16 + 4 * 12;
	for (unsigned i = 0; i < n; i++) {
		unwind[i] = m->len;
		memcpy(m->bytes + m->len, f[i].unwind, sizeof(f[i].unwind));
		m->len += sizeof(f[i].unwind);
		if (f[i].method > 0 && !f[i].instance)
			methods[f[i].method - 1] = i;
	}
	for (unsigned i = 0; i < n; i++) {
		r2r_align(m);
		m->starts[i] = r2r_rva(m->len);
		memcpy(m->bytes + m->len, f[i].code, f[i].code_bytes);
		m->len += f[i].code_bytes;
		m->ends[i] = r2r_rva(m->len);
	}
	r2r_align(m);
	memcpy(m->bytes + header, "RTR\0", 4);
	r2r_put(m, header + 4, 9, 2);
	at = m->len;
	for (unsigned i = 0; i < n; i++) {
		r2r_add(m, m->starts[i], 4);
		r2r_add(m, m->ends[i], 4);
		r2r_add(m, r2r_rva(unwind[i]), 4);
	}
	r2r_section(m, &sections, 102, at);
	at = r2r_methods(m, methods, n_methods);
	r2r_section(m, &sections, 103, at);
	at = r2r_instances(m, f, n);
	r2r_section(m, &sections, 109, at);
	at = m->len;
	for (unsigned i = 0; i < n; i++) {
		if (f[i].split_off > 0) {
			r2r_add(m, i, 4);
			r2r_add(m, f[i].split_off, 4);
		}
	}
	if (m->len > at) {
		r2r_section(m, &sections, 120, at);
		n_sections++;
	}
	r2r_put(m, header + 12, n_sections, 4);
	r2r_align(m);
	r2r_put(m, R2R_OFFSET, 72, 4);
	r2r_put(m, R2R_OFFSET + 8, r2r_rva(m->len), 4);
	r2r_put(m, R2R_OFFSET + 12, metadata_bytes, 4);
	r2r_put(m, R2R_OFFSET + 64, r2r_rva(header), 4);
	r2r_put(m, R2R_OFFSET + 68, 16 + n_sections * 12, 4);
	memcpy(m->bytes + m->len, metadata, metadata_bytes);
	m->len += metadata_bytes;
	r2r_headers(m, PE_MACHINE_X86_64);
}

#endif /* TEST_LIB_R2R_IMAGE_H */
