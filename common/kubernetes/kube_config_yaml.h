/*
 * A YAML document in memory, for reading kubeconfig files. Pure.
 *
 * libyaml takes quadratic time in the depth of nesting and about 100 bytes per node, so both
 * are limited before it builds anything: to 32 levels and 200,000 nodes. Aliases are
 * references, never copies.
 */
#ifndef COMMON_KUBERNETES_KUBE_CONFIG_YAML_H
#define COMMON_KUBERNETES_KUBE_CONFIG_YAML_H

#include <yaml.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/*
 * Loads the first document of text. Free *ret with yaml_document_delete(). Returns 0, -ENOMEM,
 * or -EBADMSG with "LINE: what is wrong" in err.
 */
int kube_config_yaml_load(yaml_document_t *ret, const char *text, size_t len,
			  struct err *err) MUST_CHECK;

/*
 * Returns the value of key, or NULL if it is missing or null, or if map (may be NULL) is not a
 * mapping.
 */
const yaml_node_t *kube_config_yaml_get(yaml_document_t *doc, const yaml_node_t *map,
					const char *key);

/*
 * Returns the text of a scalar, valid as long as the document, or NULL if node is not a scalar
 * or contains a NUL.
 */
const char *kube_config_yaml_text(const yaml_node_t *node);

/*
 * Appends node to out as JSON; plain scalars become numbers, booleans and null as in JSON.
 * Returns 0, -ENOMEM, -EFBIG if out's limit is exceeded, or -EBADMSG if a key is not a string
 * or the nesting is too deep, as with an alias of itself.
 */
int kube_config_yaml_to_json(yaml_document_t *doc, const yaml_node_t *node,
			     struct buf *out) MUST_CHECK;

#endif /* COMMON_KUBERNETES_KUBE_CONFIG_YAML_H */
