/* fdatasync(2) of our own objects, which fails when a test wants it to, as on a broken disk. */
#ifndef TEST_LIB_FAILING_SYNC_H
#define TEST_LIB_FAILING_SYNC_H

/* The next n calls fail with this errno. From any thread. */
void failing_sync_set(int n, int error);

#endif /* TEST_LIB_FAILING_SYNC_H */
