/*
 * POST /v1/symbols: a table of names of functions (symbol_file.h), which "coroot-node-agent symbols
 * upload" sends, compressed as its Content-Encoding says. 200 once it is on disk, also if it was
 * there before; 400 if it is none; 413 if it is too large; 503 with Retry-After if it cannot be
 * stored now. The server has checked the key.
 */
#ifndef CLUSTER_AGENT_RECEIVE_SYMBOL_HANDLER_H
#define CLUSTER_AGENT_RECEIVE_SYMBOL_HANDLER_H

#include "cluster-agent/symbols/symbol_store.h"
#include "common/base.h"
#include "common/http/http_server.h"

struct symbol_handler;

/* Starts a thread. The store is borrowed. Returns 0, -ENOMEM, or -EAGAIN without a thread. */
int symbol_handler_new(struct symbol_handler **ret, struct symbol_store *store) MUST_CHECK;
/* Answers what waits; after the server has been quiesced. */
void symbol_handler_stop(struct symbol_handler *h);
void symbol_handler_free(struct symbol_handler *h);
DEFINE_CLEANUP(struct symbol_handler *, symbol_handler_free);

int symbol_handler_register(struct symbol_handler *h, struct metrics *ms) MUST_CHECK;

/* The handler; any thread. */
void symbol_handler_serve(struct symbol_handler *h, struct http_exchange *x);

#endif /* CLUSTER_AGENT_RECEIVE_SYMBOL_HANDLER_H */
