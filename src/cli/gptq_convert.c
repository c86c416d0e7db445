/* SPDX-License-Identifier: Apache-2.0 */
/* gptq-convert: options in, one call of gptq_convert(), report out. */
#include "cli.h"
#include "convert_report.h"
#include "progress.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of --help. The numbers are indexes into the table below. */
enum {
	OPT_TO,
	OPT_FROM,
	OPT_V1_STYLE,
	OPT_ACCEPT_DAMAGED,
	OPT_PER_LAYER,
	OPT_RELABEL,
	OPT_IN_PLACE,
	OPT_ROLLBACK,
	OPT_STRAYS,
	OPT_VERIFY,
	OPT_DEVICE,
	OPT_CONFIG,
	OPT_BITS,
	OPT_JOBS,
	OPT_DRY_RUN,
	OPT_FORCE,
	OPT_MANIFEST,
	OPT_JSON,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_PROGRESS,
	OPT_HELP,
	OPT_VERSION,
};

static const struct cli_option options_table[] = {
	[OPT_TO] = {"to", 0, CLI_ARG_REQUIRED, "v1|v2", "The format to write; gptq and gptq_v2 are the same words."},
	[OPT_FROM] = {"from", 0, CLI_ARG_REQUIRED, "auto|v1|v2",
		      "The format of IN. auto (the default) decides by label and tensors together and refuses when "
		      "they contradict each other; v1 or v2 settles it, and every label is rewritten."},
	[OPT_V1_STYLE] =
		{"v1-style", 0, CLI_ARG_REQUIRED, "STYLE",
		 "How v1 stores a zero point of 0: auto, lane, word or gptqmodel-3bit. When writing v1, giving "
		 "it accepts that readers differ."},
	[OPT_ACCEPT_DAMAGED] = {"accept-damaged", 0, CLI_ARG_NONE, NULL,
				"Convert smeared v1 all the same, lane by lane; the report counts the zero points that "
				"are lost."},
	[OPT_PER_LAYER] = {"per-layer", 0, CLI_ARG_NONE, NULL,
			   "For a mixed model: convert each layer by its own verdict, leaving those that are in the "
			   "target format."},
	[OPT_RELABEL] = {"relabel", 0, CLI_ARG_NONE, NULL,
			 "Instead of --to: change no tensor, make every label say what the tensors (or --from) say."},
	[OPT_IN_PLACE] =
		{"in-place", 'i', CLI_ARG_NONE, NULL,
		 "Convert IN where it lies; there is no OUT. An interrupted run is finished by the same command, or "
		 "by --in-place alone."},
	[OPT_ROLLBACK] = {"rollback", 0, CLI_ARG_NONE, NULL, "Undo an interrupted run of --in-place."},
	[OPT_STRAYS] =
		{"strays", 0, CLI_ARG_REQUIRED, "copy|convert",
		 "What to do with safetensors files outside the model that hold zero points; by default they are "
		 "named and refused."},
	[OPT_VERIFY] =
		{"verify", 0, CLI_ARG_OPTIONAL, "zeros|weights",
		 "zeros: read the written zero points back and compare them with IN, which is always done. weights: "
		 "also prove that every weight of OUT is that of IN."},
	[OPT_DEVICE] = {"device", 0, CLI_ARG_REQUIRED, "auto|cpu|cuda[:N]",
			"Where --verify=weights compares; auto (the default) takes a GPU that is there."},
	[OPT_CONFIG] =
		{"config", 0, CLI_ARG_REQUIRED, "FILE",
		 "For a lone file or a stream: its config, read instead of the configs beside it, never written."},
	[OPT_BITS] = {"bits", 0, CLI_ARG_REQUIRED, "N",
		      "For a lone file or a stream: the width of a code, 2, 3, 4 or 8."},
	[OPT_JOBS] = {"jobs", 'j', CLI_ARG_REQUIRED, "N",
		      "Judge so many layers and write so many files at once, 1 to 256; by default up to 4, as there "
		      "are cores."},
	[OPT_DRY_RUN] = {"dry-run", 'n', CLI_ARG_NONE, NULL, "Decide and report, write nothing."},
	[OPT_FORCE] = {"force", 'f', CLI_ARG_NONE, NULL,
		       "Replace an existing OUT, in one step at the end. With --in-place: change files "
		       "that have other names (hard links) too."},
	[OPT_MANIFEST] = {"manifest", 0, CLI_ARG_OPTIONAL, "FILE",
			  "Write the SHA-256 of every file of OUT, for sha256sum -c: into SHA256SUMS in a folder, into "
			  "OUT.sha256 beside a file, or into FILE."},
	[OPT_JSON] = {"json", 0, CLI_ARG_NONE, NULL, "Print the report, or the refusal, as one JSON object."},
	[OPT_QUIET] = {"quiet", 'q', CLI_ARG_NONE, NULL, "Print no report and no warnings."},
	[OPT_VERBOSE] = {"verbose", 'v', CLI_ARG_NONE, NULL,
			 "Print every label, every file that was left out, and what it cost."},
	[OPT_PROGRESS] = {"progress", 0, CLI_ARG_REQUIRED, "auto|always|never",
			  "A line on standard error while it works; auto means on a terminal, after a second."},
	[OPT_HELP] = {"help", 'h', CLI_ARG_NONE, NULL, "Print this help and exit."},
	[OPT_VERSION] = {"version", 'V', CLI_ARG_NONE, NULL, "Print the version and exit."},
	{NULL, 0, CLI_ARG_NONE, NULL, NULL},
};

