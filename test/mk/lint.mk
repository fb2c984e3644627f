# Static checks: "make lint" runs them all, JOBS at a time.

lint_c   := $(src_common) $(src_node) $(src_cluster) $(src_main)
tidied   := $(lint_c:%.c=$(O)/lint/%.tidied)
analyzed := $(lint_c:%.c=$(O)/lint/%.analyzed)
bpf_c    := $(wildcard bpf/*.c bpf/*.h)
formatted := $(filter %.c,$(src_all)) $(src_test_all) $(hdrs) $(bpf_c)

lint_checks := lint-format lint-headers lint-layers lint-files lint-size lint-docs lint-shell lint-units \
               lint-hardening lint-analyze lint-tidy lint-cppcheck
##@ Static checks and generated files
lint: ## all static checks, JOBS at a time
	$(Q)$(MAKE) -j$(JOBS) -k --output-sync=target $(lint_checks)
	@find $(DEPS)/lint -type f -mtime +30 -delete
	@echo "lint: $(words $(lint_checks)) passed, 0 failed"
lint-quick: ## those of them that take seconds
	$(Q)$(MAKE) -j$(JOBS) -k --output-sync=target lint-format lint-layers lint-files lint-size lint-shell
	@echo "lint: 5 passed, 0 failed"
format: ## rewrite the tree with clang-format
	$(Q)clang-format -i $(formatted)
lint-format:
	$(Q)clang-format --dry-run -Werror $(formatted) $(wildcard test/e2e/workloads/*.c)
lint-headers: gen # every header compiles alone
	$(Q)printf '%s\n' $(hdrs) | xargs -n 1 -P $(JOBS) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -fsyntax-only -x c
lint-layers: # which folder may include which header (test/layers.txt)
	$(Q)test/lint-layers.sh test/layers.txt
lint-files: # names are unique, and those in the documents exist
	$(Q)test/lint-files.sh
lint-size: | $(web_modules) # clang-tidy does not see BPF programs and tests
	$(Q)test/lint-size.sh $(formatted)
	$(Q)node test/lint-functions.mjs $(web_deps) $$(git ls-files '*.ts' '*.tsx')
	$(Q)node test/lint-cleanup.mjs $(filter %.c,$(formatted))
# What is generated from the tables of the code: options, metrics and the Coroot resource.
doc_pages := options-node-agent options-cluster-agent options-operator metrics custom-resource
crd_file  := charts/coroot-operator/files/crd.yaml
$(O)/test/docs/print_docs: $(call obj,test/docs/print_docs.c) $(O)/libcluster.a $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ -Wl,--whole-archive $^ -Wl,--no-whole-archive \
	    $(libs_node) $(libs_cluster)
$(O)/test/docs/print_openapi: $(call obj,test/docs/print_openapi.c) $(O)/libcluster.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_cluster)
# paths and parameters of the API; the schemas beside them are written by hand
$(O)/test/docs/api_paths.json: $(O)/test/docs/print_openapi
	$(Q)$< >$@
docs: $(O)/test/docs/print_docs $(O)/test/docs/api_paths.json ## rewrite the generated pages of docs/ and the CRD
	$(Q)node test/docs/openapi.js $(O)/test/docs/api_paths.json
	$(Q)for page in $(doc_pages); do $< $$page >docs/$$page.md || exit 1; done
	$(Q)$< push-types | node test/docs/doc_section.js docs/push.md types
	$(Q)node test/accuracy/languages.js >$(O)/languages.md
	$(Q)node test/docs/doc_section.js README.md languages <$(O)/languages.md
	$(Q)$< crd >$(crd_file)
	$(Q)$(MAKE) chart-files # which have the fields and the names of the options
lint-docs: $(O)/test/docs/print_docs $(O)/test/docs/api_paths.json # the generated pages are what the code says
	$(Q)node test/docs/openapi.js $(O)/test/docs/api_paths.json --check
	$(Q)for page in $(doc_pages); do $< $$page | diff -u docs/$$page.md - || \
	    { echo "docs/$$page.md: differs from the code; run \"make docs\""; exit 1; }; done
	$(Q)$< push-types | node test/docs/doc_section.js docs/push.md types --check
	$(Q)node test/accuracy/languages.js >$(O)/languages.md
	$(Q)node test/docs/doc_section.js README.md languages --check <$(O)/languages.md
	$(Q)$< crd | diff -u $(crd_file) - || \
	    { echo "$(crd_file): differs from the code; run \"make docs\""; exit 1; }
	$(Q)node test/docs/lint_messages.js
lint-shell:
	$(Q)git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck
lint-units: # the systemd units
	$(Q)test/lint-units.sh
lint-hardening: all # what the compiler and the linker were to do is in the binaries
	$(Q)CC="$(CC)" test/lint-hardening.sh $(BUILD) $(O)/coroot-node-agent $(O)/coroot-cluster-agent -- \
	    $(call obj,$(src_common) $(src_node) $(src_cluster) $(src_main)) $(pbo) $(O)/obj/gen/web/web_assets.gen.o
# A stamp per file, newer than the object, so that only what changed is checked again; in a new
# checkout only what has not passed before, with the same content.
once = test/lint-once.sh $(O)/obj/$*.d
lint-analyze: $(analyzed) # gcc's analyzer understands __attribute__((cleanup)); clang-tidy 14's does not
$(O)/lint/%.analyzed: %.c $(O)/obj/%.o
	$(Q)$(once) test/lint-errno.h -- gcc $(CPPFLAGS_ALL) $(filter-out $(var_init) $(relative),$(CFLAGS_ALL)) -O2 -include test/lint-errno.h -fanalyzer \
	    -c -o /dev/null $<
	@touch $@
# How far clang's analyzer follows the paths of one function. Its own limit, 225000, takes five times
# as long: "make lint LINT_NODES=225000" before a release.
LINT_NODES ?= 50000
tidy_nodes := $(foreach arg,-analyzer-config max-nodes=$(LINT_NODES),-Xclang $(arg))
lint-tidy: $(tidied)
$(O)/lint/%.tidied: %.c $(O)/obj/%.o .clang-tidy
	$(Q)$(once) test/lint-errno.h .clang-tidy -- clang-tidy --quiet $< -- $(CPPFLAGS_ALL) -std=gnu11 \
	    -include test/lint-errno.h $(pkg_cflags) $(tidy_nodes) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@
# does not know __attribute__((cleanup)) and uthash: leaks and initialisation are left to the others
lint-cppcheck: gen
	@mkdir -p $(O)/lint/cppcheck
	$(Q)cppcheck -q -j $(JOBS) --cppcheck-build-dir=$(O)/lint/cppcheck --enable=warning,portability,performance \
	    --library=posix --std=c11 -D_GNU_SOURCE -I. --inline-suppr --suppress=resourceLeak --suppress=memleak \
	    --suppress=uninitvar --suppress=readdirCalled --error-exitcode=1 $(lint_c)
compile_commands.json: all ## for clangd, clang-tidy, cppcheck, IWYU
	$(Q){ echo '['; cat $$(find $(O)/obj -name '*.json') | sed '$$s/,$$//'; echo ']'; } > $@

.PHONY: lint lint-quick format docs $(lint_checks)
