# Build of both agents. One make process sees the whole tree; nothing is
# written outside build/, node_modules/ and $(DEPS). Run "make help" for the targets.

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
# what the kernel allows to root only: the tests that load BPF programs
SUDO       ?= $(if $(filter 0,$(shell id -u)),,sudo -E)
JOBS       ?= $(shell nproc)
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BPF_ARCH   := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))

# ---- flavours --------------------------------------------------------------
san_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
san_tsan := -fsanitize=thread
opt_release := -O2 -D_FORTIFY_SOURCE=2
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
CPPFLAGS_ALL = -I. -isystem $(O)/gen -D_GNU_SOURCE $(CPPFLAGS)
CFLAGS_ALL   = -std=gnu11 -g -fno-common -fno-omit-frame-pointer -fstack-protector-strong \
               $(opt_$(BUILD)) $(san) $(WARN) $(pkg_cflags) $(CFLAGS)
LDFLAGS_ALL  = $(san) $(if $(filter cov,$(BUILD)),--coverage) -Wl,-z,relro,-z,now $(LDFLAGS)

# ---- libraries -------------------------------------------------------------
pkgs_common  := libcurl libprotobuf-c libmicrohttpd yaml-0.1 zlib
pkgs_node    := $(pkgs_common) libbpf libelf
pkgs_cluster := $(pkgs_common) jansson
pkgs         := $(sort $(pkgs_node) $(pkgs_cluster))
# goals that work before anything is installed
early_goals  := deps deps-build run test help clean format
ifneq ($(filter-out $(early_goals),$(or $(MAKECMDGOALS),all)),)
missing := $(strip $(foreach p,$(pkgs),$(shell $(PKG_CONFIG) --exists $(p) || echo $(p))))
ifneq ($(missing),)
$(error missing development packages (pkg-config names): $(missing); "make deps" installs them)
endif
pkg_cflags := $(shell $(PKG_CONFIG) --cflags $(pkgs))
# libdeflate 1.14 and libiberty of Debian 12 come without a .pc file
libs_node    := $(shell $(PKG_CONFIG) --libs $(pkgs_node)) -ldeflate -liberty -lm -lpthread
libs_cluster := $(shell $(PKG_CONFIG) --libs $(pkgs_cluster)) -ldeflate -ldl -lm -lpthread
endif

