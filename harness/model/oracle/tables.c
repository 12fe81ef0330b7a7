// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/tables.h"

#include "harness/model/oracle/path_position.h"

/* A made-up call: S of the function, and the address to which it returns. */
static const uint64_t ENTRY = UINT64_C(0x7ffffff00000), RETURN = 0x1234560;

/* Reads the made-up stack, which is 0 except for the return address at *@context. */
static bool read_word(void *context, uint64_t addr, uint64_t *value)
{
	const uint64_t *return_at = context;

	*value = addr == *return_at ? RETURN : 0;
	return true;
}

/* Returns the registers at @insn. Each register but the stack and frame pointers contains the
 * return address: machines that push none keep it in a register until the function stores it. */
static struct jp_regs make_regs(const struct jp_machine *machine, const struct jp_truth_insn *insn)
{
	const struct jp_machine_frames *frames = machine->frames;
	const uint64_t record = ENTRY + frames->pushed - 2 * jp_machine_word(frames);
	const bool has_own_bp = (insn->bp & ~JP_INSN_FLAGS) == JP_BP_OWN;
	struct jp_regs regs = {.machine = machine, .mask = UINT64_MAX >> (64 - JP_REGS)};

	for (int i = 0; i < JP_REGS; i++)
		regs.r[i] = RETURN;
	regs.r[machine->sp] = jp_truth_compute_sp(insn, ENTRY);
	regs.r[frames->fp] = has_own_bp ? record + frames->fp_above : 0;
	return regs;
}

bool jp_truth_has_right_tables(const struct jp_machine *machine, const struct jp_truth_code *code,
			       struct jp_jit_cfi *jit, const struct jp_code_load *load)
{
	uint64_t return_at = ENTRY + machine->frames->return_at;

	for (uint32_t i = 0; i < code->layout->count; i++) {
		const struct jp_truth_insn *insn = &code->layout->insns[i];
		struct jp_regs regs = make_regs(machine, insn);

		if (insn->bp & JP_INSN_MISLED)
			continue;
		if (jp_jit_cfi_step(jit, load, code->addr + insn->offset, &regs, read_word,
				    &return_at) != JP_CFI_STEPPED ||
		    regs.r[machine->ip] != RETURN ||
		    regs.r[machine->sp] != ENTRY + machine->frames->pushed)
			return false;
	}
	return true;
}
