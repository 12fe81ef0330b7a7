/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"
#include "harness/model/evidence/control.h"

/* Describes why a capture, which had recorded the mappings @known, knows no mapping of @ip at
 * @time. The cause is the control that left it out, of the process or of one that forked it; or
 * "mremap": the memory was moved there, for which the kernel writes no record, and no later
 * snapshot shows it; or "shared-mm": another process in the same space mapped it, and the record
 * names that process; or "not-watched": the process is older than the capture, which did not attach
 * to it; or "no-record", also for a mapping that had a record or a snapshot entry and was lost by a
 * fault. */
struct jp_unmapped {
	const char *cause;
	struct jp_left_out left_out;
	uint32_t sharer;
};

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *known,
			       uint32_t pid, uint64_t ip, uint64_t time);
/* Describes @unmapped in a sentence. Returns @text. */
const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size);
/* Returns why the capture at @time still holds an executable mapping at @addr of @pid, which ended
 * by an act that began at @before. The cause is the control that left out an exec, if nothing else
 * ended the mapping; "munmap", "mremap" or "mprotect", for which the kernel writes no record; or
 * "stale". */
const char *jp_unmapped_late(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
			     uint64_t before, uint64_t time);
