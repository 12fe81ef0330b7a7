// SPDX-License-Identifier: GPL-2.0-only
/* Tests placing functions of a jitdump in ELF files without overlap, and writing each file
 * completely or not at all. */
#include <elf.h>
#include <signal.h>
#include <sys/resource.h>

#include "harness/base/output_folder.h"
#include "harness/format/jit/jit_elf.h"
#include "harness/format/jit/jit_layout.h"
#include "harness/selftest/support/scratch.h"

enum { ALIGN = 16, MANY = 5000 };

/* Many functions at one address: the first get a file each, the others are packed into one. */
TEST(functions_at_one_address)
{
	jp_cleanup_free struct jp_jit_function *functions = calloc(MANY, sizeof(*functions));
	unsigned int packed = 0, apart = 0, aligned = 0;
	int files;

	if (!check(functions, "memory for %d functions", MANY))
		return;
	for (int i = 0; i < MANY; i++) {
		functions[i].addr = 0x1000;
		functions[i].size = 5 + i % 40;
	}
	files = jp_jit_layout(functions, MANY);
	for (int i = 0; i < MANY; i++) {
		const struct jp_jit_function *before = i ? &functions[i - 1] : NULL;

		aligned += functions[i].offset && functions[i].offset % ALIGN == 0;
		if (before && before->file == functions[i].file) {
			packed++;
			apart += before->offset + before->size <= functions[i].offset &&
				 functions[i].offset - before->offset < before->size + ALIGN;
		}
	}
	check(files > 1 && files < MANY, "%d functions need only %d files", MANY, files);
	check(packed > 100 && apart == packed, "%u of %u packed ones lie close", apart, packed);
	check(aligned == MANY, "%u functions are aligned to %d", aligned, ALIGN);
}

TEST(overlapping_and_distant_functions)
{
	struct jp_jit_function functions[] = {{.addr = 0x3000, .size = 0x10},
					      {.addr = 0x1000, .size = 0x20},
					      {.addr = 0x1020, .size = 0x10},
					      {.addr = 0x1010, .size = 0x8}};
	int files = jp_jit_layout(functions, 4);

	check(files == 2, "a function over another needs a second file: %d", files);
	check(functions[0].file == functions[1].file && functions[1].file == functions[2].file &&
		      functions[0].offset - functions[1].offset == 0x2000 &&
		      functions[2].offset - functions[1].offset == 0x20,
	      "the others keep their distances");
	check(functions[3].file != functions[0].file, "the overlapping function is alone there");
}

TEST(failed_write)
{
	static const unsigned char code[4096] = {0xc3};
	const struct jp_jit_function function = {
		.addr = 0x1000, .size = sizeof(code), .code = code, .name = "f", .offset = 64};
	const struct jp_jit_function *const functions[] = {&function};
	struct rlimit limit;
	struct jp_jit_elf elf;
	struct jp_error err = {""};
	rlim_t before;
	int ret;

	if (getrlimit(RLIMIT_FSIZE, &limit) || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
	    jp_output_folder_begin(scratch_path("jit"), &err))
		exit(99);
	before = limit.rlim_cur;
	limit.rlim_cur = 1024;
	setrlimit(RLIMIT_FSIZE, &limit);
	ret = jp_jit_elf_write(7, EM_X86_64, functions, 1, 0, &elf, &err);
	limit.rlim_cur = before;
	setrlimit(RLIMIT_FSIZE, &limit);
	check(ret == -EFBIG && strstr(err.text, elf.name),
	      "a file larger than the limit is an error: %s", err.text);
	check(jp_output_folder_existing(elf.name, NULL) < 0, "the file does not exist");
	check(!jp_jit_elf_write(7, EM_X86_64, functions, 1, 0, &elf, &err) && elf.size > 4096,
	      "the file can be written once the limit is lifted");
	jp_output_folder_end();
}
