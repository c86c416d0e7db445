/* SPDX-License-Identifier: Apache-2.0 */
#include "format/dtype.h"

#include <string.h>

static const struct {
	char name[14];
	unsigned char name_size;
	unsigned char bits;
	unsigned char kind;
} table[GQ_N_DTYPES] = {
#define ROW(name, bits, kind) [GPTQ_DTYPE_##name] = {#name, sizeof(#name) - 1, bits, GQ_KIND_##kind}
	ROW(BOOL, 8, BOOL),         ROW(F4, 4, FLOAT),          ROW(F6_E2M3, 6, FLOAT),
	ROW(F6_E3M2, 6, FLOAT),     ROW(U8, 8, UINT),           ROW(I8, 8, INT),
	ROW(F8_E5M2, 8, FLOAT),     ROW(F8_E4M3, 8, FLOAT),     ROW(F8_E8M0, 8, FLOAT),
	ROW(F8_E4M3FNUZ, 8, FLOAT), ROW(F8_E5M2FNUZ, 8, FLOAT), ROW(I16, 16, INT),
	ROW(U16, 16, UINT),         ROW(F16, 16, FLOAT),        ROW(BF16, 16, FLOAT),
	ROW(I32, 32, INT),          ROW(U32, 32, UINT),         ROW(F32, 32, FLOAT),
	ROW(C64, 64, COMPLEX),      ROW(F64, 64, FLOAT),        ROW(I64, 64, INT),
	ROW(U64, 64, UINT),
#undef ROW
};

const char *gptq_dtype_name(enum gptq_dtype dtype)
{
	return (unsigned)dtype < GQ_N_DTYPES ? table[dtype].name : "unknown";
}

unsigned gptq_dtype_bits(enum gptq_dtype dtype)
{
	return (unsigned)dtype < GQ_N_DTYPES ? table[dtype].bits : 0;
}

enum gq_dtype_kind gq_dtype_kind(enum gptq_dtype dtype)
{
	return (unsigned)dtype < GQ_N_DTYPES ? (enum gq_dtype_kind)table[dtype].kind : GQ_KIND_UINT;
}

bool gq_dtype_from_name(const char *name, size_t n, enum gptq_dtype *dtype)
{
	for (unsigned i = 0; i < GQ_N_DTYPES; i++) {
		if (table[i].name_size == n && table[i].name[0] == name[0] && memcmp(table[i].name, name, n) == 0) {
			*dtype = (enum gptq_dtype)i;
			return true;
		}
	}
	return false;
}