# ---- sources: a file in the folder is a file in the build ------------------
src_common  := $(sort $(wildcard common/*.c))
src_node    := $(sort $(filter-out node-agent/main.c,$(wildcard node-agent/*.c node-agent/*/*.c)))
src_cluster := $(sort $(filter-out cluster-agent/main.c,$(wildcard cluster-agent/*.c cluster-agent/*/*.c)))
hdrs        := $(sort $(wildcard common/*.h node-agent/*.h node-agent/*/*.h cluster-agent/*.h cluster-agent/*/*.h test/lib/*.h))
protos      := $(sort $(wildcard proto/*.proto))
bpf_progs   := $(sort $(wildcard bpf/*.bpf.c))
store_tests := $(patsubst test/store/%.c,$(O)/test/store/%,$(sort $(wildcard test/store/test_*.c)))
pipeline_tests := $(patsubst test/pipeline/%.c,$(O)/test/pipeline/%,$(sort $(wildcard test/pipeline/test_*.c)))
src_test    := $(filter-out test/lib/fuzz_main.c,$(sort $(wildcard test/lib/*.c)))
unit_tests  := $(patsubst test/unit/%.c,$(O)/test/unit/%,$(sort $(wildcard test/unit/test_*.c)))
bpf_tests   := $(patsubst test/bpf/%.c,$(O)/test/bpf/%,$(sort $(wildcard test/bpf/test_*.c)))
fuzzers     := $(patsubst test/fuzz/%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))

# The headers that other folders of the same agent may include. A folder knows only folders that
# come before it here; the rest is up to the wiring (node_agent.c, cluster_agent.c).
entries := $(addprefix node-agent/, \
             process/process_table.h process/process_snapshot.h process/mapped_file.h \
             process/procfs.h process/proc_maps.h process/file_finder.h process/local_fs.h process/cgroup_path.h process/workload.h \
             sample/sampler.h symbol/symbolizer.h symbol/byte_source.h symbol/elf_layout.h \
             symbol/elf_symbols.h symbol/gopclntab.h symbol/gopclntab_line.h symbol/gopclntab_frame.h symbol/heap_sort.h \
             profile/profile_worker.h \
             go/go_target.h go/go_runtime.h go/go_reader.h go/go_write.h go/go_bucket.h go/go_bucket_scan.h \
             go/bucket_history.h go/memory_windows.h go/stack_profile.h \
             heap/heap_reader.h heap/heap_force.h heap/heap_variables.h goroutine/goroutine_reader.h lock/lock_reader.h \
             gc/gc_reader.h gc/gc_counters.h go_profile/go_worker.h) \
           $(addprefix cluster-agent/, \
             kubernetes/kube_config.h kubernetes/kube_client.h kubernetes/kube_watch.h replica/replica_set.h \
             discover/scrape_target.h discover/discovery.h scrape/scraper.h \
             store/store.h store/store_writer.h store/row_batch.h store/rowbinary.h store/clickhouse_port.h \
             ingest/ingest.h ingest/ingest_feed.h receive/profile_handler.h query/profile_query.h web/web_api.h web/web_page.h)

obj   = $(patsubst %.c,$(O)/obj/%.o,$(1))
skels := $(patsubst bpf/%.bpf.c,$(O)/gen/bpf/%.skel.h,$(bpf_progs))
pbc   := $(patsubst proto/%.proto,$(O)/gen/proto/%.pb-c.c,$(protos))
pbo   := $(patsubst $(O)/gen/%.c,$(O)/obj/gen/%.o,$(pbc))
all_c := $(src_common) $(src_node) $(src_cluster) node-agent/main.c cluster-agent/main.c \
         $(wildcard test/unit/*.c test/bpf/*.c test/store/*.c test/pipeline/*.c test/lib/*.c test/fuzz/*.c test/go-symbols/*.c test/go-matrix/*.c test/bench/go_cost.c)

# The page: its packages are kept by the hash of its lock file, so that a clean tree installs nothing.
web         := cluster-agent/web
web_deps    := $(DEPS)/web-$(shell sha256sum $(web)/package-lock.json | cut -c1-16)
web_modules := $(web_deps)/node_modules/.package-lock.json
web_src     := $(sort $(wildcard $(web)/src/* $(web)/*.html $(web)/*.svg $(web)/*.mjs $(web)/tsconfig.json))
web_tests   := $(sort $(wildcard test/page/unit/*.test.ts))
web_page    := build/web/dist/index.html
web_c       := $(O)/gen/web/web_assets.gen.c

lint_c   := $(src_common) $(src_node) $(src_cluster) node-agent/main.c cluster-agent/main.c
tidied   := $(lint_c:%.c=$(O)/lint/%.tidied)
analyzed := $(lint_c:%.c=$(O)/lint/%.analyzed)

# ---- output ----------------------------------------------------------------
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n' "$(1)" "$(patsubst $(O)/%,%,$@)"
endif

# All directories at once, so that rules need no mkdir of their own.
ifneq ($(filter-out $(early_goals),$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(sort $(dir $(call obj,$(all_c)) $(pbo) $(pbc) $(skels) $(unit_tests) $(bpf_tests) $(store_tests) $(pipeline_tests) $(web_c) $(O)/obj/gen/web/ build/web/ \
                              $(O)/obj/bpf/ $(O)/test/fuzz/ $(tidied) $(analyzed))))
endif

# ---- stamps: rewritten only when their content changes ----------------------
flags_now := $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL)
update = cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(O)/.flags: FORCE
	$(file >$@.new,$(flags_now))
	@$(update)
$(O)/gen/version.h: FORCE
	@echo '#define VERSION "$(VERSION)"' >$@.new; $(update)
FORCE:

# ---- rules -----------------------------------------------------------------
all: $(O)/coroot-node-agent $(O)/coroot-cluster-agent $(O)/.chdb ## build both agents (default)

# the embedded engine next to the binary, where the cluster-agent looks first
$(O)/.chdb: cluster-agent/store/package-lock.json cluster-agent/store/install-chdb.sh
	$(Q)ln -sfn "$$(cluster-agent/store/install-chdb.sh --print)" $(O)/libchdb.so
	$(Q)touch $@

$(O)/coroot-node-agent: $(call obj,node-agent/main.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
$(O)/coroot-cluster-agent: $(call obj,cluster-agent/main.c) $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)

$(O)/libcommon.a:  $(call obj,$(src_common)) $(pbo)
$(O)/libnode.a:    $(call obj,$(src_node))
$(O)/libcluster.a: $(call obj,$(src_cluster)) $(O)/obj/gen/web/web_assets.gen.o
$(O)/lib%.a:
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/obj/%.o: %.c $(O)/.flags | gen
	$(call say,CC)
	$(file >$@.json,{"directory":"$(CURDIR)","file":"$<","command":"$(subst ",\",$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL)) -c $<"},)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MD -MP -c -o $@ $<

# -MD and not -MMD: generated headers are system headers to the compiler
# generated code: our include paths, not our warnings
$(O)/obj/gen/%.o: $(O)/gen/%.c $(O)/.flags
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -w -MMD -MP -c -o $@ $<

$(O)/gen/proto/%.pb-c.c $(O)/gen/proto/%.pb-c.h &: proto/%.proto
	$(call say,PROTOC)
	$(Q)$(PROTOC_C) --c_out=$(O)/gen $<

# -target bpf drops the multiarch include folder; take it from the host clang
bpf_sysinc = $(shell $(CLANG) -v -E - </dev/null 2>&1 | \
    sed -n '/<...> search starts here:/,/End of search list/{ s| \(/.*\)|-idirafter \1|p }')
$(O)/obj/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror -D__TARGET_ARCH_$(BPF_ARCH) \
	    -Ibpf $(bpf_sysinc) -MMD -MP -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@
$(O)/gen/bpf/%.skel.h: $(O)/obj/bpf/%.bpf.o
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(web_modules):
	@echo "deps: npm packages of the page"
	$(Q)rm -rf $(web_deps).$$$$ && mkdir -p $(web_deps).$$$$ && cd $(web_deps).$$$$ && \
	    cp $(CURDIR)/$(web)/package.json $(CURDIR)/$(web)/package-lock.json $(CURDIR)/$(web)/.npmrc . && \
	    npm ci --ignore-scripts --loglevel=error >/dev/null && cd .. && \
	    { mv -T $(web_deps).$$$$ $(web_deps) 2>/dev/null || rm -rf $(web_deps).$$$$; }
$(web_page): $(web_src) $(web)/package-lock.json | $(web_modules)
	$(call say,PAGE)
	$(Q)node $(web)/build.mjs page $(web_deps) $(@D)
$(web_c): $(web_page)
	$(call say,EMBED)
	$(Q)node $(web)/build.mjs embed $(dir $(web_page)) $@

gen: $(skels) $(pbc) $(O)/gen/version.h

# ---- from nothing to running -------------------------------------------------
# Sub-makes, because what the first lines of this file look up may be installed meanwhile.
deps-build: ## install what building and running needs (Debian packages, libchdb, the page's npm packages)
	$(Q)test/setup/deps.sh build
	$(Q)cluster-agent/store/install-chdb.sh
	$(Q)$(MAKE) -s $(web_modules)
deps: ## install what is missing for everything; quick when nothing is
	$(Q)test/setup/deps.sh build test lint
	$(Q)$(MAKE) -s deps-build $(e2e_modules)
run: ## install, build and run both agents here until Ctrl-C (PORT=10301 RUN_DIR=build/run)
	$(Q)$(MAKE) deps-build
	$(Q)$(MAKE) -j$(JOBS) all
	$(Q)test/setup/run.sh
test: ## install, build and run every check there is
	$(Q)test/run-all.sh

# ---- tests -----------------------------------------------------------------
$(O)/test/unit/%: $(O)/obj/test/unit/%.o $(call obj,$(src_test)) $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup \
	    -o $@ $^ $(libs_node) $(libs_cluster) -lcmocka

# on the running kernel, as root; without the cluster-agent, whose libraries the guests do not have
$(O)/test/bpf/%: $(O)/obj/test/bpf/%.o $(call obj,test/lib/oom.c test/lib/own_process.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup \
	    -o $@ $^ $(libs_node) -lcmocka
check-bpf: $(bpf_tests) ## the sampler on this kernel (needs root)
	$(Q)$(SUDO) test/run-unit.sh $(bpf_tests)
check-kernels: $(O)/coroot-node-agent $(bpf_tests) build/e2e/share ## the same, and the node-agent, on Debian's kernels in qemu
	$(Q)test/kernels/run-kernels.sh $^

$(O)/test/go-symbols/check_symbols: $(call obj,test/go-symbols/check_symbols.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
check-go-symbols: $(O)/test/go-symbols/check_symbols ## names of Go functions, for every Go from 1.18 on (fetches them; GO_VERSIONS=)
	$(Q)test/go-symbols/go-symbols.sh $< "$$(test/setup/go.sh)"

$(O)/test/go-matrix/check_%: $(call obj,test/go-matrix/check_%.c test/go-matrix/profile_stacks.c test/go-matrix/heap_process.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
check-go-matrix: $(O)/test/go-matrix/check_heap $(O)/test/go-matrix/check_between $(O)/test/go-matrix/check_stress $(O)/test/go-matrix/check_locks $(O)/test/go-matrix/check_goroutines $(O)/test/go-matrix/check_gc $(O)/test/go-matrix/check_containers $(O)/coroot-node-agent ## profiles of Go programs against their own, for many releases (fetches them; GO_VERSIONS=)
	$(Q)NODE_AGENT=$(abspath $(O))/coroot-node-agent test/go-matrix/go-matrix.sh $< "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/debian-programs.sh $< $(O)/test/go-matrix/check_between
	$(Q)test/go-matrix/go-stress.sh $(O)/test/go-matrix/check_stress "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/locks.sh $(O)/test/go-matrix/check_locks "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/goroutines.sh $(O)/test/go-matrix/check_goroutines $(O)/coroot-node-agent "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/counters.sh $(O)/test/go-matrix/check_gc $(O)/test/go-matrix/check_containers "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/variants.sh $(patsubst %,$(O)/test/go-matrix/check_%,heap locks goroutines gc) "$$(test/setup/go.sh)"

check-go-arm64: $(O)/test/go-matrix/check_heap $(O)/test/go-matrix/check_guest $(O)/test/go-matrix/check_goroutines $(O)/test/go-matrix/check_locks ## the same for programs of arm64, emulated
	$(Q)test/go-matrix/arm64.sh $^ "$$(test/setup/go.sh)"

# The engine brings its own allocator, so these run without sanitizers and failing allocations.
$(store_tests): $(O)/test/store/%: $(O)/obj/test/store/%.o $(O)/libcluster.a $(O)/libcommon.a $(O)/.chdb
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(libs_cluster) -lcmocka
check-store: $(store_tests) ## the store on the embedded engine
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so test/run-unit.sh $(store_tests)

$(pipeline_tests): $(O)/test/pipeline/%: $(O)/obj/test/pipeline/%.o $(O)/obj/test/pipeline/agent_process.o \
                   $(O)/libcluster.a $(O)/libcommon.a $(O)/coroot-cluster-agent $(O)/.chdb
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(libs_cluster) -lcmocka
check-pipeline: $(pipeline_tests) ## uploads through the real cluster-agent and its store
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so CLUSTER_AGENT=$(abspath $(O))/coroot-cluster-agent \
	    TEST_DATA=test/data test/run-unit.sh $(pipeline_tests)

check: $(unit_tests) ## unit tests of the current BUILD
	$(Q)test/run-unit.sh $(unit_tests)
check-asan: ## unit tests under ASan + UBSan
	$(Q)$(MAKE) BUILD=asan check
check-tsan: ## unit tests under TSan
	$(Q)$(MAKE) BUILD=tsan check
check-valgrind: ## unit tests under valgrind (uninitialised reads, fds)
	$(Q)$(MAKE) BUILD=debug check RUNNER="valgrind -q --error-exitcode=99 --leak-check=full --track-fds=yes"

# libFuzzer binaries are self-contained: sources are compiled with coverage.
FUZZ_TIME ?= 30
fuzz-%: gen $(web_c) ## run one fuzzer for FUZZ_TIME seconds (fuzz-maps, ...)
	@mkdir -p build/fuzz build/fuzz/corpus/$*
	$(Q)$(CLANG) $(CPPFLAGS_ALL) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined $(pkg_cflags) \
	    test/fuzz/fuzz_$*.c $(src_common) $(src_node) $(src_cluster) $(pbc) $(web_c) -o build/fuzz/$* $(libs_node) $(libs_cluster)
	$(Q)build/fuzz/$* -max_total_time=$(FUZZ_TIME) -print_final_stats=1 build/fuzz/corpus/$* test/fuzz/corpus/$*
check-fuzz: ## replay every corpus with the plain compiler + ASan
	$(Q)$(MAKE) BUILD=asan replay
replay: $(fuzzers:%=$(O)/test/fuzz/%)
	$(Q)test/run-fuzz-corpus.sh $(O)/test/fuzz $(fuzzers)
$(O)/test/fuzz/%: $(O)/obj/test/fuzz/%.o $(O)/obj/test/lib/fuzz_main.o $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node) $(libs_cluster)

# The page alone: types, pure modules, and the built page in a browser on generated answers.
check-page: $(web_page) | $(web_modules) ## types and tests of the page
	$(Q)node $(web)/build.mjs tsconfig $(web_deps) build/web/tsconfig.json
	$(Q)node $(web_deps)/node_modules/typescript/bin/tsc -p build/web/tsconfig.json
	$(Q)node $(web)/build.mjs test $(web_deps) build/web/unit $(web_tests)
	$(Q)DEPS_WEB=$(web_deps) PAGE_DIST=$(dir $(web_page)) node --test --test-reporter=spec \
	    $(web_tests:test/page/unit/%.ts=build/web/unit/%.mjs) $(sort $(wildcard test/page/*.test.mjs))
page-server: $(web_page) ## the page on generated answers, to work on it (PORT=8099)
	$(Q)node test/page/page_server.mjs $(dir $(web_page)) $(or $(PORT),8099)

# Workloads and real daemons; the browser is Debian's, driven from Node.js.
e2e_modules   := test/e2e/node_modules/.package-lock.json
e2e_workloads := $(patsubst test/e2e/workloads/%.c,build/e2e/%,$(wildcard test/e2e/workloads/*.c)) \
                 $(patsubst test/e2e/workloads/%.go,build/e2e/%,$(wildcard test/e2e/workloads/*.go))
$(e2e_modules): test/e2e/package-lock.json
	@echo "deps: npm packages of test/e2e"
	$(Q)npm ci --prefix test/e2e --no-audit --no-fund --loglevel=error
	@touch $@
# -O0: gcc gives leaf functions no frame pointer otherwise, and their callers cannot be seen
build/e2e/%: test/e2e/workloads/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g -O0 -Wall -Wextra -Werror -fno-omit-frame-pointer -o $@ $<
build/e2e/goforce build/e2e/gocounters: go_flags := -ldflags='-s -w'
build/e2e/%: test/e2e/workloads/%.go Makefile
	@mkdir -p $(@D)
	$(Q)go build $(go_flags) -o $@ $<
check-e2e: all $(e2e_modules) $(e2e_workloads) ## both agents on real workloads, up to the page (E2E="shares page")
	$(Q)test/e2e/run-e2e.sh $(E2E)

# A Kubernetes for the tests: built once, by the hash of its sources; images of a workload, one per
# release of Go.
kubernetes_go := 1.21.13 1.23.4 1.26.8
kubernetes-build: ## build the Kubernetes that the tests run on, once (about 8 minutes of CPU time)
	$(Q)test/kubernetes/build.sh "$$(test/setup/go.sh)"
build/kubernetes/workload-%.tar: $(wildcard test/kubernetes/workload/*) test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p build/kubernetes/go$*
	$(Q)go=$$(test/setup/go.sh) && cd test/kubernetes/workload && GOTOOLCHAIN=go$* CGO_ENABLED=0 GOFLAGS=-buildvcs=false \
	    "$$go" build -o $(CURDIR)/build/kubernetes/go$*/workload .
	$(Q)test/kubernetes/make-image.sh $@ localhost/workload:$* $(CURDIR)/build/kubernetes/go$*/workload
build/kubernetes/cluster-agent.tar: $(O)/coroot-cluster-agent test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p $(@D) && test/kubernetes/make-image.sh $@ localhost/cluster-agent:1 $(abspath $<)
kubernetes_images := build/kubernetes/cluster-agent.tar $(kubernetes_go:%=build/kubernetes/workload-%.tar)
check-kubernetes: all $(kubernetes_images) ## discovery and scraping on a real Kubernetes (KUBERNETES="api cluster.node")
	$(Q)KN_BIN=$$(test/kubernetes/build.sh "$$(test/setup/go.sh)") && export KN_BIN && \
	    KN_GO_VERSIONS="$(kubernetes_go)" KN_IMAGES="$(kubernetes_images)" test/kubernetes/run-kubernetes.sh $(KUBERNETES)

# What the agents cost; the numbers of BENCHMARKS.md.
build/bench/%: test/bench/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -fno-omit-frame-pointer \
	    -fno-optimize-sibling-calls -o $@ $< $(if $(findstring bpf,$*),$(shell $(PKG_CONFIG) --libs libbpf))
build/bench/%.bpf.o: test/bench/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror $(bpf_sysinc) -c -o $@ $<
bench-node: all build/bench/paths build/bench/bpf_floor build/bench/empty.bpf.o ## cost of the node-agent under full load (SECONDS=60)
	$(Q)$(SUDO) node test/bench/bench.js
build/bench/simulation: $(wildcard test/bench/simulation/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
bench-scrapes: all build/bench/simulation ## cost of the cluster-agent that scrapes 5,000 pods (PODS=5000 MINUTES=4)
	$(Q)node test/bench/scrapes.js
build/bench/go_service: $(wildcard test/bench/go_service/*)
	@mkdir -p $@.src
	$(Q)cp test/bench/go_service/go_service.go test/bench/go_service/go.mod $@.src
	$(Q)go=$$(test/setup/go.sh) && "$$go" run test/bench/go_service/make_paths.go >$@.src/paths.go && \
	    cd $@.src && "$$go" build -o ../go_service .
$(O)/test/bench/go_cost: $(call obj,test/bench/go_cost.c test/go-matrix/heap_process.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
build/bench/go_locks: $(wildcard test/bench/locks/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
build/bench/go_goroutines: $(wildcard test/bench/goroutines/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
bench-go: build/bench/go_service build/bench/go_locks build/bench/go_goroutines $(O)/test/bench/go_cost $(O)/test/go-matrix/check_stress $(O)/test/go-matrix/check_goroutines $(O)/test/go-matrix/check_locks ## cost of reading Go processes (BENCH="heap service")
	$(Q)$(SUDO) node test/bench/go.js $(O) $(BENCH)
bench: bench-node ## all of them, one after the other
	$(Q)$(MAKE) bench-scrapes
	$(Q)$(MAKE) bench-go

# ---- lint ------------------------------------------------------------------
lint_checks := lint-format lint-headers lint-layers lint-files lint-size lint-shell lint-analyze lint-tidy lint-cppcheck
lint: ## all static checks, JOBS at a time
	$(Q)$(MAKE) -j$(JOBS) -k --output-sync=target $(lint_checks)
	@echo "lint: $(words $(lint_checks)) passed, 0 failed"
format: ## rewrite the tree with clang-format
	$(Q)clang-format -i $(all_c) $(hdrs) $(wildcard bpf/*.c bpf/*.h)
lint-format:
	$(Q)clang-format --dry-run -Werror $(all_c) $(hdrs) $(wildcard bpf/*.c bpf/*.h test/e2e/workloads/*.c)
lint-headers: gen # every header compiles alone
	$(Q)printf '%s\n' $(hdrs) | xargs -n 1 -P $(JOBS) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fsyntax-only -x c
lint-layers: # who may include whom; the stages in the order in which data moves
	$(Q)test/lint-layers.sh $(entries)
lint-files: # names are unique, and those in the documents exist
	$(Q)test/lint-files.sh
lint-size: # clang-tidy does not see BPF programs and tests
	$(Q)test/lint-size.sh $(all_c) $(hdrs) $(wildcard bpf/*.c bpf/*.h)
lint-shell:
	$(Q)git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck
# A stamp per file, newer than the object, so that only what changed is looked at again.
lint-analyze: $(analyzed) # gcc's analyzer understands __attribute__((cleanup)); clang-tidy 14's does not
$(O)/lint/%.analyzed: %.c $(O)/obj/%.o
	$(Q)gcc $(CPPFLAGS_ALL) $(CFLAGS_ALL) -O2 -include test/lint-errno.h -fanalyzer -c -o /dev/null $<
	@touch $@
lint-tidy: $(tidied)
$(O)/lint/%.tidied: %.c $(O)/obj/%.o .clang-tidy
	$(Q)clang-tidy --quiet $< -- $(CPPFLAGS_ALL) -std=gnu11 -include test/lint-errno.h $(pkg_cflags) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@
lint-cppcheck: gen # does not know __attribute__((cleanup)) and uthash: leaks and initialisation are left to the others
	@mkdir -p $(O)/lint/cppcheck
	$(Q)cppcheck -q -j $(JOBS) --cppcheck-build-dir=$(O)/lint/cppcheck --enable=warning,portability,performance \
	    --library=posix --std=c11 -D_GNU_SOURCE -I. --inline-suppr --suppress=resourceLeak --suppress=memleak --suppress=uninitvar --suppress=readdirCalled --error-exitcode=1 $(lint_c)
compile_commands.json: all ## for clangd, clang-tidy, cppcheck, IWYU
	$(Q){ echo '['; cat $$(find $(O)/obj -name '*.json') | sed '$$s/,$$//'; echo ']'; } > $@

# ---- install ---------------------------------------------------------------
install: all ## install into $(DESTDIR)$(prefix)
	$(Q)$(INSTALL) -d $(DESTDIR)$(bindir)
	$(Q)$(INSTALL) -m 0755 $(O)/coroot-node-agent $(O)/coroot-cluster-agent $(DESTDIR)$(bindir)/
	$(Q)$(INSTALL) -d $(DESTDIR)$(prefix)/lib/coroot
	$(Q)$(INSTALL) -m 0644 $(O)/libchdb.so $(DESTDIR)$(prefix)/lib/coroot/
clean: ## remove build/
	$(Q)rm -rf build compile_commands.json
help: ## this text
	@awk -F':.*## ' '/^[a-z%-]+:.*## /{printf "  %-16s %s\n",$$1,$$2}' $(MAKEFILE_LIST)
	@echo; echo "  BUILD=release|debug|asan|tsan|cov  V=1  O=dir  DESTDIR=  prefix=  CC=clang"

.PHONY: all gen deps deps-build run test bench bench-node bench-scrapes bench-go check check-store check-pipeline check-bpf check-kernels check-asan check-tsan check-valgrind check-fuzz replay check-page page-server check-e2e check-go-symbols check-go-matrix check-go-arm64 kubernetes-build check-kubernetes \
        lint format $(lint_checks) install clean help FORCE
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)
