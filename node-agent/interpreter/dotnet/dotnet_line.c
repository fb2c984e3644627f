/*
 * The method's header leads to what the runtime's compiler has kept for debuggers: which part of
 * the intermediate language the code at an address comes from. The PDB has the line of that. What
 * is not said there belongs to a file all the same, so that a function has one file.
 */
#include "node-agent/interpreter/dotnet/dotnet_line.h"

#include "node-agent/dotnet/debug_bounds.h"
#include "node-agent/interpreter/assembly_pdbs.h"

static int read_memory(void *ctx, uint64_t offset, void *to, size_t len)
{
	const struct interpreter_memory *memory = ctx;

	return interpreter_read(memory, offset, to, len);
}

static bool find_il_offset(const struct dotnet_reader *k, const struct dotnet_place *place,
			   uint32_t *ret)
{
	struct interpreter_memory memory = *k->memory;
	struct byte_source src;
	struct debug_info d = {
		.src = &src,
		.form = k->layout->debug_form,
		.has_flags = k->layout->debug_flags,
	};

	if (k->layout->at[DOTNET_CODE_DEBUG] == DOTNET_UNKNOWN ||
	    place->at - place->code->start > UINT32_MAX ||
	    dotnet_read_field(k, place->code->header, DOTNET_CODE_DEBUG, &d.at) < 0 || d.at == 0)
		return false;
	byte_source_from_reader(&src, read_memory, &memory, UINT64_MAX);
	return debug_bounds_find(&d, (uint32_t)(place->at - place->code->start), ret) == 0;
}

void dotnet_line_add(const struct dotnet_reader *k, const struct dotnet_place *place,
		     const struct pe_image *pe, const struct byte_source *image,
		     struct interpreter_name *ret)
{
	struct assembly_pdbs *pdbs = k->memory->pdbs;
	struct loaded_assembly assembly = {.base = place->base, .pe = pe, .image = image};
	struct assembly_pdb pdb;
	struct pe_debug debug;
	struct pdb_line line;
	uint32_t il_offset = 0;
	bool known;

	if (!pdbs || pe_debug_read(&debug, pe, image) < 0)
		return;
	assembly.debug = &debug;
	if (pdbs->find(pdbs, &assembly, &pdb) < 0)
		return;
	known = find_il_offset(k, place, &il_offset);
	if (portable_pdb_find(pdb.pdb, pdb.src, place->row, il_offset, &line) < 0)
		return;
	snprintf(ret->file, sizeof(ret->file), "%s", line.file);
	ret->line = known ? line.line : 0;
}
