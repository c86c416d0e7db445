/* SPDX-License-Identifier: Apache-2.0 */
/* gptq-inspect: what a checkpoint really is. */
#define _GNU_SOURCE
#include "cli.h"
#include "inspect_report.h"
#include "progress.h"
#include "sandbox.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_HEADERS,
	OPT_LAYERS,
	OPT_TENSORS,
	OPT_STATS,
	OPT_LOADERS,
	OPT_CHECKSUM,
	OPT_WEIGHTS_DIGEST,
	OPT_CHECK,
	OPT_JSON,
	OPT_QUIET,
	OPT_PROGRESS,
	OPT_HELP,
	OPT_VERSION,
};

static const struct cli_option options_table[] = {
	[OPT_HEADERS] = {"headers", 0, CLI_ARG_NONE, NULL,
			 "Read headers and configs alone: no verdict, style or statistics."},
	[OPT_LAYERS] = {"layers", 'l', CLI_ARG_NONE, NULL, "Add a table with a row for each quantised layer."},
	[OPT_TENSORS] = {"tensors", 't', CLI_ARG_NONE, NULL,
			 "Add a table with a row for each tensor: dtype, shape, bytes, offset, file, name."},
	[OPT_STATS] = {"stats", 's', CLI_ARG_NONE, NULL, "Add a histogram of the zero points and the range of scales."},
	[OPT_LOADERS] = {"loaders", 0, CLI_ARG_NONE, NULL,
			 "Add what each known loader makes of the checkpoint, with the reason."},
	[OPT_CHECKSUM] =
		{"checksum", 0, CLI_ARG_REQUIRED, "crc32|sha256",
		 "Add a digest for each tensor; sha256 also checks the blobs of a hub cache against their names."},
	[OPT_WEIGHTS_DIGEST] =
		{"weights-digest", 0, CLI_ARG_NONE, NULL,
		 "Add a SHA-256 of each layer's weights and of the model's: the same for v1 and v2 and for any "
		 "sharding."},
	[OPT_CHECK] = {"check", 0, CLI_ARG_OPTIONAL, "error|warning",
		       "Exit 1 at a finding of that severity or worse (error if not given)."},
	[OPT_JSON] = {"json", 0, CLI_ARG_NONE, NULL, "Print one JSON object for each PATH, a line each."},
	[OPT_QUIET] = {"quiet", 'q', CLI_ARG_NONE, NULL, "Print no report: for use with --check."},
	[OPT_PROGRESS] = {"progress", 0, CLI_ARG_REQUIRED, "auto|always|never",
			  "A line on standard error while it works; auto means on a terminal, after a second."},
	[OPT_HELP] = {"help", 'h', CLI_ARG_NONE, NULL, "Print this help and exit."},
	[OPT_VERSION] = {"version", 'V', CLI_ARG_NONE, NULL, "Print the version and exit."},
	{NULL, 0, CLI_ARG_NONE, NULL, NULL},
};

static const struct cli_command command = {
	.name = "gptq-inspect",
	.usage = "[options] PATH...|-",
	.description =
		"Says what a GPTQ checkpoint really is, from its tensors: label and truth, format, style, widths, "
		"sizes, what is wrong with it, and which loaders read it right. PATH is a model folder, a hub cache's "
		"models--org--name folder, or a safetensors file; - reads the header of one from standard input.",
	.options = options_table,
	.read_only = true,
	.epilogue = "exit codes:\n"
		    "  0      done; with --check: no finding of that severity\n"
		    "  1      with --check: there is such a finding\n"
		    "  2      wrong use, or a file cannot be opened as what it should be\n"
		    "  128+n  ended by signal n\n"
		    "\n"
		    "examples:\n"
		    "  gptq-inspect MODEL\n"
		    "  gptq-inspect --check MODEL && echo good to go\n"
		    "  gptq-inspect --json MODEL | jq .verdict.format\n",
};

enum check { CHECK_OFF, CHECK_ERROR, CHECK_WARNING };

struct settings {
	struct gptq_inspect_options o;
	struct inspect_view view;
	enum check check;
	bool json, quiet;
	enum cli_when progress;
};

static bool bad_word(int option, const char *arg)
{
	cli_error(&command, "--%s: '%s' is none of the words it takes (see --help)", options_table[option].name, arg);
	return false;
}

