/*
 * Code is described by .eh_frame and its index, by .debug_frame and by .gopclntab; where none of
 * them does, by the places of sections, and by the bytes of PLT stubs. Those bytes are read as
 * well: PLTs are short. What a library tells of a signal handler's return, its code, is not: only
 * few bytes of it are compared, and they can make a stack of that library end too early.
 */
#include "node-agent/unwind/cfi/cfi_digest.h"

#include <errno.h>
#include <gnutls/crypto.h>

#define READ_BYTES 65536u
#define DIGEST_BYTES 32u

static const enum elf_section_kind described[] = {
	ELF_SECTION_EH_FRAME,
	ELF_SECTION_DEBUG_FRAME,
	ELF_SECTION_GOPCLNTAB,
	ELF_SECTION_PLT,
};

struct digest {
	gnutls_hash_hd_t hash;
	const struct byte_source *src;
	uint64_t left_bytes;
	uint8_t *buffer;
	int error; /* the first one */
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

/* Files without section headers: their .eh_frame may be anywhere in what is mapped. */
static void add_segments(struct digest *d, const struct elf_layout *l)
{
	for (uint32_t i = 0; i < l->n_segments; i++)
		add_bytes(d, l->segments[i].offset, l->segments[i].file_bytes);
}

int cfi_digest(const struct elf_layout *layout, const struct byte_source *src, uint64_t ret[4])
{
	struct digest d = {.src = src, .left_bytes = CFI_DIGEST_MAX_BYTES};
	AUTO_FREE uint8_t *buffer = malloc(READ_BYTES);

	_Static_assert(DIGEST_BYTES == 4 * sizeof(ret[0]), "all of it is kept");
	if (!buffer || gnutls_hash_init(&d.hash, GNUTLS_DIG_SHA256) < 0)
		return -ENOMEM;
	d.buffer = buffer;
	add_all(&d, layout);
	if (layout->sections[ELF_SECTION_EH_FRAME].size_bytes == 0 &&
	    layout->eh_frame_hdr_bytes > 0)
		add_segments(&d, layout);
	gnutls_hash_deinit(d.hash, ret);
	return d.error;
}
