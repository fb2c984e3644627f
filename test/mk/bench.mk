# What the agents cost; the numbers of BENCHMARKS.md.

##@ Measurements
build/bench/%: test/bench/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -fno-omit-frame-pointer \
	    -fno-optimize-sibling-calls -o $@ $< $(if $(findstring bpf,$*),$(shell $(PKG_CONFIG) --libs libbpf))
build/bench/%.bpf.o: test/bench/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror $(bpf_sysinc) -c -o $@ $<
$(O)/test/bench/walk_cost: $(call obj,test/bench/walk_cost.c test/bench/chained_frames.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
bench-node: all build/bench/paths build/bench/calls build/bench/bpf_floor build/bench/empty.bpf.o build/bench/fork_storm $(O)/test/bench/walk_cost ## cost of the node-agent (SECONDS=60 PROCESSES=300 PARTS="start languages")
	$(if $(PARTS),,$(Q)$(SUDO) WALK_COST=$(O)/test/bench/walk_cost node test/bench/bench.js)
	$(Q)$(SUDO) node test/bench/unwinding.js
bench-tables: all ## samples that are cut where unwinding tables have no room (BUDGET=32MiB BEFORE=old-agent CONTAINERS=1)
	$(Q)$(SUDO) node test/bench/table_pressure.js
bench-memory: all ## resident memory of the node-agent beside compilations (AGENTS="old new" SECONDS=240 COMPILERS=2)
	$(Q)$(SUDO) node test/bench/memory.js

build/bench/simulation: $(wildcard test/bench/simulation/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
bench-scrapes: all build/bench/simulation ## cost of the cluster-agent that scrapes 5,000 pods (PODS=5000 MINUTES=4)
	$(Q)node test/bench/scrapes.js

$(O)/test/bench/senders/senders: $(call obj,$(wildcard test/bench/senders/*.c)) $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-scale: all $(O)/test/bench/senders/senders $(clickhouse_server) ## cost of 1,000 nodes for three receivers and their store (NODES=1000 AGENTS=3 SECONDS=300)
	$(Q)node test/bench/scale.js

# The shared sources of these programs are those whose names begin with bench_.
ingest_shared := $(call obj,$(wildcard test/bench/ingest/bench_*.c))
ingest_bench  := $(patsubst %,$(O)/test/bench/ingest/ingest_%,cost flood insert)
$(ingest_bench): $(O)/test/bench/ingest/%: $(O)/obj/test/bench/ingest/%.o $(ingest_shared) $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-ingest: all $(ingest_bench) $(O)/test/bench/senders/senders ## cost of an upload, from the socket to the store, on one core (ROUNDS=3 SECONDS=10 CPU=0)
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so node test/bench/ingest.js

build/bench/go_service: $(wildcard test/bench/go_service/*)
	@mkdir -p $@.src
	$(Q)cp test/bench/go_service/go_service.go test/bench/go_service/go.mod $@.src
	$(Q)go=$$(test/setup/go.sh) && "$$go" run test/bench/go_service/make_paths.go >$@.src/paths.go && \
	    cd $@.src && "$$go" build -o ../go_service .
$(O)/test/bench/go_cost: $(call obj,test/bench/go_cost.c test/go-matrix/heap_process.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
$(O)/test/bench/cfi_cost: $(O)/obj/test/bench/cfi_cost.o $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
cfi_libraries = $(shell ldconfig -p | awk '/lib(c|crypto)[.]so[.][0-9]+ .libc6,/ {print $$NF}')
cfi_programs  = $(wildcard $(O)/libchdb.so) $(O)/coroot-node-agent $(shell command -v node)
bench-cfi: all $(O)/test/bench/cfi_cost ## cost of building the unwinding tables of files (FILES=...)
	$(Q)for f in $(or $(FILES),$(cfi_programs) $(cfi_libraries)); do $(O)/test/bench/cfi_cost "$$f"; done
$(O)/test/bench/log_append: $(O)/obj/test/bench/log_append.o $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-log: $(O)/test/bench/log_append ## appends to the write-ahead log on a disk (LOG_DIR=/tmp)
	$(Q)$< $(or $(LOG_DIR),/tmp)
$(O)/test/bench/query_cost: $(O)/obj/test/bench/query_cost.o $(O)/obj/test/bench/bench_store.o $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-query: all $(O)/test/bench/query_cost ## cost of flame graphs of 10 million samples, beside their SQL and over HTTP (ROUNDS=5)
	$(Q)CHDB_LIBRARY=$(abspath $(O))/libchdb.so node test/bench/flame_queries.js
$(O)/test/bench/range_cost: $(O)/obj/test/bench/range_cost.o $(O)/obj/test/bench/bench_store.o $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-ranges: all $(O)/test/bench/range_cost ## cost of labels, timelines and movers of 30 days of 100 instances (RANGE_DIR=/tmp/range_cost ROUNDS=3)
	$(Q)export CHDB_LIBRARY=$(abspath $(O))/libchdb.so dir=$(or $(RANGE_DIR),/tmp/range_cost); \
	    [ -d $$dir ] || $(O)/test/bench/range_cost $$dir fill; \
	    $(O)/test/bench/range_cost $$dir ask $(or $(ROUNDS),3)
$(O)/test/bench/fleet_cost: $(O)/obj/test/bench/fleet_cost.o $(O)/obj/test/bench/bench_store.o $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-fleet: all $(O)/test/bench/fleet_cost ## cost of a function over 30 days of 10,000 applications, and of its sums (FLEET_DIR=/tmp/fleet_cost ROUNDS=3)
	$(Q)export CHDB_LIBRARY=$(abspath $(O))/libchdb.so dir=$(or $(FLEET_DIR),/tmp/fleet_cost); \
	    [ -d $$dir ] || $(O)/test/bench/fleet_cost $$dir fill; \
	    $(O)/test/bench/fleet_cost $$dir ask $(or $(ROUNDS),3)
$(O)/test/bench/mover_cost: $(O)/obj/test/bench/mover_cost.o $(O)/obj/test/bench/bench_store.o $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
bench-movers: all $(O)/test/bench/mover_cost ## cost of movers over 30 days of 200 applications (MOVER_DIR=/tmp/mover_cost ROUNDS=3)
	$(Q)export CHDB_LIBRARY=$(abspath $(O))/libchdb.so dir=$(or $(MOVER_DIR),/tmp/mover_cost); \
	    [ -d $$dir ] || $(O)/test/bench/mover_cost $$dir fill; \
	    $(O)/test/bench/mover_cost $$dir ask $(or $(ROUNDS),3)
build/bench/go_locks: $(wildcard test/bench/locks/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
build/bench/go_goroutines: $(wildcard test/bench/goroutines/*)
	@mkdir -p $(@D)
	$(Q)cd $(<D) && "$$($(CURDIR)/test/setup/go.sh)" build -o $(CURDIR)/$@ .
bench_go := $(patsubst %,build/bench/go_%,service locks goroutines) $(O)/test/bench/go_cost \
            $(call go_check,stress goroutines locks)
bench-go: $(bench_go) ## cost of reading Go processes (BENCH="heap service")
	$(Q)$(SUDO) node test/bench/go.js $(O) $(BENCH)
bench-java: all $(java_workload) ## cost of profiling a JVM, for the JVM and the agent (ROUNDS=5 SECONDS=20)
	$(Q)RUN_DIR=build/bench/run $(SUDO) node test/bench/java.js

$(O)/test/bench/jfr_cost: $(O)/obj/test/bench/jfr_cost.o $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ -lm
bench-recordings: $(O)/test/bench/jfr_cost $(O)/libasyncProfiler.so ## cost of reading recordings of JVMs, beside two other readers (SECONDS=10 MIB=128)
	$(Q)node test/bench/recordings.js $(O)

# The page beside speedscope and d3-flame-graph; their packages are for this bench only.
ui_deps    := $(DEPS)/bench-ui-$(shell sha256sum test/bench/ui/package-lock.json | cut -c1-16)
ui_modules := $(ui_deps)/node_modules/.package-lock.json
$(ui_modules):
	@echo "bench-ui: npm packages of test/bench/ui"
	$(Q)rm -rf $(ui_deps).$$$$ && mkdir -p $(ui_deps).$$$$ && cd $(ui_deps).$$$$ && \
	    cp $(addprefix $(CURDIR)/test/bench/ui/,package.json package-lock.json) . && \
	    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null && cd .. && \
	    { mv -T $(ui_deps).$$$$ $(ui_deps) 2>/dev/null || rm -rf $(ui_deps).$$$$; }
bench-ui: $(web_page) $(ui_modules) | $(web_modules) ## the page with a large profile beside speedscope and d3-flame-graph (NODES=100000 ROUNDS=5)
	$(Q)DEPS_WEB=$(web_deps) node test/bench/ui.mjs $(dir $(web_page)) $(ui_deps)

bench-record: all build/e2e/nofp ## from Enter to a flame graph, beside perf (SECONDS=5 ROUNDS=3)
	@command -v perf >/dev/null || { echo "bench-record: perf is missing: apt-get install linux-perf" >&2; exit 1; }
	$(Q)$(SUDO) node test/bench/record.js

bench: bench-node ## all of them, one after the other
	$(Q)$(MAKE) bench-memory bench-scrapes
	$(Q)$(MAKE) bench-go
	$(Q)$(MAKE) bench-java bench-recordings
	$(Q)$(MAKE) bench-log bench-ingest bench-query bench-scale bench-ui bench-record

.PHONY: bench bench-memory bench-tables bench-record bench-node bench-java bench-recordings bench-ui bench-scrapes bench-go bench-log bench-ingest bench-query bench-scale
