/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"
#include "harness/model/evidence/control.h"

/*
 * Describes why a capture, which had recorded the mappings @known, knows no mapping of @ip of @pid
 * at @time. The cause is one of:
 * - "closed": mprotect() took the permission to execute before @time, so there is none to know;
 * - the name of the control that left out the mapping, in @pid or in a process that forked it;
 * - "mremap": the memory was moved to @ip, for which the kernel writes no record, and no later
 * snapshot shows it;
 * - "shared-mm": another process in the same address space mapped it, and the record names that
 * process;
 * - "window": it was mapped while a profiler attached, which had read the maps before;
 * - "not-watched": the process is older than the capture, which did not attach to it;
 * - "no-record": any other reason, also if the capture had a record or a snapshot entry of the
 * mapping and lost it by a fault.
 */
struct jp_unmapped {
	const char *cause;
	struct jp_left_out left_out;
	uint32_t sharer;
};

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *known,
			       uint32_t pid, uint64_t ip, uint64_t time);
/* Describes @unmapped in a sentence. Returns @text. */
const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size);
/* Returns why the capture at @time still holds an executable mapping at @addr of @pid that an act
 * beginning at @before had ended. The cause is the name of the control that left out an exec, if
 * only the exec ended the mapping; "munmap", "mremap" or "mprotect", for which the kernel writes no
 * record; or "stale". */
const char *jp_unmapped_why_stale(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
				  uint64_t before, uint64_t time);
