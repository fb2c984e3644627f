/*
 * Labels that name a release, the plainest first: the first one that a profile has is its version.
 * build.mjs of the page reads this line, too (releases.ts).
 */
#ifndef CLUSTER_AGENT_SUMS_VERSION_LABELS_H
#define CLUSTER_AGENT_SUMS_VERSION_LABELS_H

#define VERSION_LABELS "version", "service.version", "image", "container.image.name"

#endif /* CLUSTER_AGENT_SUMS_VERSION_LABELS_H */
