// SPDX-License-Identifier: GPL-2.0-only
/*
 * While the Nth call of a kind fails, each reader and writer must give the same result, an error
 * with a message, or a noted shortage, and must not leak.
 */
#include <sys/socket.h>

#include "harness/format/capture/capture_read.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/format/jit/code_loads.h"
#include "harness/format/jit/debug_line.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/reduce.h"
#include "harness/format/perfdata/write.h"
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/shortages.h"

static int mix_event(void *context, const struct jp_event *event)
{
	mix(event->type);
	mix(event->time);
	mix((uint64_t)event->pid << 32 | event->tid);
	if (event->type == JP_EVENT_MAP)
		mix_text(event->map.name);
	if (event->type == JP_EVENT_SAMPLE)
		mix(event->sample.nr_chain + event->sample.nr_deferred);
	return 0;
}

static int read_capture(const char *path, struct jp_error *err)
{
	struct jp_perfdata_summary summary = {0};
	int ret = jp_capture_read(path, mix_event, NULL, &summary, err);

	mix(summary.samples);
	return ret;
}

/* Reads through standard input, which cannot be mapped. */
static int read_stream(const char *path, struct jp_error *err)
{
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(path, 1 << 16, &size, NULL);
	jp_cleanup_close int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	int ends[2], ret;

	if (!bytes)
		return jp_fail(err, ENOMEM, "the test's own file");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    send(ends[1], bytes, size, 0) != (ssize_t)size || dup2(ends[0], STDIN_FILENO) < 0)
		exit(99);
	close(ends[0]);
	close(ends[1]);
	ret = read_capture("-", err);
	dup2(saved, STDIN_FILENO);
	return ret;
}

static int read_jitdump(const char *path, struct jp_error *err)
{
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, err);
	struct jp_jitdump_record record;
	int has_record = dump ? 1 : -EINVAL;

	while (has_record > 0) {
		has_record = jp_jitdump_next(dump, &record, err);
		mix(has_record > 0 ? record.type : 99);
	}
	jp_jitdump_close(dump);
	return has_record;
}

static int read_code_loads(const char *path, struct jp_error *err)
{
	struct jp_code_loads loads;
	int ret = jp_code_loads_read(path, &loads, err);

	if (!ret) {
		for (size_t i = 0; i < loads.count; i++)
			mix_text(loads.loads[i].name);
		mix(loads.folder.nr_bad);
		jp_code_loads_free(&loads);
	}
	return ret;
}

static int make_debug_line(const char *path, struct jp_error *err)
{
	static const struct jp_line_row row = {0x1000, 7, "a.c"};
	struct jp_debug_line lines = {.highest = 0};
	struct jp_bytes capture_folder[3] = {{.size = 0}};

	jp_debug_line_add(&lines, row.addr, 16, &row, 1);
	jp_debug_line_end(&lines, &capture_folder[0], &capture_folder[1], &capture_folder[2]);
	jp_debug_line_free(&lines);
	for (size_t i = 0; i < sizeof(capture_folder) / sizeof(*capture_folder); i++) {
		mix(capture_folder[i].size);
		jp_bytes_free(&capture_folder[i]);
	}
	return 0;
}

static int find_in_perf_map(const char *path, struct jp_error *err)
{
	struct jp_perf_map *map = read_perf_map(path, -1, err);

	if (!map)
		return -EINVAL;
	mix_text(jp_perf_map_find(map, 0x10001) ?: "");
	mix(jp_perf_map_bad_lines(map));
	jp_perf_map_free(map);
	return 0;
}

static int read_symbols(const char *path, struct jp_error *err)
{
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct jp_elf_input input = {.fd = fd};
	struct jp_elf_symbols read_symbols = {0};
	int ret = jp_elf_symbols(&input, &input, &read_symbols, err);

	if (ret) /* nothing to free */
		return ret;
	mix(read_symbols.count);
	jp_elf_symbols_free(&read_symbols);
	return 0;
}

static int save_elf(const char *path, struct jp_error *err)
{
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct jp_elf_image image = {0};
	struct jp_build_id id = {0};
	int ret = jp_elf_extract(fd, NULL, 0, &image, err);
	const char *saved;
	char text[41];

	mix(image.size);
	jp_elf_image_free(&image);
	ret = ret ?: jp_elf_save(fd, NULL, 0, scratch_folder(), &id, err);
	saved = scratch_path(jp_build_id_text(&id, text));
	if (!ret)
		mix_file(saved);
	unlink(saved); /* remove it: an existing file would not be written again */
	return ret;
}

static int reduce_copy(const char *path, struct jp_error *err)
{
	struct jp_reduced reduced = {0};
	const char *copy = scratch_path("reduced");
	jp_cleanup_close int fd = -1;
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(path, 1 << 20, &size, NULL);
	int ret;

	if (!bytes || !scratch_write(copy, bytes, size))
		return jp_fail(err, EIO, "the test's own file");
	fd = open(copy, O_RDWR | O_CLOEXEC);
	ret = jp_perfdata_reduce(copy, fd, &reduced, err);
	jp_reduced_free(&reduced);
	if (!ret)
		mix_file(copy);
	return ret;
}

static int write_file(const char *path, struct jp_error *err)
{
	static const struct jp_perf_attr attr = {.size = sizeof(attr)};
	const struct jp_perfdata_event events[] = {{&attr, "one"}, {&attr, "two"}};
	struct jp_perfdata_writer *write_file =
		jp_perfdata_create(scratch_path("written"), events, 2, err);
	int ret;

	if (!write_file)
		return -ENOMEM;
	ret = jp_perfdata_assign_id(write_file, 1, 7);
	if (ret)
		jp_fail(err, -ret, "an id");
	jp_perfdata_round(write_file);
	ret = jp_perfdata_close(write_file, 1, 2, ret ? NULL : err) ?: ret;
	if (!ret)
		mix_file(scratch_path("written"));
	return ret;
}

static char capture_folder[128]; /* a capture that is a folder */

static const struct subject subjects[] = {
	{"capture", CORPUS "two_events.data", read_capture},
	{"compressed", CORPUS "compressed.data", read_capture},
	{"deferred", CORPUS "deferred.data", read_capture},
	{"swapped", CORPUS "swapped.data", read_capture},
	{"pipe", CORPUS "pipe.data", read_stream},
	{"folder", capture_folder, read_capture},
	{"observations", CORPUS "observations", read_capture},
	{"jitdump", CORPUS "every.dump", read_jitdump},
	{"code loads", FIXTURES "growth", read_code_loads},
	{"line table", "", make_debug_line},
	{"perf map", CORPUS "names.map", find_in_perf_map},
	{"symbols", CORPUS "symbols.elf", read_symbols},
	{"ELF", CORPUS "program.elf", save_elf},
	{"reduce", FIXTURES "anon/perf.data", reduce_copy},
	{"writer", "", write_file},
};

TEST(shortages)
{
	size_t size;
	char *bytes = jp_file_read(CORPUS "two_events.data", 1 << 20, &size, NULL);

	snprintf(capture_folder, sizeof(capture_folder), "%s", scratch_make("parts"));
	if (!bytes || mkdir(capture_folder, 0700) ||
	    !scratch_write(scratch_path("parts/data"), bytes, size))
		exit(99);
	free(bytes);
	fail_all(subjects, sizeof(subjects) / sizeof(*subjects), check_arguments[0]);
}
