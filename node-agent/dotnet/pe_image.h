/*
 * A file in the format PE, as .NET's assemblies are on all systems: its sections, and where its
 * metadata and its compiled code are described. Pure; all bytes are hostile.
 *
 * Source: ECMA-335 II.25, and Microsoft's "PE Format".
 */
#ifndef NODE_AGENT_DOTNET_PE_IMAGE_H
#define NODE_AGENT_DOTNET_PE_IMAGE_H

#include "common/base.h"
#include "common/elf/byte_source.h"

#define PE_SECTIONS_MAX 16u

enum pe_layout {
	PE_LAYOUT_FILE,   /* offsets of the source are those of the file */
	PE_LAYOUT_MAPPED, /* they are RVAs: the image in memory, section by section */
};

struct pe_section {
	uint32_t rva;
	uint32_t virtual_bytes;
	uint32_t file_offset;
	uint32_t file_bytes;
	bool executable;
};

/* A part of the image; rva 0: there is none. */
struct pe_range {
	uint32_t rva;
	uint32_t size_bytes;
};

struct pe_image {
	enum pe_layout layout;
	uint32_t machine; /* IMAGE_FILE_MACHINE_*, as it is without the system's XOR */
	uint64_t image_base;
	uint32_t image_bytes;
	uint32_t n_sections;
	struct pe_section sections[PE_SECTIONS_MAX];
	struct pe_range exceptions; /* RUNTIME_FUNCTION, of a whole image */
	struct pe_range exports;
	struct pe_range debug;         /* entries of the debug directory */
	struct pe_range metadata;      /* BSJB */
	struct pe_range native_header; /* ReadyToRun's */
	uint32_t entry_token;          /* MethodDef of Main; 0: a library */
};

/* x86-64, arm64; others are not told apart. */
#define PE_MACHINE_X86_64 0x8664u
#define PE_MACHINE_ARM64 0xaa64u

/* At most this many bytes at the start decide that a file is none. */
#define PE_HEAD_BYTES 64u

/*
 * Reads the headers. Returns 0, -ENOEXEC if that is no PE, -ENOENT if it is one without metadata
 * and without compiled code of .NET, -EBADMSG if it is damaged, or an error of byte_source_read().
 */
int pe_image_parse(struct pe_image *ret, const struct byte_source *src,
		   enum pe_layout layout) MUST_CHECK;

/*
 * Where n bytes at an RVA are in the source. Returns 0, or -ENODATA if they are not in one section
 * (or the headers), with n > 0.
 */
int pe_image_offset(const struct pe_image *pe, uint32_t rva, uint32_t n, uint64_t *ret) MUST_CHECK;

/* The RVA of a byte of the file. Returns 0, or -ENOENT if it is in no section. */
int pe_image_rva(const struct pe_image *pe, uint64_t file_offset, uint32_t *ret) MUST_CHECK;

/* Reads n bytes at an RVA, all or none. Returns 0, or -ENODATA as above and others as there. */
int pe_image_read(const struct pe_image *pe, const struct byte_source *src, uint32_t rva, void *to,
		  uint32_t n) MUST_CHECK;

#endif /* NODE_AGENT_DOTNET_PE_IMAGE_H */
