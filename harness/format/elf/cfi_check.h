/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * libdw trusts .eh_frame: one rule for register 2^27-2 costs it a gigabyte (results/FINDINGS.md),
 * and the search table may lead it into the middle of a record. So each record is checked once
 * before libdw sees it.
 */
struct jp_cfi_section {
	const unsigned char *bytes; /* NULL: none */
	size_t size;
	uint64_t addr; /* where the section lies in the file's address space */
};

/* What was found in a sound section. */
struct jp_cfi_sound {
	bool index;       /* .eh_frame_hdr is sound: sorted, and each entry leads to a record */
	size_t functions; /* that move the stack pointer or have another register lead to their
			     frame */
	size_t framed;    /* of those, the latter */
};

/*
 * Checks each record of @frame: bounds, encodings, and the operands of every instruction.
 * Without a sound .eh_frame_hdr (@index) libdw is slow. -EINVAL names the offset in .eh_frame.
 */
int jp_cfi_check(const struct jp_cfi_section *frame, const struct jp_cfi_section *index,
		 struct jp_cfi_sound *sound, struct jp_error *err);
