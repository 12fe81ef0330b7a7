// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/mapping_name.h"

#include <string.h>

#include "harness/base/number.h"
#include "harness/base/path.h"

/* Returns whether @name is a file that a JIT created for its code and removed immediately: liborc's
 * orcexec.XXXXXX, libffi's ffiXXXXXX, or the #INODE of open(O_TMPFILE). */
static bool is_temporary(const char *name)
{
	const char *file = jp_path_base(name);
	const char *end = strstr(file, " (deleted)");
	size_t length = end ? (size_t)(end - file) : 0;

	if (strncmp(file, "orcexec.", 8) == 0 || strncmp(file, "ffi", 3) == 0)
		return length == (*file == 'o' ? 14 : 9);
	return length > 1 && *file == '#' && strspn(file + 1, "0123456789") == length - 1;
}

/* Returns whether shm_open() can create @name: not in a subdirectory of /dev/shm, from which
 * programs may run. */
static bool is_shared_memory(const char *name)
{
	static const char folder[] = "/dev/shm/";
	const size_t length = sizeof(folder) - 1;

	return strncmp(name, folder, length) == 0 &&
	       strcspn(name + length, "/") == strlen(name + length);
}

bool jp_mapping_is_perf_map(const char *name, uint32_t *pid)
{
	static const char start[] = "/tmp/perf-";
	const char *pos = name + sizeof(start) - 1;
	uint64_t number;

	if (strncmp(name, start, sizeof(start) - 1) != 0 ||
	    !jp_number_take(&pos, 10, UINT32_MAX, &number) || strcmp(pos, ".map") != 0)
		return false;
	*pid = (uint32_t)number;
	return true;
}

enum jp_backing jp_mapping_backing(const char *name)
{
	static const struct {
		const char *prefix;
		enum jp_backing backing;
	} prefixes[] = {
		{"//anon", JP_BACKING_ANON},
		{"[anon:", JP_BACKING_ANON},
		{"[anon_shmem:", JP_BACKING_ZERO},
		{"/memfd:", JP_BACKING_MEMFD},
		{"/dev/zero", JP_BACKING_ZERO},
		{"/SYSV", JP_BACKING_SYSV},
		{"/anon_hugepage", JP_BACKING_HUGETLB},
		{"[heap]", JP_BACKING_HEAP},
		{"[stack", JP_BACKING_ANON},
		{"/dev/ashmem/", JP_BACKING_MEMFD}, /* ashmem, Android's predecessor of memfd */
	};
	uint32_t pid;

	if (!*name || jp_mapping_is_perf_map(name, &pid))
		return JP_BACKING_ANON;
	if (is_temporary(name))
		return JP_BACKING_MEMFD;
	if (is_shared_memory(name))
		return JP_BACKING_SHM;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
			return prefixes[i].backing;
	return JP_BACKING_FILE;
}

size_t jp_mapping_name_length(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(name), tail = sizeof(deleted) - 1;

	return length > tail && strcmp(name + length - tail, deleted) == 0 ? length - tail : length;
}

bool jp_mapping_same_name(const char *name, const char *other_name)
{
	const size_t a = strlen(name), b = strlen(other_name), shorter = a < b ? a : b;

	/* The suffix " (deleted)" may also belong to the file's own name: one of the names can then
	 * have it twice. */
	return memcmp(name, other_name, shorter) == 0 &&
	       (a == b || jp_mapping_name_length(a < b ? other_name : name) == shorter);
}

/* Returns the rest of @base after "PREFIXpid-index", or NULL if it does not match. */
static const char *skip_numbers(const char *base, const char *prefix)
{
	const char *pos = base + strlen(prefix);
	uint64_t number;

	if (strncmp(base, prefix, strlen(prefix)) != 0 ||
	    !jp_number_take(&pos, 10, UINT32_MAX, &number) || *pos++ != '-' ||
	    !jp_number_take(&pos, 10, UINT64_MAX, &number))
		return NULL;
	return pos;
}

bool jp_mapping_injected(const char *path)
{
	const char *base = jp_path_base(path), *perfs = skip_numbers(base, "jitted-"),
		   *ours = skip_numbers(base, "jit-");

	/* jitproof's files are in OUT.jit/, or in jit/ of a case. */
	return (perfs && strcmp(perfs, ".so") == 0) ||
	       (ours && *ours == '.' && base - path > 5 && memcmp(base - 4, "jit/", 4) == 0 &&
		(base[-5] == '.' || base[-5] == '/'));
}

uint32_t jp_mapping_jitdump_number(const char *path)
{
	const char *base = jp_path_base(path), *pos = base + 4;
	uint64_t number;

	if (*path != '/' || strncmp(base, "jit-", 4) != 0 || jp_mapping_injected(path) ||
	    !jp_number_take(&pos, 10, INT32_MAX, &number))
		return 0;
	return jp_mapping_same_name(".dump", pos) || skip_numbers(base, "jit-") ? (uint32_t)number
										: 0;
}

bool jp_mapping_holds_code(const struct jp_event *event)
{
	/* simpleperf marks the files of a JIT by a higher bit, PROT_JIT_SYMFILE_MAP (0x4000). */
	const uint32_t prot = event->map.prot & 7;

	if (prot & JP_PROT_EXEC || !event->map.code)
		return prot & JP_PROT_EXEC;
	return !prot ||
	       (prot == JP_PROT_READ && jp_mapping_backing(event->map.name) != JP_BACKING_ANON);
}
