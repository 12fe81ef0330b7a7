// SPDX-License-Identifier: GPL-2.0-only
/* Finding a thread's place in its path by address and stack pointer. */
#include <elf.h>

#include "harness/model/oracle/path_position.h"
#include "harness/selftest/support/check.h"

enum { OUTER = 0x1000, INNER = 0x2000, SIZE = 8, ENTRY = 0x7000 };

/* The last instruction is past the function's end, with the stack of the first. */
static struct jp_truth_insn insns[] = {{.offset = 0}, {.offset = 4, .pre = 16}, {.offset = SIZE}};
static const struct jp_truth_layout layout = {
	.insns = insns, .count = 3, .returns = 1, .tail = UINT32_MAX};
static const struct jp_truth_code outer = {.addr = OUTER, .size = SIZE, .layout = &layout},
				  inner = {.addr = INNER, .size = SIZE, .layout = &layout};
static const struct jp_truth_code *functions[] = {&outer, &inner};
static const struct jp_truth_path path = {.depth = 2, .functions = functions};

TEST(path_position)
{
	const struct jp_truth_activation activation = {.path = &path, .sp = ENTRY};
	const struct jp_machine *machine = jp_machine_find(EM_X86_64);
	/* The stack pointer at the start of the inner function. */
	const uint64_t called = ENTRY - 16 - machine->frames->pushed;
	const struct {
		const char *what;
		uint64_t ip, sp;
		const struct jp_truth_insn *insn;
		uint32_t depth;
	} rows[] = {
		{"the first instruction", OUTER, ENTRY, &insns[0], 0},
		{"another instruction", OUTER + 4, ENTRY - 16, &insns[1], 0},
		{"an instruction with another's stack", OUTER + 4, ENTRY, NULL, 0},
		{"an address between two instructions", OUTER + 1, ENTRY, NULL, 0},
		{"an address behind the function", OUTER + SIZE, ENTRY, NULL, 0},
		{"the inner function", INNER, called, &insns[0], 1},
		{"the inner function with the outer's stack", INNER, ENTRY, NULL, 0},
		{"an address behind the inner function", INNER + SIZE, called, NULL, 0},
		{"an address in no function", INNER - 1, called, NULL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t depth = 0;

		check(jp_truth_find_place(machine, &activation, rows[i].ip, rows[i].sp, &depth) ==
				      rows[i].insn &&
			      depth == rows[i].depth,
		      "%s %s", rows[i].what, rows[i].insn ? "is found" : "is no place");
	}
}
