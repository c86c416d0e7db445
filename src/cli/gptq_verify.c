/* SPDX-License-Identifier: Apache-2.0 */
/* gptq-verify: do two checkpoints hold the same weights? */
#include "cli.h"
#include "progress.h"
#include "verify_print.h"

#include <getopt.h>
#include <string.h>

enum {
	OPT_FROM_A,
	OPT_FROM_B,
	OPT_V1_STYLE_A,
	OPT_V1_STYLE_B,
	OPT_METHOD,
	OPT_DEVICE,
	OPT_JOBS,
	OPT_LAYERS,
	OPT_JSON,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_PROGRESS,
	OPT_HELP,
	OPT_VERSION,
};

static const struct cli_option options_table[] = {
	[OPT_FROM_A] =
		{"from-a", 0, CLI_ARG_REQUIRED, "auto|v1|v2|by-layer",
		 "The format of A. auto (the default) decides by label and tensors together and gives up when they "
		 "contradict each other; v1 or v2 settles it; by-layer reads each layer of a mixed model by its own "
		 "verdict."},
	[OPT_FROM_B] = {"from-b", 0, CLI_ARG_REQUIRED, "auto|v1|v2|by-layer", "The format of B, likewise."},
	[OPT_V1_STYLE_A] = {"v1-style-a", 0, CLI_ARG_REQUIRED, "STYLE",
			    "How A, if it is v1, stores a zero point of 0: auto, lane, word or gptqmodel-3bit."},
	[OPT_V1_STYLE_B] = {"v1-style-b", 0, CLI_ARG_REQUIRED, "STYLE", "The same for B."},
	[OPT_METHOD] =
		{"method", 0, CLI_ARG_REQUIRED, "auto|table|every",
		 "How equality is proved. table: equal codes and groups, and equal products of every code; every: each "
		 "weight of both sides is formed. auto (the default) takes table where it applies."},
	[OPT_DEVICE] = {"device", 0, CLI_ARG_REQUIRED, "auto|cpu|cuda[:N]",
			"Where weights are compared; auto (the default) takes a GPU that is there."},
	[OPT_JOBS] = {"jobs", 'j', CLI_ARG_REQUIRED, "N", "Threads; by default one a core."},
	[OPT_LAYERS] = {"layers", 'l', CLI_ARG_NONE, NULL, "Report on every layer, not only on those that differ."},
	[OPT_JSON] = {"json", 0, CLI_ARG_NONE, NULL, "Print the report, or why there is none, as one JSON object."},
	[OPT_QUIET] = {"quiet", 'q', CLI_ARG_NONE, NULL, "Print no report and no warnings; the exit code tells."},
	[OPT_VERBOSE] = {"verbose", 'v', CLI_ARG_NONE, NULL, "Say why no GPU was taken."},
	[OPT_PROGRESS] = {"progress", 0, CLI_ARG_REQUIRED, "auto|always|never",
			  "A line on standard error while it works; auto means on a terminal, after a second."},
	[OPT_HELP] = {"help", 'h', CLI_ARG_NONE, NULL, "Print this help and exit."},
	[OPT_VERSION] = {"version", 'V', CLI_ARG_NONE, NULL, "Print the version and exit."},
	{NULL, 0, CLI_ARG_NONE, NULL, NULL},
};

static const struct cli_command command = {
	.name = "gptq-verify",
	.usage = "[options] A B",
	.description =
		"Says whether two GPTQ checkpoints hold the same weights, bit for bit, whatever their formats, v1 "
		"styles, sharding, and widths of code and word. A and B are model folders, a hub cache's "
		"models--org--name folders, or safetensors files. Tensors that are not quantised are compared byte by "
		"byte.",
	.options = options_table,
	.read_only = true,
	.epilogue = "exit codes:\n"
		    "  0      the same weights\n"
		    "  1      not the same weights\n"
		    "  2      wrong use, or could not decide: unreadable, or not settled\n"
		    "  128+n  ended by signal n\n"
		    "\n"
		    "examples:\n"
		    "  gptq-verify MODEL MODEL-v2\n"
		    "  gptq-verify --method every --device cpu MODEL MODEL-v2\n"
		    "  gptq-verify --from-a v1 --json MODEL MODEL-v2\n",
};

struct settings {
	struct gptq_verify_options o;
	bool layers, json, quiet, verbose;
	enum cli_when progress;
};

/* The number of a word in a list that ends with NULL, or -1 after a message. */
static int choice(int option, const char *arg, const char *const *words)
{
	char shown[256];

	for (int i = 0; words[i]; i++)
		if (strcmp(arg, words[i]) == 0)
			return i;
	cli_mask(shown, sizeof(shown), arg);
	cli_error(&command, "--%s: '%s' is none of the words it takes (see --help)", options_table[option].name, shown);
	return -1;
}

