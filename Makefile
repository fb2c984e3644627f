# Build of both agents. One make process sees the whole tree; nothing is written outside build/,
# node_modules/ and $(DEPS). Run "make help" for the targets. Tests, benchmarks and static checks
# have their rules in test/mk/.

MAKEFLAGS     += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

# ---- knobs -----------------------------------------------------------------
BUILD      ?= release
O          ?= build/$(BUILD)
# where third-party packages and what is built from them are kept, for all checkouts
export DEPS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/coroot-agents
CC         := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
CLANG      ?= clang
BPFTOOL    ?= bpftool
LLVM_STRIP ?= llvm-strip
PROTOC_C   ?= protoc-c
PKG_CONFIG ?= pkg-config
INSTALL    ?= install
prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
unitdir    ?= $(prefix)/lib/systemd/system
docdir     ?= $(prefix)/share/doc/coroot-node-agent
# for what the kernel allows to root only: the tests that load BPF programs
SUDO       ?= $(if $(filter 0,$(shell id -u)),,sudo -E)
JOBS       ?= $(shell nproc)
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BPF_ARCH   := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))

# ---- flavours --------------------------------------------------------------
san_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
san_tsan := -fsanitize=thread
opt_release := -O2 -D_FORTIFY_SOURCE=3
opt_debug := -Og
opt_asan := -O1
opt_tsan := -O1
opt_cov := -O0 --coverage
san := $(san_$(BUILD))
ifeq ($(opt_$(BUILD)),)
$(error BUILD=$(BUILD) is not one of: release debug asan tsan cov)
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
        -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wvla -Wundef \
        -Wformat=2 -Wimplicit-fallthrough -Wcast-qual -Wdate-time \
        -Wno-missing-field-initializers
# ---- hardening: what it is for is in docs/security.md; "make lint-hardening" reads the binaries ----
# Local variables are zero where the compiler leaves them unset; under the sanitizers a pattern, so
# that a test notices, and nothing under valgrind (debug), which notices by itself.
init_release := zero
init_asan := pattern
init_tsan := pattern
# clang before 16 wants another flag with it
clang_zero := -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang
has_flags = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo yes)
var_init := $(addprefix -ftrivial-auto-var-init=,$(init_$(BUILD)))
var_init := $(if $(call has_flags,$(var_init)),$(var_init),$(var_init) $(clang_zero))
target_machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# addresses of indirect branches and of returns are checked by the CPU
branches_x86_64 := -fcf-protection=full
branches_aarch64 := -mbranch-protection=standard
HARDEN_C  := -fPIE -fstack-protector-strong -fstack-clash-protection $(var_init) \
             $(branches_$(target_machine))
HARDEN_LD := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code

# the same binaries in every checkout
relative  := -ffile-prefix-map=$(CURDIR)=.

# No value of the product changes where its type does, unless a cast says so. Only by gcc, as clang
# takes constants that fit for others, and once, not in every flavour.
is_gcc     := $(findstring Free Software Foundation,$(shell $(CC) --version))
conversion  = $(if $(and $(is_gcc),$(filter release,$(BUILD)),$(filter common/% node-agent/% cluster-agent/%,$<)),-Wconversion)

CPPFLAGS_ALL = -I. -isystem $(O)/gen -D_GNU_SOURCE $(CPPFLAGS)
CFLAGS_ALL   = -std=gnu11 -g $(relative) -fno-common -fno-omit-frame-pointer $(HARDEN_C) \
               $(opt_$(BUILD)) $(san) $(WARN) $(pkg_cflags) $(CFLAGS)
LDFLAGS_ALL  = $(san) $(if $(filter cov,$(BUILD)),--coverage) $(HARDEN_LD) $(LDFLAGS)

