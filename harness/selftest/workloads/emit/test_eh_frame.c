// SPDX-License-Identifier: GPL-2.0-only
/* Tests that the call frame information of each shape is exact: put into an ELF file like perf's
 * and read by libdw, it must give the caller's registers at each instruction. Put after running
 * code, it must lead libgcc to the callers, also where return addresses are signed. */
#include <sys/mman.h>
#include <unwind.h>

#include "harness/format/perfdata/machine.h"
#include "harness/model/oracle/tables.h"
#include "harness/model/unwind/cfi.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"
#include "workloads/emit/shapes.h"
#include "workloads/emit/eh_frame.h"
#include "workloads/emit/emitter.h"

enum { STACK = 1024 };

/* A stack; @entry: address of the return address. */
struct stack {
	uint64_t entry;
	uint64_t words[STACK];
};
static struct stack stack;

static bool load_word(void *context, uint64_t addr, uint64_t *value)
{
	uint64_t lowest = stack.entry - (STACK - 16) * 8;

	if (addr < lowest || addr >= lowest + sizeof(stack.words) || (addr - lowest) % 8)
		return false;
	*value = stack.words[(addr - lowest) / 8];
	return true;
}

static void store_word(uint64_t addr, uint64_t value)
{
	stack.words[(addr - (stack.entry - (STACK - 16) * 8)) / 8] = value;
}

static struct elf_made made;

/* Makes an ELF file with .text, .eh_frame and .eh_frame_hdr like perf's. @by_segment: a reader
 * finds the index by its segment; otherwise it finds .eh_frame by its section. Returns the address
 * of .text. */
static uint64_t make_elf(const struct jp_emitted *emitted, const unsigned char *tables, size_t size,
			 size_t hdr_size, bool by_segment)
{
	static const unsigned char code[8192];
	uint64_t text, hdr;
	Elf64_Shdr *frame;

	elf_made_begin(&made, jp_arch_elf.machine);
	text = elf_made_add_section(&made, ".text", SHT_PROGBITS, code, emitted->size)->sh_addr;
	frame = elf_made_add_section(&made, ".eh_frame", SHT_PROGBITS, tables, size);
	frame->sh_size -= hdr_size;
	hdr = frame->sh_addr + frame->sh_size;
	made.segments[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, 0, 0, made.size, made.size, 4096};
	if (!by_segment) {
		elf_made_end(&made);
		return text;
	}
	made.segments[1] =
		(Elf64_Phdr){PT_GNU_EH_FRAME, PF_R, hdr, hdr, hdr, hdr_size, hdr_size, 4};
	elf_made_end_stripped(&made);
	return text;
}

/* Returns the registers at @insn, and fills the stack that leads to the caller's. */
static struct jp_regs make_regs(const struct jp_truth_insn *insn, uint64_t caller_bp)
{
	struct jp_regs regs = {0};
	uint8_t bp = insn->bp & ~JP_INSN_FLAGS;

	memset(stack.words, 0xee, sizeof(stack.words));
	store_word(stack.entry, 0x1234567);
	store_word(stack.entry - 8, caller_bp);
	regs.r[jp_arch_elf.bp] = bp == JP_BP_OWN     ? stack.entry - 8
				 : bp == JP_BP_OTHER ? 0x5ca1ab1e
						     : caller_bp;
	regs.r[jp_arch_elf.sp] = ((stack.entry + 8 - jp_arch_elf.pushed - insn->pre) &
				  -(UINT64_C(1) << insn->align)) -
				 insn->post;
	regs.mask = UINT64_C(1) << jp_arch_elf.bp | UINT64_C(1) << jp_arch_elf.sp;
	if (!jp_arch_elf.pushed) {
		regs.r[jp_arch_elf.return_address] = insn->pre ? 0xeeeeeeeeeeeeeeee : 0x1234567;
		regs.mask |= UINT64_C(1) << jp_arch_elf.return_address;
	}
	return regs;
}

static unsigned count_wrong_steps(struct jp_cfi *cfi, uint64_t text,
				  const struct jp_emitted *emitted)
{
	const uint64_t caller_bp = 0x7ff000001230;
	const unsigned sp_number = jp_arch_elf.sp, bp_number = jp_arch_elf.bp;
	const unsigned ip_number = jp_machine_find(jp_arch_elf.machine)->ip;
	unsigned nr_wrong = 0;

	for (uint32_t i = 0; i < emitted->nr_insns; i++) {
		const struct jp_truth_insn *insn = &emitted->insns[i];
		uint32_t end = i + 1 < emitted->nr_insns ? insn[1].offset : emitted->size;

		/* Check every byte: a return address is looked up by the byte before it. */
		for (uint32_t byte = insn->offset; byte < end; byte++) {
			struct jp_regs regs = make_regs(insn, caller_bp);
			/* Misleading tables must mislead as the layout states. */
			bool is_misled = insn->bp & JP_INSN_MISLED;
			uint64_t ip = is_misled ? 0xeeeeeeeeeeeeeeee : 0x1234567;
			uint64_t sp = is_misled ? regs.r[sp_number] + 24 : stack.entry + 8;
			enum jp_cfi_answer answer =
				jp_cfi_step(cfi, text + byte, &regs, load_word, NULL);

			nr_wrong += answer != JP_CFI_STEPPED || regs.r[ip_number] != ip ||
				    regs.r[sp_number] != sp || regs.r[bp_number] != caller_bp ||
				    !(regs.mask >> bp_number & 1);
		}
	}
	return nr_wrong;
}

