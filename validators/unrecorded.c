// SPDX-License-Identifier: GPL-2.0-only
/* Excuses for changes that no kernel records: only mmap(), brk(), and an mprotect() that makes
 * memory executable call perf_event_mmap() (results/FINDINGS.md). */
#include "harness/base/excuse.h"
#include "harness/base/registry.h"

static const struct jp_excuse unrecorded[] = {
	{"gone-munmap", NULL, "coverage.stale mappings.extra", "munmap", "acts.munmap",
	 "the kernel has no record of munmap"},
	{"gone-mprotect", NULL, "coverage.stale mappings.extra", "mprotect", "acts.mprotect",
	 "the kernel has no record of execute permission that goes"},
	{"gone-mremap", NULL, "coverage.stale mappings.extra", "mremap", "acts.mremap",
	 "the kernel has no record of mremap"},
	{"moved-mremap", NULL, "coverage.missing mappings.missing", "mremap", "acts.mremap",
	 "the kernel has no record of mremap"},
	{"stack-mremap", NULL, "broken.*", "mremap", "coverage.unmapped",
	 "the kernel has no record of mremap"},
	{"shared-mm", NULL, "coverage.missing mappings.missing broken.*", "shared-mm", NULL,
	 "a record of memory that two processes share has the pid of one"},
};
JP_REGISTER_ROWS(excuse, unrecorded);
