/* A record of the ring buffer, byte by byte. */
#include <stdlib.h>

#include "node-agent/interpreter/process/kept_codes.h"
#include "node-agent/sample/event_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the addresses of pieces are, what is read is inside them. */
static uint64_t read_pieces(const struct code_event *e)
{
	struct kept_memory k = {.code = *e, .error = -1};
	uint64_t sum = 0, word;

	for (unsigned i = 0; i < CODE_PIECES; i++) {
		for (unsigned offset = 0; offset <= sizeof(e->words[0]); offset++) {
			if (kept_memory_read(&k, e->at[i] + offset, &word, sizeof(word)) == 0)
				sum += word;
		}
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_version version;
	const uint64_t *addrs;
	uint64_t sum = 0;
	void *copy;

	/* aligned, and with its end where the sanitizer sees it */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	switch (event_parse(copy, size)) {
	case EVENT_SAMPLE: {
		const struct sample_event *e = copy;

		addrs = sample_event_addrs(e);
		for (unsigned i = 0; i < (unsigned)e->n_kernel + e->n_user; i++)
			sum += addrs[i];
		break;
	}
	case EVENT_EXEC: {
		const struct exec_event *e = copy;

		event_file_version(&e->file, &version);
		sum = strlen(e->path) + version.id.dev;
		break;
	}
	case EVENT_CODE:
		sum = read_pieces(copy);
		break;
	default:
		break;
	}
	free(copy);
	return sum == 1;
}
