/*
 * Code is described by .eh_frame and its index, by .debug_frame and by .gopclntab; where none of
 * them does, by the places of sections, and by the code itself, with the symbols and relocations
 * that say where functions begin and which never return. Of all these, the bytes are read. In the
 * code that an embedded machine has (cfi_gaps.c), returns from signal handlers are looked for, and
 * that is not read here: they can make a stack of that file end too early.
 */
#include "node-agent/unwind/cfi/cfi_digest.h"

#include <elf.h>
#include <errno.h>
#include <gnutls/crypto.h>

#include "node-agent/unwind/cfi/cfi_table.h"
#include "node-agent/unwind/code/code_rules.h"

#define READ_BYTES 65536u
#define DIGEST_BYTES 32u

static const enum elf_section_kind described[] = {
	ELF_SECTION_EH_FRAME,
	ELF_SECTION_DEBUG_FRAME,
	ELF_SECTION_GOPCLNTAB,
	ELF_SECTION_PLT,
};

/* A strip of .symtab changes no code: what it helps to find is right for both files. */
static const enum elf_section_kind named[] = {
	ELF_SECTION_DYNSYM,
	ELF_SECTION_DYNSYM_STRINGS,
	ELF_SECTION_RELA_PLT,
	ELF_SECTION_RELA_DYN,
};

struct digest {
	gnutls_hash_hd_t hash;
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t left_bytes, left_code_bytes;
	uint8_t *buffer;
	bool has_code; /* so much that symbols are read for it */
	int error;     /* the first one */
};

static void add(struct digest *d, const void *data, size_t len)
{
	if (d->error == 0 && gnutls_hash(d->hash, data, len) < 0)
		d->error = -ENOMEM;
}

static void add_number(struct digest *d, uint64_t n)
{
	add(d, &n, sizeof(n));
}

static void add_bytes(struct digest *d, uint64_t offset, uint64_t len)
{
	if (d->error == 0 && len > d->left_bytes)
		d->error = -EFBIG;
	add_number(d, len);
	while (len > 0 && d->error == 0) {
		size_t n = len < READ_BYTES ? (size_t)len : READ_BYTES;

		d->error = byte_source_read(d->src, offset, d->buffer, n);
		add(d, d->buffer, n);
		offset += n;
		len -= n;
		d->left_bytes -= n;
	}
}

static void add_layout(struct digest *d, const struct elf_layout *l)
{
	add_number(d, l->machine);
	add_number(d, l->entry);
	add_number(d, l->is_go);
	add_number(d, l->text_start);
	add_number(d, l->text_end);
	add_number(d, l->eh_frame_hdr);
	add_number(d, l->n_segments);
	for (uint32_t i = 0; i < l->n_segments; i++) {
		add_number(d, l->segments[i].vaddr);
		add_number(d, l->segments[i].file_bytes);
		add_number(d, l->segments[i].memory_bytes);
		add_number(d, l->segments[i].executable);
	}
	add_number(d, l->n_texts);
	for (uint32_t i = 0; i < l->n_texts; i++) {
		add_number(d, l->texts[i].vaddr);
		add_number(d, l->texts[i].size_bytes);
	}
}

static void add_all(struct digest *d, const struct elf_layout *l)
{
	uint64_t offset;

	add_layout(d, l);
	for (size_t i = 0; i < ARRAY_SIZE(described); i++) {
		const struct elf_section *s = &l->sections[described[i]];

		add_number(d, s->vaddr);
		add_bytes(d, s->offset, s->size_bytes);
	}
	if (elf_layout_offset(l, l->eh_frame_hdr, &offset) == 0 &&
	    l->eh_frame_hdr_bytes <= d->src->size_bytes - offset)
		add_bytes(d, offset, l->eh_frame_hdr_bytes);
}

static int add_code(void *ctx, uint64_t offset, uint64_t len)
{
	struct digest *d = ctx;

	if (len > d->left_code_bytes)
		return -EFBIG;
	d->left_code_bytes -= len;
	add_bytes(d, offset, len);
	d->has_code |= code_rules_need_symbols(d->layout, len);
	return d->error;
}

/* What is read to analyse the code that nothing describes. */
static void add_undescribed(struct digest *d, const struct elf_layout *l)
{
	const struct cfi_input in = {.layout = l, .src = d->src};
	int r = 0;

	if (d->error == 0 && l->machine == EM_X86_64)
		r = cfi_table_find_code(&in, add_code, d);
	if (d->error == 0 && r != -ENOENT)
		d->error = r;
	if (!d->has_code)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		add_bytes(d, l->sections[named[i]].offset, l->sections[named[i]].size_bytes);
	for (uint32_t i = 0; i < l->n_texts; i++) {
		if (l->texts[i].size_bytes <= CODE_STUBS_MAX_BYTES)
			add_bytes(d, l->texts[i].offset, l->texts[i].size_bytes);
	}
}

/* Files without section headers: their .eh_frame may be anywhere in what is mapped. */
static void add_segments(struct digest *d, const struct elf_layout *l)
{
	for (uint32_t i = 0; i < l->n_segments; i++)
		add_bytes(d, l->segments[i].offset, l->segments[i].file_bytes);
}

int cfi_digest(const struct elf_layout *layout, const struct byte_source *src, uint64_t ret[4])
{
	struct digest d = {
		.layout = layout,
		.src = src,
		.left_bytes = CFI_DIGEST_MAX_BYTES,
		.left_code_bytes = CFI_DIGEST_CODE_MAX_BYTES,
	};
	AUTO_FREE uint8_t *buffer = malloc(READ_BYTES);

	_Static_assert(DIGEST_BYTES == 4 * sizeof(ret[0]), "all of it is kept");
	if (!buffer || gnutls_hash_init(&d.hash, GNUTLS_DIG_SHA256) < 0)
		return -ENOMEM;
	d.buffer = buffer;
	add_all(&d, layout);
	if (layout->sections[ELF_SECTION_EH_FRAME].size_bytes == 0 &&
	    layout->eh_frame_hdr_bytes > 0)
		add_segments(&d, layout);
	add_undescribed(&d, layout);
	gnutls_hash_deinit(d.hash, ret);
	return d.error;
}
