/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slurp.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <unistd.h>

enum gptq_status gq_read_file(const char *path, size_t max, char **data, size_t *size, struct gptq_error *err)
{
	enum gptq_status status;
	uint64_t file_size;
	int fd;

	*data = NULL;
	status = gq_open_read(path, &fd, &file_size, err);
	if (status != GPTQ_OK)
		return status;
	if (file_size > max) {
		status = gq_fail(err, GPTQ_E_LIMIT, "the file is too large for what it should be");
		gq_error_file(err, path);
		gq_error_found(err, "%llu bytes", (unsigned long long)file_size);
		gq_error_expected(err, "at most %llu", (unsigned long long)max);
		goto out;
	}
	*data = gq_malloc_array((size_t)file_size + 1, 1);
	status = *data ? gq_pread_full(fd, *data, (size_t)file_size, 0, path, err) : gq_fail_nomem(err);
	if (status != GPTQ_OK) {
		gq_free(*data);
		*data = NULL;
		goto out;
	}
	(*data)[file_size] = '\0';
	*size = (size_t)file_size;
out:
	close(fd);
	return status;
}
