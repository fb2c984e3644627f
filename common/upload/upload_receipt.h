/*
 * How a sender hears what became of a profile that it handed over.
 *
 * It numbers the profiles that it asks about; 0 stands for one of which nobody wants to hear. The
 * answer comes later, on the loop thread, at most once. It does not come for a profile that left
 * the memory before, to the disk or because there was no room.
 */
#ifndef COMMON_UPLOAD_UPLOAD_RECEIPT_H
#define COMMON_UPLOAD_UPLOAD_RECEIPT_H

#include "common/base.h"

/* refusal: NULL if the profile was taken, else why it was dropped, one line; borrowed. */
typedef void upload_receipt_fn(void *ctx, uint64_t number, const char *refusal);

#endif /* COMMON_UPLOAD_UPLOAD_RECEIPT_H */
