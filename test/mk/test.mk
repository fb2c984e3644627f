# Tests: "make test" runs them all as stages (test/run-all.sh); each stage is a target of its own.

src_lib     := $(filter-out test/lib/fuzz_main.c,$(sort $(wildcard test/lib/*.c)))
hdrs        := $(filter %.h,$(src_all)) $(sort $(wildcard test/lib/*.h))
# what the formatter and the size check look at
src_test_all := $(sort $(wildcard \
                $(patsubst %,test/%/*.c,unit bpf store pipeline soak lib runner fuzz docs go-symbols go-matrix python dotnet containers kernels lines))) \
                $(wildcard test/bench/senders/*.[ch] test/bench/ingest/*.[ch] test/accuracy/workloads/*.[ch]) test/bench/go_cost.c test/bench/walk_cost.c $(wildcard test/bench/chained_frames.[ch] test/bench/calls.c) \
                test/bench/bench_store.c test/bench/query_cost.c test/bench/range_cost.c test/bench/fleet_cost.c test/bench/jfr_cost.c
# those that take longest begin first
slow_tests  := $(wildcard $(patsubst %,test/unit/test_%.c,go_hang runtime_processes symbol_truth scraper \
                                         replica_simulation go_worker go_reader))
unit_tests  := $(patsubst test/unit/%.c,$(O)/test/unit/%,$(slow_tests) \
                          $(filter-out $(slow_tests),$(sort $(wildcard test/unit/test_*.c))))
bpf_tests   := $(patsubst test/bpf/%.c,$(O)/test/bpf/%,$(sort $(wildcard test/bpf/test_*.c)))
store_tests := $(patsubst test/store/%.c,$(O)/test/store/%,$(sort $(wildcard test/store/test_*.c)))
pipeline_tests := $(patsubst test/pipeline/%.c,$(O)/test/pipeline/%,$(sort $(wildcard test/pipeline/test_*.c)))
test_programs  := $(unit_tests) $(bpf_tests) $(store_tests) $(pipeline_tests)
fuzzers     := $(patsubst test/fuzz/%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))
wrap_malloc := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
wrap_sync   := -Wl,--wrap=fdatasync

##@ Tests: everything
deps: ## install what is missing for everything; quick when nothing is
	$(Q)test/setup/deps.sh build test lint images arm64
	$(Q)$(MAKE) -s deps-build $(e2e_modules)
test: ## install, build and run every check there is
	$(Q)test/run-all.sh
test-quick: ## what a change needs first: build, unit tests (ASan), fuzz corpora, store, quick static checks
	$(Q)test/run-all.sh quick

check-clean-machine: ## try both README commands, each in a fresh Debian 12 (root)
	$(Q)test/setup/clean-machine.sh

##@ Tests: units and parsers
# ---- unit tests and fuzz targets -------------------------------------------
$(O)/test/unit/%: $(O)/obj/test/unit/%.o $(call obj,$(src_lib)) $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(wrap_malloc) $(wrap_sync) -o $@ $^ $(libs_node) $(libs_cluster) -lcmocka
# what it loads into JVMs
$(O)/test/unit/test_jvm_attach_java $(O)/test/unit/test_java_runtime_java: | $(java_library)
check: $(if $(T),$(T:%=$(O)/test/unit/test_%),$(unit_tests)) ## unit tests of the current BUILD (T=cycle FILTER=limit)
	$(Q)JOBS=$(JOBS) test/run-unit.sh $^
check-asan: ## unit tests under ASan + UBSan
	$(Q)$(MAKE) BUILD=asan check
check-tsan: ## unit tests that can start a thread, under TSan
	$(Q)$(MAKE) BUILD=tsan check-threads
threads_in := $(unit_tests:$(O)/%=$(O)/obj/%.o) $(call obj,$(src_lib)) $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
check-threads: $(threads_in)
	$(Q)tests=$$(test/threaded-tests.sh $^) && $(MAKE) check T="$$(echo $$tests)"
$(O)/test/runner/hangs: $(O)/obj/test/runner/hangs.o $(O)/obj/test/lib/silent_file.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka -lpthread
check-runner: $(O)/test/runner/hangs ## the runner of the unit tests: what hangs is shown, killed and has failed
	$(Q)$(SUDO) test/runner/check-runner.sh $<
check-valgrind: ## unit tests under valgrind (uninitialised reads, fds)
	$(Q)$(MAKE) BUILD=debug check RUNNER="valgrind -q --error-exitcode=99 --leak-check=full --track-fds=yes"

# libFuzzer binaries are self-contained: sources are compiled with coverage.
FUZZ_TIME ?= 30
fuzz-%: gen $(web_c) $(record_c) $(templates_c) $(variables_c) ## run one fuzzer for FUZZ_TIME seconds (fuzz-maps, ...)
	@mkdir -p build/fuzz build/fuzz/corpus/$*
	$(Q)$(CLANG) $(CPPFLAGS_ALL) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined $(pkg_cflags) \
	    test/fuzz/fuzz_$*.c $(src_common) $(src_node) $(src_cluster) $(pbc) $(web_c) $(record_c) $(templates_c) $(variables_c) -o build/fuzz/$* \
	    $(libs_node) $(libs_cluster)
	$(Q)build/fuzz/$* -max_total_time=$(FUZZ_TIME) -print_final_stats=1 build/fuzz/corpus/$* test/fuzz/corpus/$*
check-fuzz: ## replay every corpus with the plain compiler + ASan
	$(Q)$(MAKE) BUILD=asan replay
replay: $(fuzzers:%=$(O)/test/fuzz/%)
	$(Q)JOBS=$(JOBS) test/run-fuzz-corpus.sh $(O)/test/fuzz $(fuzzers)
$(O)/test/fuzz/%: $(O)/obj/test/fuzz/%.o $(O)/obj/test/lib/fuzz_main.o $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node) $(libs_cluster)

# ---- Java programs: classes that every JDK from 8 on runs --------------------------
java_workload := build/java/workload.jar
$(java_workload): $(wildcard test/java/workload/*.java) Makefile
	$(call say,JAVAC)
	$(Q)rm -rf build/java && mkdir -p build/java && \
	    javac --release 8 -Xlint:all,-options -Werror -d build/java test/java/workload/*.java && \
	    jar --create --file build/java/workload.jar --main-class workload.Workload -C build/java workload
java-jdks: ## fetch the JDKs that Java tests run on, once (120 MB, kept in $DEPS)
	$(Q)test/java/jdks.sh >/dev/null

##@ Tests: real kernels, runtimes, containers, browsers, clusters
# ---- the sampler on real kernels --------------------------------------------
# As root; without the cluster-agent, whose libraries the guests do not have.
$(O)/test/bpf/%: $(O)/obj/test/bpf/%.o $(call obj,test/lib/unit.c test/lib/oom.c test/lib/own_process.c test/lib/fake_proc.c \
                           test/lib/own_mounts.c test/lib/test_cgroup.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(wrap_malloc) -o $@ $^ $(libs_node) -lcmocka
check-bpf: $(bpf_tests) ## the sampler on this kernel (needs root)
	$(Q)$(SUDO) test/run-unit.sh $(bpf_tests)
# the same, and the node-agent, on Debian's kernels in qemu
$(O)/test/kernels/whole_stacks: $(call obj,test/kernels/whole_stacks.c test/go-matrix/profile_stacks.c) $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
# code without frame pointers, in which all functions have names, those of the C library too
build/kernels/chain: $(wildcard test/accuracy/workloads/chain*)
	@mkdir -p $(@D)
	$(Q)test/kernels/build-chain.sh $(CC) $@
# (no Python there)
check-kernels: $(O)/coroot-node-agent $(filter-out %/test_interpreter,$(bpf_tests)) build/e2e/share build/kernels/chain $(O)/test/kernels/whole_stacks ## the sampler and the node-agent on Debian's kernels
	$(Q)test/kernels/run-kernels.sh $^

# ---- Go programs of many releases --------------------------------------------
# Compiling for all of them takes an hour of CPU time where none has been kept, so "make test" tries
# those that changed what we read, and the newest; these targets by themselves, all.
ifneq ($(FEW),)
check-go-matrix: export GO_VERSIONS := 1.13.15 1.16.15 debian 1.21.13 1.24.13 1.26.8 1.27.4
check-go-matrix: export GO_VARIANTS := 1.21.13-unoptimized 1.27.4-unoptimized 1.27.4-headerless 1.26.8-race \
    1.26.8-random-heap 1.27.4-no-green-tea 1.26.8-gold 1.13.15-bare 1.26.8-bare 1.27.4-bare-pie \
    1.26.8-bare-cgo-pie 1.16.15-bare-headerless
check-go-symbols: export GO_VERSIONS := 1.18.10 1.20.14 1.27.4
check-go-arm64: export GO_VERSIONS := debian 1.27.4
endif
go_check = $(patsubst %,$(O)/test/go-matrix/check_%,$(1))
$(O)/test/go-symbols/check_symbols: $(call obj,test/go-symbols/check_symbols.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
check-go-symbols: $(O)/test/go-symbols/check_symbols ## names and lines of Go functions, for every Go from 1.18 on (GO_VERSIONS=)
	$(Q)test/go-symbols/go-symbols.sh $< "$$(test/setup/go.sh)"

$(O)/test/go-matrix/check_%: $(call obj,test/go-matrix/check_%.c test/go-matrix/profile_stacks.c \
                             test/go-matrix/heap_process.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
go_matrix := $(call go_check,heap between stress locks goroutines gc containers) $(O)/coroot-node-agent
check-go-matrix: $(go_matrix) ## profiles of Go programs of many releases against their own (GO_VERSIONS=)
	$(Q)NODE_AGENT=$(abspath $(O))/coroot-node-agent test/go-matrix/go-matrix.sh $< "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/debian-programs.sh $(call go_check,heap between)
	$(Q)test/go-matrix/go-stress.sh $(call go_check,stress) "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/locks.sh $(call go_check,locks) "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/goroutines.sh $(call go_check,goroutines) $(O)/coroot-node-agent "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/counters.sh $(call go_check,gc containers) "$$(test/setup/go.sh)"
	$(Q)test/go-matrix/variants.sh $(call go_check,heap locks goroutines gc) "$$(test/setup/go.sh)"

check-go-arm64: $(call go_check,heap guest goroutines locks) ## the same for programs of arm64, emulated
	$(Q)test/go-matrix/arm64.sh $^ "$$(test/setup/go.sh)"

# ---- Python of many releases -----------------------------------------------------
$(O)/test/python/check_python_frames: $(call obj,test/python/check_python_frames.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
check-python: $(O)/test/python/check_python_frames $(O)/coroot-node-agent ## frames of Python by name, of every CPython that can be had (PYTHONS=)
	$(Q)$(SUDO) test/python/python-frames.sh $<
	$(Q)$(SUDO) test/python/python-tasks.sh $(O)/coroot-node-agent

# ---- .NET ------------------------------------------------------------------------
$(O)/test/dotnet/check_dotnet_frames: $(call obj,test/dotnet/check_dotnet_frames.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)

# ---- scripts of many releases ----------------------------------------------------
check-php: $(O)/coroot-node-agent ## frames of PHP by name, of every PHP that Debian has (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< php
check-ruby: $(O)/coroot-node-agent ## frames of Ruby by name, of every Ruby that Debian has (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< ruby
check-perl: $(O)/coroot-node-agent ## frames of Perl by name, of every Perl that Debian has (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< perl
check-lua: $(O)/coroot-node-agent ## frames of Lua by name, of every Lua that Debian has (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< lua
check-luajit: $(O)/coroot-node-agent ## frames of LuaJIT by name, with its compiler and without (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< luajit
check-erlang: $(O)/coroot-node-agent ## frames of Erlang and Elixir by name, of every Erlang that Debian has (RELEASES=)
	$(Q)$(SUDO) test/interpreters/releases.sh $< erlang
	$(Q)$(SUDO) test/interpreters/releases.sh $< elixir

check-node: $(O)/coroot-node-agent ## frames of JavaScript by name, of Node.js 14 to 26, also stripped (NODES=)
	$(Q)$(SUDO) DEPS=$(DEPS) test/v8/node-releases.sh $< $(or $(NODES),14.21.3 16.20.2 18.20.8 20.20.2 \
	    22.23.5 24.22.3 26.12.1)

# ---- .NET ------------------------------------------------------------------------
check-dotnet: $(O)/coroot-node-agent ## methods of .NET by name, compiled before and while the program runs
	$(Q)$(SUDO) node test/dotnet/dotnet_frames.js $< "$$(DEPS=$(DEPS) test/dotnet/runtimes.sh)"

# ---- Java of many releases -------------------------------------------------------
check-java: $(O)/coroot-node-agent java-jdks ## Java methods by name and line, on every JDK there is (RELEASES=17,25 MODES=tiered,c1)
	$(Q)$(SUDO) node test/java/java_frames.js $< "$$(test/java/jdks.sh)" $(RELEASES)

# ---- containers of real runtimes ----------------------------------------------
$(O)/test/containers/cri_names: $(call obj,test/containers/cri_names.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
check-containers: $(O)/test/containers/cri_names

# ---- the cluster-agent with its store ---------------------------------------
# ClickHouse's HTTP interface on the same engine, for tests that need a server
clickhouse_server := $(O)/test/store/clickhouse-test-server
$(clickhouse_server): $(call obj,$(patsubst %,test/store/%.c,clickhouse_test_server server_engine server_form server_statement)) \
                      $(O)/libcluster.a $(O)/libcommon.a $(O)/.chdb
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(libs_cluster)
# Debian's, of a release that only knows the interface; unpacked, because its package starts a service
old_clickhouse := $(DEPS)/clickhouse-server
$(old_clickhouse)/usr/sbin/clickhouse-server:
	$(Q)test/kernels/fetch-packages.sh these bookworm "$$(dpkg --print-architecture)" $(old_clickhouse) clickhouse-server
# tests start it by this
server_process := $(call obj,$(patsubst %,test/store/%.c,clickhouse_process server_statement))

# The engine brings its own allocator, so these run without sanitizers and failing allocations.
$(store_tests): $(O)/test/store/%: $(O)/obj/test/store/%.o $(O)/obj/test/lib/unit.o $(server_process) $(O)/libcluster.a $(O)/libcommon.a $(O)/.chdb
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs_cluster) -lcmocka
$(O)/test/store/test_clickhouse_faults: $(O)/obj/test/lib/fault_proxy.o
$(O)/test/store/test_insert_kill: $(O)/obj/test/store/call_gate.o
$(O)/test/store/test_sql_left: $(O)/obj/test/lib/raw_client.o
$(patsubst %,$(O)/test/store/%,test_clickhouse_port test_sql_attacks test_sql_left test_sql_names): $(O)/obj/test/store/sql_fixture.o
$(O)/test/store/test_sql_attacks: $(O)/obj/test/lib/own_mounts.o
$(O)/test/store/test_store_memory: $(O)/obj/test/lib/test_cgroup.o $(O)/libnode.a
check-store: $(store_tests) $(clickhouse_server) | $(old_clickhouse)/usr/sbin/clickhouse-server ## the store on the embedded engine, and on a server
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so CLICKHOUSE_SERVER=$(abspath $(clickhouse_server)) \
	    CLICKHOUSE_OLD_SERVER=$(old_clickhouse)/usr/sbin/clickhouse-server test/run-unit.sh $(store_tests)

check-sql-weight: $(O)/test/store/test_sql_weight ## every function of the SQL port with all kinds of large arguments (half an hour)
	$(Q)rm -f build/heavy-calls.new
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so SQL_WEIGHT=all $<

$(pipeline_tests): $(O)/test/pipeline/%: $(O)/obj/test/pipeline/%.o $(call obj,test/pipeline/agent_process.c test/lib/unit.c) \
                   $(server_process) $(O)/libcluster.a $(O)/libcommon.a $(O)/coroot-cluster-agent \
                   $(clickhouse_server) $(O)/.chdb
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(libs_cluster) -lcmocka
$(O)/test/pipeline/test_siege: $(call obj,test/lib/raw_client.c test/lib/made_profile.c)
soak_programs := $(addprefix build/soak/,clock_step.so libchurn.so churn) build/e2e/nofp
soak_cflags := -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -fPIC
soak_nofp   := -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
build/soak/clock_step.so: test/soak/clock_step.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(soak_cflags) -O1 -shared -o $@ $<
build/soak/libchurn.so: test/soak/churn_library.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(soak_cflags) $(soak_nofp) -shared -o $@ $<
build/soak/churn: test/soak/churn.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(soak_cflags) $(soak_nofp) -pthread -o $@ $<
check-pipeline: ## uploads through the real agents and stores, with kills
	$(Q)$(MAKE) check-uploads
	$(Q)$(MAKE) check-soak
check-uploads: $(pipeline_tests) $(clickhouse_server)
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so CLUSTER_AGENT=$(abspath $(O))/coroot-cluster-agent \
	    CLICKHOUSE_SERVER=$(abspath $(clickhouse_server)) TEST_DATA=test/data test/run-unit.sh $(pipeline_tests)
check-soak: $(java_workload) $(clickhouse_server) $(soak_programs) # short; "make soak" is the long form
	$(Q)$(SUDO) test/soak/run-soak.sh $(SOAK_FILES)

# ---- what is answered with 200 is stored exactly once, whatever dies ---------------
soak: all $(java_workload) $(soak_programs) $(O)/test/store/test_insert_kill $(O)/test/unit/test_upload_log_kill ## kill -9, outages, full disks and clock steps at length, with a ledger, and sampling beside perf (SOAK_FILES="kills")
	$(if $(SOAK_FILES),,$(Q)SOAK=long CHDB_LIBRARY=$(abspath $(O))/libchdb.so test/run-unit.sh \
	    $(O)/test/store/test_insert_kill $(O)/test/unit/test_upload_log_kill)
	$(Q)SOAK=long $(SUDO) test/soak/run-soak.sh $(SOAK_FILES)

# ---- the page alone: types, pure modules, the built page in a browser on generated answers ----
web_tests := $(sort $(wildcard test/page/unit/*.test.ts))
check-page: $(web_page) | $(web_modules) ## types and tests of the page
	$(Q)node $(web)/build.mjs tsconfig $(web_deps) build/web/tsconfig.json
	$(Q)node $(web_deps)/node_modules/typescript/bin/tsc -p build/web/tsconfig.json
	$(Q)node $(web)/build.mjs test $(web_deps) build/web/unit $(web_tests)
	$(Q)DEPS_WEB=$(web_deps) PAGE_DIST=$(dir $(web_page)) node --test --test-reporter=spec \
	    $(web_tests:test/page/unit/%.ts=build/web/unit/%.mjs) $(sort $(wildcard test/page/*.test.mjs))
page-server: $(web_page) ## the page on generated answers, to work on it (PORT=8099 OPTIONS='{"nodes": 100000}')
	$(Q)node test/page/page_server.mjs $(dir $(web_page)) $(or $(PORT),8099) '$(or $(OPTIONS),{})'

# ---- both agents on real workloads; the browser is Debian's, driven from Node.js ----
e2e_modules   := test/e2e/node_modules/.package-lock.json
e2e_workloads := $(patsubst test/e2e/workloads/%.c,build/e2e/%,$(wildcard test/e2e/workloads/*.c)) \
                 $(patsubst test/e2e/workloads/%.cc,build/e2e/%,$(wildcard test/e2e/workloads/*.cc)) \
                 $(patsubst test/e2e/workloads/%.go,build/e2e/%,$(wildcard test/e2e/workloads/*.go))
$(e2e_modules): test/e2e/package-lock.json
	@echo "deps: npm packages of test/e2e"
	$(Q)npm ci --prefix test/e2e --no-audit --no-fund --loglevel=error
	@touch $@
# -O0: gcc gives leaf functions no frame pointer otherwise, and their callers cannot be seen
e2e_cflags := -O0 -fno-omit-frame-pointer
build/e2e/nofp: e2e_cflags := -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -pthread
build/e2e/%: test/e2e/workloads/%.c $(wildcard test/e2e/workloads/*.h) Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -g -Wall -Wextra -Werror $(e2e_cflags) -o $@ $<
build/e2e/%: test/e2e/workloads/%.cc Makefile
	@mkdir -p $(@D)
	$(Q)g++ -std=c++17 -g -O2 -Wall -Wextra -Werror -fno-omit-frame-pointer -o $@ $<
build/e2e/goforce build/e2e/gocounters build/e2e/golines: go_flags := -ldflags='-s -w'
build/e2e/%: test/e2e/workloads/%.go Makefile
	@mkdir -p $(@D)
	$(Q)"$$(test/setup/go.sh)" build $(go_flags) -o $@ $<

check-e2e: all $(e2e_modules) $(e2e_workloads) $(java_workload) java-jdks $(O)/test/dotnet/check_dotnet_frames ## both agents on real workloads, up to the page (E2E="shares page")
	$(Q)test/e2e/run-e2e.sh $(E2E)

otlp-collector: ## build the OpenTelemetry Collector of check-e2e; nothing if it is there
	$(Q)test/otlp/build-collector.sh

# ---- clients of ClickHouse against the SQL port; what they are made of is kept in $(DEPS) ----
check-sql-clients: all ## unmodified clients of ClickHouse against the SQL port (SQL_CLIENTS="curl go")
	$(Q)test/sql-clients/run-sql-clients.sh $(SQL_CLIENTS)

# ---- profilers of others that push; what they are made of is kept in $(DEPS) ----
check-push: all ## unmodified profilers that push to the cluster-agent (PUSH_CLIENTS="go java")
	$(Q)test/push/run-push.sh $(PUSH_CLIENTS)

# ---- both agents and real containers ---------------------------------------------
container_programs := $(patsubst test/containers/workload/%.c,build/containers/%,$(wildcard test/containers/workload/*.c))
build/containers/%: test/containers/workload/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -g -O0 -Wall -Wextra -Werror -fno-omit-frame-pointer -static -o $@ $<
build/containers/burn.tar: build/containers/burn test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)test/kubernetes/make-image.sh $@ localhost/burn:1 $(abspath $<)
# what holds a pod together
build/containers/pause.tar: build/containers/burn test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)test/kubernetes/make-image.sh $@ localhost/pause:1 $(abspath $<) 0 rest
container_images := build/containers/burn.tar build/containers/pause.tar
check-containers: all $(container_programs) $(container_images) $(java_workload) build/kernels/chain ## names of real containers: runc, containerd, podman (CONTAINERS="names")
	$(Q)test/containers/run-containers.sh $(CONTAINERS)

# Everything that stages of "make test" share, so that they need not build it at the same time.
test-programs: all $(bpf_tests) $(store_tests) $(pipeline_tests) $(e2e_workloads) $(java_workload) java-jdks $(O)/test/go-symbols/check_symbols \
               $(call go_check,heap between stress locks goroutines gc containers guest) \
               $(O)/test/dotnet/check_dotnet_frames \
               $(O)/test/containers/cri_names $(container_programs) $(container_images) build/kernels/chain

# ---- container images: what "make images" builds, by itself ------------------
build/images/registry: $(wildcard test/images/registry/*)
	@mkdir -p $(@D)
	$(Q)go=$$(test/setup/go.sh) && cd test/images/registry && "$$go" build -o $(CURDIR)/$@ .
check-images: export IMAGE_TAG := test
check-images: images build/images/registry ## the images: contents, the same twice, and the agents on nothing else
	$(Q)$(MAKE) IMAGE_ARCH=arm64 images
	$(Q)IMAGE_DIR=$(IMAGE_DIR) test/images/run-images.sh

# ---- on a Kubernetes of our own -----------------------------------------------
# Built once, by the hash of its sources; images of a workload, one per release of Go.
kubernetes_go := 1.21.13 1.23.4 1.26.8
kubernetes-build: ## build the Kubernetes that the tests run on, helm and kubeconform, once (about 15 minutes of CPU time)
	$(Q)test/kubernetes/build.sh "$$(test/setup/go.sh)"
build/kubernetes/workload-%.tar: $(wildcard test/kubernetes/workload/*) test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p build/kubernetes/go$*
	$(Q)go=$$(test/setup/go.sh) && cd test/kubernetes/workload && \
	    GOTOOLCHAIN=go$* CGO_ENABLED=0 GOFLAGS=-buildvcs=false \
	    "$$go" build -o $(CURDIR)/build/kubernetes/go$*/workload .
	$(Q)test/kubernetes/make-image.sh $@ localhost/workload:$* $(CURDIR)/build/kubernetes/go$*/workload
build/kubernetes/cluster-agent.tar: $(O)/coroot-cluster-agent test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p $(@D) && test/kubernetes/make-image.sh $@ localhost/cluster-agent:1 $(abspath $<)
build/kubernetes/goforce.tar: build/e2e/goforce test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p $(@D) && test/kubernetes/make-image.sh $@ localhost/goforce:1 $(abspath $<)
# a JVM of the newest release on nothing but its libraries
build/kubernetes/java.tar: $(java_workload) test/java/jdk-wheels.txt test/kubernetes/make-image.sh
	$(call say,IMAGE)
	$(Q)mkdir -p $(@D) && jdks=$$(test/java/jdks.sh) && \
	    TREES="$$jdks/25:/jdk $(CURDIR)/build/java:/program" test/kubernetes/make-image.sh $@ \
	        localhost/java:1 /jdk/bin/java -cp /program workload.Workload
kubernetes_images := build/kubernetes/cluster-agent.tar build/kubernetes/goforce.tar build/kubernetes/java.tar $(kubernetes_go:%=build/kubernetes/workload-%.tar)
# of the charts; "make images" makes them
chart_images = $(image_names:%=$(IMAGE_DIR)/coroot-%.tar)
# those with a node, and those on an API server alone
kubernetes_tests := $(patsubst test/kubernetes/%.test.js,%,$(sort $(wildcard test/kubernetes/*.test.js)))
check-kubernetes-node: KUBERNETES = $(filter %.node,$(kubernetes_tests))
check-kubernetes-api:  KUBERNETES = $(filter-out %.node,$(kubernetes_tests))
check-kubernetes: ## discovery, scraping, operator and charts on a Kubernetes (KUBERNETES="api cluster.node")
check-kubernetes check-kubernetes-api check-kubernetes-node: export IMAGE_TAG := test
check-kubernetes check-kubernetes-api check-kubernetes-node: all images $(e2e_modules) $(kubernetes_images) $(clickhouse_server)
	$(Q)KN_BIN=$$(test/kubernetes/build.sh "$$(test/setup/go.sh)") && export KN_BIN && \
	    KN_GO_VERSIONS="$(kubernetes_go)" KN_IMAGES="$(kubernetes_images) $(chart_images)" test/kubernetes/run-kubernetes.sh $(KUBERNETES)

.PHONY: deps test test-quick test-programs check-clean-machine check check-runner check-asan check-tsan check-threads \
        check-valgrind check-fuzz replay check-bpf check-kernels check-go-symbols check-go-matrix \
        check-go-arm64 check-store check-sql-weight check-pipeline check-uploads check-soak check-page page-server java-jdks check-java check-dotnet check-e2e otlp-collector kubernetes-build \
        check-kubernetes check-kubernetes-api check-kubernetes-node check-containers check-images check-sql-clients check-push soak
