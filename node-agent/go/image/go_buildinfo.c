#include "node-agent/go/image/go_buildinfo.h"

#include <errno.h>

#define MAGIC "\xff Go buildinf:"
#define MAGIC_BYTES 14u
#define HEADER_BYTES 32u
#define ALIGN_BYTES 16u
#define SCAN_STEP_BYTES 65536u
#define FLAGS_AT 15u
#define FLAG_BIG_ENDIAN 1u
#define FLAG_INLINE 2u
#define POINTER_BYTES_AT 14u
#define VERSION_POINTER_AT 16u
#define MINOR_MAX 999u

int go_version_parse(const char *text, size_t len, unsigned *ret_minor)
{
	const char *found = memmem(text, len, "go1.", 4), *end = text + len;
	unsigned minor = 0;

	if (!found || found + 4 == end || found[4] < '0' || found[4] > '9')
		return -EBADMSG;
	for (const char *p = found + 4; p < end && *p >= '0' && *p <= '9'; p++) {
		minor = minor * 10 + (unsigned)(*p - '0');
		if (minor > MINOR_MAX)
			return -EBADMSG;
	}
	*ret_minor = minor;
	return 0;
}

static int scan_segment(const struct elf_segment *s, const struct byte_source *file,
			struct go_buildinfo *ret)
{
	uint64_t end = s->file_bytes < GO_BUILDINFO_SCAN_MAX_BYTES ? s->file_bytes
								   : GO_BUILDINFO_SCAN_MAX_BYTES;
	AUTO_FREE uint8_t *chunk = malloc(SCAN_STEP_BYTES);

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = -s->vaddr & (ALIGN_BYTES - 1); at < end; at += SCAN_STEP_BYTES) {
		size_t len = end - at < SCAN_STEP_BYTES ? (size_t)(end - at) : SCAN_STEP_BYTES;
		int r = byte_source_read(file, s->offset + at, chunk, len);

		if (r < 0)
			return r;
		for (size_t i = 0; i + ALIGN_BYTES <= len; i += ALIGN_BYTES) {
			if (memcmp(chunk + i, MAGIC, MAGIC_BYTES) != 0)
				continue;
			*ret = (struct go_buildinfo){s->offset + at + i, s->vaddr + at + i};
			return 0;
		}
	}
	return -ENOENT;
}

int go_buildinfo_find(struct go_buildinfo *ret, const struct elf_layout *layout,
		      const struct byte_source *file)
{
	const struct elf_section *section = &layout->sections[ELF_SECTION_GO_BUILDINFO];
	uint8_t magic[MAGIC_BYTES];
	int r;

	if (section->size_bytes >= HEADER_BYTES) {
		r = byte_source_read(file, section->offset, magic, sizeof(magic));
		if (r < 0)
			return r;
		if (memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
			return -ENOENT;
		*ret = (struct go_buildinfo){section->offset, section->vaddr};
		return 0;
	}
	/* if the file has section headers, a Go program has this one too */
	if (layout->n_texts > 0)
		return -ENOENT;
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		if (!layout->segments[i].writable)
			continue;
		r = scan_segment(&layout->segments[i], file, ret);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

/* Since 1.18: the header is followed by the length and the text of the version. */
static int read_inline(const struct go_buildinfo *b, const struct byte_source *file, char *text,
		       size_t *ret_len)
{
	uint8_t len;
	int r;

	r = byte_source_read(file, b->offset + HEADER_BYTES, &len, sizeof(len));
	if (r < 0)
		return r;
	/* the length is a varint; no version needs more than one byte of it */
	if (len >= GO_VERSION_BYTES)
		return -EBADMSG;
	*ret_len = len;
	return byte_source_read(file, b->offset + HEADER_BYTES + 1, text, len);
}

static int read_at(const struct elf_layout *layout, const struct byte_source *file, uint64_t vaddr,
		   void *to, size_t len)
{
	uint64_t offset = 0;
	int r = elf_layout_offset(layout, vaddr, &offset);

	return r == 0 ? byte_source_read(file, offset, to, len) : r;
}

/*
 * Before 1.18: the header points to a Go string. Fails if the file is position-independent
 * and was linked externally: it has relocations in the place of pointers.
 */
static int find_in_file(const struct go_buildinfo *b, const struct elf_layout *layout,
			const struct byte_source *file, unsigned *ret_minor)
{
	char text[GO_VERSION_BYTES];
	uint64_t at, string[2] = {0, 0};
	int r;

	r = byte_source_read(file, b->offset + VERSION_POINTER_AT, &at, sizeof(at));
	if (r == 0)
		r = read_at(layout, file, at, string, sizeof(string));
	if (r == 0 && string[1] >= GO_VERSION_BYTES)
		r = -EBADMSG;
	if (r == 0)
		r = read_at(layout, file, string[0], text, (size_t)string[1]);
	return r < 0 ? r : go_version_parse(text, (size_t)string[1], ret_minor);
}

/* The same in memory, where pointers have been relocated. */
static int read_pointed(const struct go_buildinfo *b, const struct byte_source *memory,
			uint64_t bias, char *text, size_t *ret_len)
{
	uint64_t at, string[2];
	int r;

	r = byte_source_read(memory, b->vaddr + bias + VERSION_POINTER_AT, &at, sizeof(at));
	if (r == 0)
		r = byte_source_read(memory, at, string, sizeof(string));
	if (r < 0)
		return r;
	if (string[1] >= GO_VERSION_BYTES)
		return -EBADMSG;
	*ret_len = (size_t)string[1];
	return byte_source_read(memory, string[0], text, *ret_len);
}

int go_buildinfo_minor(const struct go_buildinfo *b, const struct elf_layout *layout,
		       const struct byte_source *file, const struct byte_source *memory,
		       uint64_t bias, unsigned *ret_minor)
{
	uint8_t header[HEADER_BYTES];
	char text[GO_VERSION_BYTES];
	size_t len = 0;
	int r;

	r = byte_source_read(file, b->offset, header, sizeof(header));
	if (r < 0)
		return r;
	if (header[FLAGS_AT] & FLAG_INLINE) {
		r = read_inline(b, file, text, &len);
	} else if (header[POINTER_BYTES_AT] == 8 && !(header[FLAGS_AT] & FLAG_BIG_ENDIAN)) {
		r = find_in_file(b, layout, file, ret_minor);
		if (r == 0 || r == -ENOMEM)
			return r;
		r = read_pointed(b, memory, bias, text, &len);
	} else {
		r = -EBADMSG;
	}
	return r < 0 ? r : go_version_parse(text, len, ret_minor);
}
