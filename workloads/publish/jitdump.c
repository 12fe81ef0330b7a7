// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/format/jit/jitdump_format.h"
#include "harness/base/excuse.h"
#include "harness/base/cleanup.h"
#include "harness/base/trusted_path.h"
#include "harness/base/order.h"
#include "harness/base/registry.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/eh_frame.h"
#include "workloads/emit/maps.h"
#include "workloads/publish/own_file.h"

enum fault {
	RIGHT,
	CUT,         /* the last record is cut short */
	ZERO_TAIL,   /* the file is always longer than the written records */
	NO_PADDING,  /* records that should be padded to 8 bytes are not */
	PADDED_CODE, /* each LOAD has padding after the code, although perf expects its end there */
	VMA0,        /* vma is 0 in every LOAD */
	DEBUG_AFTER_LOAD,
	TIME_BACKWARDS, /* every second LOAD has an earlier time than the LOAD before */
	SILENT_STOP,    /* writes nothing after SOME loads, as on a full disk */
	LONG_HEADER,    /* the header has 48 bytes, which the format allows */
	MARKER_UNMAPPED,
	MARKER_LATE, /* the marker is mapped after SOME loads */
	WRONG_SLOT,  /* unwinding tables place the return address one word too low */
	LATE_ROWS,   /* each row of the unwinding tables begins one byte too late */
	VERSION_2,   /* the header has version 2, which does not exist */
	UNRELOCATED, /* the size of each frame is 0 in the code, as before a relocation */
	SHARED,      /* forked children append to the file of their parent */
	ARCH_TIMES,  /* the header states that times are those of a CPU counter, which is false */
	OTHER_NAME,  /* the file is called PID.jitdump */
	LINKED,      /* as OTHER_NAME, and jit-PID.dump is a symbolic link to the file */
};
static const char fault_names[] =
	"cut zero-tail no-padding padded-code vma0 debug-after-load time-backwards silent-stop "
	"long-header marker-unmapped marker-late wrong-slot late-rows version-2 "
	"unrelocated shared arch-times other-name linked";

/* SOME: number of loads before a fault. TAIL: bytes of zeros. LINES: debug entries of a function.
 * BACK_NS: ns by which a time is too early. */
enum { SOME = 16, TAIL = 64 << 10, LINES = 4, BACK_NS = 10000000 };

static struct {
	int fd;
	char path[PATH_MAX];
	enum fault fault;
	void *marker;
	size_t marker_size;
	uint64_t end;  /* number of bytes written */
	uint64_t last; /* offset of the last record */
	uint64_t loads, time;
	uint64_t opened; /* time in the header */
	bool parents;    /* we are a forked child and append to the file of our parent */
} dump = {.fd = -1};

/* Appends the parts in one call, so that a reader sees whole records. Returns 0 or -errno. */
static int append_parts(struct iovec *parts, int count)
{
	size_t size = 0;
	ssize_t nr_written;

	for (int i = 0; i < count; i++)
		size += parts[i].iov_len;
	nr_written = pwritev(dump.fd, parts, count, dump.end);
	if (nr_written != (ssize_t)size)
		return nr_written < 0 ? -errno : -ENOSPC;
	dump.last = dump.end;
	dump.end += size;
	if (dump.fault == ZERO_TAIL && ftruncate(dump.fd, dump.end + TAIL) < 0)
		return -errno;
	return 0;
}

/* Maps the file executable (the marker): perf finds the jitdump by the record of this mapping. */
static int map_marker(void)
{
	uint64_t before = jp_clock_now();

	dump.marker_size = sysconf(_SC_PAGESIZE);
	dump.marker = mmap(NULL, dump.marker_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump.fd, 0);
	if (dump.marker == MAP_FAILED) {
		int ret = -errno;

		dump.marker = NULL;
		fprintf(stderr, "jitproof workload: %s: mmap, executable: %s\n", dump.path,
			jp_maps_describe_error(-ret));
		return ret;
	}
	jp_truth_map(before, jp_clock_now(),
		     &(struct jp_truth_mapping){.addr = (uintptr_t)dump.marker,
						.len = dump.marker_size,
						.prot = JP_PROT_READ | JP_PROT_EXEC,
						.backing = JP_BACKING_FILE,
						.name = jp_truth_text(dump.path)});
	return 0;
}

static int unmap_marker(void)
{
	uint64_t before = jp_clock_now();

	if (!dump.marker)
		return 0;
	if (munmap(dump.marker, dump.marker_size) < 0)
		return -errno;
	jp_truth_unmap(before, jp_clock_now(), (uintptr_t)dump.marker, dump.marker_size);
	dump.marker = NULL;
	return 0;
}

