// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes `jitproof judge FILE`: reading, ordering, replay, unwinding, printing. */
#include <sys/socket.h>
#include <unistd.h>

#include "harness/command/judge_file.h"
#include "harness/selftest/fuzz/fuzz.h"

/* Sizes of the file header and of a pipe's header, and the largest input sent through a pipe. */
enum { FILE_HEADER = 104, HEADER = 16, ROOM = 1 << 16 };

static bool is_pipe(const unsigned char *bytes, size_t size)
{
	uint64_t header;

	if (size < HEADER || size > ROOM)
		return false;
	memcpy(&header, bytes + 8, sizeof(header));
	return header == HEADER;
}

/* Judges standard input, which cannot be mapped. A socket, since a pipe of a user with many pipes
 * holds only one page. */
static void judge_input(const unsigned char *bytes, size_t size)
{
	const struct jp_judge_request request = {
		.method = JP_DUMP, .file = "-", .limit = {"single_frame", 1, true}};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    write(ends[1], bytes, size) != (ssize_t)size || dup2(ends[0], STDIN_FILENO) < 0)
		abort();
	close(ends[0]);
	close(ends[1]);
	jp_judge_file(&request, false); /* keeps descriptor 0 open for the next input */
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	const struct jp_judge_request request = {.method = JP_DUMP,
						 .file = path,
						 .json = size % 16,
						 .unwind = size % 16,
						 .elf = size % 16 ? "validators/fixtures/anon/elf"
								  : NULL};

	jp_judge_file(&request, false);
	if (is_pipe(bytes, size))
		judge_input(bytes, size);
}

/* Makes the data section and the last record end with the file, and removes features. */
static void repair_sizes(unsigned char *bytes, size_t size)
{
	uint64_t header, data_offset;
	uint16_t record;

	if (size < FILE_HEADER)
		return;
	memcpy(&header, bytes + 8, sizeof(header));
	memcpy(&data_offset, bytes + 40, sizeof(data_offset));
	if (header != HEADER) {
		if (data_offset > size)
			return;
		header = size - data_offset;
		memcpy(bytes + 48, &header, sizeof(header));
		memset(bytes + 72, 0, 32);
	} else {
		data_offset = HEADER;
	}
	for (; size - data_offset >= 8; data_offset += record) {
		memcpy(&record, bytes + data_offset + 6, sizeof(record));
		if (record < 8)
			return;
		if (record > size - data_offset) {
			record = (uint16_t)(size - data_offset);
			memcpy(bytes + data_offset + 6, &record, sizeof(record));
		}
	}
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"validators/fixtures/anon/perf.data",
				       "validators/fixtures/memfd/perf.data",
				       "harness/selftest/fuzz/corpus/compressed.data",
				       "harness/selftest/fuzz/corpus/pipe.data",
				       "harness/selftest/fuzz/corpus/two_events.data",
				       "harness/selftest/fuzz/corpus/odd.data",
				       "harness/selftest/fuzz/corpus/deferred.data",
				       "harness/selftest/fuzz/corpus/swapped.data", NULL},
	.rounds = 1000,
	.truncations = 300,
	.mend = repair_sizes,
};
