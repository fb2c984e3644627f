#include "node-agent/record/record_go.h"

#include <errno.h>

#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/record/bucket_history.h"

static int read_heap(struct go_opened *o, const struct program_id *id, struct buf *out,
		     struct heap_reading *ret)
{
	const struct heap_reader_config cfg = {0};
	CLEANUP(bucket_history_freep) struct bucket_history *history = NULL;
	struct heap_subject subject = {.id = id, .duration_ns = 1};
	int r = heap_history_new(&history, BUCKET_HISTORY_FROM_ZERO);

	subject.history = history;
	return r == 0 ? heap_reader_read(o->runtime, &subject, &cfg, out, ret) : r;
}

static int read_goroutines(struct go_opened *o, struct buf *out)
{
	const struct goroutine_reader_config cfg = {.wait_reasons = true};
	struct goroutine_reading reading = {0};

	return goroutine_reader_read(o->runtime, &cfg, out, &reading);
}

int record_go_read(pid_t pid, enum record_kind kind, struct buf *out, struct err *err)
{
	CLEANUP(go_reader_freep) struct go_reader *reader = NULL;
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	struct heap_reading heap = {0};
	struct program_id id;
	int r = go_reader_new(&reader, NULL);

	if (r == 0)
		r = go_reader_find(reader, pid, &id);
	if (r == 0)
		r = go_reader_open(reader, &id, &o);
	if (r == 0)
		r = kind == RECORD_HEAP ? read_heap(o, &id, out, &heap) : read_goroutines(o, out);
	if (r < 0)
		return err_set(err, r, "process %d: %s", (int)pid, go_reader_error(r));
	if (heap.off)
		return err_set(err, -ENODATA,
			       "process %d: its memory profiler is off: nothing in the program "
			       "reads runtime.MemProfile",
			       (int)pid);
	return 0;
}
