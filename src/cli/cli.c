/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* getopt_long */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

void cli_keep_memory(void)
{
#if defined(__GLIBC__)
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
#if defined(MADV_HUGEPAGE)
	enum { HEAP = 64 << 20 };
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)sbrk(0), end;
	void *volatile more; /* or compilers would leave it out */

	(void)mallopt(M_TOP_PAD, HEAP);
	more = malloc(1 << 20); /* more than there is: the heap grows */
	free(more);
	end = (uintptr_t)sbrk(0);
	begin = (begin + page - 1) / page * page;
	if (begin < end && end - begin <= 2 * (uintptr_t)HEAP) /* which sbrk's failure is not */
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
	(void)mallopt(M_TOP_PAD, 1 << 20);
#endif
}

static volatile sig_atomic_t caught_signal;

static void note_signal(int n)
{
	caught_signal = n;
}

void cli_catch_signals(void)
{
	static const int noted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction sa = {.sa_handler = note_signal};

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
		struct sigaction old;

		/* nohup and background jobs set SIG_IGN, and that is to stay. */
		if (sigaction(noted[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(noted[i], &sa, NULL);
	}
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGXFSZ, &sa, NULL);
}

int cli_signal(void)
{
	return caught_signal;
}

bool cli_cancelled(void *unused)
{
	(void)unused;
	return caught_signal != 0;
}

/* getopt_long's view of the option table. */
struct cli_parser {
	const struct cli_command *command;
	int argc;
	char **argv;
	void *long_options; /* private */
	char *short_options;
};

/* Results of next_option besides an index into the option table. */
#define CLI_END (-1)
#define CLI_BAD (-2)

static void parser_init(struct cli_parser *p, const struct cli_command *command, int argc, char **argv)
{
	const struct cli_option *o = command->options;
	size_t n = 0, k = 0;
	struct option *lo;

	while (o[n].name)
		n++;
	*p = (struct cli_parser){.command = command, .argc = argc, .argv = argv};
	p->long_options = lo = calloc(n + 1, sizeof(*lo));
	p->short_options = calloc(2 * n + 2, 1);
	if (!lo || !p->short_options) {
		fprintf(stderr, "%s: error: out of memory\n", command->name);
		exit(CLI_TROUBLE);
	}
	p->short_options[k++] = ':'; /* missing values are told apart from unknown options */
	for (size_t i = 0; i < n; i++) {
		lo[i] = (struct option){.name = o[i].name, .has_arg = (int)o[i].arg, .val = 256 + (int)i};
		if (o[i].letter) {
			p->short_options[k++] = o[i].letter;
			if (o[i].arg == CLI_ARG_REQUIRED)
				p->short_options[k++] = ':';
		}
	}
	optind = 1;
	opterr = 0;
}

static void parser_free(struct cli_parser *p)
{
	free(p->long_options);
	free(p->short_options);
	p->long_options = NULL;
	p->short_options = NULL;
}

/* The index of the next option in the table and its value in *arg (NULL if none), CLI_END when only operands are left,
 * CLI_BAD after a message on stderr. */
static int next_option(struct cli_parser *p, const char **arg)
{
	const struct cli_option *o = p->command->options;
	int at = optind, c = getopt_long(p->argc, p->argv, p->short_options, p->long_options, NULL);

	*arg = optarg;
	if (c == -1)
		return CLI_END;
	if (c >= 256)
		return c - 256;
	if (c == ':') {
		cli_error(p->command, "option '%s' needs a value", p->argv[optind - 1]);
		return CLI_BAD;
	}
	if (c == '?') {
		const char *word = p->argv[at < p->argc ? at : p->argc - 1];

		if (optopt >= 256)
			cli_error(p->command, "option '--%s' takes no value", o[optopt - 256].name);
		else if (optopt)
			cli_error(p->command, "unknown option '-%c' (see --help)", isprint(optopt) ? optopt : '?');
		else {
			char shown[256];

			cli_mask(shown, sizeof(shown), strncmp(word, "--", 2) == 0 ? word : p->argv[optind - 1]);
			cli_error(p->command, "unknown or ambiguous option '%s' (see --help)", shown);
		}
		return CLI_BAD;
	}
	for (int i = 0; o[i].name; i++)
		if (o[i].letter == c)
			return i;
	return CLI_BAD;
}

static size_t columns_of(const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

size_t cli_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

void cli_wrap(FILE *out, const char *text, unsigned indent, unsigned column, unsigned width)
{
	bool begun = column > indent; /* something stands on this line, and a space goes between */
	size_t spaces = begun;

	while (*text) {
		size_t run = strspn(text, " "), word = strcspn(text + run, " \n"), columns;

		spaces += run;
		text += run;
		columns = columns_of(text, word);
		if (begun && word && column + spaces + columns > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			spaces--; /* that is the line feed now; names of files may have several */
		}
		fprintf(out, "%*s", (int)spaces, "");
		fwrite(text, 1, word, out);
		column += (unsigned)(spaces + columns);
		text += word;
		begun = begun || word;
		spaces = 0;
		if (*text == '\n') {
			text++;
			fprintf(out, "\n%*s", *text ? (int)indent : 0, "");
			column = indent;
			begun = false;
		}
	}
	if (column > 0)
		putc('\n', out);
}

/* 0: not known. */
static unsigned terminal_width(FILE *f)
{
	struct winsize ws;

	return isatty(fileno(f)) && ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 ? ws.ws_col : 0;
}

unsigned cli_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	unsigned width;

	if (columns) {
		long n = strtol(columns, NULL, 10);

		if (n >= 40 && n <= 1000)
			return (unsigned)n;
	}
	width = terminal_width(f);
	return width >= 40 ? width : 80;
}

void cli_fold(FILE *out, const char *text, unsigned indent, unsigned column)
{
	if (terminal_width(out) >= 40)
		cli_wrap(out, text, indent, column, cli_width(out));
	else
		fprintf(out, "%s%s\n", column > indent ? " " : "", text);
}

void cli_print_help(const struct cli_command *command, FILE *out)
{
	enum { COLUMN = 28, WIDTH = 80 };

	fprintf(out, "usage: %s %s\n\n", command->name, command->usage);
	cli_wrap(out, command->description, 0, 0, WIDTH);
	fprintf(out, "\noptions:\n");
	for (const struct cli_option *o = command->options; o->name; o++) {
		char left[96];
		int n = snprintf(left, sizeof(left), "  %c%c%s--%s%s%s%s", o->letter ? '-' : ' ',
				 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
				 o->arg == CLI_ARG_OPTIONAL ? "[="
				 : o->arg_name              ? " "
							    : "",
				 o->arg_name ? o->arg_name : "", o->arg == CLI_ARG_OPTIONAL ? "]" : "");

		fputs(left, out);
		if (n > COLUMN - 2)
			fprintf(out, "\n%*s", COLUMN, "");
		else
			fprintf(out, "%*s", COLUMN - n, "");
		cli_wrap(out, o->help, COLUMN, COLUMN, WIDTH);
	}
	fprintf(out, "\n%s", command->epilogue);
}

void cli_print_version(const struct cli_command *command, FILE *out)
{
	fprintf(out, "%s %s\n", command->name, gptq_version());
}

__attribute__((format(printf, 3, 0))) static void message(const struct cli_command *command, const char *severity,
							  const char *fmt, va_list ap)
{
	char text[8192];
	const char *line = text;
	int column;

	vsnprintf(text, sizeof(text), fmt, ap);
	column = fprintf(stderr, "%s: %s:", command->name, severity);
	while (*line) {
		char masked[8192];
		size_t n = strcspn(line, "\n");

		gptq_mask(masked, sizeof(masked), line, n);
		if (line > text)
			column = fprintf(stderr, "  ");
		cli_fold(stderr, masked, 2, column > 2 ? (unsigned)column : 2);
		line += n + (line[n] == '\n');
	}
}

void cli_error(const struct cli_command *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(command, "error", fmt, ap);
	va_end(ap);
}

void cli_warning(const struct cli_command *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(command, "warning", fmt, ap);
	va_end(ap);
}

bool cli_parse(const struct cli_command *command, int argc, char **argv, cli_apply_fn apply, void *settings, int *code)
{
	struct cli_parser parser;
	const char *arg;
	int option;

	*code = CLI_TROUBLE;
	parser_init(&parser, command, argc, argv);
	while ((option = next_option(&parser, &arg)) >= 0) {
		const char *name = command->options[option].name;

		if (strcmp(name, "help") == 0) {
			cli_print_help(command, stdout);
			*code = cli_finish(command, CLI_OK);
			break;
		}
		if (strcmp(name, "version") == 0) {
			cli_print_version(command, stdout);
			*code = cli_finish(command, CLI_OK);
			break;
		}
		if (!apply(settings, option, arg))
			break;
	}
	parser_free(&parser);
	return option == CLI_END;
}

enum cli_exit cli_exit_code(enum gptq_status status)
{
	if (status == GPTQ_OK)
		return CLI_OK;
	return status == GPTQ_E_REFUSED ? CLI_NO : CLI_TROUBLE;
}

int cli_fail(const struct cli_command *command, const struct gptq_error *err)
{
	char text[4096];

	if (err->status == GPTQ_E_CANCELLED && cli_signal()) {
		/* what stands behind "stopped on request" says what was left behind */
		cli_error(command, "stopped by signal %d (%s)%s", cli_signal(), strsignal(cli_signal()),
			  command->read_only ? "" : err->message + strcspn(err->message, ";\n"));
		return 128 + cli_signal();
	}
	gptq_error_format(err, text, sizeof(text));
	cli_error(command, "%s", text);
	return (int)cli_exit_code(err->status);
}

int cli_finish(const struct cli_command *command, int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE)
		return 128 + SIGPIPE;
	cli_error(command, "cannot write to standard output: %s", strerror(errno));
	return CLI_TROUBLE;
}