static int put_header(void)
{
	static const char extension[8];
	const uint64_t now = jp_clock_now();
	struct jp_jitdump_header header = {
		.magic = JP_JITDUMP_MAGIC,
		.version = JP_JITDUMP_VERSION + (dump.fault == VERSION_2),
		.total_size = sizeof(header),
		.elf_mach = jp_arch_elf.machine,
		.pid = getpid(),
		.timestamp = now,
		.flags = dump.fault == ARCH_TIMES ? JP_JITDUMP_ARCH_TIMESTAMP : 0,
	};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)extension, 0}};

	dump.opened = now;
	if (dump.fault == LONG_HEADER)
		header.total_size += parts[1].iov_len = sizeof(extension);
	return append_parts(parts, 2);
}

/* Removes the link @link to @file, which an earlier image of this process made. */
static void remove_link(const char *link, const char *file)
{
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target));

	if (length == (ssize_t)strlen(file) && memcmp(target, file, (size_t)length) == 0)
		unlink(link);
}

/* Creates the file in @dir. Returns 0 or -errno. */
static int create_file(const char *dir)
{
	char usual[PATH_MAX], other[PATH_MAX];

	snprintf(usual, sizeof(usual), "%s/jit-%d.dump", dir, getpid());
	snprintf(other, sizeof(other), "%s/%d.jitdump", dir, getpid());
	strcpy(dump.path, dump.fault == OTHER_NAME || dump.fault == LINKED ? other : usual);
	remove_link(usual, other);
	dump.fd = jp_create_own_file(dump.path);
	if (dump.fd < 0 || dump.fault != LINKED)
		return dump.fd < 0 ? dump.fd : 0;
	return symlink(dump.path, usual) < 0 ? -errno : 0;
}

static int dump_open(const char *dir, const char *fault)
{
	const char *name = dir ? dir : getenv("TMPDIR");
	jp_cleanup_close int folder = -1;
	char *real_path = NULL, link[40];
	int ret;

	if (dump.fd >= 0 && dump.fault == SHARED) {
		dump.parents = true;
		return 0;
	}
	unmap_marker(); /* in a forked child: the marker of the parent */
	if (dump.fd >= 0)
		close(dump.fd);
	memset(&dump, 0, sizeof(dump));
	dump.fault = (enum fault)jp_publish_fault(fault_names, fault);
	if (!name || !*name)
		name = "/tmp";
	folder = jp_open_named_folder(name, strlen(name));
	/* The path that the kernel will record for the marker. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	errno = -folder;
	if (folder >= 0)
		real_path = realpath(link, NULL);
	if (!real_path) {
		perror(name);
		dump.fd = -1;
		return -errno;
	}
	ret = create_file(real_path);
	free(real_path);
	if (ret)
		return ret;
	/* If children append to the file, offsets that each process counts for itself are wrong:
	 * with O_APPEND the kernel ignores them. */
	ret = dump.fault == SHARED && fcntl(dump.fd, F_SETFL, O_APPEND) < 0 ? -errno : put_header();
	if (!ret && dump.fault != MARKER_LATE)
		ret = map_marker();
	if (!ret && dump.fault == MARKER_UNMAPPED)
		ret = unmap_marker();
	return ret;
}

/* Returns the number of bytes that pad @size to a multiple of 8. */
static size_t get_padding(size_t size)
{
	return dump.fault == NO_PADDING ? 0 : -size & 7;
}

static int put_debug(const struct jp_published *code, uint64_t time)
{
	/* Room for a name twice as long as the longest published name. */
	char names[512], bytes[LINES * (sizeof(struct jp_jitdump_debug_entry) + sizeof(names))];
	struct jp_jitdump_debug debug = {
		.prefix = {JP_JITDUMP_DEBUG_INFO, sizeof(debug), time},
		.code_addr = code->addr,
		.nr_entry = LINES,
	};
	char zeros[8] = "";
	size_t length = 0;

	snprintf(names, sizeof(names), "/jitproof/%.400s.jit", code->name);
	for (unsigned i = 0; i < LINES; i++) {
		struct jp_jitdump_debug_entry entry = {
			.addr = code->addr + code->size * i / LINES,
			.line = 10 * (i + 1),
		};
		const char *name =
			i && jp_publish_extras() & JP_PUBLISH_DEBUG_SHORT ? "\xff" : names;

		memcpy(bytes + length, &entry, sizeof(entry));
		length += sizeof(entry);
		memcpy(bytes + length, name, strlen(name) + 1);
		length += strlen(name) + 1;
	}
	struct iovec parts[] = {{&debug, sizeof(debug)},
				{bytes, length},
				{zeros, get_padding(sizeof(debug) + length)}};

	debug.prefix.total_size += length + parts[2].iov_len;
	return append_parts(parts, 3);
}

