#include "test/go-matrix/heap_process.h"

#include "common/text/parse.h"

int heap_process_init(struct heap_process *p, const char *pid, enum bucket_history_start start)
{
	uint64_t n;
	int r;

	*p = (struct heap_process){0};
	r = parse_u64(pid, strlen(pid), 1, INT32_MAX, &n);
	if (r == 0)
		r = go_reader_new(&p->reader, NULL);
	if (r == 0)
		r = heap_history_new(&p->history, start);
	return r == 0 ? go_reader_find(p->reader, (pid_t)n, &p->id) : r;
}

void heap_process_fini(struct heap_process *p)
{
	bucket_history_free(p->history);
	go_reader_free(p->reader);
}

int heap_process_read(struct heap_process *p, struct buf *out)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	const struct heap_subject subject = {&p->id, p->history, 1};
	int r = go_reader_open(p->reader, &p->id, &o);

	return r == 0 ? heap_reader_read(o->runtime, &subject, &p->cfg, out, &p->reading) : r;
}
