// SPDX-License-Identifier: GPL-2.0-only
/* Facts about system calls that JIT code heaps and profilers use if the kernel has them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"

/* Constants that the installed headers may lack. */
enum {
	MEMFD_NOEXEC_SEAL = 8,
	MEMFD_EXEC = 16,
	SYSCALL_MSEAL = 462,
	SYSCALL_MAP_SHADOW_STACK = 453,
	ADVICE_GUARD_INSTALL = 102,
	ADVICE_COLLAPSE = 25,
	MAPPING_DROPPABLE = 8,
	NAME_A_MAPPING = 0x53564d41, /* PR_SET_VMA, PR_SET_VMA_ANON_NAME 0 */
};

static void create_memfd(struct jp_answer *answer)
{
	int fd = memfd_create("fact", MFD_CLOEXEC | (unsigned int)answer->parameter);

	jp_answer_call(answer, "", fd < 0);
}

static void map_noexec_memfd(struct jp_answer *answer)
{
	int fd = memfd_create("fact", MFD_CLOEXEC | MEMFD_NOEXEC_SEAL);
	void *mapped;

	if (fd < 0 || ftruncate(fd, (off_t)jp_test_region_page())) {
		jp_answer_failed(answer, "memfd_create with MFD_NOEXEC_SEAL");
		return;
	}
	mapped = mmap(NULL, jp_test_region_page(), JP_RX, MAP_SHARED, fd, 0);
	jp_answer_call(answer, "", mapped == MAP_FAILED);
}

static void query_procmap(struct jp_answer *answer)
{
	/* struct procmap_query of Linux 6.11: size, query_flags, query_addr ... */
	uint64_t query[13] = {sizeof(query), 0, (uint64_t)(uintptr_t)&create_memfd};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		jp_answer_failed(answer, "/proc/self/maps");
	else
		jp_answer_call(answer, "", ioctl(fd, _IOWR('f', 17, query), query));
}

static void protect_sealed_pages(struct jp_answer *answer, struct jp_watch *watch)
{
	size_t page = jp_test_region_page();

	jp_test_region_map(answer, 0, 2, JP_RX);
	if (syscall(SYSCALL_MSEAL, jp_test_region_at(0), 2 * page, 0UL)) {
		jp_answer_call(answer, "mseal", true);
		jp_answer_list(answer);
		return;
	}
	jp_answer_call(answer, "mprotect", mprotect(jp_test_region_at(0), page, JP_RWX));
	jp_test_region_map(answer, 2, 1, JP_RX);
	jp_answer_maps(answer, watch, JP_FIELDS_RANGE);
}

static void install_guard(struct jp_answer *answer, struct jp_watch *watch)
{
	size_t page = jp_test_region_page();

	jp_test_region_map(answer, 0, 4, JP_RWX);
	jp_answer_call(answer, "madvise",
		       madvise(jp_test_region_at(1), page, ADVICE_GUARD_INSTALL));
	jp_test_region_map(answer, 4, 1, JP_RWX);
	jp_answer_maps(answer, watch, JP_FIELDS_RANGE);
}

static void collapse_pages(struct jp_answer *answer)
{
	jp_test_region_map(answer, 0, 1, JP_RW);
	/* For an empty range the kernel only checks whether it knows the advice. */
	jp_answer_call(answer, "", madvise(jp_test_region_at(0), 0, ADVICE_COLLAPSE));
}

static void map_droppable(struct jp_answer *answer)
{
	void *mapped =
		mmap(NULL, jp_test_region_page(), JP_RW, MAPPING_DROPPABLE | MAP_ANONYMOUS, -1, 0);

	jp_answer_call(answer, "", mapped == MAP_FAILED);
}

static void move_two_mappings(struct jp_answer *answer, struct jp_watch *watch)
{
	size_t page = jp_test_region_page();
	void *mapped;

	jp_test_region_map(answer, 0, 2, JP_RX);
	jp_test_region_map(answer, 2, 2, JP_RWX);
	mapped = mremap(jp_test_region_at(0), 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
			jp_test_region_at(16));
	jp_answer_call(answer, "mremap", mapped == MAP_FAILED);
	jp_answer_maps(answer, watch, JP_FIELDS_RANGE);
}

static void name_mapping(struct jp_answer *answer)
{
	jp_test_region_map(answer, 0, 1, JP_RX);
	jp_answer_call(
		answer, "",
		prctl(NAME_A_MAPPING, 0, jp_test_region_at(0), jp_test_region_page(), "fact"));
}

static void try_shadow_stack(struct jp_answer *answer)
{
	errno = 0;
	/* With size 0, a kernel that has the call rejects it with another error than ENOSYS. */
	syscall(SYSCALL_MAP_SHADOW_STACK, 0UL, 0UL, 0U);
	jp_answer_text(answer, "%s", jp_answer_errno(errno));
}

static void list_kernel_pages(struct jp_answer *answer)
{
	char line[512], *name;
	FILE *file = fopen("/proc/self/maps", "re");

	if (!file) {
		jp_answer_failed(answer, "/proc/self/maps");
		return;
	}
	jp_answer_list(answer);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		name = strstr(line, " [");
		if (name && strncmp(name, " [v", 3) == 0)
			jp_answer_text(answer, "%.4s %s", strchr(line, ' ') + 1, name + 1);
	}
	fclose(file);
}

static const struct jp_fact facts[] = {
	{"call.memfd_create.exec", "Calls memfd_create with MFD_EXEC; ok or the error.",
	 .probe = create_memfd, .parameter = MEMFD_EXEC},
	{"call.memfd_create.noexec_seal",
	 "Calls memfd_create with MFD_NOEXEC_SEAL; ok or the error.", .probe = create_memfd,
	 .parameter = MEMFD_NOEXEC_SEAL},
	{"call.memfd_create.noexec_seal.map",
	 "Maps a memfd with MFD_NOEXEC_SEAL r-x; ok or the error.", .probe = map_noexec_memfd},
	{"call.procmap_query",
	 "Asks for the mapping of an address by the ioctl PROCMAP_QUERY; ok or the error.",
	 .probe = query_procmap},
	{"call.mseal",
	 "Seals two r-x pages, makes them rwx, then maps a page r-x above them; result of "
	 "mprotect, ranges of all records.",
	 .watched = protect_sealed_pages},
	{"call.madvise.guard_install",
	 "Installs a guard in four rwx pages, then maps a page above them; result of madvise, "
	 "ranges of all records.",
	 .watched = install_guard},
	{"call.madvise.collapse",
	 "Calls MADV_COLLAPSE for no bytes; ok, or EINVAL if the kernel does not know it.",
	 .probe = collapse_pages},
	{"call.mmap.droppable", "Calls mmap with MAP_DROPPABLE; ok or the error.",
	 .probe = map_droppable},
	{"call.mremap.two_mappings",
	 "Moves two neighbours, r-x and rwx, by one mremap; its result, ranges of all records.",
	 .watched = move_two_mappings},
	{"call.prctl.anon_name",
	 "Names an anonymous mapping by PR_SET_VMA_ANON_NAME; ok or the error.",
	 .probe = name_mapping},
	{"call.map_shadow_stack",
	 "Calls map_shadow_stack without a size; ENOSYS if the kernel has no such call.",
	 .probe = try_shadow_stack},
	{"maps.kernel_pages",
	 "Reads /proc/self/maps; the kernel's own mappings: vDSO and its data.",
	 .probe = list_kernel_pages},
};
JP_REGISTER_ROWS(fact, facts);
