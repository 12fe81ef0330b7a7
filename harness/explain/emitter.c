// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/emitter.h"

#include <string.h>

#include "harness/base/number.h"
#include "harness/base/path.h"

/* Names of memory mappings that identify a runtime, whatever the program is called. */
static const struct {
	const char *memory, *runtime;
} owners[] = {
	{"/memfd:doublemapper", "dotnet"},
};

/* Returns the last image of @pid whose emitted code has a known caller; if there is none, the last
 * image; NULL if there is no image. */
static const struct jp_image *find_image(const struct jp_ends *ends, uint32_t pid)
{
	const struct jp_image *found = NULL;

	for (size_t i = 0; i < ends->images.count; i++) {
		const struct jp_image *image = ends->images.all[i];

		if (image->pid == pid && (image->caller || !found || !found->caller))
			found = image;
	}
	return found;
}

/* Returns whether @file is Python's program or library from before 3.12, which emit no code. */
static bool is_old_python(const char *file)
{
	static const char prefix[] = "python3.";
	const char *version = file ? strstr(jp_path_base(file), prefix) : NULL;
	uint64_t minor;

	if (!version)
		return false;
	version += sizeof(prefix) - 1;
	return jp_number_take(&version, 10, UINT8_MAX, &minor) && minor < 12;
}

const struct jp_runtime *jp_emitter_find(const struct jp_ends *ends, uint32_t pid,
					 const char *memory, const char *comm, const char **caller)
{
	const struct jp_image *image = find_image(ends, pid);
	const struct jp_runtime *runtime = NULL;

	*caller = NULL;
	for (size_t i = 0; memory && i < sizeof(owners) / sizeof(*owners); i++)
		if (strncmp(memory, owners[i].memory, strlen(owners[i].memory)) == 0)
			return jp_runtime_find(owners[i].runtime);
	if (image && image->caller)
		runtime = jp_runtime_find(image->caller);
	if (!runtime && image && image->library)
		runtime = jp_runtime_find(image->library);
	if (image && !image->caller && (!runtime || runtime == jp_runtime_find("python")) &&
	    (is_old_python(image->library) || is_old_python(image->program)))
		return NULL;
	/* Python calls engines of other libraries. */
	if (runtime && image->caller && image->caller != image->program &&
	    runtime == jp_runtime_find("python") && runtime != jp_runtime_find(image->caller))
		runtime = NULL;
	if (!runtime && image && image->caller && image->caller != image->program) {
		*caller = image->caller;
		return NULL;
	}
	if (!runtime && image && image->program)
		runtime = jp_runtime_find(image->program);
	return runtime ?: jp_runtime_find(comm);
}
