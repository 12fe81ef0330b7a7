// SPDX-License-Identifier: GPL-2.0-only
/* Runs a target's fuzz_one() under clang's libFuzzer, which is guided by coverage. With
 * FUZZ_SEEDS=DIR it only stores the target's seeds in DIR. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/selftest/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t max, unsigned int seed);

enum { MAX_SIZE = 1 << 20 };

static char folder[64], input_path[128];
static int input_fd;

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=1024:handle_abort=1";
}

const char *fuzz_folder(void)
{
	return folder;
}

static void remove_folder(void)
{
	jp_run_dir_remove(folder);
}

static void store_seeds(const char *dir, const char *prefix, const char *const *seeds)
{
	for (size_t i = 0; seeds && seeds[i]; i++) {
		size_t size = 0;
		char *bytes = jp_file_read(seeds[i], MAX_SIZE, &size, NULL);
		char path[512];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s-%zu", dir, prefix, i);
		file = jp_file_create(path, true, NULL);
		if (!bytes || !file || fwrite(bytes, 1, size, file) != size || fclose(file))
			exit(EXIT_FAILURE);
		free(bytes);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *seeds = getenv("FUZZ_SEEDS"), *home = getenv("TMPDIR");

	if (seeds) {
		store_seeds(seeds, "seed", fuzz_target.seeds);
		store_seeds(seeds, "more", fuzz_target.more_seeds);
		exit(EXIT_SUCCESS);
	}
	snprintf(folder, sizeof(folder), "%.40s/jitproof-XXXXXX", home ? home : "/tmp");
	if (!mkdtemp(folder) || atexit(remove_folder))
		abort();
	snprintf(input_path, sizeof(input_path), "%s/input", folder);
	input_fd = open(input_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (input_fd < 0)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
	if (pwrite(input_fd, bytes, size, 0) != (ssize_t)size || ftruncate(input_fd, (off_t)size))
		abort();
	fuzz_one(input_path, bytes, size);
	return 0;
}

size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t size, size_t max, unsigned int seed)
{
	size = LLVMFuzzerMutate(bytes, size, max);
	if (fuzz_target.mend && seed % 4)
		fuzz_target.mend(bytes, size);
	return size;
}
