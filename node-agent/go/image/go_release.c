/*
 * Without build info, a program still has its version in runtime.buildVersion, a string that the
 * linker sets. It has no symbol in a stripped program, but schedinit(), the first function of the
 * runtime in every process, tests whether it is empty, in all releases (1.13 to 1.27), precisely
 * so that linkers keep it. So the release takes three steps: find the module data, find
 * schedinit() in the table of functions, and look for the one variable in its code that is a
 * version.
 *
 * The first step seems to need the release already, because the layout of the module data depends
 * on it. But the words that we need here (go_module.c) have had only two places.
 *
 * A version that cannot be read is not guessed: which of several releases with the same table a
 * program is from decides about offsets that nothing else confirms. Programs whose builder
 * overwrote the version, or whose names are obfuscated, are not read.
 */
#include "node-agent/go/image/go_release.h"

#include <errno.h>

#include "node-agent/go/image/go_buildinfo.h"
#include "node-agent/go/image/go_refs.h"

#define USES_VERSION "runtime.schedinit"
#define WORD_BYTES 8u

/* For each of both places of words: any release that has them there. */
static const unsigned sample_minors[] = {20, 13};

int go_release_detect(const struct elf_layout *layout, const struct byte_source *file)
{
	struct gopclntab_function f;
	struct go_buildinfo info;
	struct gopclntab table;
	int r;

	r = go_buildinfo_find(&info, layout, file);
	if (r == 0)
		return 1;
	if (r == -ENOENT || r == -ENODATA)
		r = gopclntab_open(&table, layout, file);
	/* without this function the release could not be found either */
	if (r == 0)
		r = gopclntab_find_named(&table, file, USES_VERSION, &f);
	if (r == 0)
		return 1;
	return r == -ENOENT || r == -ENODATA || r == -EFBIG ? 0 : r;
}

/* ---- the variable ---- */

static int parse_version(const char *text, size_t len, unsigned *ret)
{
	bool is_version = (len > 4 && memcmp(text, "go1.", 4) == 0) ||
			  (len > 6 && memcmp(text, "devel ", 6) == 0);

	return is_version ? go_version_parse(text, len, ret) : -EBADMSG;
}

static int read_in_file(const struct go_image *im, uint64_t vaddr, void *to, size_t len)
{
	uint64_t offset = 0;
	int r = elf_layout_offset(im->layout, vaddr, &offset);

	return r == 0 ? byte_source_read(im->file, offset, to, len) : r;
}

/* The version as it is in the file, which has no pointer if an external linker relocates it. */
static int version_in_file(const struct go_image *im, uint64_t address, unsigned *ret)
{
	uint64_t string[2] = {0, 0};
	char text[GO_VERSION_BYTES];
	int r;

	r = read_in_file(im, address - im->bias, string, sizeof(string));
	if (r < 0)
		return r;
	if (string[1] >= GO_VERSION_BYTES)
		return -EBADMSG;
	r = read_in_file(im, string[0], text, (size_t)string[1]);
	if (r < 0)
		return r;
	return parse_version(text, (size_t)string[1], ret);
}

static int version_in_memory(const struct go_image *im, uint64_t address, unsigned *ret)
{
	uint64_t string[2];
	char text[GO_VERSION_BYTES];
	int r;

	r = byte_source_read(im->memory, address, string, sizeof(string));
	if (r < 0)
		return r;
	if (string[1] >= GO_VERSION_BYTES)
		return -EBADMSG;
	r = byte_source_read(im->memory, string[0], text, (size_t)string[1]);
	if (r < 0)
		return r;
	return parse_version(text, (size_t)string[1], ret);
}

/* The file is preferred, because a process may have changed its memory. */
static int version_at(const struct go_image *im, const struct go_module *m, uint64_t address,
		      unsigned *ret)
{
	int r = -EBADMSG;

	if (!go_module_has_data(m, address, 2 * WORD_BYTES))
		return r;
	r = version_in_file(im, address, ret);
	return r < 0 ? version_in_memory(im, address, ret) : r;
}

/* Its code may refer to either word of the string. All that are versions must be the same one. */
static int find_version(const struct go_image *im, const struct go_module *m, unsigned *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_module_refs(m, im->layout->machine, USES_VERSION, refs, ARRAY_SIZE(refs));
	unsigned found = 0;

	for (int i = 0; i < n; i++) {
		for (unsigned word = 0; word < 2; word++) {
			unsigned minor = 0;

			if (version_at(im, m, refs[i].target - word * WORD_BYTES, &minor) < 0)
				continue;
			if (found != 0 && found != minor)
				return -ENOTSUP;
			found = minor;
		}
	}
	if (n < 0 && n != -ENOENT && n != -EFBIG)
		return n;
	*ret = found;
	return found != 0 ? 0 : -ENOTSUP;
}

static int find_module(const struct go_image *im, const struct byte_source *file,
		       struct go_module *ret)
{
	uint64_t address = 0;
	int r = go_image_find_module(im, file, &address);

	if (r == 0)
		r = go_image_modules(im, file, address, ret, 1);
	return r > 0 ? 0 : r;
}

static int by_variable(const struct go_image *image, unsigned *ret)
{
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(sample_minors); i++) {
		struct go_image im = *image;
		struct byte_source file;
		struct go_module m;

		im.minor = sample_minors[i];
		byte_source_from_image(&file, &im);
		r = find_module(&im, &file, &m);
		if (r == 0)
			r = find_version(&im, &m, ret);
	}
	return r;
}

int go_release_minor(const struct go_image *image, unsigned *ret)
{
	struct go_buildinfo info;
	int r = go_buildinfo_find(&info, image->layout, image->file);

	if (r == 0)
		r = go_buildinfo_minor(&info, image->layout, image->file, image->memory,
				       image->bias, ret);
	else if (r == -ENOENT || r == -ENODATA)
		r = by_variable(image, ret);
	return r == -EBADMSG ? -ENOENT : r;
}
