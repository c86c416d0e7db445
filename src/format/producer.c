/* SPDX-License-Identifier: Apache-2.0 */
#include "format/producer.h"

#include <stdio.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts_with_nocase(const char *s, const char *prefix)
{
	for (; *prefix; s++, prefix++)
		if (lower(*s) != *prefix)
			return false;
	return true;
}

struct gq_version gq_version_parse(const char *text)
{
	static const char *const pre[] = {"dev", "a", "b", "rc", "pre"}; /* alpha, beta, preview begin alike */
	struct gq_version v = {0};
	size_t n = 0;

	while (*text == ' ')
		text++;
	if (lower(*text) == 'v')
		text++;
	while (n < 4 && is_digit(*text)) {
		uint64_t number = 0;

		for (; is_digit(*text); text++)
			number = number < UINT32_MAX / 10 ? number * 10 + (uint64_t)(*text - '0') : UINT32_MAX;
		v.part[n++] = (uint32_t)number;
		v.known = true;
		if (text[0] != '.' || !is_digit(text[1]))
			break;
		text++;
	}
	while (*text == '.' || *text == '-' || *text == '_')
		text++;
	for (size_t i = 0; i < sizeof(pre) / sizeof(pre[0]); i++)
		v.pre = v.pre || (v.known && starts_with_nocase(text, pre[i]));
	return v;
}

static int compare_parts(struct gq_version a, struct gq_version b)
{
	for (size_t i = 0; i < 4; i++)
		if (a.part[i] != b.part[i])
			return a.part[i] < b.part[i] ? -1 : 1;
	return 0;
}

int gq_version_compare(struct gq_version a, struct gq_version b)
{
	int order = compare_parts(a, b);

	return order ? order : (int)b.pre - (int)a.pre;
}

static const struct {
	const char *name;
	enum gq_producer_id id;
} producer_names[] = {
	{"gptqmodel", GQ_PRODUCER_GPTQMODEL},
	{"auto-round", GQ_PRODUCER_AUTO_ROUND},
	{"auto_round", GQ_PRODUCER_AUTO_ROUND},
	{"autoround", GQ_PRODUCER_AUTO_ROUND},
	{"intel/auto-round", GQ_PRODUCER_AUTO_ROUND},
	{"intel/auto_round", GQ_PRODUCER_AUTO_ROUND},
	{"autogptq", GQ_PRODUCER_AUTOGPTQ},
	{"auto_gptq", GQ_PRODUCER_AUTOGPTQ},
	{"auto-gptq", GQ_PRODUCER_AUTOGPTQ},
	{"qllm", GQ_PRODUCER_QLLM},
	{"tgi", GQ_PRODUCER_TGI},
	{"text-generation-inference", GQ_PRODUCER_TGI},
};

/* Printable ASCII only: the name and version go into messages. */
static void copy_plain(char *dst, size_t size, const char *s, size_t n, bool lower_case)
{
	size_t used = 0;

	while (n > 0 && (s[0] == ' ' || s[0] == '\t'))
		s++, n--;
	while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	for (; used < n && used + 1 < size; used++) {
		char c = lower_case ? lower(s[used]) : s[used];

		dst[used] = c > 0x20 && c < 0x7f ? c : '?';
	}
	dst[used] = '\0';
}

bool gq_producer_from_entry(const char *entry, struct gq_producer *p)
{
	const char *colon = strchr(entry, ':');
	size_t version_n;

	*p = (struct gq_producer){.key = GQ_PRODUCER_KEY_QUANTIZER};
	if (!colon)
		return false;
	version_n = strcspn(colon + 1, ":");
	copy_plain(p->name, sizeof(p->name), entry, (size_t)(colon - entry), true);
	copy_plain(p->version, sizeof(p->version), colon + 1, version_n, false);
	p->v = gq_version_parse(p->version);
	for (size_t i = 0; i < sizeof(producer_names) / sizeof(producer_names[0]); i++)
		if (strcmp(p->name, producer_names[i].name) == 0)
			p->id = producer_names[i].id;
	return p->name[0] != '\0';
}

void gq_producer_from_version(enum gq_producer_key key, const char *version, struct gq_producer *p)
{
	bool autogptq = key == GQ_PRODUCER_KEY_METADATA;

	*p = (struct gq_producer){.key = key, .id = autogptq ? GQ_PRODUCER_AUTOGPTQ : GQ_PRODUCER_AUTO_ROUND};
	snprintf(p->name, sizeof(p->name), "%s", autogptq ? "autogptq" : "auto-round");
	copy_plain(p->version, sizeof(p->version), version, strlen(version), false);
	p->v = gq_version_parse(p->version);
}

enum {
	B2 = 1 << 2,
	B3 = 1 << 3,
	B4 = 1 << 4,
	B8 = 1 << 8,
	B248 = B2 | B4 | B8,
	B2348 = B248 | B3,
	ANY_METHOD = 0,
	METHOD_GPTQ = 1,
	METHOD_AUTO_ROUND = 2,
};

