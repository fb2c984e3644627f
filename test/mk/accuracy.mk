# Whether stacks are whole and true: every toolchain at length ("make accuracy"), beside perf.

# what it needs beside the packages of "make deps"; a compiler from elsewhere is as good
accuracy_commands := perf rustc musl-gcc clang++ javac
##@ Measurements
accuracy: all ## stacks of all kinds of native code, judged by known call chains and beside perf (SECONDS=10 ACCURACY="c-o2 go")
	$(Q)for c in $(accuracy_commands); do command -v $$c >/dev/null || \
	    { test/setup/deps.sh accuracy && break; }; done
	$(Q)go=$$(test/setup/go.sh) && $(SUDO) env GO="$$go" node test/accuracy/accuracy.js
check-judge: ## the judge of "make accuracy", with stacks that are broken in each way that it judges
	$(Q)node --test --test-reporter=spec test/accuracy/judge.test.js

.PHONY: accuracy check-judge
