/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"
#include "harness/model/evidence/control.h"

/*
 * Why a capture, which holds @known by then, knows no mapping of an address at @time: the name of
 * the control that left it out on purpose; else "mremap", where the memory came there by a remap,
 * of which the kernel makes no record, and no snapshot since then; "shared-mm", where another
 * process in the same space mapped it, and a record says so of that one; else "no-record". Of what
 * a record or a snapshot told once, nothing but a fault made the capture lose it: "no-record" too.
 */
struct jp_unmapped {
	const char *cause;
	struct jp_left_out left_out;
	uint32_t sharer;
};

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *known,
			       uint32_t pid, uint64_t ip, uint64_t time);
/* The same as a sentence; returns @text. */
const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size);
/*
 * Why the capture still holds as executable what ended at @addr of @pid with an act that began at
 * @before, at @time: the control that kept an exec from it, if nothing else ended it; else
 * "munmap", "mremap" or "mprotect" (of none does the kernel make a record), else "stale".
 */
const char *jp_unmapped_late(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
			     uint64_t before, uint64_t time);
