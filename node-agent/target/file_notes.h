/*
 * Remembers small facts about a file by 64-bit keys: number → number. Bounded: a new
 * note replaces the oldest of a full set. For one thread.
 */
#ifndef NODE_AGENT_TARGET_FILE_NOTES_H
#define NODE_AGENT_TARGET_FILE_NOTES_H

#include "common/base.h"

#define FILE_NOTES_MAX 128u

struct file_note;

/* Empty when zeroed. */
struct file_notes {
	struct file_note *table;
};

void file_notes_clear(struct file_notes *n);

/* Returns the note with this key, or 0 if there is none. */
uint8_t file_notes_get(const struct file_notes *n, uint64_t key);

/*
 * Adds a note other than 0 with a key that has none. It is a cache, so the note is just not
 * kept if there is no memory for it.
 */
void file_notes_add(struct file_notes *n, uint64_t key, uint8_t note);

#endif /* NODE_AGENT_TARGET_FILE_NOTES_H */