/*
 * Who wrote which style: from <= version < before, all zero for no bound. A pre-release of the very version that
 * bounds a row is in no row: the change came in at some time before that release, so its development versions
 * wrote either, and the answer is left open. Without a known version only rows without bounds apply.
 */
static const struct style_row {
	enum gq_producer_id id;
	uint32_t from[4], before[4];
	unsigned bits;
	unsigned method;
	enum gq_producer_style style;
} style_rows[] = {
	{GQ_PRODUCER_GPTQMODEL, {0, 9, 0, 0}, {0}, B248, ANY_METHOD, GQ_PSTYLE_WORD},
	{GQ_PRODUCER_GPTQMODEL, {0, 9, 0, 0}, {7, 0, 0, 0}, B3, ANY_METHOD, GQ_PSTYLE_GPTQMODEL_3BIT},
	{GQ_PRODUCER_GPTQMODEL, {7, 0, 0, 0}, {0}, B3, ANY_METHOD, GQ_PSTYLE_LANE},
	{GQ_PRODUCER_AUTO_ROUND, {0}, {0, 13, 0, 0}, B248, METHOD_GPTQ, GQ_PSTYLE_SMEARED},
	{GQ_PRODUCER_AUTO_ROUND, {0, 13, 0, 0}, {0}, B248, METHOD_GPTQ, GQ_PSTYLE_WORD},
	{GQ_PRODUCER_AUTO_ROUND, {0}, {0, 6, 0, 0}, B248, METHOD_AUTO_ROUND, GQ_PSTYLE_SMEARED},
	{GQ_PRODUCER_AUTO_ROUND, {0, 6, 0, 0}, {0}, B248, METHOD_AUTO_ROUND, GQ_PSTYLE_WORD},
	{GQ_PRODUCER_AUTO_ROUND, {0}, {0}, B3, ANY_METHOD, GQ_PSTYLE_REFUSE},
	{GQ_PRODUCER_AUTOGPTQ, {0}, {0, 7, 1, 1}, B2348, ANY_METHOD, GQ_PSTYLE_SMEARED}, /* up to 0.7.1 itself */
	{GQ_PRODUCER_TGI, {0}, {0}, B2348, ANY_METHOD, GQ_PSTYLE_SMEARED},
	{GQ_PRODUCER_QLLM, {0}, {0}, B2348, ANY_METHOD, GQ_PSTYLE_LANE},
};

/* -1, 0, 1 as for comparing v with a bound; 0 with *blurred set where v is a pre-release of it. */
static int against_bound(struct gq_version v, const uint32_t bound[4], bool *blurred)
{
	struct gq_version b = {.known = true};
	int order;

	memcpy(b.part, bound, sizeof(b.part));
	order = compare_parts(v, b);
	*blurred = order == 0 && v.pre;
	return order;
}

static bool row_has_version(const struct style_row *row, struct gq_version v)
{
	static const uint32_t none[4];
	bool lower_bound = memcmp(row->from, none, sizeof(none)) != 0;
	bool upper_bound = memcmp(row->before, none, sizeof(none)) != 0;
	bool blurred = false;

	if (!lower_bound && !upper_bound)
		return true;
	if (!v.known)
		return false;
	if (lower_bound && (against_bound(v, row->from, &blurred) < 0 || blurred))
		return false;
	return !upper_bound || against_bound(v, row->before, &blurred) < 0;
}

enum gq_producer_style gq_producer_style(const struct gq_producer *p, unsigned bits, bool auto_round_format)
{
	unsigned method = auto_round_format ? METHOD_AUTO_ROUND : METHOD_GPTQ;

	if (bits > 8)
		return GQ_PSTYLE_OPEN;
	for (size_t i = 0; i < sizeof(style_rows) / sizeof(style_rows[0]); i++) {
		const struct style_row *row = &style_rows[i];

		if (row->id == p->id && (row->bits & (1u << bits)) &&
		    (row->method == ANY_METHOD || row->method == method) && row_has_version(row, p->v))
			return row->style;
	}
	return GQ_PSTYLE_OPEN;
}

const char *gq_producer_style_name(enum gq_producer_style style)
{
	static const char *const names[] = {
		[GQ_PSTYLE_LANE] = "lane",
		[GQ_PSTYLE_WORD] = "word",
		[GQ_PSTYLE_GPTQMODEL_3BIT] = "gptqmodel-3bit",
		[GQ_PSTYLE_SMEARED] = "smeared",
		[GQ_PSTYLE_REFUSE] = "refuse",
	};

	return (size_t)style < sizeof(names) / sizeof(names[0]) ? names[style] : NULL;
}

const struct gq_producer *gq_producer_first(const struct gq_producer *producers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (producers[i].id != GQ_PRODUCER_OTHER)
			return &producers[i];
	return n > 0 ? &producers[0] : NULL;
}

bool gq_producer_passes_gptqmodel_gate(const struct gq_producer *producers, size_t n)
{
	static const struct gq_version least = {.known = true, .part = {0, 9, 0, 0}};

	for (size_t i = 0; i < n; i++)
		if (producers[i].id == GQ_PRODUCER_GPTQMODEL)
			return producers[i].v.known && gq_version_compare(producers[i].v, least) >= 0;
	return false;
}
