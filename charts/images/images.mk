# Container images: "make images" builds them from the binaries that are there, with buildah. What is
# in them and how they start is in charts/images/Dockerfile. Included by the Makefile.
#
# IMAGE_ARCH=arm64 on another machine builds the agents with a cross compiler. There is no engine as a
# library for arm64, so there is no image of the store.

image_host     := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(shell uname -m)))
IMAGE_REGISTRY ?= localhost
IMAGE_TAG      ?= $(VERSION)
IMAGE_ARCH     ?= $(image_host)
IMAGE_ARCHS    ?= $(sort $(image_host) arm64)
image_dir       = build/images$(if $(filter $(image_host),$(1)),,/$(1))
IMAGE_DIR      ?= $(call image_dir,$(IMAGE_ARCH))
# the time of all files and of the image: that of the commit
IMAGE_DATE     ?= $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)
image_names    := node-agent cluster-agent $(if $(filter amd64,$(IMAGE_ARCH)),cluster-agent-store)
image_env       = DEPS='$(DEPS)' VERSION='$(VERSION)' SOURCE_DATE_EPOCH=$(IMAGE_DATE) \
                  WEB_DEPS=$(web_deps) LLVM_STRIP=$(LLVM_STRIP) IMAGE_REGISTRY=$(IMAGE_REGISTRY) \
                  IMAGE_TAG=$(IMAGE_TAG) IMAGE_ARCH=$(IMAGE_ARCH) \
                  REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown)
build_images    = $(SUDO) env $(image_env) charts/images/build-images.sh $(IMAGE_DIR) $(image_names)

ifeq ($(IMAGE_ARCH),$(image_host))
# what a builder with a registry copies into the final stages
image-roots: all
	$(Q)$(image_env) O=$(O) charts/images/assemble-roots.sh $(IMAGE_DIR) $(image_names)
##@ Images and charts
images: all ## build the container images into build/images (IMAGE_REGISTRY= IMAGE_TAG= IMAGE_ARCH=arm64)
	$(Q)test/setup/deps.sh images
	$(Q)O=$(O) $(build_images)
else
# where make check-kernels builds them, too; not O: the sub-make has compiler and flags of its own
image_arm64 := build/arm64
images: $(web_page)
	$(Q)test/setup/deps.sh images arm64
	$(Q)SYSROOT=$$(test/setup/arm64-sysroot.sh) && export SYSROOT O=$(image_arm64) && \
	    test/setup/arm64-make.sh "$$SYSROOT" $(image_arm64) VERSION='$(VERSION)' \
	        $(image_arm64)/coroot-node-agent $(image_arm64)/coroot-cluster-agent && \
	    $(build_images)
endif

push-images: ## build the images for IMAGE_ARCHS and push them to IMAGE_REGISTRY with IMAGE_TAG, one name for all
	$(if $(filter localhost,$(IMAGE_REGISTRY)),$(error say where to: make push-images IMAGE_REGISTRY=ghcr.io/you))
	$(Q)for arch in $(IMAGE_ARCHS); do $(MAKE) IMAGE_ARCH=$$arch images || exit 1; done
	$(Q)$(SUDO) env $(image_env) IMAGE_DIRS='$(foreach arch,$(IMAGE_ARCHS),$(call image_dir,$(arch)))' \
	    IMAGE_PUSH_FLAGS='$(IMAGE_PUSH_FLAGS)' charts/images/push-images.sh $(image_names)

.PHONY: image-roots images push-images
