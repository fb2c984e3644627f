/*
 * Messages of the container runtime interface (CRI, runtime.v1) in gRPC's framing. Pure.
 *
 * Answers are untrusted: a runtime may send anything, and labels and annotations are written by
 * whoever may create pods. An answer is decoded element by element, each in an arena of limited
 * size; an element that does not fit is skipped and counted, so that one pod cannot hide the
 * others.
 */
#ifndef NODE_AGENT_CONTAINER_CRI_MESSAGES_H
#define NODE_AGENT_CONTAINER_CRI_MESSAGES_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/text/kube_names.h"

/* The kubelet accepts no longer answers either: its lists would fail first. */
#define CRI_ANSWER_MAX_BYTES ((size_t)16 * 1024 * 1024)
/* Of one decoded element. Kubernetes limits the annotations of a pod to 256 KiB. */
#define CRI_ELEMENT_MAX_BYTES ((size_t)1024 * 1024)

/* Strings are never NULL, and valid during the call that passes them. */
struct cri_container {
	const char *id;
	const char *sandbox_id;
	const char *name;
	const char *image;    /* may be a name, a digest or an id */
	const char *image_id; /* "sha256:…" */
	/* from the labels that the kubelet sets; "" for containers made by others */
	const char *namespace;
	const char *pod;
	const char *pod_uid;
	bool is_running;
};

struct cri_sandbox {
	const char *id;
	const char *namespace;
	const char *pod;
	const char *pod_uid;
	const char *application; /* the pod's KUBE_APPLICATION_ANNOTATION */
	struct kube_labels labels;
	bool is_static; /* the kubelet read the pod from a file or a URL */
	bool profiling_disabled;
};

struct cri_image {
	const char *id;
	/*
	 * "docker.io/library/nginx:1.27"; "" for one without a tag. With several tags, any could
	 * be the one that was asked for: the name without them if that is the same in all, else "".
	 */
	const char *name;
};

struct cri_version {
	char runtime[64]; /* "containerd" */
	char version[64];
};

/* What is called for each element of an answer. */
struct cri_visitor {
	void (*container)(void *ctx, const struct cri_container *c);
	void (*sandbox)(void *ctx, const struct cri_sandbox *s);
	void (*image)(void *ctx, const struct cri_image *i);
	void *ctx;
};

/*
 * Append a framed request. id selects one container or sandbox; NULL: all of them. Return 0, or
 * -ENOMEM or -EFBIG as buf_add() does.
 */
int cri_put_list_request(struct buf *out, const char *id) MUST_CHECK;
int cri_put_empty_request(struct buf *out) MUST_CHECK; /* of Version and ListImages */

/*
 * Decode a framed answer of data_len bytes to ListContainers, ListPodSandbox or ListImages. Return
 * how many elements were skipped as too large, or -EBADMSG if it is not a valid answer, is
 * compressed, or is incomplete, or -ENOMEM; the visitor may have been called then.
 */
int cri_visit_containers(const void *data, size_t len, const struct cri_visitor *v) MUST_CHECK;
int cri_visit_sandboxes(const void *data, size_t len, const struct cri_visitor *v) MUST_CHECK;
int cri_visit_images(const void *data, size_t len, const struct cri_visitor *v) MUST_CHECK;

/* Returns 0, -EBADMSG or -ENOMEM. */
int cri_parse_version(const void *data, size_t len, struct cri_version *ret) MUST_CHECK;

/*
 * The errno for gRPC's status and HTTP's: 0, -EOPNOTSUPP if the server does not know the service,
 * -ENOENT for "not found", -ETIMEDOUT, -EACCES, -EAGAIN if it is unavailable, -EBADMSG without a
 * status, -EIO for anything else. grpc_status may be NULL.
 */
int cri_error(int http_status, const char *grpc_status);

#endif /* NODE_AGENT_CONTAINER_CRI_MESSAGES_H */
