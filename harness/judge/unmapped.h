/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"
#include "harness/model/evidence/control.h"

/*
 * Describes why a capture, which had recorded the mappings @known, has no mapping of @ip of @pid at
 * @time. The cause is the name of the control that left out the mapping, or one of
 * - "closed": mprotect() had taken the permission to execute;
 * - "mremap": the memory was moved to @ip, and no later snapshot shows it;
 * - "shared-mm": a process in the same address space mapped it, and the record names that process;
 * - "window": it was mapped after a profiler read the maps and before its events were on;
 * - "not-watched": the process is older than the capture, which did not attach to it;
 * - "no-record": another reason, such as a fault that lost the record or the snapshot's entry.
 */
struct jp_unmapped {
	const char *cause;
	struct jp_left_out left_out;
	uint32_t sharer;
};

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *spans,
			       uint32_t pid, uint64_t ip, uint64_t time);
/* Describes @unmapped in a sentence. Returns @text. */
const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size);
/* Returns why the capture at @time still holds an executable mapping at @addr of @pid that an act
 * beginning at @before had ended. The cause is the name of the control that left out an exec, if
 * only the exec ended the mapping; "munmap", "mremap" or "mprotect", for which the kernel writes no
 * record; or "stale". */
const char *jp_unmapped_why_stale(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
				  uint64_t before, uint64_t time);
