/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Checks each record of .eh_frame before libdw reads it. libdw trusts .eh_frame: one rule for
 * register 2^27-2 makes it allocate a gigabyte (results/FINDINGS.md), and the search table may
 * point into the middle of a record. */
struct jp_cfi_section {
	const unsigned char *bytes; /* NULL: none */
	size_t size;
	uint64_t addr; /* address of the section in the file's address space */
};

/* Properties of tables that passed the check. */
struct jp_cfi_sound {
	bool index;       /* .eh_frame_hdr is sorted, and each entry points to a record */
	size_t functions; /* number of functions that move the stack pointer or use a frame register
			   */
	size_t framed;    /* number of those that use a frame register */
};

/* Checks each record of @frame: bounds, encodings, and the operands of every instruction. @index:
 * .eh_frame_hdr, without which libdw is slow. Returns 0, -ENOMEM, or -EINVAL and a message with the
 * offset in .eh_frame. */
int jp_cfi_check(const struct jp_cfi_section *frame, const struct jp_cfi_section *index,
		 struct jp_cfi_sound *checked, struct jp_error *err);
