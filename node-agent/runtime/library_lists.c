#include "node-agent/runtime/library_lists.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/data/table.h"

struct list {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	struct program_id id;
	uint64_t library_pages;
	const char *runtime;
	uint64_t made_ns;
	size_t n;
	struct file_id files[];
};

struct library_lists {
	atomic_uint n_refs;
	pthread_mutex_t lock; /* of all below */
	struct list *lists;   /* the oldest first */
	size_t n_files;       /* of all */
};

int library_lists_new(struct library_lists **ret)
{
	struct library_lists *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	atomic_init(&l->n_refs, 1);
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

struct library_lists *library_lists_ref(struct library_lists *l)
{
	atomic_fetch_add(&l->n_refs, 1);
	return l;
}

static void drop(struct library_lists *l, struct list *one)
{
	l->n_files -= one->n;
	HASH_DEL(l->lists, one);
	table_free(one);
}

void library_lists_unref(struct library_lists *l)
{
	if (!l || atomic_fetch_sub(&l->n_refs, 1) > 1)
		return;
	while (l->lists)
		drop(l, l->lists);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct list *find(const struct library_lists *l, pid_t pid)
{
	struct list *one;

	HASH_FIND(hh, l->lists, &pid, sizeof(pid), one);
	return one;
}

static bool is_old(const struct list *one, uint64_t now_ns)
{
	return now_ns - one->made_ns > LIBRARY_LISTS_MAX_AGE_NS;
}

/* Two runtimes may know the time in another order. */
static bool is_of(const struct list *one, const struct library_list *of)
{
	return one->id.start_time == of->id->start_time &&
	       file_id_same_file(&one->id.exe, &of->id->exe) &&
	       one->library_pages == of->library_pages &&
	       (of->now_ns <= one->made_ns || !is_old(one, of->now_ns));
}

static void make_room(struct library_lists *l, uint64_t now_ns, size_t n)
{
	while (l->lists && (l->n_files + n > LIBRARY_LISTS_FILES_MAX ||
			    (now_ns > l->lists->made_ns && is_old(l->lists, now_ns))))
		drop(l, l->lists);
}

static struct list *list_new(const struct library_list *of, const struct file_id *files, size_t n)
{
	struct list *one = table_malloc(sizeof(*one) + n * sizeof(*files));

	if (!one)
		return NULL;
	*one = (struct list){
		.pid = of->id->pid,
		.id = *of->id,
		.library_pages = of->library_pages,
		.runtime = of->runtime,
		.made_ns = of->now_ns,
		.n = n,
	};
	if (n > 0)
		memcpy(one->files, files, n * sizeof(*files));
	return one;
}

void library_lists_put(struct library_lists *l, const struct library_list *of,
		       const struct file_id *files, size_t n)
{
	struct list *one = n <= LIBRARY_LISTS_FILES_MAX ? list_new(of, files, n) : NULL, *before;

	if (!one)
		return;
	pthread_mutex_lock(&l->lock);
	before = find(l, of->id->pid);
	if (before)
		drop(l, before);
	make_room(l, of->now_ns, n);
	HASH_ADD(hh, l->lists, pid, sizeof(one->pid), one);
	if (TABLE_ADDED(hh, one))
		l->n_files += n;
	else
		table_free(one);
	pthread_mutex_unlock(&l->lock);
}

int library_lists_take(struct library_lists *l, const struct library_list *of,
		       struct file_id *files, size_t max)
{
	struct list *one;
	int r = -ENOENT;

	pthread_mutex_lock(&l->lock);
	one = find(l, of->id->pid);
	if (one && strcmp(one->runtime, of->runtime) != 0) {
		if (is_of(one, of) && one->n <= max) {
			r = (int)one->n;
			memcpy(files, one->files, one->n * sizeof(*files));
		}
		drop(l, one);
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}
