#include "node-agent/symbol/dotnet_image.h"

#include <errno.h>

#include "common/data/table.h"

/* An error that says something about the file, and is the same at the next try. */
static bool is_of_content(int error)
{
	return error == 0 || error == -ENOENT || error == -ENOTSUP || error == -EBADMSG;
}

/*
 * Compilers give each build of a module an id of its own, so copies in containers have one table.
 * As anybody can write any, where its tables lie counts as well.
 */
static struct table_key key_of(const struct dotnet_image *i, const struct file_id *id,
			       const struct byte_source *src)
{
	uint32_t columns[3] = {0};
	struct {
		struct ready_to_run code;
		struct pe_range metadata;
		uint64_t size_bytes;
		uint8_t module[16];
		struct file_id file;
	} content;
	XXH128_hash_t h;

	memset(&content, 0, sizeof(content));
	memcpy(&content.code, &i->code, sizeof(content.code));
	content.metadata = i->pe.metadata;
	content.size_bytes = id->size_bytes;
	if (dotnet_metadata_row(&i->metadata, src, DOTNET_MODULE, 1, columns, 3) < 0 ||
	    columns[2] == 0 || columns[2] > i->metadata.guids.size_bytes / sizeof(content.module) ||
	    byte_source_read(src,
			     i->metadata.guids.offset +
				     (uint64_t)(columns[2] - 1) * sizeof(content.module),
			     content.module, sizeof(content.module)) < 0)
		content.file = *id;
	h = XXH3_128bits_withSeed(&content, sizeof(content), table_seed);
	return (struct table_key){h.low64, h.high64};
}

int dotnet_image_open(struct dotnet_image **ret, const struct file_id *id,
		      const struct byte_source *src)
{
	struct dotnet_image *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	r = pe_image_parse(&i->pe, src, PE_LAYOUT_FILE);
	if (r == 0) {
		r = i->status = ready_to_run_open(&i->code, &i->pe, src);
		if (r == 0)
			r = i->status = dotnet_metadata_open(&i->metadata, &i->pe, src);
		r = is_of_content(r) ? 0 : r;
	} else if (is_of_content(r)) {
		r = -ENOEXEC;
	}
	if (r < 0) {
		dotnet_image_free(i);
		return r;
	}
	if (i->status == 0)
		i->key = key_of(i, id, src);
	*ret = i;
	return 0;
}

void dotnet_image_free(struct dotnet_image *i)
{
	free(i);
}

static int get_methods(struct dotnet_image *i, const struct dotnet_image_names *n,
		       const struct byte_source *src, const struct ready_to_run_methods **ret)
{
	struct ready_to_run_methods *fresh;
	int r;

	*ret = table_cache_get_methods(n->tables, i->key);
	if (*ret)
		return 0;
	r = ready_to_run_methods_new(&fresh, &i->code, &i->pe, &i->metadata, src,
				     n->table_max_bytes);
	if (r == -EFBIG || r == -EBADMSG)
		i->status = r;
	if (r < 0)
		return r;
	table_cache_adopt_methods(n->tables, i->key, fresh);
	*ret = fresh;
	return 0;
}

/* Code that was split off has no line. */
static void find_line(struct dotnet_image_names *n, struct dotnet_image *i,
		      const struct byte_source *src, uint32_t rva, uint32_t method, uint32_t first)
{
	struct ready_to_run_function f;
	uint32_t row, il_offset;

	n->use.pe = &i->pe;
	n->use.src = src;
	if (i->no_pdb || first == UINT32_MAX ||
	    ready_to_run_method_row(method, &i->pe, src, &row) < 0 ||
	    ready_to_run_function(&i->code, &i->pe, src, first, &f) < 0 || rva < f.start ||
	    ready_to_run_il_offset(&i->code, &i->pe, src, first, rva - f.start, &il_offset) < 0)
		return;
	if (image_pdbs_find(n->pdbs, &n->use, row, il_offset, &n->at, &i->no_pdb) < 0)
		n->at.line = 0;
}

int dotnet_image_find(struct dotnet_image_names *n, struct dotnet_image *i,
		      const struct byte_source *src, uint32_t rva)
{
	const struct ready_to_run_methods *methods;
	struct ready_to_run_function function = {0};
	uint32_t method, first;
	int r = i->status;

	n->start = rva;
	n->at.line = 0;
	if (r == 0)
		r = ready_to_run_find(&i->code, &i->pe, src, rva, &function);
	if (r < 0)
		return r;
	n->start = function.start;
	r = get_methods(i, n, src, &methods);
	if (r == 0)
		r = ready_to_run_methods_find(methods, function.index, &method, &first);
	if (r == 0)
		r = ready_to_run_method_name(method, &i->pe, &i->metadata, src, n->name,
					     sizeof(n->name));
	if (r == 0)
		find_line(n, i, src, rva, method, first);
	return r;
}
