// SPDX-License-Identifier: GPL-2.0-only
/* Tests instructions of call frame information, read by libdw and compiled: each must give the
 * caller's registers after one step, or no step. */
#include <elf.h>

#include "harness/base/bytes.h"
#include "harness/format/elf/cfi_check.h"
#include "harness/model/unwind/cfi.h"
#include "harness/model/unwind/cfi_rows.h"
#include "harness/selftest/support/check.h"

enum { CODE = 0x1000, CODE_SIZE = 0x100, FRAME = 0x20000, LOW = 0x7000, SP_AT = 0x7100 };
enum { RAX = 0, RBX = 3, RBP = 6, RSP = 7, R12 = 12, IP = 16 };
#define WORD(addr) (UINT64_C(0xaa0000) + (addr)) /* the word of the stack at @addr */
#define UNKNOWN    UINT64_MAX

static bool load_word(void *context, uint64_t addr, uint64_t *value)
{
	*value = WORD(addr);
	return addr >= LOW && addr < LOW + 0x1000;
}

/* Makes a CIE with return address column @ra, and with `S` if @is_signal; and an FDE with @program
 * of
 * @size bytes after the rules "CFA is rsp + 8, return address below it". */
static void make_tables(struct jp_bytes *frame, const void *program, size_t size, uint8_t ra,
			bool is_signal)
{
	static const unsigned char initial[] = {0x0c, RSP, 8, 0x80 | IP, 1};
	size_t start, cie = frame->size;

	jp_bytes_add32(frame, 0);
	jp_bytes_add32(frame, 0);
	jp_bytes_add8(frame, 1);
	jp_bytes_add(frame, is_signal ? "zRS" : "zR", is_signal ? 4 : 3);
	jp_bytes_add(frame, (unsigned char[]){1, 0x78, ra, 1, 0x1b}, 5);
	jp_bytes_add(frame, initial, sizeof(initial));
	jp_bytes_set32(frame, cie, frame->size - cie - 4);
	start = frame->size;
	jp_bytes_add32(frame, 0);
	jp_bytes_add32(frame, start + 4 - cie);
	jp_bytes_add32(frame, CODE - (FRAME + frame->size));
	jp_bytes_add32(frame, CODE_SIZE);
	jp_bytes_add8(frame, 0);
	jp_bytes_add(frame, program, size);
	jp_bytes_set32(frame, start, frame->size - start - 4);
}

static struct jp_cfi *open_made(const struct jp_bytes *frame, uint16_t machine,
				struct jp_error *err)
{
	const struct jp_cfi_section section = {frame->bytes, frame->size, FRAME};

	return jp_cfi_open_tables(machine, CODE, CODE_SIZE, &section, NULL, err);
}

static enum jp_cfi_answer step_once(struct jp_cfi *cfi, uint64_t vaddr, struct jp_regs *regs)
{
	*regs = (struct jp_regs){
		.mask = 1 << RAX | 1 << RBX | 1 << RBP | 1 << RSP | 1 << R12 | 1 << IP,
		.r = {[RBX] = 0x333, [RBP] = 0x7200, [RSP] = SP_AT, [R12] = 0xccc, [IP] = 0x1010},
	};
	return jp_cfi_step(cfi, vaddr, regs, load_word, NULL);
}

#define BYTES(text) text, sizeof(text) - 1
/* DW_CFA_def_cfa_expression, and _val_expression and _expression of rbx, of fewer than 128 bytes.
 */
#define CFA_IS(size, text)    BYTES("\x0f" size text)
#define RBX_IS(size, text)    BYTES("\x16\x03" size text)
#define RBX_IS_AT(size, text) BYTES("\x10\x03" size text)

