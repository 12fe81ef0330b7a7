// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each reader and each writer with the Nth call of a kind failing: the same result, or an error
 * with its words, or the shortage is noted; and nothing leaks.
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

static int see(void *context, const struct jp_event *event)
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

static int capture(const char *path, struct jp_error *err)
{
	struct jp_perfdata_summary summary = {0};
	int ret = jp_capture_read(path, see, NULL, &summary, err);

	mix(summary.samples);
	return ret;
}

/* The same through standard input, which cannot be mapped. */
static int stream(const char *path, struct jp_error *err)
{
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(path, 1 << 16, &size, NULL);
	jp_cleanup_close int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	int ends[2], ret;

	if (!bytes)
		return jp_fail(err, ENOMEM, "the test's own");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
	    send(ends[1], bytes, size, 0) != (ssize_t)size || dup2(ends[0], STDIN_FILENO) < 0)
		exit(99);
	close(ends[0]);
	close(ends[1]);
	ret = capture("-", err);
	dup2(saved, STDIN_FILENO);
	return ret;
}

static int jitdump(const char *path, struct jp_error *err)
{
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, err);
	struct jp_jitdump_record record;
	int more = dump ? 1 : -EINVAL;

	while (more > 0) {
		more = jp_jitdump_next(dump, &record, err);
		mix(more > 0 ? record.type : 99);
	}
	jp_jitdump_close(dump);
	return more;
}

static int code_loads(const char *path, struct jp_error *err)
{
	struct jp_code_loads loads;
	int ret = jp_code_loads_read(path, &loads, err);

	if (!ret) {
		for (size_t i = 0; i < loads.count; i++)
			mix_text(loads.loads[i].name);
		mix(loads.folder.bad);
		jp_code_loads_free(&loads);
	}
	return ret;
}

static int debug_line(const char *path, struct jp_error *err)
{
	static const struct jp_line_row row = {0x1000, 7, "a.c"};
	struct jp_debug_line lines = {.last = 0};
	struct jp_bytes parts[3] = {{.size = 0}};

	jp_debug_line_add(&lines, row.addr, 16, &row, 1);
	jp_debug_line_end(&lines, &parts[0], &parts[1], &parts[2]);
	jp_debug_line_free(&lines);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		mix(parts[i].size);
		jp_bytes_free(&parts[i]);
	}
	return 0;
}

static int perf_map(const char *path, struct jp_error *err)
{
	struct jp_perf_map *map = read_perf_map(path, -1, err);

	if (!map)
		return -EINVAL;
	mix_text(jp_perf_map_find(map, 0x10001) ?: "");
	mix(jp_perf_map_bad_lines(map));
	jp_perf_map_free(map);
	return 0;
}

static int symbols(const char *path, struct jp_error *err)
{
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct jp_elf_input input = {.fd = fd};
	struct jp_elf_symbols symbols = {0};
	int ret = jp_elf_symbols(&input, &input, &symbols, err);

	if (ret) /* then nothing is left to free */
		return ret;
	mix(symbols.count);
	jp_elf_symbols_free(&symbols);
	return 0;
}

static int elf(const char *path, struct jp_error *err)
{
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct jp_elf_image image = {0};
	struct jp_build_id id = {0};
	int ret = jp_elf_extract(fd, NULL, 0, &image, err);
	const char *saved;
	char text[41];

	mix(image.size);
	jp_elf_image_free(&image);
	ret = ret ?: jp_elf_save(fd, NULL, 0, scratch, &id, err);
	saved = scratch_path(jp_build_id_text(&id, text));
	if (!ret)
		mix_file(saved);
	unlink(saved); /* what is there is not written again */
	return ret;
}

static int reduce(const char *path, struct jp_error *err)
{
	struct jp_reduced reduced = {0};
	const char *copy = scratch_path("reduced");
	jp_cleanup_close int fd = -1;
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(path, 1 << 20, &size, NULL);
	int ret;

	if (!bytes || !scratch_write(copy, bytes, size))
		return jp_fail(err, EIO, "the test's own");
	fd = open(copy, O_RDWR | O_CLOEXEC);
	ret = jp_perfdata_reduce(copy, fd, &reduced, err);
	jp_reduced_free(&reduced);
	if (!ret)
		mix_file(copy);
	return ret;
}

static int writer(const char *path, struct jp_error *err)
{
	static const struct jp_perf_attr attr = {.size = sizeof(attr)};
	const struct jp_perfdata_event events[] = {{&attr, "one"}, {&attr, "two"}};
	struct jp_perfdata_writer *writer =
		jp_perfdata_create(scratch_path("written"), events, 2, err);
	int ret;

	if (!writer)
		return -ENOMEM;
	ret = jp_perfdata_id(writer, 1, 7);
	if (ret)
		jp_fail(err, -ret, "an id");
	jp_perfdata_round(writer);
	ret = jp_perfdata_close(writer, 1, 2, ret ? NULL : err) ?: ret;
	if (!ret)
		mix_file(scratch_path("written"));
	return ret;
}

static char parts[128]; /* a capture that is a folder */

static const struct subject subjects[] = {
	{"capture", CORPUS "two_events.data", capture},
	{"compressed", CORPUS "compressed.data", capture},
	{"deferred", CORPUS "deferred.data", capture},
	{"swapped", CORPUS "swapped.data", capture},
	{"pipe", CORPUS "pipe.data", stream},
	{"folder", parts, capture},
	{"observations", CORPUS "observations", capture},
	{"jitdump", CORPUS "every.dump", jitdump},
	{"code loads", FIXTURES "growth", code_loads},
	{"line table", "", debug_line},
	{"perf map", CORPUS "names.map", perf_map},
	{"symbols", CORPUS "symbols.elf", symbols},
	{"ELF", CORPUS "program.elf", elf},
	{"reduce", FIXTURES "anon/perf.data", reduce},
	{"writer", "", writer},
};

int main(int argc, char **argv)
{
	size_t size;
	char *bytes = jp_file_read(CORPUS "two_events.data", 1 << 20, &size, NULL);

	snprintf(parts, sizeof(parts), "%s", scratch_make("parts"));
	if (!bytes || mkdir(parts, 0700) || !scratch_write(scratch_path("parts/data"), bytes, size))
		return 99;
	free(bytes);
	fail_all(subjects, sizeof(subjects) / sizeof(*subjects), argc > 1 ? argv[1] : NULL);
	return check_done();
}
