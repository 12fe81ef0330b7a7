/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_MACHINE_H
#define JP_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/model/unwind/cfi.h"
#include "harness/format/event.h"

/*
 * What unwinding must know of a machine: one file per machine defines one of these and registers
 * it with JP_REGISTER(machine, ...).
 */
enum jp_frame_answer {
	JP_FRAME_STEPPED,
	JP_FRAME_BAD,    /* the frame pointer leads nowhere: below sp, unaligned, unknown */
	JP_FRAME_BEYOND, /* it points above what the dump holds */
	JP_FRAME_END,    /* it is zero: so the ABI marks the outermost frame */
};

struct jp_machine {
	const char *name;
	uint16_t elf;   /* e_machine */
	uint8_t ip, sp; /* indexes into jp_regs */
	uint8_t pushed; /* bytes of stack that a call takes at least */
	uint32_t saved; /* registers that a called function gives back as they were */
	/* One step by the frame-pointer rule; saved registers stay known. */
	enum jp_frame_answer (*frame)(struct jp_regs *regs, jp_cfi_load load, void *context);
	/* Whether the @at bytes from @code on may end with a call. */
	bool (*after_call)(const unsigned char *code, uint64_t at);
};

/* The machine of ELF's number @elf, or NULL; 0: the one that is there first. */
const struct jp_machine *jp_machine_find(uint16_t elf);
/* User instruction and stack pointer of a sample; false where it holds no such registers. */
bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp);

#endif
