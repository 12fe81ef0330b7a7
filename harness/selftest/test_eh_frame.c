// SPDX-License-Identifier: GPL-2.0-only
/* Is the call frame information that is published exact? Each shape's, put into an ELF file as perf
 * lays it out, is read by libdw; at each instruction the caller's registers must come out. */
#include <elf.h>

#include "harness/model/unwind/cfi.h"
#include "harness/selftest/check.h"
#include "workloads/emit/code.h"
#include "workloads/emit/eh_frame.h"
#include "workloads/emit/emitter.h"

enum { TEXT = 0x200, STACK = 1024, SP = 7, BP = 6 };

/* S: where the return address stands. Aligned to 64 or not. */
struct stack {
	uint64_t entry;
	uint64_t words[STACK];
};
static struct stack stack;

static bool load(void *context, uint64_t addr, uint64_t *value)
{
	uint64_t lowest = stack.entry - (STACK - 16) * 8;

	if (addr < lowest || addr >= lowest + sizeof(stack.words) || (addr - lowest) % 8)
		return false;
	*value = stack.words[(addr - lowest) / 8];
	return true;
}

static void store(uint64_t addr, uint64_t value)
{
	stack.words[(addr - (stack.entry - (STACK - 16) * 8)) / 8] = value;
}

/* .text, .eh_frame, .eh_frame_hdr where perf has them; with the header found by its segment, or
 * .eh_frame by its section alone. */
static size_t make_elf(unsigned char *image, const struct jp_emitted *emitted,
		       const unsigned char *tables, size_t size, size_t hdr_size, bool by_segment)
{
	static const char names[] = "\0.text\0.eh_frame\0.shstrtab";
	size_t frame = TEXT + ((emitted->size + 7u) & -8u), hdr = frame + size - hdr_size;
	size_t names_at = frame + size, sections_at = (names_at + sizeof(names) + 7) & -8u;
	size_t end = sections_at + 4 * sizeof(Elf64_Shdr);
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = jp_arch_elf.machine,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(head),
			   .e_shoff = by_segment ? 0 : sections_at,
			   .e_ehsize = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = by_segment ? 2 : 1,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = by_segment ? 0 : 4,
			   .e_shstrndx = by_segment ? 0 : 3};
	Elf64_Phdr segments[2] = {{PT_LOAD, PF_R | PF_X, 0, 0, 0, names_at, names_at, 4096},
				  {PT_GNU_EH_FRAME, PF_R, hdr, hdr, hdr, hdr_size, hdr_size, 4}};
	Elf64_Shdr sections[4] = {
		{0},
		{1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, TEXT, emitted->size, 0, 0, 16,
		 0},
		{7, SHT_PROGBITS, SHF_ALLOC, frame, frame, size - hdr_size, 0, 0, 8, 0},
		{17, SHT_STRTAB, 0, 0, names_at, sizeof(names), 0, 0, 1, 0}};

	memset(image, 0, end);
	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), segments, sizeof(segments));
	memcpy(image + frame, tables, size);
	memcpy(image + names_at, names, sizeof(names));
	memcpy(image + sections_at, sections, sizeof(sections));
	return end;
}

/* The registers at @insn, and the stack that leads to the caller's. */
static struct jp_regs at_insn(const struct jp_truth_insn *insn, uint64_t caller_bp)
{
	struct jp_regs regs = {0};
	uint8_t bp = insn->bp & ~(JP_INSN_RETURN | JP_INSN_TAIL | JP_INSN_MISLED);

	memset(stack.words, 0xee, sizeof(stack.words));
	store(stack.entry, 0x1234567);
	store(stack.entry - 8, caller_bp);
	regs.r[BP] = bp == JP_BP_OWN ? stack.entry - 8 : bp == JP_BP_OTHER ? 0x5ca1ab1e : caller_bp;
	regs.r[SP] = ((stack.entry - insn->pre) & -(UINT64_C(1) << insn->align)) - insn->post;
	regs.known = 1u << BP | 1u << SP;
	return regs;
}

static unsigned wrong_at(struct jp_cfi *cfi, const struct jp_emitted *emitted)
{
	const uint64_t caller_bp = 0x7ff000001230;
	unsigned wrong = 0;

	for (uint32_t i = 0; i < emitted->nr_insns; i++) {
		const struct jp_truth_insn *insn = &emitted->insns[i];
		uint32_t end = i + 1 < emitted->nr_insns ? insn[1].offset : emitted->size;

		/* A return address is looked up by the byte before it. */
		for (uint32_t byte = insn->offset; byte < end; byte++) {
			struct jp_regs regs = at_insn(insn, caller_bp);
			/* What misleads must do so as is said of it. */
			bool misled = insn->bp & JP_INSN_MISLED;
			uint64_t ip = misled ? 0xeeeeeeeeeeeeeeee : 0x1234567;
			uint64_t sp = misled ? regs.r[SP] + 24 : stack.entry + 8;
			enum jp_cfi_answer answer =
				jp_cfi_step(cfi, TEXT + byte, &regs, load, NULL);

			wrong += answer != JP_CFI_STEPPED || regs.r[16] != ip || regs.r[SP] != sp ||
				 regs.r[BP] != caller_bp || !(regs.known & 1u << BP);
		}
	}
	return wrong;
}

static void read_shape(enum jp_shape shape, bool by_segment)
{
	unsigned char tables[JP_EH_FRAME_MOST], image[16384];
	struct jp_emitted emitted;
	struct jp_error err = {""};
	struct jp_cfi *cfi = NULL;
	size_t hdr_size = 0, end = 0;
	int size = -1;

	if (!jp_shape_emit(shape, NULL, 0, &emitted))
		size = jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size);
	if (size > 0) {
		end = make_elf(image, &emitted, tables, size, hdr_size, by_segment);
		cfi = jp_cfi_open_image(image, end, &err);
	}
	for (uint64_t off = 0; off < 64; off += 8) {
		unsigned wrong;

		stack.entry = 0x7ffffff00000 + off;
		wrong = cfi ? wrong_at(cfi, &emitted) : ~0u;
		if (wrong || off == 56)
			check(!wrong, "%s, %s: %u of %u bytes wrong, %d bytes of tables %s",
			      jp_shape_text(shape),
			      by_segment ? "by .eh_frame_hdr" : "by .eh_frame", wrong, emitted.size,
			      size, err.text);
	}
	jp_cfi_close(cfi);
}

static void refuse(void)
{
	static unsigned char tables[JP_EH_FRAME_MOST];
	static struct jp_emitted emitted;
	unsigned short_of = 0, size;
	size_t hdr_size;

	jp_shape_emit(JP_SHAPE_LONG, NULL, 0, &emitted);
	size = jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size);
	for (unsigned capacity = 0; capacity < size; capacity++)
		short_of += jp_eh_frame(&emitted, tables, capacity, &hdr_size) == -28;
	check(short_of == size && size > hdr_size, "%u rooms are too small", short_of);
	emitted.insns[3].align = 6;
	emitted.insns[3].bp = JP_BP_CALLER;
	check(jp_eh_frame(&emitted, tables, sizeof(tables), &hdr_size) == -95,
	      "a realigned stack that no register leads out of");
}

int main(void)
{
	for (enum jp_shape shape = 0; shape < JP_SHAPES; shape++) {
		read_shape(shape, true);
		read_shape(shape, false);
	}
	refuse();
	return check_done();
}
