#include "cluster-agent/operator/render/clickhouse_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render_parts.h"
#include "common/data/hash.h"

/* Not "config", which is a volume of another kind in pods that Coroot's operator made. */
#define CONFIG_VOLUME "config-file"
#define CONFIG_DIR "/config"
#define MAX_CONFIG_BYTES ((size_t)900 * 1024) /* an object may have 1 MiB */

int clickhouse_part_init(struct clickhouse_part *part)
{
	bool adopted = part->in->clickhouse_is_there;

	buf_init(&part->config, MAX_CONFIG_BYTES);
	part->marks = adopted ? json_pack("{s:s}", CLICKHOUSE_ADOPTED, "true") : json_object();
	return part->marks ? 0 : -ENOMEM;
}

void clickhouse_part_fini(struct clickhouse_part *part)
{
	json_decref(part->marks);
	buf_fini(&part->config);
}

static json_t *metadata_of(const struct clickhouse_part *part, const char *suffix)
{
	return object_metadata(part->in->spec, part->component, suffix, part->marks, true);
}

int clickhouse_part_add_base(struct rendered *out, const struct clickhouse_part *part)
{
	int r = render_service_account(out, part->in->spec, part->component, part->component);

	return r == 0 ? rendered_add(out, OBJECT_CONFIG_MAP,
				     json_pack("{s:o s:{s:s}}", "metadata",
					       metadata_of(part, part->component), "data",
					       "config.xml", part->config.data))
		      : r;
}

static json_t *service_ports(const struct clickhouse_port *ports)
{
	json_t *all = json_array();

	for (; all && ports->name; ports++) {
		if (!ports->internal &&
		    json_array_append_new(all, json_pack("{s:s s:s s:I s:s}", "name", ports->name,
							 "protocol", "TCP", "port",
							 (json_int_t)ports->number, "targetPort",
							 ports->name)) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *container_ports(const struct clickhouse_port *ports)
{
	json_t *all = json_array();

	for (; all && ports->name; ports++) {
		if (json_array_append_new(all, json_pack("{s:s s:s s:I}", "name", ports->name,
							 "protocol", "TCP", "containerPort",
							 (json_int_t)ports->number)) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

int clickhouse_part_add_service(struct rendered *out, const struct clickhouse_part *part,
				const char *suffix, const struct clickhouse_port *ports,
				bool headless)
{
	json_t *spec = json_pack("{s:s s:o s:o}", "type", "ClusterIP", "selector",
				 object_selector_labels(part->in->spec, part->component), "ports",
				 service_ports(ports));

	if (spec && headless &&
	    (json_object_set_new(spec, "clusterIP", json_string("None")) < 0 ||
	     json_object_set_new(spec, "publishNotReadyAddresses", json_true()) < 0)) {
		json_decref(spec);
		spec = NULL;
	}
	return rendered_add(
		out, OBJECT_SERVICE,
		json_pack("{s:o s:o}", "metadata", metadata_of(part, suffix), "spec", spec));
}

/* The root of the container is read-only. */
static int add_mounts(const struct clickhouse_part *part, json_t *container)
{
	json_t *mounts = json_array();

	if (!mounts || render_mount(mounts, CONFIG_VOLUME, CONFIG_DIR, true) < 0 ||
	    render_mount(mounts, OBJECT_DATA_VOLUME, part->data_dir, false) < 0 ||
	    render_mount(mounts, "tmp", "/tmp", false) < 0 ||
	    render_mount(mounts, "log", "/var/log", false) < 0) {
		json_decref(mounts);
		return -ENOMEM;
	}
	return object_set_made(container, "volumeMounts", mounts);
}

static json_t *make_volumes(const struct clickhouse_part *part)
{
	json_t *volumes = json_pack("[{s:s s:{s:o}}]", "name", CONFIG_VOLUME, "configMap", "name",
				    object_name(part->in->spec, part->component));

	if (!volumes || render_empty_dir(volumes, "tmp") < 0 ||
	    render_empty_dir(volumes, "log") < 0) {
		json_decref(volumes);
		return NULL;
	}
	return volumes;
}

static int complete_container(const struct clickhouse_part *part,
			      const struct clickhouse_port *ports, json_t *container)
{
	if (!container || render_image(container, &part->pod->image, part->image) < 0 ||
	    object_set_made(container, "ports", container_ports(ports)) < 0 ||
	    object_set_shared(container, "resources", part->pod->resources) < 0 ||
	    add_mounts(part, container) < 0)
		return -ENOMEM;
	return object_set_made(container, "securityContext", object_restricted_container());
}

/* The user's annotations of pods, and a hash of the file, so that another one restarts them. */
static json_t *pod_annotations(const struct clickhouse_part *part)
{
	uint64_t hash = fnv1a64(FNV1A64_INIT, part->config.data, part->config.len);
	json_t *ours = json_pack("{s:o}", "checksum/config", json_sprintf("%016" PRIx64, hash));
	json_t *all = ours ? object_annotations(part->pod->annotations, ours) : NULL;

	json_decref(ours);
	return all;
}

int clickhouse_part_add_pods(struct rendered *out, const struct clickhouse_part *part,
			     const struct object_stateful_set *set,
			     const struct clickhouse_port *ports, json_t *container)
{
	int r = complete_container(part, ports, container);
	json_t *annotations = r == 0 ? pod_annotations(part) : NULL;
	struct coroot_pod pod = *part->pod;
	struct object_pod p = {
		.spec = part->in->spec,
		.component = part->component,
		.pod = &pod,
		.service_account = part->component,
		.pull_secret = part->in->images->pull_secret,
	};

	pod.annotations = annotations;
	if (!annotations) {
		json_decref(container);
		return -ENOMEM;
	}
	p.security_context = object_restricted_pod();
	p.containers = json_pack("[o]", container);
	p.volumes = make_volumes(part);
	r = object_add_stateful_set(out, set, object_pod_template(&p));
	json_decref(annotations);
	return r;
}
