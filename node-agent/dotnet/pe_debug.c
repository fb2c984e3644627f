#include "node-agent/dotnet/pe_debug.h"

#include <errno.h>

#define ENTRY_BYTES 28u
#define ENTRIES_MAX 16u
#define TYPE_CODE_VIEW 2u
#define TYPE_EMBEDDED 17u
#define MINOR_PORTABLE 0x504du              /* of the entry's version: its PDB is a portable one */
#define SIGNATURE_RSDS UINT32_C(0x53445352) /* "RSDS" */
#define SIGNATURE_MPDB UINT32_C(0x4244504d) /* "MPDB" */
#define RSDS_BYTES 24u                      /* with GUID and age, before the path */
#define MPDB_BYTES 8u                       /* with the inflated size */
#define PATH_BYTES 1024u

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The compiler's path is that of its own machine: only the last part says something here. */
static void set_name(struct pe_debug *d, const char *path)
{
	const char *name = path;
	size_t len;

	for (const char *p = path; *p; p++) {
		if (*p == '/' || *p == '\\')
			name = p + 1;
	}
	len = strlen(name);
	if (len < sizeof(d->name) && strcmp(name, "..") != 0 && strcmp(name, ".") != 0)
		memcpy(d->name, name, len + 1);
}

static int read_code_view(struct pe_debug *d, const struct pe_image *pe,
			  const struct byte_source *src, const uint8_t *entry)
{
	uint8_t raw[RSDS_BYTES];
	char path[PATH_BYTES] = "";
	uint32_t rva = get32(entry + 20), n = get32(entry + 16);
	int r = n < sizeof(raw) ? -EBADMSG : pe_image_read(pe, src, rva, raw, sizeof(raw));

	if (r < 0)
		return r;
	if (get32(raw) != SIGNATURE_RSDS)
		return -EBADMSG;
	memcpy(d->id, raw + 4, 16);
	memcpy(d->id + 16, entry + 4, 4); /* the stamp of the entry */
	n -= RSDS_BYTES;
	if (n == 0 || n >= sizeof(path))
		return 0;
	r = pe_image_read(pe, src, rva + RSDS_BYTES, path, n);
	if (r == 0)
		set_name(d, path);
	return r;
}

static int read_embedded(struct pe_debug *d, const struct pe_image *pe,
			 const struct byte_source *src, const uint8_t *entry)
{
	uint32_t rva = get32(entry + 20), n = get32(entry + 16);
	uint8_t raw[MPDB_BYTES];
	int r = n <= sizeof(raw) ? -EBADMSG : pe_image_read(pe, src, rva, raw, sizeof(raw));

	if (r < 0)
		return r;
	if (get32(raw) != SIGNATURE_MPDB)
		return -EBADMSG;
	d->embedded = (struct pe_range){rva + MPDB_BYTES, n - MPDB_BYTES};
	d->embedded_bytes = get32(raw + 4);
	return 0;
}

int pe_debug_read(struct pe_debug *ret, const struct pe_image *pe, const struct byte_source *src)
{
	uint8_t entries[ENTRIES_MAX * ENTRY_BYTES];
	struct pe_debug d = {.name = ""};
	uint32_t n = pe->debug.size_bytes / ENTRY_BYTES;
	bool found = false;
	int r;

	if (pe->debug.rva == 0 || n == 0)
		return -ENOENT;
	if (n > ENTRIES_MAX)
		n = ENTRIES_MAX;
	r = pe_image_read(pe, src, pe->debug.rva, entries, n * ENTRY_BYTES);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *e = entries + (size_t)i * ENTRY_BYTES;

		if (get32(e + 12) == TYPE_CODE_VIEW && get32(e + 8) >> 16 == MINOR_PORTABLE) {
			r = read_code_view(&d, pe, src, e);
			found = true;
		} else if (get32(e + 12) == TYPE_EMBEDDED) {
			r = read_embedded(&d, pe, src, e);
		}
	}
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	if (!found)
		return -ENOENT;
	*ret = d;
	return 0;
}
