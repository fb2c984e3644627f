/*
 * The layout of an ELF file: segments, the few sections we read, the build id. Pure.
 *
 * It replaces libelf, because libelf either maps the file (a truncated file is then a SIGBUS
 * in the agent, and its pages count as the agent's memory) or reads whole sections into the
 * heap (a symbol table can have 100 MB). This reads only headers, in pieces, through a
 * byte_source, into a struct of fixed size; every offset in it lies within the file as it was
 * when opened. Only 64-bit little-endian executables and shared objects are understood.
 */
#ifndef COMMON_ELF_ELF_LAYOUT_H
#define COMMON_ELF_ELF_LAYOUT_H

#include "common/base.h"
#include "common/elf/byte_source.h"

/*
 * Real files have 2 to 5 PT_LOADs and 1 to 8 executable sections; more are ignored, PT_LOADs with
 * data first.
 */
#define ELF_LAYOUT_SEGMENTS_MAX 16u
#define ELF_LAYOUT_TEXTS_MAX 16u
/* Linked files have below 100, -ffunction-sections without garbage collection included. */
#define ELF_LAYOUT_SECTIONS_MAX 65536u
/* GNU's linkers make 8, 16 or 20; a longer one counts as absent. */
#define ELF_BUILD_ID_MAX_BYTES 32u

struct elf_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t file_bytes;
	uint64_t memory_bytes; /* at least file_bytes; the rest is zeroed memory */
	bool executable;
	bool writable;
};

struct elf_section {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size_bytes; /* 0: absent */
	uint32_t index;      /* in the section header table */
	bool compressed;     /* the bytes begin with an Elf64_Chdr */
};

enum elf_section_kind {
	ELF_SECTION_SYMTAB,
	ELF_SECTION_SYMTAB_STRINGS,
	ELF_SECTION_DYNSYM,
	ELF_SECTION_DYNSYM_STRINGS,
	ELF_SECTION_RELA_PLT,
	ELF_SECTION_RELA_DYN,
	ELF_SECTION_TEXT,
	ELF_SECTION_RODATA,
	ELF_SECTION_DATA_REL_RO,
	ELF_SECTION_GOPCLNTAB,
	ELF_SECTION_GO_MODULE,
	ELF_SECTION_EH_FRAME,
	ELF_SECTION_PLT,
	ELF_SECTION_ASYNCIO, /* .AsyncioDebug, of CPython */
	ELF_SECTION_GO_BUILDINFO,
	ELF_SECTION_DEBUG_LINK, /* .gnu_debuglink */
	ELF_SECTION_DEBUG_DATA, /* .gnu_debugdata */
	ELF_SECTION_DEBUG_INFO, /* DWARF */
	ELF_SECTION_DEBUG_FRAME,
	ELF_SECTION_MAX,
};

struct elf_layout {
	struct elf_segment segments[ELF_LAYOUT_SEGMENTS_MAX];
	uint32_t n_segments;
	struct elf_section texts[ELF_LAYOUT_TEXTS_MAX]; /* executable sections */
	uint32_t n_texts;
	struct elf_section sections[ELF_SECTION_MAX];
	uint64_t eh_frame_hdr;       /* address of PT_GNU_EH_FRAME */
	uint64_t eh_frame_hdr_bytes; /* 0: there is none */
	uint64_t relro_start;        /* PT_GNU_RELRO: read-only once it is relocated */
	uint64_t relro_end;
	uint64_t text_start; /* all executable segments lie between these two */
	uint64_t text_end;
	uint64_t entry;         /* address of the first instruction */
	uint16_t machine;       /* EM_… */
	bool relocatable;       /* is loaded at any address */
	bool has_interpreter;   /* PT_INTERP: is loaded with libraries */
	bool is_go;             /* has a section or a note that only Go's linker makes */
	bool has_more_segments; /* than fit */
	bool lacks_code;        /* and some of them are executable */
	bool has_build_id;      /* GNU's, else Go's */
	uint64_t build_id[2];   /* XXH3-128 of it */
	uint8_t gnu_build_id[ELF_BUILD_ID_MAX_BYTES];
	uint8_t gnu_build_id_bytes; /* 0: there is none */
};

/*
 * Returns 0; -ENOEXEC if it is not an ELF file of the kinds above; -EBADMSG if its headers are
 * corrupt; or -ENODATA, -EIO and others if it cannot be read. *ret is undefined on failure. A
 * file without section headers has no sections.
 */
int elf_layout_parse(struct elf_layout *ret, const struct byte_source *src) MUST_CHECK;

/*
 * The same for a separate debug file, whose segments and sections have addresses but no bytes,
 * except for symbols and DWARF. It may have no segments.
 */
int elf_layout_parse_debug(struct elf_layout *ret, const struct byte_source *src) MUST_CHECK;

/*
 * The same for either, with the addresses that code has once it is loaded: of a debug file the
 * segments and sections of code count although they have no bytes. Only addresses may be used.
 */
int elf_layout_parse_code(struct elf_layout *ret, const struct byte_source *src) MUST_CHECK;

/* Stores GNU's build id in hexadecimal; "" if there is none. */
void elf_layout_build_id_text(const struct elf_layout *layout,
			      char ret[static 2 * ELF_BUILD_ID_MAX_BYTES + 1]);

/*
 * ELF virtual address of the byte at this file offset, from the PT_LOAD that it belongs to: if
 * there are several, an executable one. Mappings are whole pages, so the padding around a
 * segment belongs to it. Returns 0, or -ENOENT if the offset is in no segment.
 */
int elf_layout_address(const struct elf_layout *layout, uint64_t file_offset,
		       uint64_t *ret_vaddr) MUST_CHECK;

/* File offset of an address. Returns 0, or -ENOENT if no PT_LOAD has bytes of the file there. */
int elf_layout_offset(const struct elf_layout *layout, uint64_t vaddr,
		      uint64_t *ret_file_offset) MUST_CHECK;

/*
 * Whether one of these bytes may be in a page that is mapped from the file. If the file has
 * more segments than the layout, the answer is yes.
 */
bool elf_layout_is_mapped(const struct elf_layout *layout, uint64_t vaddr, size_t len,
			  uint64_t page_bytes);

/* Whether vaddr lies in an executable segment. */
bool elf_layout_is_text(const struct elf_layout *layout, uint64_t vaddr);

#endif /* COMMON_ELF_ELF_LAYOUT_H */
