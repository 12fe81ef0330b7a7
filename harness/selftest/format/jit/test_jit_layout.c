// SPDX-License-Identifier: GPL-2.0-only
/* Where functions of a jitdump lie in files: no two in one place, whatever lay where in the
 * process; and that each file is written whole, or not at all. */
#include <elf.h>
#include <signal.h>
#include <sys/resource.h>

#include "harness/base/output_folder.h"
#include "harness/format/jit/jit_elf.h"
#include "harness/format/jit/jit_layout.h"
#include "harness/selftest/support/scratch.h"

enum { ALIGN = 16, MANY = 5000 };

/* One function after the other at one address: first a file each, then one file for all others. */
static void generations(void)
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
	check(files > 1 && files < MANY, "%d functions lie in %d files", MANY, files);
	check(packed > 100 && apart == packed, "%u of %u lie close behind the one before", apart,
	      packed);
	check(aligned == MANY, "%u of them at a multiple of %d", aligned, ALIGN);
}

/* What lay side by side does so in one file, in whatever order it was loaded. */
static void as_in_process(void)
{
	struct jp_jit_function functions[] = {{.addr = 0x3000, .size = 0x10},
					      {.addr = 0x1000, .size = 0x20},
					      {.addr = 0x1020, .size = 0x10},
					      {.addr = 0x1010, .size = 0x8}};
	int files = jp_jit_layout(functions, 4);

	check(files == 2, "code over other code is in another file: %d", files);
	check(functions[0].file == functions[1].file && functions[1].file == functions[2].file &&
		      functions[0].offset - functions[1].offset == 0x2000 &&
		      functions[2].offset - functions[1].offset == 0x20,
	      "the others are as far apart as they were");
	check(functions[3].file != functions[0].file, "and that alone is elsewhere");
}

/* Of a file that could not be written nothing is left, and whoever asked for it is told. */
static void unwritten(void)
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
	check(ret == -EFBIG && strstr(err.text, elf.name), "a file too large: %s", err.text);
	check(jp_output_folder_existing(elf.name, NULL) < 0, "it is not there");
	check(!jp_jit_elf_write(7, EM_X86_64, functions, 1, 0, &elf, &err) && elf.size > 4096,
	      "and can be written once there is room");
	jp_output_folder_end();
}

int main(void)
{
	generations();
	as_in_process();
	scratch_make("");
	unwritten();
	return check_done();
}
