# SPDX-License-Identifier: GPL-2.0-only
# Everything built goes under $(O); the source tree stays clean.
O	?= build
# Empty, it would be the root of the file system.
ifeq ($(strip $(O)),)
$(error O= names no folder)
endif
CC	?= gcc
CFLAGS	?= -O2 -g
WERROR	?= -Werror
PYTHON	?= python3
export PYTHONDONTWRITEBYTECODE := 1
INSTALL	?= install
prefix	?= /usr/local
# Debian's own packages have another one.
zsh_functions ?= $(prefix)/share/zsh/site-functions

ARCH	:= $(shell $(CC) -dumpmachine | cut -d- -f1)
# Before make 4.3 a function's # must have a backslash, from then on it must not.
hash	:= \#
HAVE_DW := $(shell printf '$(hash)include <elfutils/libdw.h>\n$(hash)include <gelf.h>\n' | \
	$(CC) -E -x c -o /dev/null - 2>/dev/null && echo 1)
NEEDED	 = $(if $(HAVE_DW),,$(error libelf-dev or libdw-dev is missing: run ci/setup))
HAVE_ZSTD := $(shell echo '$(hash)include <zstd.h>' | \
	$(CC) -E -x c -o /dev/null - 2>/dev/null && echo 1)

# The same tree gives the same bytes wherever it lies: a guest's run depends on each of them.
ANYWHERE := -ffile-prefix-map='$(CURDIR)=.'
# So each folder of binaries has a link to the adapters.
ADAPTERS := $(addsuffix profiler,$(O)/ $(O)/selftest/ $(O)/asan/ $(O)/covered/)

# What --version prints. Without a repository of our own, the commit is unknown.
VERSION	:= 0.1
COMMIT	:= $(or $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=12 \
	2>/dev/null)),unknown)

# Frame pointers in our own frames: the kernel's walk must cross them to the thread's root.
JP_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. -MMD -MP -pthread -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fasynchronous-unwind-tables \
	-Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wpointer-arith \
	-Wno-unused-parameter $(WERROR) $(ANYWHERE) \
	$(if $(HAVE_ZSTD),-DJP_HAVE_ZSTD)
# With any other model, ld 2.40 takes the offset of a thread's variable for a relocation of code,
# and the loader makes all code writable for a moment.
ifeq ($(ARCH),riscv64)
JP_CFLAGS += -fPIC -ftls-model=initial-exec
endif
# Each of our own calls for memory or a descriptor that fails is noted: harness/base/shortage.c.
comma	:= ,
override LDFLAGS += $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup strndup asprintf \
	vasprintf realpath open_memstream fopen fdopen opendir fdopendir open openat)
JP_LDLIBS := -pthread -ldw -lelf $(if $(HAVE_ZSTD),-lzstd) -lm