void cli_mask(char *dst, size_t size, const char *text)
{
	gptq_mask(dst, size, text, strlen(text));
}

const char *cli_size(char dst[32], uint64_t nbytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)nbytes;
	unsigned u = 0;

	while (v >= 1024 && u < 6) {
		v /= 1024;
		u++;
	}
	snprintf(dst, 32, u == 0 ? "%.0f %s" : v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s", v, units[u]);
	return dst;
}

const char *cli_count(char dst[32], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), k = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			dst[k++] = ',';
		dst[k++] = digits[i];
	}
	dst[k] = '\0';
	return dst;
}

bool cli_parse_number(const char *arg, unsigned *n)
{
	size_t digits = strspn(arg, "0123456789");

	if (digits == 0 || digits > 4 || arg[digits])
		return false;
	*n = (unsigned)strtoul(arg, NULL, 10);
	return true;
}

bool cli_parse_device(const struct cli_command *command, const char *arg, enum gptq_device *device, unsigned *number)
{
	char shown[256];

	*number = 0;
	if (strcmp(arg, "auto") == 0)
		*device = GPTQ_DEVICE_AUTO;
	else if (strcmp(arg, "cpu") == 0)
		*device = GPTQ_DEVICE_CPU;
	else if (strcmp(arg, "cuda") == 0 || (strncmp(arg, "cuda:", 5) == 0 && cli_parse_number(arg + 5, number)))
		*device = GPTQ_DEVICE_CUDA;
	else {
		cli_mask(shown, sizeof(shown), arg);
		cli_error(command, "--device takes auto, cpu, cuda or cuda:N, not '%s'", shown);
		return false;
	}
	return true;
}