static const struct cli_command command = {
	.name = "gptq-convert",
	.usage = "--to v1|v2 [options] IN OUT\n"
		 "       gptq-convert --to v1|v2 --in-place [options] IN",
	.description =
		"Converts a GPTQ checkpoint between the formats gptq (v1) and gptq_v2 (v2), exactly, or refuses "
		"with the reason. IN is a model folder, a hub cache's models--org--name folder, or one "
		"safetensors file, or -; OUT is made anew and appears only when it is whole. IN is never changed, "
		"but with --in-place, which survives being stopped at any moment.",
	.options = options_table,
	.epilogue = "exit codes:\n"
		    "  0      done\n"
		    "  1      refused: converting could lose or falsify weights; nothing was written\n"
		    "  2      wrong use, or could not read, write or decide\n"
		    "  128+n  ended by signal n, after cleaning up\n"
		    "\n"
		    "examples:\n"
		    "  gptq-convert --to v2 MODEL MODEL-v2\n"
		    "  gptq-convert --to v2 --dry-run MODEL MODEL-v2\n"
		    "  gptq-convert --relabel MODEL MODEL-fixed\n"
		    "  gptq-convert --to v2 --in-place MODEL\n",
};

struct settings {
	struct gptq_convert_options o;
	bool json, quiet, verbose, in_place, rollback;
	bool bare_verify; /* --verify without a value */
	enum cli_when progress;
};

/* "--OPTION takes WORDS, not 'VALUE'"; false. */
static bool wrong_value(const char *option, const char *words, const char *value)
{
	char shown[256];

	cli_mask(shown, sizeof(shown), value);
	cli_error(&command, "--%s takes %s, not '%s'", option, words, shown);
	return false;
}

/* One word of a list that ends with NULL: its number, or -1 after a message that shows `takes`. */
static int choice(const char *option, const char *value, const char *const *words, const char *takes)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(value, words[i]) == 0)
			return i;
	wrong_value(option, takes, value);
	return -1;
}

static bool parse_format(const char *option, const char *value, bool with_auto, enum gptq_zeros_format *format)
{
	static const char *const words[] = {"v1", "gptq", "v2", "gptq_v2", "auto", NULL};
	const char *takes = with_auto ? "auto, v1 or v2" : "v1 or v2";
	int i = choice(option, value, words, takes);

	if (i == 4 && !with_auto)
		return wrong_value(option, takes, value);
	*format = i == 4 ? GPTQ_ZEROS_NONE : i < 2 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
	return i >= 0;
}

static bool parse_style(const char *value, enum gptq_v1_style *style)
{
	static const char *const words[] = {"auto", "lane", "word", "gptqmodel-3bit", NULL};
	static const enum gptq_v1_style styles[] = {GPTQ_STYLE_NONE, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						    GPTQ_STYLE_GPTQMODEL_3BIT};
	int i;

	if (strcmp(value, "smeared") == 0) {
		cli_error(&command,
			  "--v1-style: smeared data cannot be read back by any style; --accept-damaged converts "
			  "them lane by lane");
		return false;
	}
	i = choice("v1-style", value, words, "auto, lane, word or gptqmodel-3bit");
	*style = i >= 0 ? styles[i] : GPTQ_STYLE_NONE;
	return i >= 0;
}