static bool parse_from(struct settings *s, int option, const char *arg)
{
	static const char *const words[] = {"auto", "v1", "gptq", "v2", "gptq_v2", "by-layer", NULL};
	static const enum gptq_zeros_format formats[] = {GPTQ_ZEROS_NONE, GPTQ_ZEROS_V1, GPTQ_ZEROS_V1,
							 GPTQ_ZEROS_V2,   GPTQ_ZEROS_V2, GPTQ_ZEROS_NONE};
	unsigned side = option == OPT_FROM_B;
	int i = choice(option, arg, words);

	if (i < 0)
		return false;
	s->o.from[side] = formats[i];
	s->o.by_layer[side] = i == 5;
	return true;
}

static bool parse_style(struct settings *s, int option, const char *arg)
{
	static const char *const words[] = {"auto", "lane", "word", "gptqmodel-3bit", NULL};
	static const enum gptq_v1_style styles[] = {GPTQ_STYLE_NONE, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						    GPTQ_STYLE_GPTQMODEL_3BIT};
	int i = choice(option, arg, words);

	if (i >= 0)
		s->o.v1_style[option == OPT_V1_STYLE_B] = styles[i];
	return i >= 0;
}

static bool parse_jobs(struct settings *s, const char *arg)
{
	char shown[256];

	if (cli_parse_number(arg, &s->o.jobs) && s->o.jobs > 0)
		return true;
	cli_mask(shown, sizeof(shown), arg);
	cli_error(&command, "--jobs takes a number from 1 to 9999, not '%s'", shown);
	return false;
}

static bool apply_option(void *settings, int option, const char *arg)
{
	struct settings *s = settings;
	static const char *const methods[] = {"auto", "table", "every", NULL};
	static const char *const whens[] = {"auto", "always", "never", NULL};
	int i;

	switch (option) {
	case OPT_FROM_A:
	case OPT_FROM_B:
		return parse_from(s, option, arg);
	case OPT_V1_STYLE_A:
	case OPT_V1_STYLE_B:
		return parse_style(s, option, arg);
	case OPT_METHOD:
		i = choice(option, arg, methods);
		s->o.method = i < 0 ? GPTQ_METHOD_AUTO : (enum gptq_method)i;
		return i >= 0;
	case OPT_PROGRESS:
		i = choice(option, arg, whens);
		s->progress = i < 0 ? CLI_AUTO : (enum cli_when)i;
		return i >= 0;
	case OPT_DEVICE:
		return cli_parse_device(&command, arg, &s->o.device, &s->o.device_number);
	case OPT_JOBS:
		return parse_jobs(s, arg);
	case OPT_LAYERS:
		return s->layers = true;
	case OPT_JSON:
		return s->json = true;
	case OPT_QUIET:
		return s->quiet = true;
	case OPT_VERBOSE:
		return s->verbose = true;
	default:
		return false;
	}
}

/* Options into settings. false: stop with *code. */
static bool parse(int argc, char **argv, struct settings *s, int *code)
{
	if (!cli_parse(&command, argc, argv, apply_option, s, code))
		return false;
	if (argc - optind != 2)
		cli_error(&command, "two operands are needed, A and B, not %d (see --help)", argc - optind);
	else if (!argv[optind][0] || !argv[optind + 1][0])
		cli_error(&command, "A and B cannot be empty");
	else
		return true;
	return false;
}

static void say(const struct settings *s, const struct gptq_verify_report *r)
{
	for (unsigned i = 0; i < 2 && !s->quiet; i++)
		if (r->sides[i].warning)
			cli_warning(&command, "%c: %s", "AB"[i], r -> sides[i].warning);
	if (s->verbose && r->device_note)
		cli_warning(&command, "no GPU is used: %s", r->device_note);
}

int main(int argc, char **argv)
{
	struct settings s = {.o = {.struct_size = sizeof(s.o)}};
	struct gptq_verify_report *report;
	struct cli_progress progress;
	struct gptq_hooks hooks;
	struct gptq_error err;
	enum gptq_status status;
	const char *paths[2];
	int code;

	cli_keep_memory();
	cli_catch_signals();
	if (!parse(argc, argv, &s, &code))
		return code;
	paths[0] = argv[optind];
	paths[1] = argv[optind + 1];
	cli_progress_init(&progress, s.quiet ? CLI_NEVER : s.progress, &hooks);
	s.o.hooks = &hooks;
	status = gptq_verify(paths[0], paths[1], &s.o, &report, &err);
	cli_progress_end(&progress);
	if (status != GPTQ_OK) {
		code = cli_fail(&command, &err);
		/* What is refused is not decided; 1 would say that the weights differ. */
		code = code == CLI_NO ? CLI_TROUBLE : code;
		if (s.json)
			verify_print_failure_json(stdout, paths, &err, code);
		return cli_finish(&command, code);
	}
	say(&s, report);
	if (s.json)
		verify_print_json(stdout, paths, report, s.layers);
	else if (!s.quiet)
		verify_print_text(stdout, paths, report, s.layers);
	code = report->same ? CLI_OK : CLI_NO;
	gptq_verify_report_free(report);
	return cli_finish(&command, code);
}