/* Expected values; 0: CFA rsp + 8, the return address below it, unchanged registers. */
static const struct {
	const char *label, *program;
	size_t size;
	enum jp_cfi_answer answer;
	uint64_t cfa, ip, rbx, rbp; /* registers of the caller, whose rsp is the CFA */
} rules[] = {
	{.label = "the rules of the CIE", BYTES("")},
	{"the same value", BYTES("\x08\x10"), .ip = 0x1010},
	{"an undefined return address", BYTES("\x07\x10"), .answer = JP_CFI_END},
	{"a value in another register", BYTES("\x09\x03\x0c"), .rbx = 0xccc},
	{"a value in register 32", BYTES("\x09\x03\x20"), .rbx = UNKNOWN},
	{"a value in an unsupported register", BYTES("\x09\x03\x50"), .rbx = UNKNOWN},
	{"a value at an offset from the CFA", BYTES("\x14\x03\x02"), .rbx = SP_AT - 8},
	{"a value saved at the CFA", BYTES("\x83\x00"), .rbx = WORD(SP_AT + 8)},
	{"the CFA as a value", BYTES("\x14\x03\x00"), .rbx = SP_AT + 8},
	{"a value saved below the stack pointer", BYTES("\x83\x04"), .rbx = WORD(SP_AT - 24)},
	{"a value saved outside of the dump", BYTES("\x11\x03\x80\x60"), .rbx = UNKNOWN},
	{"an offset of more than 32 bits", BYTES("\x11\x03\x80\x80\x80\x80\x70"), .rbx = UNKNOWN},
	{"rsp by its own rule", BYTES("\x15\x07\x7e"), .cfa = SP_AT + 24, .ip = WORD(SP_AT)},
	{"rsp by an unsupported expression", BYTES("\x16\x07\x02\x9b\x9b"), .answer = JP_CFI_NONE},
	{"a return address by an unsupported expression", BYTES("\x16\x10\x02\x9b\x9b"),
	 .answer = JP_CFI_NONE},
	{"a CFA by an unsupported expression", CFA_IS("\x02", "\x9b\x9b"), .answer = JP_CFI_NONE},
	{"a CFA by an empty expression", CFA_IS("\x00", ""), .answer = JP_CFI_NONE},
	{"a CFA outside of the dump", CFA_IS("\x01", "\x30"), .answer = JP_CFI_STACK},
	/* Constants: rsp plus or minus 16. */
	{"lit", CFA_IS("\x04", "\x77\0\x40\x22"), .cfa = SP_AT + 16},
	{"const1u", CFA_IS("\x05", "\x77\0\x08\x10\x22"), .cfa = SP_AT + 16},
	{"const1s", CFA_IS("\x05", "\x77\0\x09\xf0\x22"), .cfa = SP_AT - 16},
	{"const2u", CFA_IS("\x06", "\x77\0\x0a\x10\0\x22"), .cfa = SP_AT + 16},
	{"const2s", CFA_IS("\x06", "\x77\0\x0b\xf0\xff\x22"), .cfa = SP_AT - 16},
	{"const4u", CFA_IS("\x08", "\x77\0\x0c\x10\0\0\0\x22"), .cfa = SP_AT + 16},
	{"const4s", CFA_IS("\x08", "\x77\0\x0d\xf0\xff\xff\xff\x22"), .cfa = SP_AT - 16},
	{"const8u", CFA_IS("\x0c", "\x77\0\x0e\x10\0\0\0\0\0\0\0\x22"), .cfa = SP_AT + 16},
	{"const8s", CFA_IS("\x0c", "\x77\0\x0f\xf0\xff\xff\xff\xff\xff\xff\xff\x22"),
	 .cfa = SP_AT - 16},
	{"constu", CFA_IS("\x06", "\x77\0\x10\x90\0\x22"), .cfa = SP_AT + 16},
	{"consts", CFA_IS("\x05", "\x77\0\x11\x70\x22"), .cfa = SP_AT - 16},
	{"plus_uconst behind nop", CFA_IS("\x05", "\x77\0\x96\x23\x10"), .cfa = SP_AT + 16},
	/* Registers and memory. */
	{"breg", RBX_IS("\x02", "\x76\x08"), .rbx = 0x7208},
	{"breg of more than 32 bits", RBX_IS("\x06", "\x76\x80\x80\x80\x80\x70"),
	 .rbx = 0x7200 - (UINT64_C(1) << 32)},
	{"bregx", RBX_IS("\x03", "\x92\x06\x08"), .rbx = 0x7208},
	{"bregx of an unsupported register", RBX_IS("\x03", "\x92\x50\x08"), .rbx = UNKNOWN},
	{"over", RBX_IS("\x05", "\x77\0\x35\x14\x1c"), .rbx = 5 - SP_AT},
	{"deref", RBX_IS("\x03", "\x77\x10\x06"), .rbx = WORD(SP_AT + 16)},
	{"deref_size", RBX_IS("\x04", "\x77\x10\x94\x02"), .rbx = WORD(SP_AT + 16) & 0xffff},
	{"deref_size of nothing", RBX_IS("\x04", "\x77\x10\x94\x00"), .rbx = UNKNOWN},
	{"deref_size of nine bytes", RBX_IS("\x04", "\x77\x10\x94\x09"), .rbx = UNKNOWN},
	{"a value at an address", RBX_IS_AT("\x02", "\x77\x20"), .rbx = WORD(SP_AT + 32)},
	{"a value at a missing address", RBX_IS_AT("\x01", "\x30"), .rbx = UNKNOWN},
	/* Jumps. */
	{"skip", RBX_IS("\x06", "\x35\x2f\1\0\x37\x96"), .rbx = 5},
	{"bra that jumps", RBX_IS("\x07", "\x35\x31\x28\1\0\x37\x96"), .rbx = 5},
	{"bra that does not", RBX_IS("\x07", "\x35\x30\x28\1\0\x37\x96"), .rbx = 7},
	{"a jump to the end", RBX_IS("\x06", "\x35\x2f\2\0\x37\x96"), .rbx = 5},
	{"a jump into an operand", RBX_IS("\x07", "\x35\x2f\1\0\x08\x07\x96"), .rbx = UNKNOWN},
	{"a jump before the start", RBX_IS("\x05", "\x35\x2f\x80\xff\x37"), .rbx = UNKNOWN},
	/* Rules that several compilers write. */
	{.label = "a nop", BYTES("\0")},
	{"more of the stack, and rbp on it", BYTES("\x0e\x20\x86\x02"), .cfa = SP_AT + 32,
	 .rbp = WORD(SP_AT + 16)},
	{.label = "a value saved below the dump", BYTES("\x83\x40")},
	{"a rule of a register that no machine has", BYTES("\x0e\x20\x05\x21\x02"),
	 .cfa = SP_AT + 32},
	{"a CFA far above the dump", BYTES("\x0e\x80\x80\x80\x80\x01"), .answer = JP_CFI_STACK},
	{"a CFA like a PLT's", CFA_IS("\x0a", "\x77\x08\x73\x00\x33\x2a\x33\x24\x22\x96"),
	 .cfa = SP_AT + 16},
	{"a CFA of another register", CFA_IS("\x04", "\x73\xdd\xdb\x01"), .cfa = SP_AT + 16},
	{"a product", RBX_IS("\x04", "\x35\x34\x1e\x96"), .rbx = 20},
	{"an operation not allowed in call frames", BYTES("\x16\x10\x02\xa1\x01"),
	 .answer = JP_CFI_NONE},
	{"an expression that never ends", BYTES("\x16\x10\x04\x30\x2f\xfc\xff"),
	 .answer = JP_CFI_NONE},
};

