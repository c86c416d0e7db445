/* SPDX-License-Identifier: Apache-2.0 */
/* What the three commands share: one option table that parsing, --help and the tests read, messages, exit codes. */
#ifndef GQ_CLI_CLI_H
#define GQ_CLI_CLI_H

#include "gptq/gptq.h"

#include <signal.h>
#include <stdio.h>

enum cli_exit {
	CLI_OK = 0,      /* done, same, clean */
	CLI_NO = 1,      /* the answer is no, or refused: nothing was written */
	CLI_TROUBLE = 2, /* wrong use, or could not read, write or decide */
};

enum cli_arg { CLI_ARG_NONE, CLI_ARG_REQUIRED, CLI_ARG_OPTIONAL /* only as --name=VALUE */ };

/* One option. A table of these ends with name == NULL. */
struct cli_option {
	const char *name; /* long name without dashes */
	char letter;      /* short form, or 0 */
	enum cli_arg arg;
	const char *arg_name; /* as shown: "v1|v2", "FILE" */
	const char *help;     /* one or two sentences, wrapped by the printer */
};

struct cli_command {
	const char *name;        /* "gptq-convert" */
	const char *usage;       /* what follows the name in the first line of --help */
	const char *description; /* a paragraph under it */
	const struct cli_option *options;
	const char *epilogue; /* exit codes, examples */
	bool read_only;       /* it leaves nothing behind in any case */
};

/* --progress auto|always|never, and the volume of messages. */
enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };

/* Takes one option, by its index in the table, with its value (NULL if none); false after a message: wrong use. */
typedef bool (*cli_apply_fn)(void *settings, int option, const char *arg);
/*
 * All options of the command line. --help and --version print and end it. True: operands are left from argv[optind]
 * on. False: stop with *code.
 */
bool cli_parse(const struct cli_command *command, int argc, char **argv, cli_apply_fn apply, void *settings, int *code);

void cli_print_help(const struct cli_command *command, FILE *out);
void cli_print_version(const struct cli_command *command, FILE *out);

/* "NAME: error: TEXT" on stderr; lines after the first are indented. */
__attribute__((format(printf, 2, 3))) void cli_error(const struct cli_command *command, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void cli_warning(const struct cli_command *command, const char *fmt, ...);
/* Prints a library error and returns the exit code for it, 128+n if a signal was the reason. */
int cli_fail(const struct cli_command *command, const struct gptq_error *err);
enum cli_exit cli_exit_code(enum gptq_status status);

/*
 * First of all: large tables grow and go, and one layer's follow another's. A third of the time for 200,000 tensors
 * went into giving pages back and taking them anew, and another third into taking them one by one. So the heap keeps
 * what it has, and its first part, which is address space alone until it is used, comes in large pages where the system
 * has them.
 */
void cli_keep_memory(void);

/* Catches SIGINT, SIGTERM and SIGHUP (noted, so that the work can clean up) and ignores SIGPIPE and SIGXFSZ, whose
 * reasons arrive as EPIPE and EFBIG. */
void cli_catch_signals(void);
/* The signal that came, or 0. */
int cli_signal(void);
bool cli_cancelled(void *unused);

/* Flushes stdout and turns a failure into an exit code: a closed pipe gives 128 + SIGPIPE without a message. */
int cli_finish(const struct cli_command *command, int code);

/* A number of one to four digits and nothing else. */
bool cli_parse_number(const char *arg, unsigned *n);
/* The value of --device: auto, cpu, cuda or cuda:N; false after a message. */
bool cli_parse_device(const struct cli_command *command, const char *arg, enum gptq_device *device, unsigned *number);

/* gptq_mask() of a NUL-terminated text. */
void cli_mask(char *dst, size_t size, const char *text);

/* Text helpers for reports. "3.9 GiB"; "1,234,567". dst has room for 32 bytes. */
const char *cli_size(char dst[32], uint64_t nbytes);
const char *cli_count(char dst[32], uint64_t n);
/* How many columns UTF-8 text takes, as far as each character takes one. */
size_t cli_columns(const char *text);
/*
 * Prints text to `out`, wrapped at `width` columns, continuation lines indented by `indent` (the first starts at
 * `column`). Line feeds inside the text are kept, and so are all spaces but the one whose place a line feed takes.
 */
void cli_wrap(FILE *out, const char *text, unsigned indent, unsigned column, unsigned width);
/*
 * Prints text and a line feed: like cli_wrap() where `out` is a terminal whose width is known, which would break lines
 * in the midst of words, and as it is elsewhere, since programs read lines.
 */
void cli_fold(FILE *out, const char *text, unsigned indent, unsigned column);
/* The terminal's width if `f` is one (COLUMNS wins), else 80. */
unsigned cli_width(FILE *f);

#endif