# What an architecture is to each of them, is in a file of its name. Those of harness/model/machine
# are all built: a file of any machine is judged on any other.
ARCHES	:= $(basename $(notdir $(wildcard workloads/arch/*.c)))
FOREIGN	:= $(foreach arch,$(filter-out $(ARCH),$(ARCHES)), \
	$(addsuffix /$(arch).c,harness/capture harness/facts harness/trace workloads/arch))
SRC	:= $(filter-out harness/selftest/% $(FOREIGN),$(wildcard harness/*/*.c harness/*/*/*.c \
	validators/*.c workloads/*.c workloads/*/*.c))
OBJ	:= $(SRC:%.c=$(O)/%.o) $(O)/expected.o
# What a test links: everything but main(), which is the test's own.
PARTS	:= $(filter-out $(O)/harness/command/main.o,$(OBJ))

EXPECTED := $(wildcard results/expected/*)
RUNTIMES := $(wildcard harness/trace/runtimes/*)
# Names may come and go without any file getting newer: the list itself is a file.
EXPECTED_LIST := $(O)/expected.list

TEST_C	:= $(wildcard $(addprefix harness/selftest/,*/test_*.c */*/test_*.c))
TESTS	:= $(TEST_C:harness/selftest/%.c=$(O)/selftest/%)
# Unit tests that define functions of the C library or of a sanitizer, or register something.
ALONE	:= base/test_map format/test_shortages judge/test_shortages outcome/test_excuse \
	workloads/emit/test_flushes
# One program holds all other unit tests, under a name for each. Linking them one by one took as
# long as compiling, and wrote 3.6 GB.
TOGETHER := $(filter-out $(ALONE),$(TEST_C:harness/selftest/%.c=%))
BY_NAME	:= $(TOGETHER:%=harness/selftest/%.named) harness/selftest/support/by_name.o
LINK_BY_NAME := -Wl,--export-dynamic-symbol='*/test_*'
OBJCOPY	?= $(shell $(CC) -print-prog-name=objcopy)
# Workloads that misbehave are in a jitproof of their own.
BAD	:= $(wildcard harness/selftest/support/bad_*.c)
BAD_OBJ	:= $(BAD:%.c=$(O)/%.o)
SELFTEST_BIN := $(if $(BAD),$(O)/selftest/jitproof-selftest)
# Parsers fed with changed input, everything of ours built again with sanitizers. The unit tests
# run so too, and jitproof itself on the fixtures.
# With sanitizers and -Og, gcc's -Wmaybe-uninitialized and -Wformat-truncation also report right
# code (gcc manual).
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-maybe-uninitialized \
	-Wno-format-truncation
FUZZ_C	:= $(wildcard harness/selftest/fuzz/fuzz_*.c)
# Too slow to be selftests: for the search by coverage alone.
SLOW_FUZZ := $(patsubst %,harness/selftest/fuzz/fuzz_%.c,explain inject reduce)
FUZZ	:= $(patsubst harness/selftest/fuzz/%.c,$(O)/asan/%,$(filter-out $(SLOW_FUZZ),$(FUZZ_C)))
ASAN_PARTS := $(patsubst %.c,$(O)/asan/%.o,$(filter-out harness/command/main.c,$(SRC))) \
	$(O)/expected.o
# The emitter's compares stacks with backtrace(), which ASan puts a frame of its own below.
ASAN_TESTS := $(patsubst $(O)/selftest/%,$(O)/asan/%,$(filter-out %/test_emitter,$(TESTS)))
SANITIZED := $(FUZZ) $(ASAN_TESTS) $(O)/asan/jitproof
# What harness/selftest/fuzz/exact.c stands before in fuzz targets.
EXACT	:= mmap munmap madvise jp_perf_decode
# Of `make fuzz`, for all targets together.
SECONDS	?= 60
JOBS	:= $(shell nproc 2>/dev/null || echo 1)
SELFTEST_PY := $(wildcard $(addprefix harness/selftest/,*/test_*.py */*/test_*.py))
TEST_PY	:= $(SELFTEST_PY) $(wildcard ci/tests/test_*.py)

RUN	 = $(O)/jitproof run

# V=1 shows the commands.
Q	:= $(if $(V),,@)
SAY	 = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-4s %s\n' $(1) $(2))

# Workloads alone, linked statically, at a fixed address and at any: what static_binary starts. Not
# every machine has a static C library.
HAVE_STATIC := $(shell echo 'int main(void) { return 0; }' | $(CC) -static -x c -o /dev/null - \
	2>/dev/null && echo 1)
STATIC	:= $(if $(HAVE_STATIC),$(O)/jitproof-static $(O)/jitproof-static-pie)
STATIC_OBJ := $(patsubst %,$(O)/harness/%.o,command/main command/cmd_workload \
	command/command_line command/values \
	$(addprefix base/,array clock error foreign_proc interrupt lost_page nearest number option \
	path printable registry shortage terminal trusted_path) \
	$(addprefix format/truth/,acts seal write)) \
	$(patsubst %,$(O)/workloads/%.o,anon_exec \
	$(addprefix emit/,arena backing code eh_frame emitter frame_walk handshake image maps \
	noexec path path_thread plan program publish region shapes thread) arch/$(ARCH)) \
	$(patsubst %.c,$(O)/%.o,$(wildcard workloads/publish/*.c))

# All workloads alone, as 32-bit programs and with another C library: key `program` of a case. Both
# find the kernel's headers where the compiler's own C library has them. gcc-multilib, which has a
# link to them, conflicts with Debian's cross compilers. No code of another compiler is linked, so
# notes about a changed ABI are of no use.
KERNEL_HEADERS := -idirafter /usr/include -idirafter /usr/include/$(shell $(CC) -print-multiarch)
CC_i386	:= $(CC) -m32 -D_FILE_OFFSET_BITS=64 -Wno-psabi $(KERNEL_HEADERS)
# Its specs replace those of the compiler, which ask for both.
CC_musl	:= musl-gcc -Wl,--eh-frame-hdr -Wl,--build-id $(KERNEL_HEADERS)
ARCH_i386 := i386
ARCH_musl := $(ARCH)
has_libc = $(shell printf '$(hash)include <linux/errno.h>\nint main(void) { return 0; }' | \
	$(CC_$(1)) -x c -o /dev/null - 2>/dev/null && echo $(1))
WORKLOADS_AS := $(if $(filter x86_64,$(ARCH)),$(call has_libc,i386)) \
	$(if $(filter $(ARCH)-%,$(shell musl-gcc -dumpmachine 2>/dev/null)),$(call has_libc,musl))
PROGRAM_C := $(wildcard workloads/*.c workloads/emit/*.c workloads/publish/*.c harness/base/*.c) \
	$(patsubst %,harness/%.c,command/main command/cmd_workload command/command_line \
	command/values $(addprefix format/truth/,acts seal write))

all: $(O)/jitproof $(STATIC) $(ADAPTERS) $(O)/hunt ## build $(O)/jitproof

$(O)/jitproof: $(OBJ)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/jitproof-static: $(STATIC_OBJ)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^ -pthread

$(O)/jitproof-static-pie: $(STATIC_OBJ)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static-pie -o $@ $^ -pthread

define program
$(O)/$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	$$(call SAY,CC,$$@)
	$$(Q)$$(CC_$(1)) $$(JP_CFLAGS) $$(CFLAGS) -c -o $$@ $$<

$(O)/jitproof-$(1): $(addprefix $(O)/$(1)/,$(PROGRAM_C:%.c=%.o) workloads/arch/$(ARCH_$(1)).o)
	$$(call SAY,LD,$$@)
	$$(Q)$$(CC_$(1)) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ -pthread -lm
endef
$(foreach name,$(WORKLOADS_AS),$(eval $(call program,$(name))))

$(O)/%.o: %.c Makefile
	$(NEEDED)@mkdir -p $(@D)
	$(call SAY,CC,$@)
	$(Q)$(CC) $(JP_CFLAGS) $(CFLAGS) -c -o $@ $<

# Only main() knows the commit: a new one rebuilds no other object, and links no test again.
MAINS	:= $(addsuffix harness/command/main.o,$(O)/ $(O)/asan/ $(O)/covered/ \
	$(WORKLOADS_AS:%=$(O)/%/))
$(MAINS): JP_CFLAGS += -DJP_VERSION='"$(VERSION)"' -DJP_COMMIT='"$(COMMIT)"'
$(MAINS): $(O)/commit

$(O)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@

# Expectations and runtimes as bytes, each with a table of (name, start, end) that ends with zeros;
# the scenes.
$(EXPECTED_LIST): FORCE
	@mkdir -p $(@D)
	@echo '$(EXPECTED) $(RUNTIMES)' | cmp -s - $@ || echo '$(EXPECTED) $(RUNTIMES)' > $@

# The page of `report` around the data that it draws, in two parts: page.html with the styles and
# scripts that it names.
PAGE	:= $(wildcard harness/report/page/*)
$(O)/page.head $(O)/page.tail: $(PAGE) Makefile
	@mkdir -p $(@D)
	@awk -v dir=harness/report/page -v tail=$(if $(filter %.tail,$@),1,0) ' \
		function join(element, file) { print "<" element ">"; \
			while ((getline line < (dir "/" file)) > 0) print line; \
			print "</" element ">" } \
		/^DATA$$/ { after = 1; next } after != tail { next } \
		/<link rel="stylesheet"/ { split($$0, part, "\""); join("style", part[4]); next } \
		/<script src=/ { split($$0, part, "\""); join("script", part[2]); next } \
		{ print }' harness/report/page/page.html > $@

$(O)/expected.S: $(EXPECTED_LIST) $(EXPECTED) $(RUNTIMES) results/scenes $(O)/page.head \
		$(O)/page.tail Makefile
	@{ echo '	.section .rodata'; n=0; \
	  for file in $(EXPECTED) $(RUNTIMES); do n=$$((n + 1)); \
	  printf '.Lname%d:	.asciz "%s"\n.Lstart%d:	.incbin "%s"\n.Lend%d:\n' \
		$$n "$${file##*/}" $$n "$$file" $$n; done; \
	  echo '	.section .data.rel.ro,"aw"'; echo '	.balign 8'; n=0; \
	  for list in expected '$(EXPECTED)' runtime '$(RUNTIMES)'; do case $$list in \
	  expected|runtime) echo "	.globl jp_$${list}_files"; echo "jp_$${list}_files:";; \
	  *) for file in $$list; do n=$$((n + 1)); \
	  echo "	.quad .Lname$$n, .Lstart$$n, .Lend$$n"; done; echo '	.quad 0, 0, 0';; \
	  esac; done; \
	  echo '	.section .rodata'; for part in head tail; do \
	  echo "	.globl jp_page_$$part, jp_page_$${part}_end"; \
	  echo "jp_page_$$part:	.incbin \"$(O)/page.$$part\""; \
	  echo "jp_page_$${part}_end:"; done; \
	  echo '	.globl jp_scenes_text, jp_scenes_end'; \
	  echo 'jp_scenes_text:	.incbin "results/scenes"'; echo 'jp_scenes_end:'; \
	  echo '	.section .note.GNU-stack,"",%progbits'; } > $@

$(O)/expected.o: $(O)/expected.S
	$(call SAY,AS,$@)
	$(Q)$(CC) $(CFLAGS) $(ANYWHERE) -c -o $@ $<

$(ADAPTERS):
	@mkdir -p $(@D)
	@ln -sfn '$(CURDIR)/harness/profiler' $@

# What `jitproof hunt` runs.
$(O)/hunt:
	@mkdir -p $(@D)
	@ln -sfn '$(CURDIR)/ci/hunt' $@

# Gives main() of a unit test the name of the test: harness/selftest/support/by_name.c calls it.
$(O)/%.named: $(O)/%.o
	$(Q)$(OBJCOPY) --redefine-sym main=$(lastword $(subst harness/selftest/, ,$*)) $< $@

$(ALONE:%=$(O)/selftest/%): $(O)/selftest/%: $(O)/harness/selftest/%.o $(PARTS)
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/selftest/together: $(BY_NAME:%=$(O)/%) $(PARTS)
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK_BY_NAME) -o $@ $^ $(JP_LDLIBS)

$(foreach build,selftest asan covered,$(TOGETHER:%=$(O)/$(build)/%)): $(O)/%:
	@mkdir -p $(@D)
	@ln -f $< $@
$(TOGETHER:%=$(O)/selftest/%): $(O)/selftest/together
$(TOGETHER:%=$(O)/asan/%): $(O)/asan/together
$(TOGETHER:%=$(O)/covered/%): $(O)/covered/together

$(O)/selftest/jitproof-selftest: $(OBJ) $(BAD_OBJ)
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/asan/%.o: %.c Makefile
	$(NEEDED)@mkdir -p $(@D)
	$(call SAY,CC,$@)
	$(Q)$(CC) $(JP_CFLAGS) -Og -g1 $(SANITIZE) -c -o $@ $<

$(O)/asan/fuzz_%: $(addprefix $(O)/asan/harness/selftest/fuzz/,fuzz_%.o fuzz.o exact.o seal.o) \
		$(ASAN_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(CC) -g $(SANITIZE) $(LDFLAGS) $(EXACT:%=-Wl,--wrap=%) -o $@ $^ $(JP_LDLIBS)

$(ALONE:%=$(O)/asan/%): $(O)/asan/%: $(O)/asan/harness/selftest/%.o $(ASAN_PARTS)
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) -g $(SANITIZE) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/asan/together: $(BY_NAME:%=$(O)/asan/%) $(ASAN_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(CC) -g $(SANITIZE) $(LDFLAGS) $(LINK_BY_NAME) -o $@ $^ $(JP_LDLIBS)

$(O)/asan/jitproof: $(O)/asan/harness/command/main.o $(ASAN_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(CC) -g $(SANITIZE) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

# Twice the compiling: on every processor, however make was called.
sanitized: all
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) \
		sanitized-parts
sanitized-parts: $(SANITIZED)
	@:

# By coverage, where clang has libFuzzer; its corpora are kept in $(O)/corpus.
GUIDED_CC ?= clang
GUIDED_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fprofile-instr-generate \
	-fcoverage-mapping
GUIDED	:= $(FUZZ_C:harness/selftest/fuzz/%.c=$(O)/guided/%)
GUIDED_PARTS := $(patsubst %.c,$(O)/guided/%.o,$(filter-out harness/command/main.c,$(SRC))) \
	$(O)/expected.o
HAVE_GUIDED = $(shell echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }' | \
	$(GUIDED_CC) -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null && echo 1)

$(O)/guided/%.o: %.c Makefile
	$(NEEDED)@mkdir -p $(@D)
	$(call SAY,CC,$@)
	$(Q)$(GUIDED_CC) $(JP_CFLAGS) -O1 -g -fsanitize=fuzzer-no-link $(GUIDED_FLAGS) -c -o $@ $<

$(O)/guided/fuzz_%: $(addprefix $(O)/guided/harness/selftest/fuzz/,fuzz_%.o guided.o exact.o \
		seal.o) $(GUIDED_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(GUIDED_CC) -g -fsanitize=fuzzer $(GUIDED_FLAGS) $(LDFLAGS) $(EXACT:%=-Wl,--wrap=%) \
		-o $@ $^ $(JP_LDLIBS)

guided: $(GUIDED)
	@:

# What tests reach, by branch. Counters live in a mapped file: those of a process that may not write
# any more, or is killed, count too.
COVERED_LINK := -fprofile-instr-generate='$(abspath $(O))/covered/profiles/%m%c.profraw'
COVERED_FLAGS := $(COVERED_LINK) -fcoverage-mapping -mllvm -runtime-counter-relocation
COVERED_TESTS := $(TESTS:$(O)/selftest/%=$(O)/covered/%)
COVERED	:= $(COVERED_TESTS) $(O)/covered/jitproof \
	$(if $(BAD),$(O)/covered/jitproof-selftest)
COVERED_PARTS := $(patsubst %.c,$(O)/covered/%.o,$(filter-out harness/command/main.c,$(SRC))) \
	$(O)/expected.o

$(O)/covered/%.o: %.c Makefile
	$(NEEDED)@mkdir -p $(@D)
	$(call SAY,CC,$@)
	$(Q)$(GUIDED_CC) $(JP_CFLAGS) -O1 -g $(COVERED_FLAGS) -c -o $@ $<

$(ALONE:%=$(O)/covered/%): $(O)/covered/%: $(O)/covered/harness/selftest/%.o $(COVERED_PARTS)
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(GUIDED_CC) -g $(COVERED_LINK) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/covered/together: $(BY_NAME:%=$(O)/covered/%) $(COVERED_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(GUIDED_CC) -g $(COVERED_LINK) $(LDFLAGS) $(LINK_BY_NAME) -o $@ $^ $(JP_LDLIBS)

$(O)/covered/jitproof: $(O)/covered/harness/command/main.o $(COVERED_PARTS)
	$(call SAY,LD,$@)
	$(Q)$(GUIDED_CC) -g $(COVERED_LINK) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

$(O)/covered/jitproof-selftest: $(O)/covered/harness/command/main.o $(COVERED_PARTS) \
		$(BAD:%.c=$(O)/covered/%.o)
	$(call SAY,LD,$@)
	$(Q)$(GUIDED_CC) -g $(COVERED_LINK) $(LDFLAGS) -o $@ $^ $(JP_LDLIBS)

covered: $(COVERED)
	@:

# Code that a failing test ran counts as covered, too; `make selftest` reports the failure.
coverage: covered $(ADAPTERS) ## what tests, and corpora where there are any, reach by branch
	@rm -rf '$(O)/covered/profiles'
	-@O='$(O)' BUILDS=covered JITPROOF='$(O)/covered/jitproof' \
		$(PYTHON) harness/selftest/run_tests.py $(COVERED_TESTS) \
		$(filter-out %/test_sanitized.py,$(SELFTEST_PY))
	@$(PYTHON) ci/fuzz --build '$(O)' --seconds 0 $(wildcard $(GUIDED))

fuzz: all ## feed changed input to readers and writers for SECONDS=60, by coverage where clang is
	@$(MAKE) --no-print-directory $(if $(HAVE_GUIDED),fuzz-guided,fuzz-blind)

fuzz-guided: guided
	@$(PYTHON) ci/fuzz --build '$(O)' --seconds $(SECONDS) -j $(JOBS) $(GUIDED)

fuzz-blind: sanitized
	@seconds=$$(($(SECONDS) * $(JOBS) / $(words $(FUZZ)) + 1)); \
	printf '%s\n' $(FUZZ) | FUZZ_SECONDS=$$seconds xargs -n 1 -P $(JOBS) sh -c '"$$0"'

# Each case has rings for each CPU: more cases at once would need much memory.
CHECK_JOBS := $(shell echo $$(( $(JOBS) < 4 ? $(JOBS) : 4 )))

check: all ## run the set check; SKIP_OK=1 accepts a machine where all is skipped
	@$(RUN) --set=check --jobs=$(CHECK_JOBS); status=$$?; \
	if [ $$status -eq 4 ] && [ "$(SKIP_OK)" = 1 ]; then exit 0; fi; exit $$status

check-full: all ## run every case
	@$(RUN) --set=full --jobs=$(CHECK_JOBS); status=$$?; \
	if [ $$status -eq 4 ] && [ "$(SKIP_OK)" = 1 ]; then exit 0; fi; exit $$status

# As kselftest: the kernel's targets and variables, with its runner's output.
KSELFTEST = $(MAKE) --no-print-directory -f '$(CURDIR)/ci/engines/kselftest/Makefile' \
	BUILD='$(abspath $(O))' OUTPUT='$(abspath $(O))'

run_tests: all ## as kselftest: the set check as one test; summary=1 puts its output into a log
	@$(KSELFTEST) run_tests

gen_tar: all ## as kselftest: pack an installed tree, KSFT_INSTALL_PATH=build/kselftest_install
	@$(KSELFTEST) gen_tar

workload-programs: $(WORKLOADS_AS:%=$(O)/jitproof-%) ## the workloads for i386 and musl
	@:

programs: all vm-init workload-programs $(TESTS) \
		$(SELFTEST_BIN) ## build all that needs no sanitizer

selftest: programs sanitized ## test jitproof itself; needs no privileges
	@O='$(O)' JITPROOF='$(O)/jitproof' $(PYTHON) harness/selftest/run_tests.py \
		$(TESTS) $(ASAN_TESTS) $(FUZZ) $(TEST_PY)

lint: ## check the tree's own rules
	@$(PYTHON) ci/lint

# DIR=RUN alters a recorded run instead of a new one.
tamper: all ## alter recorded cases: what is not noticed goes to results/TAMPER.md
	@$(PYTHON) ci/tamper --jitproof '$(O)/jitproof' -o results/TAMPER.md $(if $(DIR),'$(DIR)')

mutants: ## change our own lines one by one: what no test notices is printed
	@$(PYTHON) ci/mutants --build '$(O)' --store $(if $(DIR),--run '$(DIR)')

SOAK	?=
soak: all vm-init ## run the set check 13 times under each of many bad conditions
	@$(PYTHON) ci/soak --build '$(O)' $(if $(SOAK),$(SOAK),--store)

bench: all ## compare our speed with perf's
	@$(PYTHON) ci/bench/bench.py --jitproof '$(O)/jitproof'

PEERS	?=
peers: ## install other people's profilers, in pinned versions, into $(O)/peers; PEERS=NAME...
	@O='$(O)' $(PYTHON) ci/peers $(PEERS)

SCORE	?=
scoreboard: all ## run every workload under each profiler that is here: results/PROFILERS.md
	@O='$(O)' $(PYTHON) ci/scoreboard $(SCORE)

pages: $(O)/page.head $(O)/page.tail ## write static pages of the stored results to $(O)/pages
	@O='$(O)' $(PYTHON) ci/pages -o '$(O)/pages'

pictures: all pages ## take the pictures of the docs, in headless Chromium
	@$(PYTHON) ci/pages/pictures.py --jitproof '$(O)/jitproof' --pages '$(O)/pages'

FAULTS	?=
faults: all ## let the Nth allocation, open, read, write ... fail, in every command
	@$(PYTHON) ci/faults --jitproof '$(O)/jitproof' $(FAULTS)

# The guest's first process: alone in its initramfs, so linked statically; nothing of ours wraps it.
$(O)/vm/init: ci/matrix/vm/init.c Makefile
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow $(WERROR) $(CFLAGS) $(ANYWHERE) \
		$(filter-out -Wl%,$(LDFLAGS)) -static -o $@ $<

# Loaded into QEMU, so never built for a sanitizer.
$(O)/vm/clock.so: ci/matrix/vm/clock.c Makefile
	@mkdir -p $(@D)
	$(call SAY,LD,$@)
	$(Q)$(CC) -std=gnu11 -O2 -Wall -Wextra -Wshadow $(WERROR) -fPIC -shared -o $@ $<

vm-init: $(O)/vm/init $(O)/vm/clock.so
	@:

# And what differs from the results that are stored, where there are any.
matrix: all vm-init ## run the suite `short` on each kernel of ci/matrix/matrix.toml, in VMs
	@O='$(O)' $(PYTHON) ci/matrix run --suite short -j $(JOBS) && \
	if ls results/matrix/*.jsonl >/dev/null 2>&1; then \
		O='$(O)' $(PYTHON) ci/matrix compare results/matrix '$(O)/matrix'; fi

perf-versions: all ## read and write with the perf of other Debian suites (downloads 220 MB once)
	@$(PYTHON) ci/perf/perf_versions.py --jitproof '$(O)/jitproof' --perf-dir '$(O)/perf'

findings: all ## measure the findings of results/FINDINGS.md here, with the installed perf
	@$(PYTHON) ci/findings --jitproof '$(O)/jitproof' --perf-dir '$(O)/perf'

TRIALS	?=
trials: all ## try what installed JITs publish: results/JITS.md; TRIALS=--install gets them
	@$(PYTHON) ci/trials --jitproof '$(O)/jitproof' --page results/JITS.md $(TRIALS)

agreement: all ## compare our stacks of real programs with perf's
	@$(PYTHON) ci/perf/agreement.py --jitproof '$(O)/jitproof' --perf-dir '$(O)/perf'; \
	status=$$?; if [ $$status -eq 4 ] && [ "$(SKIP_OK)" = 1 ]; then exit 0; fi; exit $$status

# From --help: a program for another machine cannot print it here.
manual: all ## write the manual pages to $(O)/man
	@rm -rf '$(O)/man'
	@if '$(O)/jitproof' --help >/dev/null 2>&1; then \
		$(PYTHON) ci/manual --jitproof '$(O)/jitproof' -o '$(O)/man'; \
	else echo 'no manual pages: $(O)/jitproof does not run here' >&2; fi

deb: ## build the Debian package of HEAD in a new chroot: $(O)/deb
	@O='$(O)' $(PYTHON) ci/deb

ifneq ($(KSFT_INSTALL_PATH)$(INSTALL_PATH),)
install: all
	@$(KSELFTEST) $(if $(INSTALL_PATH),install,install_all)
else
install: all manual ## install below $(DESTDIR)$(prefix), or as kselftest into KSFT_INSTALL_PATH
	$(INSTALL) -d '$(DESTDIR)$(prefix)/bin'
	$(INSTALL) -m 755 $(O)/jitproof $(STATIC) '$(DESTDIR)$(prefix)/bin/'
	for folder in profiler profiler/adapting profiler/runtimes; do \
	  $(INSTALL) -d '$(DESTDIR)$(prefix)/share/jitproof'/$$folder && \
	  $(INSTALL) -m 644 harness/$$folder/*.py \
	    '$(DESTDIR)$(prefix)/share/jitproof'/$$folder/ || exit 1; \
	done
	$(INSTALL) -D -m 644 packaging/completion/jitproof.bash \
	  '$(DESTDIR)$(prefix)/share/bash-completion/completions/jitproof'
	$(INSTALL) -D -m 644 packaging/completion/_jitproof '$(DESTDIR)$(zsh_functions)/_jitproof'
	$(INSTALL) -D -m 644 packaging/completion/jitproof.fish \
	  '$(DESTDIR)$(prefix)/share/fish/vendor_completions.d/jitproof.fish'
	for page in $$(cd '$(O)' && ls man/man*/* 2>/dev/null); do \
	  $(INSTALL) -D -m 644 '$(O)'/$$page '$(DESTDIR)$(prefix)/share'/$$page || exit 1; \
	done
endif

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.* ## /\1	/p' Makefile | expand -t 14
	@echo 'O=DIR builds there instead of build/.'

clean: ## remove $(O)
	rm -rf $(O)

FORCE:
.PHONY: fuzz-guided fuzz-blind guided covered coverage
.PHONY: all check check-full run_tests gen_tar workload-programs programs selftest sanitized \
	sanitized-parts fuzz \
	lint tamper mutants soak faults pages peers scoreboard bench perf-versions matrix vm-init \
	findings trials agreement manual deb install help clean FORCE
.SECONDARY:
-include $(OBJ:.o=.d) $(TESTS:$(O)/selftest/%=$(O)/harness/selftest/%.d) $(BAD_OBJ:.o=.d) \
	$(wildcard $(foreach build,asan guided covered $(WORKLOADS_AS), \
	$(addprefix $(O)/$(build)/,*/*.d */*/*.d */*/*/*.d */*/*/*/*.d)))
