# A release: "make release VERSION=v1.2.3" makes all its files in one folder, and pushes images and
# charts if IMAGE_REGISTRY is given. Nothing is tagged or published otherwise. docs/release.md says
# how; included by the Makefile.

RELEASE_DIR ?= build/releases/$(VERSION)
CHART_REPOSITORY ?= $(IMAGE_REGISTRY)/charts
release_env  = VERSION='$(VERSION)' SOURCE_DATE_EPOCH=$(IMAGE_DATE) \
               IMAGE_DIRS='$(foreach arch,$(IMAGE_ARCHS),$(call image_dir,$(arch)))'

##@ Images and charts
release: ## all files of a release in build/releases/VERSION, pushed if IMAGE_REGISTRY is given (VERSION=v1.2.3)
	$(Q)charts/release/check-version.sh '$(VERSION)' >/dev/null
	$(Q)for arch in $(IMAGE_ARCHS); do $(MAKE) IMAGE_ARCH=$$arch images || exit 1; done
	$(Q)rm -rf '$(RELEASE_DIR)'
	$(Q)$(MAKE) CHART_DIR='$(RELEASE_DIR)' charts
	$(Q)env $(release_env) charts/release/make-files.sh '$(RELEASE_DIR)'
	$(if $(filter localhost,$(IMAGE_REGISTRY)),,$(Q)$(MAKE) push-release)
push-release: push-images ## push the images and the charts of the release that was made (IMAGE_REGISTRY= VERSION=)
	$(Q)HELM=$(kube_tools)/helm charts/release/push-charts.sh '$(RELEASE_DIR)' 'oci://$(CHART_REPOSITORY)'

.PHONY: release push-release
