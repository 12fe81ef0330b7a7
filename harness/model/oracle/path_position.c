// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/path_position.h"

#include <string.h>

#include "harness/base/search.h"

const struct jp_truth_insn *jp_truth_insn_at(const struct jp_truth_layout *layout, uint64_t offset)
{
	size_t i;

	jp_search(i, layout->count, layout->insns[i].offset < offset);
	return i < layout->count && layout->insns[i].offset == offset ? &layout->insns[i] : NULL;
}

uint64_t jp_truth_compute_sp(const struct jp_truth_insn *insn, uint64_t entry)
{
	return ((entry - insn->pre) & -(UINT64_C(1) << insn->align)) - insn->post;
}

const struct jp_truth_insn *jp_truth_return_insn(const struct jp_truth_code *code)
{
	return &code->layout->insns[code->layout->returns];
}

bool jp_truth_is_tail_call(const struct jp_truth_code *code)
{
	return code->layout->tail != UINT32_MAX;
}

uint64_t jp_truth_next_entry(const struct jp_machine *machine, const struct jp_truth_code *code,
			     uint64_t entry)
{
	const struct jp_truth_layout *layout = code->layout;

	return jp_truth_is_tail_call(code)
		       ? jp_truth_compute_sp(&layout->insns[layout->tail], entry)
		       : jp_truth_compute_sp(jp_truth_return_insn(code), entry) -
				 machine->frames->pushed;
}

/* Tries each part of the function in which the frame pointer has another meaning. */
static const struct jp_truth_insn *find_place_by_name(const struct jp_truth_code *code,
						      struct jp_truth_guess *guess)
{
	const struct jp_truth_layout *layout = code->layout;

	for (; guess->insn < layout->count; guess->insn++) {
		const struct jp_truth_insn *insn = &layout->insns[guess->insn];

		if (guess->insn && !((insn->bp ^ insn[-1].bp) & ~JP_INSN_SIGNED))
			continue;
		guess->insn++;
		guess->ip = code->addr + insn->offset;
		return insn;
	}
	return NULL;
}

const struct jp_truth_insn *jp_truth_guess_place(const struct jp_truth_activation *activation,
						 struct jp_truth_guess *guess)
{
	const struct jp_truth_path *path = activation->path;

	for (; guess->depth < path->depth; guess->depth++, guess->insn = 0) {
		const struct jp_truth_code *code = path->functions[guess->depth];
		const struct jp_truth_insn *insn = NULL;

		if (guess->name)
			insn = strcmp(code->name, guess->name) ? NULL
							       : find_place_by_name(code, guess);
		else if (!guess->insn && guess->ip - code->addr < code->size)
			insn = jp_truth_insn_at(code->layout, guess->ip - code->addr);
		if (!insn)
			continue;
		guess->insn += !guess->name;
		return insn;
	}
	return NULL;
}

/* Stack addresses fall with depth, so stop below @sp. */
const struct jp_truth_insn *jp_truth_find_place(const struct jp_machine *machine,
						const struct jp_truth_activation *activation,
						uint64_t ip, uint64_t sp, uint32_t *depth)
{
	const struct jp_truth_path *path = activation->path;
	uint64_t entry = activation->sp;

	for (uint32_t d = 0; d < path->depth; d++) {
		const struct jp_truth_code *code = path->functions[d];

		if (entry < sp)
			return NULL;
		if (ip - code->addr < code->size) {
			const struct jp_truth_insn *insn =
				jp_truth_insn_at(code->layout, ip - code->addr);

			if (insn && jp_truth_compute_sp(insn, entry) == sp) {
				*depth = d;
				return insn;
			}
		}
		if (d + 1 < path->depth)
			entry = jp_truth_next_entry(machine, code, entry);
	}
	return NULL;
}