# ---- libraries -------------------------------------------------------------
pkgs_common  := libcurl libprotobuf-c libmicrohttpd gnutls yaml-0.1 jansson zlib libseccomp
pkgs_node    := $(pkgs_common) libbpf libelf liblzma libzstd libdw
pkgs_cluster := $(pkgs_common) libzstd liblz4 libpcre2-8 libnghttp2 liblzma
pkgs         := $(sort $(pkgs_node) $(pkgs_cluster))
# goals that work before anything is installed
early_goals  := deps deps-build run test test-quick check-clean-machine help clean format
ifneq ($(filter-out $(early_goals),$(or $(MAKECMDGOALS),all)),)
missing := $(strip $(foreach p,$(pkgs),$(shell $(PKG_CONFIG) --exists $(p) || echo $(p))))
ifneq ($(missing),)
$(error missing development packages (pkg-config names): $(missing); "make deps" installs them)
endif
pkg_cflags := $(shell $(PKG_CONFIG) --cflags $(pkgs))
# libdeflate 1.14 and libiberty of Debian 12 come without a .pc file
libs_node    := $(shell $(PKG_CONFIG) --libs $(pkgs_node)) -ldeflate -liberty -lm -lpthread
libs_cluster := $(shell $(PKG_CONFIG) --libs $(pkgs_cluster)) -ldeflate -liberty -ldl -lm -lpthread
endif

