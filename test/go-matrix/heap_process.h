/* A Go process whose heap is read repeatedly, by the node agent's reader. */
#ifndef TEST_GO_MATRIX_HEAP_PROCESS_H
#define TEST_GO_MATRIX_HEAP_PROCESS_H

#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"

struct heap_process {
	struct go_reader *reader;
	struct bucket_history *history;
	struct program_id id;
	struct heap_reader_config cfg;
	struct heap_reading reading; /* of the last heap_process_read() */
};

/*
 * pid is a number as text. Returns what go_reader_find() returns. Call heap_process_fini() in any
 * case.
 */
int heap_process_init(struct heap_process *p, const char *pid,
		      enum bucket_history_start start) MUST_CHECK;
void heap_process_fini(struct heap_process *p);

/* Appends the pprof. Returns what go_reader_open() and heap_reader_read() return. */
int heap_process_read(struct heap_process *p, struct buf *out) MUST_CHECK;

#endif /* TEST_GO_MATRIX_HEAP_PROCESS_H */
