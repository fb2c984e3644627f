/*
 * Files of keys are looked at when a key is asked for, and at most once a second: that costs a
 * stat(2) each, and needs neither a timer nor a signal. The thread that looks does so without the
 * lock, so that others continue with the keys that there are.
 */
#include "common/access/access_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "common/access/key_sources.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"
#include "common/text/secret.h"

#define LOOK_EVERY_NS NS_PER_S
#define FILE_BYTES ((size_t)(ACCESS_KEYS_MAX * (ACCESS_KEY_BYTES + 2)))

struct key_list {
	size_t n;
	char *keys[ACCESS_KEYS_MAX];
};

struct access_keys {
	pthread_mutex_t lock;
	struct key_list list;
	uint64_t next_look_ns; /* monotonic */
	bool is_looking;
	/* of the thread that looks */
	char *file; /* NULL: the key was an option */
	uint64_t stamp;
};

static void list_fini(struct key_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		explicit_bzero(l->keys[i], strlen(l->keys[i]));
		free(l->keys[i]);
	}
	l->n = 0;
}

static int list_add(void *list, const char *key)
{
	struct key_list *l = list;
	char *copy;

	if (l->n == ACCESS_KEYS_MAX)
		return -E2BIG;
	copy = strdup(key);
	if (!copy)
		return -ENOMEM;
	l->keys[l->n++] = copy;
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int access_keys_parse(const char *text, size_t len, int (*add)(void *ctx, const char *key),
		      void *ctx, struct err *err)
{
	const char *end = text + len;
	unsigned line = 1;
	int n = 0;

	for (const char *at = text; at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end, *next = newline ? newline + 1 : end;
		char key[ACCESS_KEY_BYTES];
		size_t n_key = 0;
		int r;

		while (at < stop && is_space(*at))
			at++;
		while (stop > at && is_space(stop[-1]))
			stop--;
		if ((size_t)(stop - at) >= sizeof(key))
			return err_set(err, -EINVAL, "line %u is longer than %u bytes", line,
				       ACCESS_KEY_BYTES - 1);
		for (; at < stop; at++) {
			if (*at < ' ' || *at > '~')
				return err_set(err, -EINVAL, "line %u is not printable ASCII",
					       line);
			key[n_key++] = *at;
		}
		key[n_key] = '\0';
		r = n_key > 0 ? add(ctx, key) : 0;
		explicit_bzero(key, sizeof(key));
		if (r < 0)
			return r;
		n += n_key > 0;
		at = next;
	}
	return n;
}

/* Returns the number of keys, or an error. */
static int load_file(const char *file, struct key_list *list, struct err *err)
{
	struct buf text;
	int r;

	buf_init(&text, FILE_BYTES);
	r = fs_read_file(file, &text);
	if (r == -EINVAL)
		err_set(err, r, "%s: no regular file", file);
	else if (r < 0)
		err_set(err, r, "%s: %s", file, strerror(-r));
	if (r == 0) {
		r = access_keys_parse(text.data, text.len, list_add, list, err);
		if (r == -E2BIG)
			err_set(err, r, "more than %u keys", ACCESS_KEYS_MAX);
		if (r < 0)
			err_wrap(err, r, "%s", file);
	}
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_fini(&text);
	return r;
}

/* Reads the file, or all files of the directory. An empty one among several is no error. */
static int load(const char *file, struct key_list *ret, struct err *err)
{
	struct key_list list = {0};
	struct key_sources sources;
	int r = key_sources_list(&sources, file, err);

	for (size_t i = 0; r >= 0 && i < sources.n; i++)
		r = load_file(sources.paths[i], &list, err);
	key_sources_fini(&sources);
	if (r >= 0 && list.n == 0)
		r = err_set(err, -EINVAL, "%s: no key in it", file);
	if (r < 0)
		list_fini(&list);
	else
		*ret = list;
	return r < 0 ? r : 0;
}

/* Reads the files again if one has changed. Errors are logged once for each change. */
static void look_at_file(struct access_keys *k)
{
	struct key_list list;
	struct err err = {""};
	uint64_t stamp;

	if (key_sources_stamp(k->file, &stamp) < 0 || stamp == k->stamp)
		return;
	k->stamp = stamp;
	if (load(k->file, &list, &err) < 0) {
		log_warn("cannot read keys again; those read before stay valid", "reason=%s",
			 LOG_QUOTED(err.msg));
		return;
	}
	log_info("read changed keys", "file=%s keys=%zu", LOG_QUOTED(k->file), list.n);
	pthread_mutex_lock(&k->lock);
	{
		struct key_list old = k->list;

		k->list = list;
		list = old;
	}
	pthread_mutex_unlock(&k->lock);
	list_fini(&list);
}

static void refresh(struct access_keys *k)
{
	uint64_t now_ns;
	bool look;

	if (!k->file)
		return;
	now_ns = clock_monotonic_ns();
	pthread_mutex_lock(&k->lock);
	look = !k->is_looking && now_ns >= k->next_look_ns;
	if (look) {
		k->is_looking = true;
		k->next_look_ns = now_ns + LOOK_EVERY_NS;
	}
	pthread_mutex_unlock(&k->lock);
	if (!look)
		return;
	look_at_file(k);
	pthread_mutex_lock(&k->lock);
	k->is_looking = false;
	pthread_mutex_unlock(&k->lock);
}

/*
 * A key that is an option. Spaces and newlines around it, as a Secret made by echo has, can be in
 * no header and are left out. Bytes beyond ASCII may be in one.
 */
static int add_option(struct key_list *list, const char *option, struct err *err)
{
	size_t len = strlen(option);
	char *key;
	int r;

	while (len > 0 && (is_space(option[len - 1]) || option[len - 1] == '\n'))
		len--;
	for (; len > 0 && (is_space(*option) || *option == '\n'); len--)
		option++;
	if (len == 0)
		return err_set(err, -EINVAL, "a key of spaces only");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)option[i] < ' ' || option[i] == 0x7f)
			return err_set(err, -EINVAL,
				       "a key is one line without control characters; several keys "
				       "may be in a file");
	key = strndup(option, len);
	if (!key)
		return -ENOMEM;
	r = list_add(list, key);
	explicit_bzero(key, len);
	free(key);
	return r;
}