static void check_shape(enum jp_shape shape, bool by_segment)
{
	unsigned char tables[JP_EH_FRAME_MOST];
	struct jp_emitted emitted;
	struct jp_error err = {""};
	struct jp_cfi *cfi = NULL;
	size_t hdr_size = 0;
	uint64_t text = 0;
	int size = -1;

	if (!jp_shape_emit(shape, NULL, 0, &emitted))
		size = jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size);
	if (size > 0) {
		text = make_elf(&emitted, tables, size, hdr_size, by_segment);
		cfi = jp_cfi_open_image(made.bytes, made.size, &err);
	}
	for (uint64_t off = 0; off < 64; off += 8) {
		unsigned nr_wrong;

		stack.entry = 0x7ffffff00000 + off;
		nr_wrong = cfi ? count_wrong_steps(cfi, text, &emitted) : ~0u;
		if (nr_wrong || off == 56)
			check(!nr_wrong, "%s, %s: %u of %u bytes are wrong, %d bytes of tables %s",
			      jp_shape_text(shape),
			      by_segment ? "by .eh_frame_hdr" : "by .eh_frame", nr_wrong,
			      emitted.size, size, err.text);
	}
	jp_cfi_close(cfi);
}

/* The truth accepts the tables of each shape, and refuses them if one instruction's frame differs.
 */
static void check_truth(enum jp_shape shape)
{
	unsigned char tables[JP_EH_FRAME_MOST];
	struct jp_emitted emitted;
	struct jp_code_load load = {.addr = 0x1000, .eh_frame = tables};
	const struct jp_code_loads loads = {.loads = &load, .count = 1};
	const struct jp_machine *machine = jp_machine_find(jp_arch_elf.machine);
	struct jp_truth_layout layout = {.insns = emitted.insns};
	const struct jp_truth_code code = {.addr = 0x1000, .layout = &layout};
	struct jp_jit_cfi *jit = jp_jit_cfi_new(&loads, jp_arch_elf.machine);
	size_t hdr_size;

	jp_shape_emit(shape, NULL, 0, &emitted);
	load.eh_frame_size = jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size) - hdr_size;
	load.size = emitted.size;
	layout.count = emitted.nr_insns;
	check(jp_truth_has_right_tables(machine, &code, jit, &load), "right tables of %s",
	      jp_shape_text(shape));
	emitted.insns[0].post += 8;
	check(!jp_truth_has_right_tables(machine, &code, jit, &load),
	      "tables of %s that do not match its first instruction", jp_shape_text(shape));
	jp_jit_cfi_free(jit);
}

TEST(refusals)
{
	static unsigned char tables[JP_EH_FRAME_MOST];
	static struct jp_emitted emitted;
	unsigned short_of = 0, size;
	size_t hdr_size;

	jp_shape_emit(JP_SHAPE_LONG, NULL, 0, &emitted);
	size = jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size);
	for (unsigned capacity = 0; capacity < size; capacity++)
		short_of += jp_eh_frame(&emitted, tables, capacity, &hdr_size) == -28;
	check(short_of == size && size > hdr_size, "%u too small buffers are refused", short_of);
	emitted.insns[3].align = 6;
	emitted.insns[3].bp = JP_BP_CALLER;
	check(jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size) == -95,
	      "a realigned stack without a frame pointer is refused");
}

/* Callers that libgcc finds from a function that emitted code calls, innermost first. */
static uint64_t found_frames[16];
static unsigned nr_found;

static _Unwind_Reason_Code note_caller(struct _Unwind_Context *context, void *unused)
{
	if (nr_found == sizeof(found_frames) / sizeof(*found_frames))
		return _URC_END_OF_STACK;
	found_frames[nr_found++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void unwind_from_here(void)
{
	nr_found = 0;
	_Unwind_Backtrace(note_caller, NULL);
}

static void ignore_entry(void *context, uint64_t sp, uint64_t bp)
{
}

extern void __register_frame(void *eh_frame);
extern void __deregister_frame(void *eh_frame);

/* libgcc authenticates a return address where the tables state that it is signed. */
static void check_libgcc(enum jp_shape shape, unsigned char *code, size_t capacity)
{
	struct jp_path_step steps[3] = {
		{.code = (uintptr_t)code, .loops_before = 1, .loops_after = 1, .repeat = 1},
		{.code = (uintptr_t)jp_arch_call_out, .loops_before = (uintptr_t)unwind_from_here}};
	const uint64_t callers[] = {(uintptr_t)code + jp_shape_returns(shape),
				    (uintptr_t)jp_arch_enter_return};
	struct jp_emitted emitted;
	size_t hdr_size;
	unsigned first_caller = 0;
	void *tables;

	jp_shape_emit(shape, code, capacity, &emitted);
	tables = code + ((emitted.size + 7u) & -8u);
	jp_eh_frame(&emitted, tables, JP_EH_FRAME_MOST, &hdr_size);
	__builtin___clear_cache((char *)code, (char *)tables);
	__register_frame(tables);
	jp_arch_enter(steps, ignore_entry, NULL, NULL);
	__deregister_frame(tables);
	while (first_caller < nr_found && found_frames[first_caller] != callers[0])
		first_caller++;
	check(first_caller + 1 < nr_found && found_frames[first_caller + 1] == callers[1],
	      "libgcc passes a frame of %s", jp_shape_text(shape));
}

TEST(libgcc)
{
	static const enum jp_shape shapes[] = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_LONG,
					       JP_SHAPE_REALIGN};
	const size_t size = 1 << 16;
	unsigned char *code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!check(code != MAP_FAILED, "memory for code"))
		return;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		check_libgcc(shapes[i], code, size - JP_EH_FRAME_MOST);
	munmap(code, size);
}

TEST(eh_frame)
{
	for (enum jp_shape shape = 0; shape < JP_SHAPES; shape++) {
		check_shape(shape, true);
		check_shape(shape, false);
		check_truth(shape);
	}
}
