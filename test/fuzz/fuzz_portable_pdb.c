/* Any bytes as a portable PDB: names of files are printable, and lines are numbers. */
#include <assert.h>

#include "common/text/utf8.h"
#include "node-agent/dotnet/portable_pdb.h"

#define METHODS_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The id that it has itself, so that it is read. */
static bool read_id(const struct byte_source *src, uint8_t id[PDB_ID_BYTES])
{
	struct dotnet_metadata md;

	return src->size_bytes < UINT32_MAX &&
	       dotnet_metadata_open_at(&md, src, 0, (uint32_t)src->size_bytes) == 0 &&
	       byte_source_read(src, md.pdb.offset, id, PDB_ID_BYTES) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t offsets[] = {0, 1, 17, UINT32_MAX};
	uint8_t id[PDB_ID_BYTES];
	struct portable_pdb pdb;
	struct byte_source src;
	struct pdb_line l;

	byte_source_from_memory(&src, data, size);
	if (!read_id(&src, id) || portable_pdb_open(&pdb, &src, id) < 0)
		return 0;
	for (uint32_t row = 0; row < METHODS_MAX; row++) {
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
			if (portable_pdb_find(&pdb, &src, row, offsets[i], &l) < 0)
				continue;
			assert(l.line > 0 && l.file[0] != '\0');
			assert(utf8_is_valid(l.file, strnlen(l.file, sizeof(l.file))));
		}
	}
	return 0;
}
