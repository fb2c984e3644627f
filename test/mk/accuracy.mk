# Whether stacks are whole and true: every toolchain at length ("make accuracy"), beside perf.

# what it needs beside the packages of "make deps"
accuracy_packages := linux-perf:perf rustc:rustc musl-tools:musl-gcc clang:clang++ default-jdk-headless:javac
accuracy: all ## stacks of all kinds of native code, judged by known call chains and beside perf (SECONDS=10 ACCURACY="c-o2 go")
	@for p in $(accuracy_packages); do command -v $${p#*:} >/dev/null || \
	    { echo "accuracy: $${p#*:} is missing: apt-get install $${p%:*}" >&2; exit 1; }; done
	$(Q)go=$$(test/setup/go.sh) && $(SUDO) env GO="$$go" node test/accuracy/accuracy.js

.PHONY: accuracy
