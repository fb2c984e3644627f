#include "common/access/sent_key.h"

#include <errno.h>

#include "common/access/access_keys.h"

struct sent_key {
	struct access_keys *keys;
	bool has_file;
	unsigned no;  /* of the key that is sent; its remainder by the number of keys is its line */
	char *header; /* of the last call */
};

int sent_key_new(struct sent_key **ret, const char *key, const char *file, struct err *err)
{
	CLEANUP(sent_key_freep) struct sent_key *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	r = access_keys_new(&k->keys, key, file, err);
	if (r < 0)
		return r;
	k->has_file = file && *file;
	*ret = TAKE_PTR(k);
	return 0;
}

static void forget_header(struct sent_key *k)
{
	if (k->header)
		explicit_bzero(k->header, strlen(k->header));
	free(k->header);
	k->header = NULL;
}

void sent_key_free(struct sent_key *k)
{
	if (!k)
		return;
	forget_header(k);
	access_keys_free(k->keys);
	free(k);
}

struct choice {
	unsigned at, n;
	char **header;
};

static bool count(void *choice, const char *key)
{
	(void)key;
	((struct choice *)choice)->n++;
	return false;
}

static bool choose(void *choice, const char *key)
{
	struct choice *c = choice;

	if (c->at-- == 0 && asprintf(c->header, "X-Api-Key: %s", key) < 0)
		*c->header = NULL;
	return false;
}

const char *sent_key_header(struct sent_key *k, unsigned *ret_no)
{
	struct choice c = {0};

	*ret_no = 0;
	if (!k)
		return NULL;
	forget_header(k);
	c.header = &k->header;
	(void)access_keys_any(k->keys, count, &c);
	if (c.n == 0)
		return NULL;
	c.at = k->no % c.n;
	(void)access_keys_any(k->keys, choose, &c);
	if (!k->header) {
		/* the file has fewer keys than a moment ago */
		c.at = 0;
		(void)access_keys_any(k->keys, choose, &c);
	}
	*ret_no = k->no;
	return k->header;
}

void sent_key_refused(struct sent_key *k, unsigned no)
{
	/* of several requests with one key, the first moves on */
	if (k && no == k->no)
		k->no++;
}

bool sent_key_may_change(const struct sent_key *k)
{
	return k && k->has_file;
}