/* Inserts the selected fault into tables that jp_eh_frame() wrote: one CIE, one FDE. */
static void insert_fault_into_tables(unsigned char *tables)
{
	/* Offsets in the CIE (slot of the return address) and in the FDE (begin and size of its
	 * code, which must not extend past the code's end). */
	enum { SLOT = 21, FDE_BEGIN = 8, FDE_SIZE = 12 };
	uint32_t cie, word;

	if (dump.fault == WRONG_SLOT)
		tables[SLOT]++;
	if (dump.fault != LATE_ROWS)
		return;
	memcpy(&cie, tables, sizeof(cie));
	tables += cie + sizeof(cie);
	memcpy(&word, tables + FDE_BEGIN, sizeof(word));
	word++;
	memcpy(tables + FDE_BEGIN, &word, sizeof(word));
	memcpy(&word, tables + FDE_SIZE, sizeof(word));
	word--;
	memcpy(tables + FDE_SIZE, &word, sizeof(word));
}

static int put_unwinding(const struct jp_published *code, uint64_t time)
{
	unsigned char tables[JP_EH_FRAME_MOST];
	struct jp_jitdump_unwinding unwinding = {
		.prefix = {JP_JITDUMP_UNWINDING_INFO, sizeof(unwinding) + code->unwinding_size,
			   time},
		.unwinding_size = code->unwinding_size,
		.eh_frame_hdr_size = code->unwinding_hdr_size,
		.mapped_size = code->unwinding_mapped,
	};
	char zeros[8] = "";
	struct iovec parts[] = {{&unwinding, sizeof(unwinding)},
				{tables, code->unwinding_size},
				{zeros, get_padding(unwinding.prefix.total_size)}};

	memcpy(tables, code->unwinding, code->unwinding_size);
	insert_fault_into_tables(tables);
	unwinding.prefix.total_size += parts[2].iov_len;
	return append_parts(parts, 3);
}

/* Returns a copy of the function's code into which the selected fault is inserted; the caller frees
 * it. Returns NULL if out of memory. */
static unsigned char *copy_code(const struct jp_published *code)
{
	static const unsigned char frame[] = {0x48, 0x81, 0xec}; /* sub $SIZE, %rsp */
	unsigned char *copy = malloc(code->size), *frame_in_copy;

	if (!copy)
		return NULL;
	memcpy(copy, code->code, code->size);
	frame_in_copy = memmem(copy, code->size, frame, sizeof(frame));
	if (dump.fault == UNRELOCATED && frame_in_copy)
		memset(frame_in_copy + sizeof(frame), 0, sizeof(uint32_t));
	return copy;
}

static int put_load(const struct jp_published *code, uint64_t time)
{
	struct jp_jitdump_load load = {
		.prefix = {JP_JITDUMP_LOAD, 0, time},
		.pid = getpid(),
		.tid = syscall(SYS_gettid),
		.vma = dump.fault == VMA0 ? 0 : code->addr,
		.code_addr = code->addr,
		.code_size = code->size,
		.code_index = code->index,
	};
	char zeros[8] = "";
	unsigned char *copy = copy_code(code);
	struct iovec parts[] = {{&load, sizeof(load)},
				{(void *)code->name, strlen(code->name) + 1},
				{copy, code->size},
				{zeros, 0}};
	int ret;

	if (!copy)
		return -ENOMEM;
	load.prefix.total_size = sizeof(load) + parts[1].iov_len + parts[2].iov_len;
	/* A correct record ends with the code, so it has no padding. */
	if (dump.fault == PADDED_CODE)
		parts[3].iov_len = get_padding(load.prefix.total_size);
	load.prefix.total_size += parts[3].iov_len;
	ret = append_parts(parts, 4);
	free(copy);
	return ret;
}

