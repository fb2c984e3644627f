# The page: built by esbuild, embedded in the cluster-agent. Included by the Makefile.

# Its packages are kept by the hash of its lock file, so that a clean tree installs nothing.
web         := cluster-agent/web
web_deps    := $(DEPS)/web-$(shell sha256sum $(web)/package-lock.json | cut -c1-16)
web_modules := $(web_deps)/node_modules/.package-lock.json
web_src     := $(sort $(wildcard $(web)/src/*/*.* $(web)/src/*/*/*.* $(web)/*.html \
                                 $(web)/icon.png $(web)/*.mjs $(web)/tsconfig.json)) \
               cluster-agent/sums/version_labels.h
web_docs    := $(web)/docs.css $(sort $(wildcard docs/*.md))
web_page    := build/web/dist/index.html
web_c       := $(O)/gen/web/web_assets.gen.c
# the same flame graph as one file, embedded in the node-agent
record_c    := $(O)/gen/web/record_page.gen.c

$(web_modules):
	@echo "deps: npm packages of the page"
	$(Q)rm -rf $(web_deps).$$$$ && mkdir -p $(web_deps).$$$$ && cd $(web_deps).$$$$ && \
	    cp $(addprefix $(CURDIR)/$(web)/,package.json package-lock.json .npmrc) . && \
	    npm ci --ignore-scripts --loglevel=error >/dev/null && cd .. && \
	    { mv -T $(web_deps).$$$$ $(web_deps) 2>/dev/null || rm -rf $(web_deps).$$$$; }
$(web_page): $(web_src) $(web_docs) $(web)/package-lock.json | $(web_modules)
	$(call say,PAGE)
	$(Q)node $(web)/build.mjs page $(web_deps) $(@D)
$(web_c): $(web_page)
	$(call say,EMBED)
	$(Q)node $(web)/build.mjs embed $(dir $(web_page)) $@
$(record_c): $(web_src) $(web)/package-lock.json | $(web_modules)
	$(call say,EMBED)
	$(Q)node $(web)/build.mjs file $(web_deps) $@