static bool parse_bits(const char *value, unsigned *bits)
{
	if (strlen(value) == 1 && strchr("2348", value[0])) {
		*bits = (unsigned)(value[0] - '0');
		return true;
	}
	return wrong_value("bits", "2, 3, 4 or 8", value);
}

static bool parse_verify(struct settings *s, const char *value)
{
	s->o.verify_weights = value && strcmp(value, "weights") == 0;
	s->bare_verify = !value;
	if (!value || s->o.verify_weights || strcmp(value, "zeros") == 0)
		return true;
	return wrong_value("verify", "zeros or weights", value);
}

static bool parse_jobs(const char *value, unsigned *jobs)
{
	return (cli_parse_number(value, jobs) && *jobs >= 1 && *jobs <= 256) ||
	       wrong_value("jobs", "a number from 1 to 256", value);
}

static bool parse_manifest(struct settings *s, const char *value)
{
	s->o.manifest = true;
	s->o.manifest_path = value;
	if (!value || (value[0] && strcmp(value, "-") != 0))
		return true;
	return wrong_value("manifest", "the name of a file", value);
}

static bool apply_option(void *settings, int option, const char *arg)
{
	struct settings *s = settings;
	static const char *const strays[] = {"copy", "convert", NULL};
	static const char *const whens[] = {"auto", "always", "never", NULL};
	int i;

	switch (option) {
	case OPT_TO:
		return parse_format("to", arg, false, &s->o.to);
	case OPT_FROM:
		return parse_format("from", arg, true, &s->o.from);
	case OPT_V1_STYLE:
		return parse_style(arg, &s->o.v1_style);
	case OPT_STRAYS:
		i = choice("strays", arg, strays, "copy or convert");
		s->o.strays = i == 0 ? GPTQ_STRAYS_COPY : GPTQ_STRAYS_CONVERT;
		return i >= 0;
	case OPT_PROGRESS:
		i = choice("progress", arg, whens, "auto, always or never");
		s->progress = i < 0 ? CLI_AUTO : (enum cli_when)i;
		return i >= 0;
	case OPT_VERIFY:
		return parse_verify(s, arg);
	case OPT_DEVICE:
		return cli_parse_device(&command, arg, &s->o.device, &s->o.device_number);
	case OPT_BITS:
		return parse_bits(arg, &s->o.bits);
	case OPT_JOBS:
		return parse_jobs(arg, &s->o.jobs);
	case OPT_MANIFEST:
		return parse_manifest(s, arg);
	case OPT_CONFIG:
		s->o.config = arg;
		return true;
	case OPT_ACCEPT_DAMAGED:
		return s->o.accept_damaged = true;
	case OPT_PER_LAYER:
		return s->o.per_layer = true;
	case OPT_RELABEL:
		return s->o.relabel = true;
	case OPT_IN_PLACE:
		return s->in_place = true;
	case OPT_ROLLBACK:
		return s->rollback = true;
	case OPT_DRY_RUN:
		return s->o.dry_run = true;
	case OPT_FORCE:
		return s->o.force = true;
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

/* Standard input or output. A file of that name is "./-". */
static bool is_stream(const char *operand)
{
	return strcmp(operand, "-") == 0;
}

/* What may well be meant for an option is an operand to getopt_long where no = stands between. */
static const char *meant_for(const struct settings *s, int n, char **operands, int want)
{
	if (n != want + 1)
		return NULL;
	for (int i = 0; i < n && s->bare_verify; i++)
		if (strcmp(operands[i], "weights") == 0 || strcmp(operands[i], "zeros") == 0)
			return "--verify takes its value after =, as in --verify=weights";
	return s->o.manifest && !s->o.manifest_path && want == 2
		       ? "--manifest takes its value after =, as in --manifest=FILE"
		       : NULL;
}

/* Do options and operands fit together? */
static bool check_usage(const struct settings *s, int n, char **operands)
{
	int want = s->in_place || s->rollback ? 1 : 2;
	const char *meant = meant_for(s, n, operands, want);

	if (s->rollback && (s->o.to || s->o.relabel || s->o.dry_run))
		cli_error(&command,
			  "--rollback takes back what was begun, and goes with no --to, --relabel or --dry-run");
	else if (!s->o.to && !s->o.relabel && !s->in_place && !s->rollback)
		cli_error(&command, "--to v1 or --to v2 is missing (see --help)");
	else if (s->o.to && s->o.relabel)
		cli_error(&command, "--relabel changes no tensor, so it cannot be given with --to");
	else if (s->o.relabel && s->o.per_layer)
		cli_error(&command,
			  "--relabel and --per-layer exclude each other: no one label is true of a mixed model");
	else if (meant)
		cli_error(&command, "%s", meant);
	else if (n != want && want == 2)
		cli_error(&command, "two operands are needed, IN and OUT, not %d (see --help)", n);
	else if (n != want)
		cli_error(&command, "one operand is needed, IN, not %d: with --in-place there is no OUT", n);
	else if (!operands[0][0] || !operands[want - 1][0])
		cli_error(&command, "IN and OUT cannot be empty");
	else if (want == 1 && is_stream(operands[0]))
		cli_error(&command, "a stream has no place in which it could be converted");
	else if (want == 1 && s->o.manifest)
		cli_error(&command, "--manifest is made of bytes as they are written, and in place most are not: run sha256sum "
				    "afterwards");
	else if (want == 2 && is_stream(operands[1]) && s->o.manifest && !s->o.manifest_path)
		cli_error(&command, "OUT is -, so the manifest needs a place: --manifest=FILE");
	else if (want == 2 && is_stream(operands[1]) && !s->o.dry_run && isatty(STDOUT_FILENO))
		cli_error(&command, "OUT is -, but standard output is a terminal");
	else
		return true;
	return false;
}

/* Options into settings. false: stop with *code. */
static bool parse(int argc, char **argv, struct settings *s, int *code)
{
	if (!cli_parse(&command, argc, argv, apply_option, s, code))
		return false;
	return check_usage(s, argc - optind, argv + optind);
}

/* The call that the options and operands ask for. */
static enum gptq_status run(struct settings *s, char **operands, struct gptq_convert_report **report,
			    struct gptq_error *err)
{
	if (s->rollback)
		return gptq_convert_rollback(operands[0], s->o.hooks, report, err);
	if (s->in_place)
		return gptq_convert_in_place(operands[0], &s->o, report, err);
	if (is_stream(operands[0]) || is_stream(operands[1]))
		return gptq_convert_stream(is_stream(operands[0]) ? NULL : operands[0], STDIN_FILENO,
					   is_stream(operands[1]) ? NULL : operands[1], STDOUT_FILENO, &s->o, report,
					   err);
	return gptq_convert(operands[0], operands[1], &s->o, report, err);
}

int main(int argc, char **argv)
{
	struct settings s = {.o = {.struct_size = sizeof(s.o)}};
	struct gptq_convert_report *report;
	struct cli_progress progress;
	struct gptq_hooks hooks;
	struct gptq_error err;
	enum gptq_status status;
	const char *in, *out;
	FILE *to;
	int code;

	cli_keep_memory();
	cli_catch_signals();
	if (!parse(argc, argv, &s, &code))
		return code;
	cli_progress_init(&progress, s.quiet ? CLI_NEVER : s.progress, &hooks);
	s.o.hooks = &hooks;
	in = argv[optind];
	out = s.in_place || s.rollback ? in : argv[optind + 1];
	status = run(&s, argv + optind, &report, &err);
	cli_progress_end(&progress);
	/* where OUT is a stream, it has standard output to itself */
	to = s.in_place || s.rollback || !is_stream(out) ? stdout : stderr;
	if (status != GPTQ_OK && to == stderr && err.sys_errno == EPIPE)
		return 128 + SIGPIPE;
	if (status != GPTQ_OK) {
		code = cli_fail(&command, &err);
		if (s.json)
			convert_print_failure_json(to, in, out, &err, code);
		return cli_finish(&command, code);
	}
	for (size_t i = 0; i < report->n_warnings && !s.quiet; i++)
		cli_warning(&command, "%s", report->warnings[i].text);
	if (s.json)
		convert_print_json(to, in, out, report);
	else if (!s.quiet)
		convert_print_text(to, in, out, report, s.verbose);
	gptq_convert_report_free(report);
	return cli_finish(&command, CLI_OK);
}
