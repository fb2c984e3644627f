# Whether stacks are whole and true: every toolchain at length ("make accuracy"), beside perf; and
# lines ("make lines").

# what it needs beside the packages of "make deps"; a compiler from elsewhere is as good
accuracy_commands := perf rustc musl-gcc clang++ javac
# only the parts of which some programs are chosen, all if none is
accuracy_part = $(if $($(1))$(if $(ACCURACY)$(PYTHONS)$(SCRIPTS),,all),$(2))
##@ Measurements
accuracy: all ## stacks of all kinds of code, judged by known calls and beside perf and py-spy (SECONDS=10 ACCURACY="c-o2 go-pie" PYTHONS=3.11 SCRIPTS="PHP ruby3.1")
	$(Q)for c in $(accuracy_commands); do command -v $$c >/dev/null || \
	    { test/setup/deps.sh accuracy && break; }; done
	$(call accuracy_part,ACCURACY,$(Q)go=$$(test/setup/go.sh) && $(SUDO) env GO="$$go" node test/accuracy/accuracy.js)
	$(call accuracy_part,PYTHONS,$(Q)$(SUDO) node test/accuracy/python.js)
	$(call accuracy_part,SCRIPTS,$(Q)$(SUDO) node test/accuracy/scripts.js)
truth: $(O)/coroot-node-agent ## what share of the samples of programs as they are shipped is whole and has names and lines, in ten minutes (SECONDS=8 TRUTH="bun java")
	$(Q)test/setup/deps.sh test truth
	$(Q)programs=$$(DEPS=$(DEPS) test/accuracy/truth-programs.sh) && \
	    $(SUDO) node test/accuracy/truth.js $< "$$programs" $(TRUTH)
$(O)/test/lines/check_lines: $(call obj,test/lines/check_lines.c) $(O)/libnode.a $(O)/libcommon.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) -o $@ $^ $(libs_node)
lines: $(O)/test/lines/check_lines ## lines and inlined calls of C, C++, Rust and Zig beside addr2line and llvm-addr2line (N=12000 SHOWN=3 PROGRAMS="c-o2 zig")
	$(Q)test/lines/lines.sh $< build/lines $(PROGRAMS)
check-judge: ## the judges of "make accuracy", with stacks that are broken in each way that they judge
	$(Q)node --test --test-reporter=spec test/accuracy/*.test.js

.PHONY: accuracy truth lines check-judge
