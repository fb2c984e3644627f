# Helm charts and plain manifests. Included by the Makefile. What is generated of a chart is kept in
# the repository, so that a checkout can be installed as it is: "make chart-files" writes it, "make
# check-charts" compares it.

chart_names := coroot-operator coroot-ce profiling
CHART_DIR   ?= build/charts
kube_tools   = $$(test/kubernetes/build.sh "$$(test/setup/go.sh)")
# "localhost", the default of images, is no registry that a cluster could pull from
chart_registry = $(if $(filter file,$(origin IMAGE_REGISTRY)),,$(IMAGE_REGISTRY))

##@ Images and charts
chart-files: $(e2e_modules) ## rewrite what is made of the values and the CRD: schemas, README files
	$(Q)for chart in $(chart_names); do for file in schema:values.schema.json readme:README.md; do \
	    node test/charts/chart_values.js $${file%%:*} $$chart >charts/$$chart/$${file##*:} || exit 1; done; done
	$(Q)cp charts/coroot-operator/files/crd.yaml charts/manifests/crd/coroots.coroot.com.yaml
charts: ## package the charts into build/charts (IMAGE_REGISTRY= VERSION=)
	$(Q)HELM=$(kube_tools)/helm charts/package-charts.sh $(CHART_DIR) "$(chart_registry)" "$(VERSION)" $(chart_names)
manifests: $(e2e_modules) ## rewrite charts/manifests, rendered of the charts
	$(Q)HELM=$(kube_tools)/helm node test/charts/chart_manifests.js charts/manifests
check-charts: all $(e2e_modules) ## the charts and manifests: lint, all switches, refusals, schemas of Kubernetes
	$(Q)KN_BIN=$(kube_tools) node --test --test-reporter=spec test/charts/*.test.js

.PHONY: chart-files charts manifests check-charts
