#include <stdint.h>

#include "node-agent/workload/program_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A line with the executable's path, then the command line. The name is never empty, has no
 * path, and is nothing that looks like an assignment or a user's address.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *newline = memchr(text, '\n', size);
	char exe[256], id[256];
	struct program p;

	if (!newline || (size_t)(newline - text) >= sizeof(exe))
		return 0;
	memcpy(exe, text, (size_t)(newline - text));
	exe[newline - text] = '\0';
	size -= (size_t)(newline + 1 - text);
	program_parse(exe, "x", newline + 1, size, &p);
	if (!memchr(p.name, '\0', sizeof(p.name)) || strchr(p.name, '/') ||
	    (p.script && strpbrk(p.name, "=@?#")))
		__builtin_trap();
	if (program_gvisor_id(newline + 1, size, id, sizeof(id)) && strlen(id) != 64)
		__builtin_trap();
	program_place(&p, size % 2 ? "/srv/shop" : "");
	if (!memchr(p.folder, '\0', sizeof(p.folder)) || strpbrk(p.folder, "=@?#:") ||
	    !memchr(p.dir, '\0', sizeof(p.dir)))
		__builtin_trap();
	return 0;
}
