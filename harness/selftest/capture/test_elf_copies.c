// SPDX-License-Identifier: GPL-2.0-only
/* Tests that an error in making the folder for ELF files names what could not be made. */
#include <string.h>
#include <sys/stat.h>

#include "harness/capture/elf_copies.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/scratch.h"

static void check_failure(const char *name)
{
	struct jp_error err = {""};
	struct jp_elf_copies *copies = jp_elf_copies_start(scratch_folder(), false, &err);

	check(!copies && strstr(err.text, name), "the error names %s: %s", name, err.text);
	jp_elf_copies_finish(copies, NULL);
}

TEST(errors_name_the_file)
{
	char index[4096];

	if (!scratch_write(scratch_path("elf"), "", 0))
		exit(99);
	check_failure("/elf/index: ");
	remove(scratch_path("elf"));
	snprintf(index, sizeof(index), "%s/index", scratch_path("elf"));
	if (mkdir(scratch_path("elf"), 0700) || mkdir(index, 0700))
		exit(99);
	check_failure("/elf/index: ");
}
