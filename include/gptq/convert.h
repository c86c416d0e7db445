/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converting a checkpoint between v1 and v2. Include <gptq/gptq.h>, which includes this file.
 */
#ifndef GPTQ_CONVERT_H
#define GPTQ_CONVERT_H

#include <gptq/gptq.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who says in which style v1 is read. */
enum gptq_style_source {
	GPTQ_STYLE_UNSETTLED = 0,
	GPTQ_STYLE_GIVEN,       /* options.v1_style */
	GPTQ_STYLE_BY_RECORD,   /* gptq_tools.v1_style in the config */
	GPTQ_STYLE_BY_TENSORS,  /* evidence in the tensors */
	GPTQ_STYLE_BY_PRODUCER, /* the program that the config names */
};

/* "given", "record", "tensors", "producer"; "none". Never NULL. */
GPTQ_API const char *gptq_style_source_name(enum gptq_style_source source);

/* What to do with safetensors files outside the model that hold zero points. */
enum gptq_strays { GPTQ_STRAYS_REFUSE = 0, GPTQ_STRAYS_COPY, GPTQ_STRAYS_CONVERT };

/* Options of gptq_convert. Start from all zero and set struct_size; every zero is the default. */
struct gptq_convert_options {
	size_t struct_size;           /* sizeof(struct gptq_convert_options) */
	enum gptq_zeros_format to;    /* V1 or V2; NONE only with relabel */
	enum gptq_zeros_format from;  /* NONE: label and tensors decide */
	enum gptq_v1_style v1_style;  /* NONE: settled; else LANE, WORD or GPTQMODEL_3BIT, to read or to write z = 0 */
	enum gptq_strays strays;
	bool accept_damaged; /* convert smeared v1 all the same */
	bool per_layer;      /* a mixed model: each layer by its own verdict */
	bool relabel;        /* change no tensor, make the labels say what the tensors (or `from`) say */
	bool force;          /* replace an existing output; in place: change files that have other names too */
	bool dry_run;        /* decide and report, write nothing */
	bool verify_weights; /* before OUT appears, prove that all its weights are those of IN */
	enum gptq_device device;       /* where that is done ... */
	unsigned device_number;        /* ... and which GPU */
	const char *config;  /* a lone file's config; NULL: those beside it */
	unsigned bits;       /* a lone file's width where nothing else tells; 0: not given */
	const struct gptq_hooks *hooks;
	unsigned jobs;       /* layers are judged and files written by so many threads, 1 to 256; 0: up to 4, as many as
				there are cores, and safetensors files */
	bool manifest;       /* write the SHA-256 of every file of OUT, in the form of sha256sum ... */
	const char *manifest_path; /* ... here; NULL: SHA256SUMS in the folder OUT, OUT.sha256 beside the file OUT */
};

/* One width of the model. */
struct gptq_convert_width {
	unsigned bits;
	uint64_t n_layers;
	enum gptq_v1_style style;              /* in which v1 was read or written; NONE if neither */
	enum gptq_style_source style_source;   /* of reading */
	uint64_t n_zeros;                      /* zero points, padding not counted */
	uint64_t n_zeros_at_0;
	uint8_t zero_min, zero_max;            /* logical zero points */
	uint64_t n_unknown;                    /* smeared: zero points that are lost */
	uint64_t n_damaged_words;
};

/* One label that was (or would be) written. */
struct gptq_convert_label {
	char *file, *key; /* masked, as gptq_mask() does */
	char *old_value; /* NULL where the key was added */
	char *new_value;
};

/* A warning, with a stable code. */
struct gptq_convert_warning {
	const char *code;
	char *text;
};

/* A line of the manifest. */
struct gptq_convert_digest {
	char *name; /* relative to OUT; a lone file's name; "-" for a stream; masked */
	uint64_t n_bytes;
	char sha256[65];
};

/* What time was spent on. */
enum gptq_phase {
	GPTQ_PHASE_OPEN = 0, /* headers and configs read */
	GPTQ_PHASE_SURVEY,   /* tensors judged, zero points counted, everything decided */
	GPTQ_PHASE_WRITE,    /* OUT written and synced; in place: all that is done to the files */
	GPTQ_PHASE_CHECK,    /* zero points and labels read back */
	GPTQ_PHASE_PROVE,    /* all weights compared */
	GPTQ_PHASE_FINISH,   /* manifest, folders synced, renamed */
	GPTQ_N_PHASES,
};

/* "open", "survey", "write", "check", "prove", "finish". Never NULL. */
GPTQ_API const char *gptq_phase_name(enum gptq_phase phase);

/* What became of an interrupted in-place conversion. */
enum gptq_recovery {
	GPTQ_RECOVERY_NONE = 0, /* there was none */
	GPTQ_RECOVERY_FINISHED,
	GPTQ_RECOVERY_UNDONE,
};

