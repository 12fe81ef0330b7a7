// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the ELF reader: tables, symbols, build ids, call frame information, unwinding steps. */
#include <fcntl.h>
#include <unistd.h>

#include "harness/model/unwind/cfi.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/selftest/fuzz/fuzz.h"

static const char *const files[] = {"harness/selftest/fuzz/corpus/program.elf",
				    "harness/selftest/fuzz/corpus/expressions.elf",
				    "harness/selftest/fuzz/corpus/no_header.elf",
				    "harness/selftest/fuzz/corpus/symbols.elf", NULL};

static uint64_t words[64];

static bool load_word(void *context, uint64_t addr, uint64_t *value)
{
	*value = words[addr / 8 % 64];
	return addr % 5 != 4;
}

static void step_everywhere(struct jp_cfi *cfi)
{
	for (uint64_t offset = 0; offset < 0x30000; offset += offset < 2048 ? 1 : 61) {
		uint64_t vaddr = jp_cfi_vaddr(cfi, offset);
		struct jp_regs regs = {.mask = UINT64_MAX};

		if (vaddr == UINT64_MAX)
			continue;
		for (unsigned int i = 0; i < JP_REGS; i++)
			regs.r[i] = words[i];
		jp_cfi_step(cfi, vaddr, &regs, load_word, NULL);
	}
}

/* Aborts unless symbols are sorted by address and each is found by its own address. */
static void read_symbols(const struct jp_elf_input *file)
{
	struct jp_elf_symbols symbols;
	struct jp_error err;

	jp_elf_tables(file);
	if (jp_elf_symbols(file, file, &symbols, &err))
		return;
	for (size_t i = 0; i < symbols.count; i++) {
		const struct jp_elf_symbol *symbol = &symbols.symbols[i];

		if ((i && symbol->offset <= symbol[-1].offset) || !strlen(symbol->name))
			abort();
		if (jp_elf_symbols_find(&symbols, symbol->offset) != symbol)
			abort();
	}
	jp_elf_symbols_free(&symbols);
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_elf_image image;
	struct jp_cfi *cfi;
	struct jp_build_id id;
	struct jp_error err;
	int fd;

	for (unsigned int i = 0; i < 64; i++)
		words[i] = 0x7ffc00000000 + 8 * i * 3;
	cfi = jp_cfi_open_image(bytes, size, &err);
	if (cfi) {
		step_everywhere(cfi);
		jp_cfi_close(cfi);
	}
	read_symbols(&(struct jp_elf_input){.fd = -1, .image = bytes, .size = size});
	if (!jp_elf_extract(-1, bytes, size, &image, &err))
		jp_elf_image_free(&image);
	/* Read through a descriptor too, as for files mapped in a process. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		abort();
	jp_elf_build_id(fd, NULL, 0, &id, &err);
	cfi = jp_cfi_open(fd, &err);
	jp_cfi_close(cfi);
	close(fd);
}

const struct fuzz_target fuzz_target = {
	.seeds = files,
	.rounds = 600,
	.truncations = 150,
};