TEST(rules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const uint64_t cfa = rules[i].cfa ?: SP_AT + 8, ip = rules[i].ip ?: WORD(cfa - 8);
		struct jp_bytes frame = {0};
		struct jp_error err = {""};
		struct jp_cfi *cfi;

		make_tables(&frame, rules[i].program, rules[i].size, IP, false);
		cfi = open_made(&frame, EM_X86_64, &err);
		jp_bytes_free(&frame);
		if (!check(cfi, "%s: tables %s", rules[i].label, err.text))
			continue;
		/* A row just compiled, another address of its range, and a cached row. */
		for (int offset = 0; offset < 3; offset++) {
			struct jp_regs regs;
			enum jp_cfi_answer answer = step_once(cfi, CODE + offset % 2, &regs);
			uint64_t rbx = regs.mask & 1 << RBX ? regs.r[RBX] : UNKNOWN;

			check(answer == rules[i].answer &&
				      (answer != JP_CFI_STEPPED ||
				       (regs.r[RSP] == cfa && regs.r[IP] == ip &&
					rbx == (rules[i].rbx ?: 0x333) &&
					regs.r[RBP] == (rules[i].rbp ?: 0x7200))),
			      "%s: answer %d, rsp %#lx, rip %#lx, rbx %#lx", rules[i].label, answer,
			      (long)regs.r[RSP], (long)regs.r[IP], (long)rbx);
			/* Registers clobbered by calls, and registers that do not exist. */
			check(answer != JP_CFI_STEPPED ||
				      !(regs.mask & (1 | -(UINT64_C(1) << JP_REGS))),
			      "%s: no other register is known", rules[i].label);
		}
		jp_cfi_close(cfi);
	}
}

static enum jp_cfi_answer answer_of(const void *program, size_t size, uint8_t ra, bool is_signal,
				    uint64_t vaddr)
{
	struct jp_bytes frame = {0};
	struct jp_regs regs;
	enum jp_cfi_answer answer;
	struct jp_cfi *cfi;

	make_tables(&frame, program, size, ra, is_signal);
	cfi = open_made(&frame, EM_X86_64, NULL);
	jp_bytes_free(&frame);
	if (!cfi)
		exit(99);
	answer = step_once(cfi, vaddr, &regs);
	jp_cfi_close(cfi);
	return answer;
}

