/* A statement that the port answers itself has the same meaning with spaces around it. */
#include <assert.h>

#include "cluster-agent/sql/sql_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *wider = malloc(size + 4);
	struct sql_command c, again;

	if (!wider)
		return 0;
	sql_command_parse((const char *)data, size, &c);
	assert((c.kind == SQL_COMMAND_KILL) == (c.query_id[0] != '\0'));
	assert(memchr(c.query_id, '\0', sizeof(c.query_id)));
	memcpy(wider, "\n ", 2);
	memcpy(wider + 2, data, size);
	memcpy(wider + 2 + size, "\t\n", 2);
	sql_command_parse(wider, size + 4, &again);
	assert(again.kind == c.kind && strcmp(again.query_id, c.query_id) == 0);
	return 0;
}