/* What gptq_convert did, or would do. Freed with gptq_convert_report_free(). */
struct gptq_convert_report {
	enum gptq_zeros_format from, to;   /* from NONE: mixed, by layer */
	const char *from_reason;           /* "label and tensors agree" */
	enum gptq_zeros_format label;      /* NONE: absent, or places contradict each other */
	bool label_consistent;
	enum gptq_verdict verdict;
	char *evidence;                    /* the figures behind the verdict, one line */
	bool relabelled, unchanged, dry_run;
	bool in_place;
	enum gptq_recovery recovery;       /* not NONE: of the rest only from, to, relabelled, dry_run, n_files, n_shards,
					      n_bytes and n_zeros_verified are set */
	uint64_t n_layers, n_layers_read;  /* of these, layers whose codes were read for the verdict */
	uint64_t n_layers_changed;         /* layers whose qzeros were rewritten */
	struct gptq_convert_width widths[4];
	unsigned n_widths;
	char *record;                      /* v1 style that was recorded in the configs; NULL if none */
	char *first_layer;                 /* the first layer, in byte order ... */
	uint64_t first_word_before, first_word_after; /* ... and the first pack word of its qzeros */
	unsigned word_bits;
	struct gptq_convert_label *labels;
	size_t n_labels;
	struct gptq_convert_warning *warnings;
	size_t n_warnings;
	struct gptq_reader *readers_in;    /* who reads IN right, and who OUT; NULL in a lone file's report */
	struct gptq_reader *readers_out;
	size_t n_readers;
	char **not_copied;                 /* relative paths */
	size_t n_not_copied;
	uint64_t n_files, n_shards, n_bytes; /* files written, safetensors files among them, bytes in all (in place: with
						the journal) */
	uint64_t n_bytes_copied, n_bytes_rewritten, n_bytes_cloned; /* read and written; changed; sharing blocks with IN */
	char *manifest;                    /* its path, masked; NULL: none was written */
	struct gptq_convert_digest *digests; /* what it says, in the order of names */
	size_t n_digests;
	unsigned jobs;                     /* threads that wrote */
	double seconds[GPTQ_N_PHASES];
	uint64_t n_zeros_verified;         /* read back from what was written and compared with the source */
	uint64_t n_weights_verified;       /* with verify_weights: compared with the source ... */
	uint64_t n_layers_by_table, n_layers_by_every; /* ... by these proofs (verify.h) */
	char *verify_device;               /* ... and where: "avx512", "NVIDIA H200"; NULL */
};

/*
 * Converts the checkpoint IN (a folder, a hub cache's models--org--name folder, or one safetensors file) to OUT (a
 * folder or a file, likewise), which must not exist unless options->force. OUT appears in one rename when it is
 * whole, synced, and its zero points have been read back; on any failure nothing is left behind and an OUT that was
 * there is untouched. IN is opened for reading alone.
 *
 * GPTQ_E_REFUSED: converting could lose or falsify weights; the message gives the reason and the ways out. Other
 * statuses: see enum gptq_status. *report (NULL allowed) is set on success only.
 */
GPTQ_API enum gptq_status gptq_convert(const char *in, const char *out, const struct gptq_convert_options *options,
				       struct gptq_convert_report **report, struct gptq_error *err);

/*
 * Converts the checkpoint where it lies: rewrites the bytes of qzeros, labels inside headers, and configs. A journal is
 * written and synced first (".gptq-convert.journal" in the folder, ".NAME.gptq-convert.journal" beside a lone file
 * NAME) and removed at the end. Where a journal is found, the conversion that it belongs to is finished: options must
 * then be those that it was started with, or have neither `to` nor `relabel`. A crash at any moment leaves the old
 * checkpoint, the new one, or a journal with which this call or gptq_convert_rollback() leads to one of the two.
 *
 * GPTQ_E_REFUSED also for links, for hard links without `force`, and for a header without room for its label. After
 * an error before the first byte has changed, nothing is left behind; after a later one the journal is, and the message
 * says so.
 */
GPTQ_API enum gptq_status gptq_convert_in_place(const char *path, const struct gptq_convert_options *options,
						struct gptq_convert_report **report, struct gptq_error *err);

/* Undoes an interrupted in-place conversion. GPTQ_E_NOTFOUND if there is none. hooks may be NULL. */
GPTQ_API enum gptq_status gptq_convert_rollback(const char *path, const struct gptq_hooks *hooks,
						struct gptq_convert_report **report, struct gptq_error *err);

/*
 * Converts one safetensors file in one pass. in: a file's path, or NULL to read from the descriptor in_fd; out:
 * likewise, out_fd. Memory: the header and a few MiB.
 *
 * A file that is read by path is judged as by gptq_convert(). What comes from a descriptor is not: its bytes are gone
 * before a verdict could be reached. So its format must be given (options->from) or be labelled (in its header, or in
 * options->config), and where the data contradict that, or depend on a style that nobody tells, GPTQ_E_REFUSED comes in
 * the middle: the output then is a file that is cut off. options->per_layer is wrong use then.
 */
GPTQ_API enum gptq_status gptq_convert_stream(const char *in, int in_fd, const char *out, int out_fd,
					      const struct gptq_convert_options *options,
					      struct gptq_convert_report **report, struct gptq_error *err);

/* NULL is allowed. */
GPTQ_API void gptq_convert_report_free(struct gptq_convert_report *report);

#ifdef __cplusplus
}
#endif

#endif
