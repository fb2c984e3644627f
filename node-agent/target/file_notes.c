#include "node-agent/target/file_notes.h"

#include "common/data/table.h"

struct file_note {
	UT_hash_handle hh;
	uint64_t key;
	uint8_t note;
};

void file_notes_clear(struct file_notes *n)
{
	struct file_note *e, *next;

	for (e = n->table; e; e = next) {
		next = e->hh.next;
		HASH_DEL(n->table, e);
		table_free(e);
	}
}

uint8_t file_notes_get(const struct file_notes *n, uint64_t key)
{
	struct file_note *e;

	HASH_FIND(hh, n->table, &key, sizeof(key), e);
	return e ? e->note : 0;
}

void file_notes_add(struct file_notes *n, uint64_t key, uint8_t note)
{
	struct file_note *e = n->table;

	/* the table is iterated in the order of insertion, so its head is the oldest */
	if (HASH_COUNT(n->table) == FILE_NOTES_MAX)
		HASH_DEL(n->table, e);
	else
		e = table_malloc(sizeof(*e));
	if (!e)
		return;
	*e = (struct file_note){.key = key, .note = note};
	HASH_ADD(hh, n->table, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e))
		table_free(e);
}