static int dump_load(const struct jp_published *code)
{
	int debug = dump.fault == DEBUG_AFTER_LOAD ||
		    jp_publish_extras() & (JP_PUBLISH_DEBUG | JP_PUBLISH_DEBUG_SHORT);
	uint64_t time = jp_clock_now();
	int ret = 0;

	if (dump.fault == SILENT_STOP && dump.loads == SOME)
		return 0;
	if (dump.fault == TIME_BACKWARDS && dump.loads % 2)
		time = jp_max(dump.opened, dump.time - BACK_NS);
	dump.time = time;
	if (debug && dump.fault != DEBUG_AFTER_LOAD)
		ret = put_debug(code, time);
	if (!ret && code->unwinding)
		ret = put_unwinding(code, time);
	if (!ret)
		ret = put_load(code, time);
	if (!ret && dump.fault == DEBUG_AFTER_LOAD)
		ret = put_debug(code, time);
	if (!ret && ++dump.loads == SOME && dump.fault == MARKER_LATE)
		ret = map_marker();
	return ret;
}

static int dump_move(const struct jp_published *code, uint64_t old_addr)
{
	struct jp_jitdump_move move = {
		.prefix = {JP_JITDUMP_MOVE, sizeof(move), jp_clock_now()},
		.pid = getpid(),
		.tid = syscall(SYS_gettid),
		.vma = code->addr,
		.old_code_addr = old_addr,
		.new_code_addr = code->addr,
		.code_size = code->size,
		.code_index = code->index,
	};
	struct iovec part = {&move, sizeof(move)};

	if (dump.fault == SILENT_STOP && dump.loads == SOME)
		return 0;
	return append_parts(&part, 1);
}

static int dump_close(void)
{
	struct jp_jitdump_prefix prefix = {JP_JITDUMP_CLOSE, sizeof(prefix), jp_clock_now()};
	struct iovec part = {&prefix, sizeof(prefix)};
	int ret;

	if (dump.parents) {
		close(dump.fd);
		dump.fd = -1;
		return 0;
	}
	/* A dump without records keeps its header. */
	if (dump.fault == CUT)
		ret = dump.last && ftruncate(dump.fd, dump.last + (dump.end - dump.last) / 2)
			      ? -errno
			      : 0;
	else if (dump.fault == SILENT_STOP || dump.fault == ZERO_TAIL)
		ret = 0;
	else
		ret = append_parts(&part, 1);
	unmap_marker();
	close(dump.fd);
	dump.fd = -1;
	return ret;
}

JP_DEFINE(publisher, jitdump) = {
	.name = "jitdump",
	.help = "a jitdump, DIR/jit-PID.dump; DIR is $TMPDIR or /tmp",
	.faults = fault_names,
	.open = dump_open,
	.load = dump_load,
	.move = dump_move,
	.close = dump_close,
};