TEST(frames)
{
	unsigned char program[4 + 300] = {0x0f, 0xac, 0x02, 0x77, 0x00}; /* breg7, then many nops */

	check(answer_of("", 0, IP, true, CODE) == JP_CFI_SIGNAL, "a signal frame is recognized");
	check(answer_of("", 0, 80, false, CODE) == JP_CFI_NONE,
	      "a return address in an unsupported column gives no step");
	check(answer_of("", 0, IP, false, CODE + CODE_SIZE) == JP_CFI_NONE,
	      "an address behind the last function gives no step");
	memset(program + 5, 0x96, sizeof(program) - 5);
	check(answer_of(program, 3 + 300, IP, false, CODE) == JP_CFI_NONE,
	      "an expression of too many operations gives no step");
}

/* Rows that need only the CFA are direct: their loads are checked once, by lowest offset and
 * span. */
TEST(direct_rows)
{
	static const struct {
		const char *label, *program;
		size_t size;
		bool direct, signal;
		int32_t low;
		uint32_t span;
	} rows[] = {
		{"the return address", BYTES(""), true, false, -8, 0},
		{"registers below the return address", BYTES("\x0e\x20\x83\x04\x86\x02"), true,
		 false, -32, 24},
		{"a register above the return address", BYTES("\x11\x03\x7f"), true, false, -8, 16},
		{"rsp loaded from the stack", BYTES("\x87\x02"), .direct = false},
		{"a register computed from the CFA", BYTES("\x14\x03\x02"), .direct = false},
		{"a CFA by an expression of one register", CFA_IS("\x02", "\x77\x10"),
		 .direct = true, .low = -8},
		{"a CFA loaded from the stack", CFA_IS("\x03", "\x77\x10\x06"), .direct = false},
		{"a signal frame", BYTES(""), .signal = true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_bytes frame = {0};
		struct jp_cfi_row row = {0};
		struct jp_cfi *cfi;

		make_tables(&frame, rows[i].program, rows[i].size, IP, rows[i].signal);
		cfi = open_made(&frame, EM_X86_64, NULL);
		if (cfi)
			jp_cfi_row_at(cfi, CODE, &row);
		check(cfi && row.count && row.direct == rows[i].direct &&
			      (!row.direct || (row.low == rows[i].low && row.span == rows[i].span)),
		      "%s: %sdirect, from %d, span %u", rows[i].label, row.direct ? "" : "not ",
		      row.low, row.span);
		jp_cfi_close(cfi);
		jp_bytes_free(&frame);
	}
}

TEST(open_tables)
{
	static const struct {
		const char *label, *program;
		size_t size;
	} unsound[] = {
		{"register 2^60", BYTES("\x07\x80\x80\x80\x80\x80\x80\x80\x80\x10")},
		{"an expression that ends behind its record", BYTES("\x0f\x7f")},
		{"a cut operand", BYTES("\x04\x01")},
	};
	struct jp_bytes frame = {0};
	struct jp_error err = {""};
	struct jp_cfi_row row;
	struct jp_cfi *cfi;

	for (size_t i = 0; i < sizeof(unsound) / sizeof(*unsound); i++) {
		make_tables(&frame, unsound[i].program, unsound[i].size, IP, false);
		check(!open_made(&frame, EM_X86_64, &err), "%s is refused: %s", unsound[i].label,
		      err.text);
		jp_bytes_free(&frame);
	}
	make_tables(&frame, "", 0, IP, false);
	check(!open_made(&frame, EM_SPARC, &err) &&
		      strstr(err.text, "cannot unwind code of ELF machine 2"),
	      "tables of another machine are refused: %s", err.text);
	cfi = open_made(&frame, EM_X86_64, NULL);
	jp_bytes_set32(&frame, 0, 1000);
	check(!open_made(&frame, EM_X86_64, &err) && *err.text,
	      "a record longer than its section is refused: %s", err.text);
	jp_bytes_free(&frame);
	if (!check(cfi, "tables are opened"))
		return;
	for (int i = 0; i < 2; i++)
		check(jp_cfi_row_at(cfi, CODE, &row) && row.kind == JP_ROW_STEP &&
			      row.cfa.kind == JP_RULE_REG && row.cfa.reg == RSP &&
			      row.cfa.offset == 8,
		      "rules at an address are found, %s", i ? "cached" : "compiled");
	check(jp_cfi_vaddr(cfi, CODE + 8) == CODE + 8, "an offset in the code has an address");
	check(jp_cfi_vaddr(cfi, 0) == 0, "the start of the first page has an address");
	check(jp_cfi_vaddr(cfi, CODE + CODE_SIZE) == CODE + CODE_SIZE, "the end has an address");
	check(jp_cfi_vaddr(cfi, 1 << 20) == UINT64_MAX, "an offset beyond the code has none");
	jp_cfi_close(cfi);
	jp_cfi_close(NULL);
}
