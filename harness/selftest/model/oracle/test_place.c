// SPDX-License-Identifier: GPL-2.0-only
/* Where in its path a thread is, by an address and a stack pointer. */
#include <elf.h>

#include "harness/model/oracle/place.h"
#include "harness/selftest/support/check.h"

enum { OUTER = 0x1000, INNER = 0x2000, SIZE = 8, ENTRY = 0x7000 };

/* The last one is none of a function of SIZE bytes, and has the first one's stack. */
static struct jp_truth_insn insns[] = {{.offset = 0}, {.offset = 4, .pre = 16}, {.offset = SIZE}};
static const struct jp_truth_layout layout = {
	.insns = insns, .count = 3, .returns = 1, .tail = UINT32_MAX};
static const struct jp_truth_code outer = {.addr = OUTER, .size = SIZE, .layout = &layout},
				  inner = {.addr = INNER, .size = SIZE, .layout = &layout};
static const struct jp_truth_code *functions[] = {&outer, &inner};
static const struct jp_truth_path path = {.depth = 2, .functions = functions};

int main(void)
{
	const struct jp_truth_activation activation = {.path = &path, .sp = ENTRY};
	const struct jp_machine *machine = jp_machine_find(EM_X86_64);
	/* What the call of the outer function leaves to the inner one. */
	const uint64_t called = ENTRY - 16 - machine->frames->pushed;
	const struct {
		const char *what;
		uint64_t ip, sp;
		const struct jp_truth_insn *insn;
		uint32_t depth;
	} rows[] = {
		{"the first instruction", OUTER, ENTRY, &insns[0], 0},
		{"another", OUTER + 4, ENTRY - 16, &insns[1], 0},
		{"with the stack of the first", OUTER + 4, ENTRY, NULL, 0},
		{"within one", OUTER + 1, ENTRY, NULL, 0},
		{"behind the function's end", OUTER + SIZE, ENTRY, NULL, 0},
		{"in the inner function", INNER, called, &insns[0], 1},
		{"with the stack of the outer one", INNER, ENTRY, NULL, 0},
		{"behind its end", INNER + SIZE, called, NULL, 0},
		{"in none", INNER - 1, called, NULL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t depth = 0;

		check(jp_truth_place(machine, &activation, rows[i].ip, rows[i].sp, &depth) ==
				      rows[i].insn &&
			      depth == rows[i].depth,
		      "%s: %s", rows[i].what, rows[i].insn ? "there" : "no place");
	}
	return check_done();
}
