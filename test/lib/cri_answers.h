/* Answers of a container runtime, in gRPC's framing, put together field by field. */
#ifndef TEST_LIB_CRI_ANSWERS_H
#define TEST_LIB_CRI_ANSWERS_H

#include "common/base.h"
#include "common/data/buf.h"

struct cri_answer {
	struct buf list; /* the elements so far */
};

struct made_container {
	const char *id, *sandbox_id, *name, *image, *user_image, *image_ref;
	const char *pod, *namespace, *uid; /* labels; NULL: none */
	bool exited;
	size_t label_bytes; /* of one more label */
};

struct made_sandbox {
	const char *id, *pod, *namespace, *uid;
	const char *annotation[2]; /* key and value, or NULL */
	const char *label[2];
};

void cri_answer_init(struct cri_answer *a);
void cri_answer_add_container(struct cri_answer *a, const struct made_container *c);
void cri_answer_add_sandbox(struct cri_answer *a, const struct made_sandbox *s);
/* tags have blanks between them; NULL: none. */
void cri_answer_add_image(struct cri_answer *a, const char *id, const char *tags);
void cri_answer_set_version(struct cri_answer *a, const char *runtime, const char *version);
/* Returns the framed answer, which the caller frees; a is then as after cri_answer_init(). */
char *cri_answer_take(struct cri_answer *a, size_t *ret_len);

/* The id in the filter of a request, in id; "" without one. */
void cri_request_id(const char *body, size_t len, char id[static 256]);

#endif /* TEST_LIB_CRI_ANSWERS_H */