static bool apply_option(void *settings, int option, const char *arg)
{
	struct settings *s = settings;

	switch (option) {
	case OPT_HEADERS:
		return s->o.headers = true;
	case OPT_LAYERS:
		return s->view.layers = true;
	case OPT_TENSORS:
		return s->view.tensors = s->o.tensors = true;
	case OPT_STATS:
		return s->view.stats = true;
	case OPT_LOADERS:
		return s->view.loaders = true;
	case OPT_WEIGHTS_DIGEST:
		return s->o.weights_digest = true;
	case OPT_JSON:
		return s->json = true;
	case OPT_QUIET:
		return s->quiet = true;
	case OPT_CHECKSUM:
		s->o.checksum = strcmp(arg, "crc32") == 0    ? GPTQ_CHECKSUM_CRC32
				: strcmp(arg, "sha256") == 0 ? GPTQ_CHECKSUM_SHA256
							     : GPTQ_CHECKSUM_NONE;
		s->view.tensors = s->o.tensors = true;
		return s->o.checksum != GPTQ_CHECKSUM_NONE || bad_word(option, arg);
	case OPT_CHECK:
		if (!arg || strcmp(arg, "error") == 0)
			s->check = CHECK_ERROR;
		else if (strcmp(arg, "warning") == 0)
			s->check = CHECK_WARNING;
		else
			return bad_word(option, arg);
		return true;
	case OPT_PROGRESS:
		if (strcmp(arg, "auto") == 0)
			s->progress = CLI_AUTO;
		else if (strcmp(arg, "always") == 0)
			s->progress = CLI_ALWAYS;
		else if (strcmp(arg, "never") == 0)
			s->progress = CLI_NEVER;
		else
			return bad_word(option, arg);
		return true;
	default:
		return false;
	}
}

/* A check that looked at headers alone would call unchecked what it did not read. */
static bool can_be_done(int argc, char **argv, const struct settings *s)
{
	bool needs_data = s->view.stats || s->o.weights_digest || s->o.checksum || s->check;
	unsigned n_streams = 0;

	for (int i = optind; i < argc; i++)
		n_streams += strcmp(argv[i], "-") == 0;
	if (argc == optind)
		cli_error(&command, "no PATH is given (see --help)");
	else if (s->o.headers && needs_data)
		cli_error(&command,
			  "--headers reads no data, so it cannot be given with --stats, --check, --checksum or "
			  "--weights-digest");
	else if (n_streams && needs_data)
		cli_error(&command,
			  "of a stream (-) only the header is read, so it cannot be given with --stats, --check, "
			  "--checksum or --weights-digest");
	else if (n_streams > 1)
		cli_error(&command, "standard input (-) can be read once");
	else
		return true;
	return false;
}

/* Options into settings. false: stop with *code. */
static bool parse(int argc, char **argv, struct settings *s, int *code)
{
	if (!cli_parse(&command, argc, argv, apply_option, s, code))
		return false;
	return can_be_done(argc, argv, s);
}

/* Is there a finding of the severity that --check asks for, or worse? */
static bool fails_check(const struct gptq_inspect_report *r, enum check check)
{
	enum gptq_severity least = check == CHECK_WARNING ? GPTQ_WARNING : GPTQ_ERROR;

	for (size_t i = 0; i < r->n_findings && check; i++)
		if (r->findings[i].severity >= least)
			return true;
	return false;
}

/* Under --quiet: why the exit code will be 2. */
static void say_what_failed(const struct gptq_inspect_report *r)
{
	for (size_t i = 0; i < r->n_findings && r->unreadable; i++)
		if (r->findings[i].unreadable)
			cli_error(&command, "%s: %s: %s", r->path, r->findings[i].where, r->findings[i].text);
}

static int inspect_one(const char *path, struct settings *s, bool first)
{
	struct gptq_inspect_report *r;
	struct cli_progress progress;
	struct gptq_hooks hooks;
	struct gptq_error err;
	enum gptq_status status;
	int code;

	cli_progress_init(&progress, s->quiet ? CLI_NEVER : s->progress, &hooks);
	s->o.hooks = &hooks;
	if (strcmp(path, "-") == 0)
		status = gptq_inspect_stream(STDIN_FILENO, &s->o, &r, &err);
	else
		status = gptq_inspect(path, &s->o, &r, &err);
	cli_progress_end(&progress);
	if (status != GPTQ_OK) {
		code = cli_fail(&command, &err);
		if (s->json)
			inspect_print_failure_json(stdout, path, &err);
		return code;
	}
	if (s->json)
		inspect_print_json(stdout, r, &s->view);
	else if (s->quiet)
		say_what_failed(r);
	else {
		if (!first)
			fputc('\n', stdout);
		inspect_print_text(stdout, r, &s->view);
	}
	code = r->unreadable ? CLI_TROUBLE : fails_check(r, s->check) ? CLI_NO : CLI_OK;
	gptq_inspect_report_free(r);
	return code;
}

int main(int argc, char **argv)
{
	struct settings s = {.o = {.struct_size = sizeof(s.o)}};
	int code, worst = CLI_OK;

	cli_keep_memory();
	setlocale(LC_CTYPE, "");
	cli_catch_signals();
	if (!parse(argc, argv, &s, &code))
		return code;
	if (!getenv("GPTQ_NO_LANDLOCK"))
		(void)cli_forbid_writing(); /* where it cannot be, nothing is written all the same */
	s.view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	s.view.width = cli_width(stdout);
	s.view.colour = isatty(STDOUT_FILENO) && (!getenv("NO_COLOR") || !*getenv("NO_COLOR")) &&
			!(getenv("TERM") && strcmp(getenv("TERM"), "dumb") == 0);
	for (int i = optind; i < argc && !cli_signal(); i++) {
		code = inspect_one(argv[i], &s, i == optind);
		worst = code > worst ? code : worst;
	}
	return cli_finish(&command, worst);
}