/* Excuses for the exceptions that each fault causes (docs/publishing.md). */
static const struct jp_excuse costs[] = {
	{"jitdump:cut", "publish=*:cut", "jitdump.absent jitdump.records order.bad",
	 "no-record no-load jitdump", "processes.images",
	 "the last record of each dump is cut short"},
	{"jitdump:cut.extras", "publish=*:cut --publish-with=*", "jitdump.records", "no-load",
	 "processes.images", "debug and unwinding records precede the load that is cut"},
	{"jitdump:cut.names", "publish=*:cut", "load.unnamed names.unnamed", "not-published", NULL,
	 "the last record of each dump is cut short"},
	{"jitdump:zero-tail", "publish=*:zero-tail", "order.bad", "jitdump", NULL,
	 "zeros after the records are no records"},
	{"jitdump:padded-code", "publish=*:padded-code", "jitdump.records broken.*", "other-code",
	 NULL, "the code is taken from the end of the record"},
	{"jitdump:vma0", "publish=*:vma0", "jitdump.records", "other-vma", NULL, "vma is 0"},
	{"jitdump:debug-after-load", "publish=*:debug-after-load", "jitdump.records",
	 "no-load other-lines", NULL, "each function has the previous one's lines"},
	{"jitdump:time-backwards", "publish=*:time-backwards",
	 "jitdump.records injected.absent injected.mappings", "other-time no-record no-code", "1/2",
	 "every second load is older than its code"},
	{"jitdump:time-backwards.stray", "publish=*:time-backwards", "inject.stray", "no-code",
	 "1/2", "every second load is older than its code"},
	{"jitdump:time-backwards.wrong", "publish=*:time-backwards inject=*", "load.wrong",
	 "stale later", "order.loads",
	 "a load that is too old names the code that was there before"},
	{"jitdump:time-backwards.samples", "publish=*:time-backwards inject=*", "names.wrong",
	 "stale later", "names.elf", "a load that is too old names the code that was there before"},
	{"jitdump:time-backwards.worse", "publish=*:time-backwards inject=*", "inject.worse",
	 "was-unnamed", "names.wrong",
	 "a load that is too old names the code that was there before"},
	{"jitdump:time-backwards.names", "publish=*:time-backwards",
	 "order.hidden load.unnamed names.unnamed", "remapped coalesced hidden not-injected", NULL,
	 "every second load is older than its code"},
	{"jitdump:silent-stop", "publish=*:silent-stop",
	 "jitdump.absent load.unnamed names.unnamed", "no-record not-published", NULL,
	 "nothing follows 16 loads"},
	{"jitdump:absent.loads", "publish=*:[cs][ui][tl]* inject=*", "load.wrong", "stale",
	 "jitdump.absent", "code without a load has the name of older code at its address"},
	{"jitdump:absent.samples", "publish=*:[cs][ui][tl]* inject=*", "names.wrong", "stale", NULL,
	 "code without a load has the name of older code at its address"},
	{"jitdump:absent.worse", "publish=*:[cs][ui][tl]* inject=*", "inject.worse", "was-unnamed",
	 "names.wrong", "code without a load has the name of older code at its address"},
	{"jitdump:absent.tables", "publish=*:[cs][ui][tl]* --publish-with=*unwinding*",
	 "broken.dump broken.dump_cfi wrong.dump wrong.dump_cfi extra.dump extra.dump_cfi", "*",
	 "other-tables", "code without a load is unwound by tables of older code at its address"},
	{"jitdump:time-backwards.tables", "publish=*:time-backwards --publish-with=*unwinding*",
	 "broken.dump broken.dump_cfi wrong.dump wrong.dump_cfi extra.dump extra.dump_cfi", "*",
	 "other-tables", "a load that is too old has its tables replaced by those of older code"},
	{"jitdump:unstripped", "publish=*:[cs][ui][tl]* inject=strip", "load.unnamed names.unnamed",
	 "no-mapping", NULL, "a dropped record also covered code that is not published"},
	{"jitdump:long-header", "publish=*:long-header inject=perf*",
	 "load.unnamed names.unnamed order.hidden injected.absent inject.worse",
	 "not-published not-injected no-map no-mapping hidden coalesced reprotected remapped "
	 "no-record was-right",
	 NULL, "perf reads nothing after a longer header (perf.inject-long-header)"},
	{"jitdump:marker-late", "publish=*:marker-late inject=*",
	 "load.unnamed names.unnamed order.hidden",
	 "not-injected hidden coalesced reprotected remapped", NULL,
	 "a process with less than 16 functions maps no marker"},
	{"jitdump:marker-unmapped", "publish=*:marker-unmapped !launch",
	 "load.unnamed names.unnamed order.hidden", "*", NULL, "an attach finds no jitdump"},
	{"jitdump:wrong-slot", "publish=*:wrong-slot", "broken.*", "bad-cfi", NULL,
	 "unwinders read the return address one word too low"},
	{"jitdump:late-rows", "publish=*:late-rows", "broken.*", "bad-cfi hole no-cfi", NULL,
	 "after each change of the frame, the old row of the table still applies"},
	{"jitdump:arch-times.records", "publish=*:arch-times", "jitdump.records", "other-clock",
	 "processes.images", "the header of each dump, even without loads, states another clock"},
	{"jitdump:arch-times.loads", "publish=*:arch-times", "jitdump.records", "other-clock",
	 "1/2", "the header of each dump with loads states another clock"},
	{"jitdump:arch-times", "publish=*:arch-times",
	 "load.unnamed names.unnamed order.hidden injected.absent",
	 "not-injected no-map hidden coalesced reprotected remapped no-record", NULL,
	 "the dump's times cannot be compared with the capture's, so nothing is injected"},
	{"jitdump:arch-times.refused", "publish=*:arch-times", "inject", "refused", NULL,
	 "perf has no times of the capture for the dump"},
	{"jitdump:other-name", "publish=*:other-name", "load.unnamed names.unnamed",
	 "no-map not-published", NULL, "no profiler recognizes a jitdump by another name"},
	{"jitdump:linked", "publish=*:linked", "load.unnamed names.unnamed order.bad",
	 "not-published jitdump", NULL,
	 "the kernel records the linked file, whose name no profiler recognizes"},
	{"jitdump:version-2", "publish=*:version-2", "load.unnamed names.unnamed order.bad",
	 "not-published jitdump", NULL, "nobody reads version 2"},
	{"jitdump:version-2.refused", "publish=*:version-2", "inject", "refused", NULL,
	 "perf refuses version 2, and injects nothing of any process"},
};
JP_REGISTER_ROWS(excuse, costs);
