/*
 * Lets check_oom() fail the allocations of jansson too: the library then allocates by functions of
 * the test, whose malloc() is wrapped.
 */
#ifndef TEST_LIB_JSON_OOM_H
#define TEST_LIB_JSON_OOM_H

/* To be called while no JSON value exists that the test still needs, and so does the end. */
void json_oom_begin(void);
void json_oom_end(void);

#endif /* TEST_LIB_JSON_OOM_H */