# ---- sources: a file in the folder is a file in the build ------------------
src_all     := $(sort $(shell find common node-agent cluster-agent -name '*.[ch]'))
src_common  := $(filter common/%.c,$(src_all))
src_node    := $(filter-out node-agent/main.c,$(filter node-agent/%.c,$(src_all)))
src_cluster := $(filter-out cluster-agent/main.c,$(filter cluster-agent/%.c,$(src_all)))
src_main    := node-agent/main.c cluster-agent/main.c
protos      := $(sort $(wildcard proto/*.proto))
bpf_progs   := $(sort $(wildcard bpf/*.bpf.c))

obj   = $(patsubst %.c,$(O)/obj/%.o,$(1))
skels := $(patsubst bpf/%.bpf.c,$(O)/gen/bpf/%.skel.h,$(bpf_progs))
pbc   := $(patsubst proto/%.proto,$(O)/gen/proto/%.pb-c.c,$(protos))
pbo   := $(patsubst $(O)/gen/%.c,$(O)/obj/gen/%.o,$(pbc))

# what the operator makes, as text in a file of C; comments are left out
templates   := $(sort $(wildcard cluster-agent/operator/templates/*.yaml)) charts/profiling/files/agents.yaml
templates_c := $(O)/gen/operator/object_templates.gen.c
# the variables of the agents' options, which the operator knows by the pages about them
variables_c := $(O)/gen/operator/agent_variables.gen.c

include cluster-agent/web/page.mk

# ---- output ----------------------------------------------------------------
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n' "$(1)" "$(patsubst $(O)/%,%,$@)"
endif

# ---- stamps: rewritten only when their content changes ----------------------
flags_now := $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL)
# (of a name of its own, because several makes may run at once)
new    := .$(shell echo $$PPID).new
update = cmp -s $@$(new) $@ && rm $@$(new) || mv $@$(new) $@
$(O)/.flags: FORCE
	$(file >$@$(new),$(flags_now))
	@$(update)
$(O)/gen/version.h: FORCE
	@echo '#define VERSION "$(VERSION)"' >$@$(new); $(update)
FORCE:

##@ Build, run and install
# ---- rules -----------------------------------------------------------------
# the embedded engine next to the binary, where the cluster-agent looks first; there is none for arm64
engine := $(if $(filter x86_64,$(shell uname -m)),$(O)/.chdb)
# what the node-agent loads into JVMs, next to it likewise
java_library := $(if $(filter x86_64 aarch64,$(target_machine)),$(O)/libasyncProfiler.so)
all: $(O)/coroot-node-agent $(O)/coroot-cluster-agent $(engine) $(java_library) ## build both agents (default)
$(O)/.chdb: cluster-agent/store/package-lock.json cluster-agent/store/install-chdb.sh
	$(Q)ln -sfn "$$(cluster-agent/store/install-chdb.sh --print)" $(O)/libchdb.so
	$(Q)touch $@
$(O)/libasyncProfiler.so: node-agent/java/async-profiler.sha256 node-agent/java/install-async-profiler.sh
	$(Q)$(INSTALL) -m 0644 "$$(node-agent/java/install-async-profiler.sh --print $(target_machine))" $@

$(O)/coroot-node-agent: $(call obj,node-agent/main.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
$(O)/coroot-cluster-agent: $(call obj,cluster-agent/main.c) $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)

$(O)/libcommon.a:  $(call obj,$(src_common)) $(pbo)
$(O)/libnode.a:    $(call obj,$(src_node)) $(O)/obj/gen/web/record_page.gen.o
$(O)/libcluster.a: $(call obj,$(src_cluster)) $(O)/obj/gen/web/web_assets.gen.o \
                   $(O)/obj/gen/operator/object_templates.gen.o $(O)/obj/gen/operator/agent_variables.gen.o
$(O)/lib%.a:
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/obj/%.o: %.c $(O)/.flags | gen
	$(call say,CC)
	$(file >$@.json,{"directory":"$(CURDIR)","file":"$<","command":"$(subst ",\",$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL)) \
	    -c $<"},)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(conversion) -MD -MP -c -o $@ $<

# Generated code has our include paths, not our warnings; -MMD, as generated headers are system
# headers to the compiler.
$(O)/obj/gen/%.o: $(O)/gen/%.c $(O)/.flags
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -w -MMD -MP -c -o $@ $<

$(templates_c): $(templates)
	$(call say,EMBED)
	$(Q){ echo '#include "cluster-agent/operator/render/object_template.h"'; \
	    echo 'const char object_templates_yaml[] ='; \
	    sed '/^ *#/d; s/["\\]/\\&/g; s/.*/"&\\n"/' $^; echo ';'; } >$@

$(variables_c): docs/options-node-agent.md docs/options-cluster-agent.md
	$(call say,EMBED)
	$(Q){ echo '#include "cluster-agent/operator/spec/agent_variables.h"'; \
	    for agent in node cluster; do \
	        printf 'static const char *const %s[] = {"CONFIG",\n' $$agent; \
	        sed -n 's/^| `--\([a-z0-9-]*\).*/\1/p' docs/options-$$agent-agent.md | tr a-z- A-Z_ | sed 's/.*/"&",/'; \
	        sed -n 's/^| `--.*; also from `\([A-Z0-9_]*\)` |$$/"\1",/p' docs/options-$$agent-agent.md; \
	        printf 'NULL};\nconst struct agent_variables %s_agent_variables = {"%s agent", %s};\n' $$agent $$agent $$agent; \
	    done; } >$@

$(O)/gen/proto/%.pb-c.c $(O)/gen/proto/%.pb-c.h &: proto/%.proto
	$(call say,PROTOC)
	$(Q)$(PROTOC_C) --c_out=$(O)/gen $<

# -target bpf drops the multiarch include folder; take it from the host clang
bpf_sysinc = $(shell $(CLANG) -v -E - </dev/null 2>&1 | \
    sed -n '/<...> search starts here:/,/End of search list/{ s| \(/.*\)|-idirafter \1|p }')
$(O)/obj/bpf/%.bpf.o: bpf/%.bpf.c $(O)/.flags
	$(call say,BPF)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror -D__TARGET_ARCH_$(BPF_ARCH) \
	    $(relative) -Ibpf $(bpf_sysinc) -MMD -MP -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@
$(O)/gen/bpf/%.skel.h: $(O)/obj/bpf/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

gen: $(skels) $(pbc) $(O)/gen/version.h

# ---- from nothing to running -----------------------------------------------
# Sub-makes, because what the first lines of this file look up may be installed meanwhile.
deps-build: ## install what building and running needs (Debian packages, libchdb, async-profiler, npm packages)
	$(Q)test/setup/deps.sh build
	$(if $(engine),$(Q)cluster-agent/store/install-chdb.sh)
	$(Q)node-agent/java/install-async-profiler.sh
	$(Q)$(MAKE) -s $(web_modules)
run: ## install, build and run both agents here until Ctrl-C (PORT=10301 NODE_PORT=10300 RUN_DIR=build/run)
	$(Q)test/setup/run.sh --check
	$(Q)$(MAKE) deps-build
	$(Q)$(MAKE) -j$(JOBS) all
	$(Q)test/setup/run.sh

# ---- install ---------------------------------------------------------------
install: all ## install into $(DESTDIR)$(prefix)
	$(Q)$(INSTALL) -d $(DESTDIR)$(bindir)
	$(Q)$(INSTALL) -m 0755 $(O)/coroot-node-agent $(O)/coroot-cluster-agent $(DESTDIR)$(bindir)/
	$(if $(engine),$(Q)$(INSTALL) -d $(DESTDIR)$(prefix)/lib/coroot)
	$(if $(engine),$(Q)$(INSTALL) -m 0644 $(O)/libchdb.so $(DESTDIR)$(prefix)/lib/coroot/)
	$(Q)$(INSTALL) -d $(DESTDIR)$(prefix)/lib/coroot-node-agent $(DESTDIR)$(docdir)
	$(if $(java_library),$(Q)$(INSTALL) -m 0644 $(java_library) $(DESTDIR)$(prefix)/lib/coroot-node-agent/)
	$(Q)$(INSTALL) -m 0644 LICENSE node-agent/java/async-profiler.copyright $(DESTDIR)$(docdir)/
	$(Q)$(INSTALL) -d $(DESTDIR)$(unitdir)
	$(Q)for unit in coroot-node-agent coroot-cluster-agent; do \
	    sed 's|^ExecStart=/usr/local/bin/|ExecStart=$(bindir)/|' charts/systemd/$$unit.service >$(O)/$$unit.service && \
	    $(INSTALL) -m 0644 $(O)/$$unit.service $(DESTDIR)$(unitdir)/ || exit 1; done
clean: ## remove build/
	$(Q)rm -rf build compile_commands.json
# Targets in groups, which lines of the makefiles name: "##@ Group".
help: ## this text
	@echo "The five that matter first: run, check (T=cycle), test-quick, lint-quick, test"
	@awk -F':.*## ' '/^##@ /{group=substr($$0,5); if(!seen[group]++) order[++n]=group} \
	    /^[a-z0-9%-]+:.*## /{text[group]=text[group] sprintf("  %-18s %s\n",$$1,$$2)} \
	    END{for(i=1;i<=n;i++) printf "\n%s\n%s",order[i],text[order[i]]}' $(MAKEFILE_LIST)
	@echo; echo "  BUILD=release|debug|asan|tsan|cov  V=1  O=dir  DESTDIR=  prefix=  CC=clang"

.PHONY: all gen deps-build run install clean help FORCE

include test/mk/test.mk test/mk/accuracy.mk test/mk/bench.mk test/mk/lint.mk charts/images/images.mk \
        charts/charts.mk charts/release/release.mk

# All directories at once, so that rules need no mkdir of their own.
ifneq ($(filter-out $(early_goals),$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(sort $(dir $(call obj,$(src_all) $(src_test_all)) $(pbo) $(pbc) $(skels) $(test_programs) $(web_c) $(record_c) $(templates_c) $(variables_c) \
    $(O)/obj/gen/web/ $(O)/obj/gen/operator/ build/web/ $(O)/obj/bpf/ $(O)/test/fuzz/ $(tidied) $(analyzed))))
endif
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)