int access_keys_new(struct access_keys **ret, const char *key, const char *file, struct err *err)
{
	CLEANUP(access_keys_freep) struct access_keys *k = calloc(1, sizeof(*k));
	int r = 0;

	if (!k)
		return -ENOMEM;
	pthread_mutex_init(&k->lock, NULL);
	if (key && *key) {
		r = add_option(&k->list, key, err);
	} else if (file && *file) {
		k->file = strdup(file);
		if (!k->file)
			return -ENOMEM;
		/* before it is read: a change in between is found later */
		r = key_sources_stamp(file, &k->stamp);
		if (r == 0)
			r = load(file, &k->list, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(k);
	return 0;
}

void access_keys_free(struct access_keys *k)
{
	if (!k)
		return;
	list_fini(&k->list);
	free(k->file);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

bool access_keys_exist(const struct access_keys *k)
{
	/* a list that was not empty at the start never becomes so, but its entries change */
	return k && (k->file || k->list.n > 0);
}

bool access_keys_any(struct access_keys *k, bool (*is_it)(void *ctx, const char *key), void *ctx)
{
	bool any = false;

	refresh(k);
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->list.n; i++)
		any |= is_it(ctx, k->list.keys[i]);
	pthread_mutex_unlock(&k->lock);
	return any;
}

static bool is_given(void *given, const char *key)
{
	return secret_equal(given, key);
}

bool access_keys_have(struct access_keys *k, const char *given)
{
	union {
		const char *given;
		void *ctx;
	} u = {.given = given};

	return access_keys_any(k, is_given, u.ctx);
}
