/*
 * A YAML document in memory, for the readers of kubeconfig files. Pure.
 *
 * libyaml is quadratic in nesting and spends about 100 bytes on a node, so both are limited
 * before it builds anything: 32 levels, 200,000 nodes. Aliases are references, never copies.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_YAML_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_YAML_H

#include <yaml.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/*
 * The first document of text, which is borrowed until then; give *ret to
 * yaml_document_delete(). -ENOMEM; -EBADMSG with "LINE: what is wrong" in err.
 */
int kube_config_yaml_load(yaml_document_t *ret, const char *text, size_t len,
			  struct err *err) MUST_CHECK;

/*
 * The value of key; NULL when it is not there or null, or map (which may be NULL) is no
 * mapping.
 */
const yaml_node_t *kube_config_yaml_get(yaml_document_t *doc, const yaml_node_t *map,
					const char *key);

/* Valid as long as the document. NULL when node is not one value, or one with a NUL in it. */
const char *kube_config_yaml_text(const yaml_node_t *node);

/*
 * As JSON, appended to out; plain words and numbers become what they are in JSON. -EBADMSG:
 * nested too deeply, as by an alias of itself, or a key that is no text; -EFBIG: beyond out's
 * limit; -ENOMEM.
 */
int kube_config_yaml_to_json(yaml_document_t *doc, const yaml_node_t *node,
			     struct buf *out) MUST_CHECK;

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_YAML_H */
