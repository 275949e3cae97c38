/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface of replay/: the real-time pipeline, its sources and sinks, the framer, traces, state of the host.
 * Instants are picoseconds since the start of the stream. Nothing here prints: events reach the caller by one callback,
 * in the thread that called tlg_pipeline_run. */
#ifndef TLG_REPLAY_H
#define TLG_REPLAY_H

#include "taplag.h"
#include "tlg_dsp.h"
#include "tlg_files.h"
#include "tlg_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources --------------------------------------------------------------------------------------------- */

/* Where samples come from. read and rewind work as tlg_reader_read and tlg_reader_rewind do; they are called from
 * one thread, ahead of the pace. */
struct tlg_source {
  int (*read)(void *context, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, struct tlg_error *err);
  int (*rewind)(void *context, struct tlg_error *err);
  void *context;
  /* A live source sets its own pace: nothing is released by our clock, and it is not rewound. read then waits 50 ms at
   * most (TLG_EINTR: nothing yet), and stop asks it to come to its end: read gives what is left, then *got == 0. */
  int live;
  int clock;                   /* its samples come by a clock of their own at the rate that is stated */
  size_t chunk;                /* samples that one read gives at most; 0 = not known (1024 are asked for) */
  void (*stop)(void *context); /* may be NULL: then nothing more is read */
};

/* An open reader as a source; the reader stays the caller's. */
TLG_API struct tlg_source tlg_source_reader(struct tlg_reader *reader);

/* n samples in memory as a source; they and the struct stay the caller's. */
struct tlg_memory_source {
  const tlg_cs16 *samples;
  size_t n, position;
};
TLG_API struct tlg_source tlg_source_memory(struct tlg_memory_source *memory);

/* ---- radios ---------------------------------------------------------------------------------------------- */

enum tlg_radio_set { TLG_RADIO_FREQ = 1, TLG_RADIO_GAIN = 2, TLG_RADIO_BW = 4, TLG_RADIO_LO_OFFSET = 8 };

/* What becomes of samples to transmit whose time has passed. */
enum tlg_radio_late {
  TLG_RADIO_LATE_DROP,  /* they are dropped; the time line holds */
  TLG_RADIO_LATE_SHIFT, /* the time line moves; nothing is dropped */
};

/* What is asked of a radio, as a source or as a sink. Zero and NULL leave what the device has; keys of the endpoint's
 * text win: freq gain ant bw subdev channel spb ref pps wirefmt. */
struct tlg_radio_cfg {
  unsigned set; /* which of these four are given: enum tlg_radio_set */
  double freq_hz, gain_db, bandwidth_hz, lo_offset_hz;
  const char *antenna, *subdev, *clock_source, *time_source;
  const char *wire_format, *stream_args; /* "sc16" or "sc8" on the wire; further arguments of the stream */
  unsigned channel;                      /* from 0 */
  unsigned spb;                          /* samples a call; 0 = about 100 us */
  int int_n, skip_lo;                    /* integer-N tuning; do not wait for the oscillator's lock */
  int strict_rate;                       /* a rate other than the one asked for is an error */
  double setup_s;                        /* how long a lock may take; 0 = 1 */
  double patience_s;                     /* nothing moves for so long: an error; 0 = 2 */
  double lead_s;                         /* sink: from the first sample's coming to its time on the air; 0 = 0.1 */
  enum tlg_radio_late late;              /* sink */
  struct tlg_rate
      match; /* what the rate is resampled to or from: a coerced rate must have a ratio to it; {0, 0} = none */
  void (*say)(void *context, const char *line); /* "Setting RX Rate: ..." and the like; may be NULL */
  void *context;
};

/* ---- live sources ---------------------------------------------------------------------------------------- */

struct tlg_live; /* opaque: sockets, shared memory, a PHY's transmit port, a radio */

struct tlg_live_cfg {
  struct tlg_rate rate;   /* asked of a radio; stated for a source that does not tell it. {0, 0} = it must tell */
  enum tlg_format format; /* of the samples where neither source nor its text tell; 0 = cs16 */
  double full_scale;      /* declared full scale in the source's own units; 0 = the type's */
  int swap_iq;
  void (*hint)(void *context, const char *text); /* told of what the source says of itself, and warnings; may be NULL */
  void *context;
  const struct tlg_radio_cfg *radio; /* uhd: only; lives as long as the source; NULL = all defaults */
};

struct tlg_live_info {
  const char *name;     /* as it was named when opened */
  struct tlg_rate rate; /* {0, 0} = neither told nor stated */
  enum tlg_format format;
  double frequency_hz; /* NaN = not stated */
  char datetime[40];   /* of the first sample, "" = not stated */
  int clock;           /* as in struct tlg_source, and the next one too */
  size_t chunk;
};

/* What a live source counts, each since its start. Samples in = samples handed on + those lost are gaps in their
 * numbers. */
enum tlg_live_count {
  TLG_LIVE_PACKETS,      /* messages or datagrams taken */
  TLG_LIVE_SAMPLES,      /* samples handed on */
  TLG_LIVE_LOST_PACKETS, /* by sequence number */
  TLG_LIVE_LOST_SAMPLES, /* by sample number or time stamp */
  TLG_LIVE_LOSSES,       /* stretches of lost samples */
  TLG_LIVE_DUPLICATES,   /* packets that came before, dropped */
  TLG_LIVE_REORDERED,    /* packets that came too late to be put in their place, dropped, and counted as lost too */
  TLG_LIVE_FOREIGN,      /* packets that are none of ours: other magic, version, stream or sender */
  TLG_LIVE_MALFORMED,    /* ours, but cut, too long or contradicting themselves */
  TLG_LIVE_RESTARTS,     /* times the sender began anew */
  TLG_LIVE_OVERRUNS,     /* 'O': the radio's or the sender's own buffer overflowed */
  TLG_LIVE_SEQUENCE,     /* 'D': packets lost on the way from a radio */
  TLG_LIVE_LATE,         /* 'L': late commands */
  TLG_LIVE_TIMEOUTS,
  TLG_LIVE_CLIPPED,    /* components, as in tlg_convert_counts */
  TLG_LIVE_NON_FINITE, /* likewise */
  TLG_LIVE_COUNTS
};
TLG_API const char *tlg_live_count_name(enum tlg_live_count which);

/* Whether text names a live source: one of the schemes udp unix shm zmq srsran uhd. */
TLG_API int tlg_live_is(const char *text);
/* Open "SCHEME:REST?key=value&...". May wait for the other side, 50 ms at a time, until *cancel (may be NULL) is not
 * 0. On failure *live is NULL. TLG_EINVAL, TLG_ESYS, TLG_EFORMAT (what comes is not what was asked for), TLG_EUNAVAIL
 * (not built in, no such device), TLG_EINTR (cancelled), TLG_ENOMEM. */
TLG_API int tlg_live_open(struct tlg_live **live, const char *text, const struct tlg_live_cfg *cfg,
                          const volatile int *cancel, struct tlg_error *err);
/* As a source for a pipeline; it stays the caller's. */
TLG_API struct tlg_source tlg_live_source(struct tlg_live *live);
TLG_API const struct tlg_live_info *tlg_live_info(const struct tlg_live *live);
/* From any thread, also while it runs. */
TLG_API uint64_t tlg_live_count(const struct tlg_live *live, enum tlg_live_count which);
TLG_API void tlg_live_close(struct tlg_live *live);

/* Take what a live source gives in a thread of its own and throw it away, counted by the source: a PHY whose transmit
 * port nobody reads stops receiving too. The source stays the caller's; it may not be used until tlg_drain_end, which
 * waits up to 50 ms and returns the source's error, if it had one. TLG_EINVAL, TLG_ESYS, TLG_ENOMEM. */
struct tlg_drain; /* opaque */
TLG_API int tlg_drain_new(struct tlg_drain **drain, const struct tlg_source *source, struct tlg_error *err);
TLG_API int tlg_drain_end(struct tlg_drain *drain, struct tlg_error *err);

/* ---- sinks ----------------------------------------------------------------------------------------------- */

/* What a sink is given: n outputs, of which the first has number `first`; `gap` outputs before it are left out. */
struct tlg_sink_block {
  const tlg_cs16 *samples;
  size_t n;
  uint64_t first;
  uint64_t gap;
  const double *frequency_hz; /* not NULL: what follows was received at this frequency (NaN = not stated) */
  const uint64_t *virtual_ps; /* not NULL: the run is on the virtual clock, and this is the instant of delivery */
};

struct tlg_sink; /* opaque */

struct tlg_sink_cfg {
  struct tlg_rate rate;       /* of the outputs, for headers */
  int force;                  /* overwrite existing files */
  double frequency_hz;        /* 0 or NaN = not stated */
  const char *datetime;       /* of the first sample; NULL or "" = not stated */
  const volatile int *cancel; /* not 0 while it waits inside open for the other side: give up; may be NULL */
  void (*hint)(void *context, const char *text); /* told of what a sink does that one may not expect; may be NULL */
  void *context;
  const struct tlg_radio_cfg *radio; /* uhd: only; lives as long as the sink; NULL = all defaults */
  int only_check;                    /* see tlg_sink_check */
};

/* Open "SCHEME:REST?key=value&..." or a bare path. Schemes: null: file:PATH[?format=F] fifo:PATH stdout: and live ones,
 * udp: unix: shm: zmq: srsran: uhd: dac: Each live one has a thread of its own behind a queue (key queue=N, in blocks
 * of 1024 outputs or fewer; 4096), so that a slow one delays no other: what finds the queue full is lost to this sink,
 * counted, and a gap to it. With block=1, or where the sink says so, a full queue makes the pipeline wait instead.
 * TLG_EINVAL (unknown key or format), TLG_EEXIST, TLG_ESYS, TLG_EUNAVAIL (a scheme not built in), TLG_EINTR
 * (cancelled), TLG_ENOMEM. */
TLG_API int tlg_sink_open(struct tlg_sink **sink, const char *text, const struct tlg_sink_cfg *cfg,
                          struct tlg_error *err);
/* What tlg_sink_open would find wrong, as far as that shows without anybody noticing: nothing is bound, made, written
 * or connected to. The errors are the same. */
TLG_API int tlg_sink_check(const char *text, const struct tlg_sink_cfg *cfg, struct tlg_error *err);
/* A sink that hands each block to a function, from the deliver thread; a negative status from it stops the run. */
TLG_API int tlg_sink_callback(struct tlg_sink **sink,
                              int (*take)(void *context, const struct tlg_sink_block *block, struct tlg_error *err),
                              void *context);
/* Whether it can mark gaps (files and pipes: as tlg_writer_marks_gaps). */
TLG_API int tlg_sink_marks_gaps(const struct tlg_sink *sink);
/* What a live sink counts. Outputs given to it (tlg_sink_count) = sent + dropped, once it has ended. */
enum tlg_sink_counter {
  TLG_SINK_SENT,       /* outputs handed to the other side, or to the transport */
  TLG_SINK_DROPPED,    /* outputs lost: its queue was full, the other side was not there or too slow, it was stopped */
  TLG_SINK_LOSSES,     /* stretches of them */
  TLG_SINK_EXTRA,      /* samples sent beyond those given: zeros and repeats at the end */
  TLG_SINK_MESSAGES,   /* messages or datagrams with samples that were sent */
  TLG_SINK_REQUESTS,   /* asked for by the other side */
  TLG_SINK_PEERS,      /* times somebody connected */
  TLG_SINK_FOREIGN,    /* messages that came and were none of the protocol's */
  TLG_SINK_STALLS,     /* times the other side let it wait */
  TLG_SINK_STALLED_US, /* for so long, in all */
  TLG_SINK_UNDERRUNS,  /* 'U': the radio had nothing to send */
  TLG_SINK_LATE,       /* 'L': samples came after their time */
  TLG_SINK_SEQUENCE,   /* 'S': packets lost on the way to a radio */
  TLG_SINK_TIMEOUTS,   /* of calls of a driver */
  TLG_SINK_CLIPPED,    /* components, by what the sink's format can hold */
  TLG_SINK_HIGH_WATER, /* most blocks that stood in its queue */
  TLG_SINK_CPU_US,     /* used by its thread */
  TLG_SINK_COUNTERS
};
TLG_API const char *tlg_sink_counter_name(enum tlg_sink_counter which);
/* From any thread. */
TLG_API uint64_t tlg_sink_counter(const struct tlg_sink *sink, enum tlg_sink_counter which);
/* What the other side is doing, in one line without an end; "" if there is nothing to say. From any thread. */
TLG_API void tlg_sink_say(const struct tlg_sink *sink, char *text, size_t size);
/* Whether it is a live one; and whether it makes the pipeline wait when its queue is full. */
TLG_API int tlg_sink_is_live(const struct tlg_sink *sink);
TLG_API int tlg_sink_blocks(const struct tlg_sink *sink);
/* The rate that it takes, where its device decides (uhd:); {0, 0} = the one it was opened with. */
TLG_API struct tlg_rate tlg_sink_rate(const struct tlg_sink *sink);
/* From any thread: stop soon. For 500 ms the other side may still take what is queued, then the rest is dropped. */
TLG_API void tlg_sink_ask_stop(struct tlg_sink *sink);
/* No more blocks will come: a live sink begins to end in its thread, which may take until the other side has taken all,
 * or until a stop is asked for. */
TLG_API void tlg_sink_end(struct tlg_sink *sink);
/* Whether closing it would not wait. */
TLG_API int tlg_sink_ended(const struct tlg_sink *sink);
/* As it was named when opened. */
TLG_API const char *tlg_sink_name(const struct tlg_sink *sink);
/* Whether it writes a file (then queues block by default, as nothing is gained by losing samples), or stdout. */
TLG_API int tlg_sink_is_file(const struct tlg_sink *sink);
TLG_API int tlg_sink_is_stdout(const struct tlg_sink *sink);
/* Whether a sink of this text would be stdout; decides before anything is opened where results go. */
TLG_API int tlg_sink_text_is_stdout(const char *text);
/* Whether a sink of this text wants the recording over and over until it is stopped (srsran: with end=loop). */
TLG_API int tlg_sink_text_repeats(const char *text);
/* The path that a sink of this text would write to, to be freed by the caller; NULL if it writes to none (or when out
 * of memory). */
TLG_API char *tlg_sink_text_path(const char *text);
TLG_API int tlg_sink_write(struct tlg_sink *sink, const struct tlg_sink_block *block, struct tlg_error *err);
/* Outputs that reached the sink, and the conversions on the way. */
TLG_API uint64_t tlg_sink_count(const struct tlg_sink *sink, struct tlg_convert_counts *counts);
/* Finish and put files in place; frees the sink whatever is returned. */
TLG_API int tlg_sink_close(struct tlg_sink *sink, struct tlg_error *err);
/* Give up: no file is left behind. Frees; NULL is allowed. */
TLG_API void tlg_sink_abort(struct tlg_sink *sink);

/* The ZeroMQ context that sinks and sources share, for own sockets at inproc:// endpoints of theirs: one for the
 * process, which lives until as many releases as acquires (each open sink and source holds one). Close own sockets
 * before releasing: the last release waits for them. From any thread. NULL = out of memory or of descriptors. */
TLG_API void *tlg_zmq_acquire(void);
TLG_API void tlg_zmq_release(void);

/* ---- the framer ------------------------------------------------------------------------------------------ */

struct tlg_framer_cfg {
  uint32_t up, down;    /* L, M in lowest terms */
  uint64_t q0;          /* 0, or the alignment's (see tlg_resamp_cfg.align) */
  struct tlg_rate rate; /* input samples a second of real time: rate_in * speed */
  uint64_t length;      /* outputs of a subframe, 30720 at 30.72 Msps; >= 1 */
  uint64_t offset;      /* output number at which the first subframe begins; those before belong to none */
  uint64_t deadline_ps; /* latencies above it are counted */
  uint64_t floor_ps;    /* a subframe's own length; what lies beyond is given apart */
};

struct tlg_framer; /* opaque */

/* The PHY's subframes: the outputs [o + s*length, o + (s+1)*length) for s >= 0, o the offset. Latency of a subframe =
 * the instant it is complete less the instant at which the newest input of its first output began, that input being
 * number floor((o' * M + q0) / L) for first output o'. TLG_EINVAL, TLG_ENOMEM. */
TLG_API int tlg_framer_new(struct tlg_framer **f, const struct tlg_framer_cfg *cfg);
TLG_API void tlg_framer_free(struct tlg_framer *f);
/* n outputs from number first on were held by the PHY at delivered_ps; numbers must not fall back, and those passed
 * over are missing. shift = inputs that were closed up before (gaps joined), added to input numbers.
 * Returns the number of subframes that became complete. */
TLG_API unsigned tlg_framer_push(struct tlg_framer *f, uint64_t first, size_t n, uint64_t shift, uint64_t delivered_ps);
/* Whether subframes that end from now on are counted and timed, as they are at first; others are as if they never were,
 * but their ends are returned all the same. */
TLG_API void tlg_framer_count(struct tlg_framer *f, int counted);
/* The end of the last complete subframe: a push that completed k of them completed those of the k * length outputs
 * below it. */
TLG_API uint64_t tlg_framer_complete(const struct tlg_framer *f);

struct tlg_framer_result {
  uint64_t complete;                         /* subframes timed */
  uint64_t incomplete;                       /* subframes begun or passed over of which outputs are missing */
  uint64_t late;                             /* complete ones above the deadline */
  struct tlg_delays_summary latency, beyond; /* from the first sample; and less the subframe's own length */
};
TLG_API void tlg_framer_get(const struct tlg_framer *f, struct tlg_framer_result *result);
TLG_API const struct tlg_delays *tlg_framer_delays(const struct tlg_framer *f);

/* ---- traces ---------------------------------------------------------------------------------------------- */

/* One packet. Instants are UINT64_MAX where there is none. */
struct tlg_trace_record {
  uint64_t packet;    /* number of the packet; lost packets leave holes */
  uint64_t first_in;  /* stream number of its first input sample */
  uint64_t first_out; /* number of its first output */
  uint64_t air, received, resample_begin, resample_end, deliver_begin, delivered;
  uint64_t framed; /* the subframe that holds its last output was complete */
  uint32_t n_in, n_out;
  uint32_t flags;                         /* enum tlg_trace_flag */
  uint16_t depth_resample, depth_deliver; /* packets in the queue when it was put there, itself included; saturating */
};

enum tlg_trace_flag {
  TLG_TRACE_AFTER_GAP = 1,  /* samples before it are missing from the recording */
  TLG_TRACE_AFTER_DROP = 2, /* packets before it were lost to a full queue */
  TLG_TRACE_SHORT = 4,      /* cut short by a gap, a change of frequency or the end */
  TLG_TRACE_SEAM = 8,       /* holds the first sample of another pass of a loop */
};

struct tlg_trace_info {
  struct tlg_rate rate_in, rate_out, speed;
  uint32_t up, down;
  uint64_t q0;
  uint64_t subframe_length, subframe_offset; /* length 0 = no framer */
  uint64_t deadline_ps;
  uint64_t n_packets; /* all packets of the run, lost ones included */
  uint64_t n_dropped;
  uint64_t n_records; /* records that follow: the last ones */
  uint32_t queue;     /* depth of each queue; 0: as the scenario has it */
  uint32_t taps, shift;
  uint32_t flags; /* enum tlg_trace_run */
};

enum tlg_trace_run {
  TLG_TRACE_VIRTUAL = 1, /* virtual clock */
  TLG_TRACE_BLOCK = 2,   /* full queues blocked */
  TLG_TRACE_LIVE = 4,    /* a live source: air by its own sample clock ... */
  TLG_TRACE_ARRIVAL = 8, /* ... or when it was read */
  TLG_TRACE_MODEL = 16,  /* the model of a scenario tells the times, and its queues hold and lose the packets */
};

/* The file format is in docs/time.md. */
enum { TLG_TRACE_HEADER_BYTES = 192, TLG_TRACE_RECORD_BYTES = 96 };
TLG_API void tlg_trace_encode_header(unsigned char bytes[TLG_TRACE_HEADER_BYTES], const struct tlg_trace_info *info);
TLG_API void tlg_trace_encode_record(unsigned char bytes[TLG_TRACE_RECORD_BYTES],
                                     const struct tlg_trace_record *record);
/* TLG_EFORMAT with the offset of the field that is wrong. n = bytes that are there. */
TLG_API int tlg_trace_decode_header(struct tlg_trace_info *info, const unsigned char *bytes, size_t n,
                                    struct tlg_error *err);
/* Record number `index` of the file; previous = the record before (NULL for the first): numbers and instants must not
 * fall back. */
TLG_API int tlg_trace_decode_record(struct tlg_trace_record *record, const struct tlg_trace_info *info,
                                    const unsigned char bytes[TLG_TRACE_RECORD_BYTES], uint64_t index,
                                    const struct tlg_trace_record *previous, struct tlg_error *err);

struct tlg_trace; /* opaque: a trace file being read */
/* TLG_ESYS, TLG_EFORMAT (not a trace, cut, or longer than it says), TLG_ENOMEM; on failure *t is NULL. */
TLG_API int tlg_trace_open(struct tlg_trace **t, const char *path, struct tlg_trace_info *info, struct tlg_error *err);
/* The next record; *got = 0 behind the last. */
TLG_API int tlg_trace_read(struct tlg_trace *t, struct tlg_trace_record *record, int *got, struct tlg_error *err);
TLG_API void tlg_trace_close(struct tlg_trace *t);

/* ---- state of the host ----------------------------------------------------------------------------------- */

struct tlg_host {
  char kernel[136], machine[68], cpu_model[96];
  char governor[32], isolated[64], nohz_full[64], clocksource[32], hypervisor[32]; /* "" = not told */
  char load[48];                                                                   /* the three load averages */
  int cpus_online, cpus_allowed; /* allowed = in the calling thread's affinity mask */
  int64_t rt_runtime_us;         /* -1 = no limit on real-time threads, INT64_MIN = not told */
  int realtime_kernel;           /* PREEMPT_RT */
};
/* root = "" for this host; tests give a folder that stands for the root of its /proc and /sys. Fields that cannot be
 * read stay empty. */
TLG_API void tlg_host_read(struct tlg_host *host, const char *root);

/* Time stolen from this virtual machine since its start, in microseconds; INT64_MIN if /proc/stat does not tell. */
TLG_API int64_t tlg_host_steal_us(const char *root);

/* A control: one thread does nothing but read the clock for duration_ns. What it misses, any other thread would have
 * missed as well. */
struct tlg_spin_control {
  uint64_t duration_ns, reads;
  uint64_t gap_ns;                          /* the largest gap between two readings, in ns ... */
  uint64_t gap_when_ns;                     /* ... and when, since the start of the control */
  uint64_t gaps_10us, gaps_100us, gaps_1ms; /* gaps above these */
  uint64_t lost_ns;                         /* sum of the gaps above 10 us */
};
TLG_API void tlg_host_spin(struct tlg_spin_control *control, uint64_t duration_ns, const volatile int *stop);

/* ---- the pipeline ---------------------------------------------------------------------------------------- */

enum tlg_clock_kind {
  TLG_CLOCK_REAL,
  TLG_CLOCK_VIRTUAL, /* no wall time: stages take no time at all, or that of a scenario, so that every figure repeats */
};

enum tlg_overrun {
  TLG_OVERRUN_DEFAULT, /* drop on the real clock without a file or a sink that blocks, else block */
  TLG_OVERRUN_DROP,    /* a full queue in front of a stage loses the packet, as a radio does */
  TLG_OVERRUN_BLOCK,   /* it makes the stage before wait; nothing is lost */
};

enum tlg_gaps {
  TLG_GAPS_MARK,  /* outputs of a gap are left out and marked */
  TLG_GAPS_ZERO,  /* they are emitted, as if zeros had been received */
  TLG_GAPS_CLOSE, /* what stands on both sides is joined */
};

/* What `air` of a live source's packet is (docs/time.md). */
enum tlg_air {
  TLG_AIR_DEFAULT, /* clock for sources that have one, else arrival */
  TLG_AIR_CLOCK,   /* by the source's sample clock: its earliest packet counts as being on time */
  TLG_AIR_ARRIVAL, /* when it was read */
};

enum tlg_stage { TLG_STAGE_RECEIVE, TLG_STAGE_RESAMPLE, TLG_STAGE_DELIVER, TLG_STAGE_READ, TLG_STAGES };

enum tlg_event_kind {
  TLG_EVENT_OVERRUN, /* n more packets were lost */
  TLG_EVENT_STARVED, /* the source came too late n more times */
  TLG_EVENT_GAP,     /* n more gaps of the recording were met */
  TLG_EVENT_WARNING, /* text */
  TLG_EVENT_TICK,    /* about 20 times a second; samples = inputs received so far */
};

struct tlg_event {
  enum tlg_event_kind kind;
  uint64_t n;
  uint64_t samples;
  const char *text;
};

/* Zero means default. */
struct tlg_pipeline_cfg {
  struct tlg_source source;
  struct tlg_rate rate_in, rate_out;
  struct tlg_rate speed; /* default 1 */
  int unpaced; /* packets go as fast as the sinks take them: full queues block, and air is when each was taken up */
  const struct tlg_resamp_cfg *resamp; /* required; max_block is set here */
  int flush;                           /* feed zeros at the end until the last input has left; implied by align */
  const uint32_t *packets; /* sizes in inputs, taken in turn; default 625, and as they come from a live source */
  size_t n_packets;
  const struct tlg_capture *captures; /* of the source, for changes of frequency on the way; may be NULL */
  size_t n_captures;
  uint64_t loops;       /* passes over the source; 0 = until stopped */
  uint64_t max_samples; /* inputs of the stream, gaps included; 0 = no limit */
  enum tlg_clock_kind clock;
  enum tlg_overrun overrun;
  enum tlg_gaps gaps;
  enum tlg_air air;        /* of a live source */
  size_t queue;            /* packets each queue holds; default 4096, less for large packets */
  size_t read_ahead;       /* samples read ahead of the pace; default 8 Mi */
  struct tlg_sink **sinks; /* taken over: closed or aborted by tlg_pipeline_run, or by _free */
  size_t n_sinks;
  int pin;               /* 1: receive and deliver on one core, resample on another */
  int cores[TLG_STAGES]; /* or explicit cores, as core number + 1; 0 = free */
  int fifo;              /* SCHED_FIFO priority of the three stages, 0 = none */
  int lock_memory;       /* mlockall */
  int strict;            /* what the host does not permit is an error (TLG_EUNAVAIL), not a warning */
  uint64_t spin_ns;      /* how long a waiting stage spins before it sleeps; default 1 us;
                          * UINT64_MAX = sleeps at once */
  uint64_t pace_ns;      /* the source spins from so long before a deadline on; default 100 us, 5 us under SCHED_FIFO */
  size_t trace_packets;  /* records kept for a trace; 0 = none */
  uint64_t offset;       /* the framer's */
  uint64_t deadline_ps;  /* default 1200 us */
  /* On the virtual clock, not NULL: the model of this scenario tells when each packet is where, and which are lost. Its
   * rate must be rate_in (speed 1) and its PHY's rate_out; its packet sizes, its PHY's offset, subframe and deadline
   * are taken in the place of those above, and overrun and queue do not matter. Copied. */
  const struct tlg_sim_scenario *scenario;
  uint64_t seed;           /* 0 = the scenario's */
  uint64_t warmup_packets; /* the first ones, left out of every distribution */
  const uint64_t *drops;   /* packet numbers, rising, that are lost as if a queue had been full */
  size_t n_drops;
  /* Called in the thread of tlg_pipeline_run. Not 0 asks for the end: what was received is drained. */
  int (*event)(void *context, const struct tlg_event *event);
  void *context;
};

struct tlg_stage_result {
  uint64_t cpu_ns, spin_ns;        /* CPU time; the part spent spinning (source: before deadlines, others: on queues) */
  uint64_t voluntary, involuntary; /* context switches */
  uint64_t minor_faults, major_faults;
  int core; /* -1 = not pinned */
  int fifo; /* whether it ran under SCHED_FIFO */
};

struct tlg_queue_result {
  size_t depth, high_water;
  uint64_t sleeps; /* times its consumer went to sleep */
};

/* Inputs = processed + dropped + missing; outputs = end position - left out. */
struct tlg_accounts {
  uint64_t inputs;       /* stream position at the end: every sample number that passed */
  uint64_t processed;    /* fed to the resampler */
  uint64_t dropped;      /* lost to full queues (or by cfg.drops) ... */
  uint64_t missing;      /* in gaps of the recording */
  uint64_t closed;       /* of dropped and missing: joined, so that later samples moved up */
  uint64_t end_position; /* outputs by the formula, from the position of the resampler's inputs */
  uint64_t left_out;     /* outputs of gaps, not emitted */
  uint64_t outputs;      /* outputs that reached the sinks, without the tail */
  uint64_t tail;         /* outputs of the zeros fed at the end */
  uint64_t packets, packets_delivered, packets_dropped;
  uint64_t packets_unfinished; /* of a scenario: their unit had not filled at the end; processed, but without times */
  uint64_t overruns_receive, overruns_resample; /* packets lost in front of the resampler; of the sinks */
  uint64_t gaps;                                /* gaps of the recording */
  int balanced;                                 /* all of these agree with each other */
};

struct tlg_pipeline_result {
  struct tlg_accounts accounts;
  enum tlg_overrun overrun; /* the policy in force */
  uint64_t duration_ps;     /* of the stream, in real time at the paced rate */
  uint64_t wall_ns;         /* from the start of the stream to the end of the run, on either clock */
  uint64_t passes;          /* begun */
  int stopped;              /* ended by the callback */
  int source_failed;        /* the error that ended it is the source's */
  enum tlg_air air;         /* of a live source, as it was at the end; TLG_AIR_DEFAULT: not a live one */
  int lost_clock;           /* its samples did not keep the rate: air became their arrival */
  double arrived_hz;        /* samples of a live source a second, gaps included, as they came; NaN = too few */
  /* Delays of packets, from air where not said otherwise. */
  struct tlg_delays_summary release;                     /* received - air: the release error */
  struct tlg_delays_summary packet;                      /* delivered - air */
  struct tlg_delays_summary wait_resample, wait_deliver; /* in each queue */
  struct tlg_delays_summary service_resample, service_deliver;
  int has_framer; /* 0: a millisecond is not a whole number of outputs, or air is arrival */
  struct tlg_framer_result framer;
  double slope_ppm;       /* of the release error over the stream, by least squares; NaN with fewer than two packets */
  double floor_slope_ppm; /* of the least errors of every 100 ms, which stalls do not bend; NaN below 200 ms */
  uint64_t starved;       /* times the source had no samples when it wanted them ... */
  uint64_t starved_ps;    /* ... and the longest such wait */
  uint64_t sleeps;        /* of the pace */
  struct tlg_queue_result queue_resample, queue_deliver;
  struct tlg_stage_result stages[TLG_STAGES];
  int64_t steal_us;  /* during the run; INT64_MIN = not told */
  int memory_locked; /* 1 if mlockall held */
  unsigned n_lost;   /* of a scenario: the places that lost packets */
  struct {
    char place[TLG_SIM_NAME];
    uint64_t packets;
  } lost[8 + TLG_SIM_THREADS];
};

struct tlg_pipeline; /* opaque */

/* Lays out everything. The sinks belong to the pipeline from here on, also on failure (then they are aborted).
 * TLG_EINVAL, TLG_ETAPS, TLG_ENOMEM, TLG_EUNAVAIL. */
TLG_API int tlg_pipeline_new(struct tlg_pipeline **p, const struct tlg_pipeline_cfg *cfg, struct tlg_error *err);
/* Run to the end, once. 0 (also when stopped by the callback: the sinks are complete up to there), else the source's
 * or a sink's error: what was read before a source's error still goes to live sinks, but no file is left. */
TLG_API int tlg_pipeline_run(struct tlg_pipeline *p, struct tlg_error *err);
TLG_API const struct tlg_pipeline_result *tlg_pipeline_result(const struct tlg_pipeline *p);
/* What the scenario's model found over the whole run (no subframes: those are the pipeline's); NULL without a scenario.
 */
TLG_API const struct tlg_sim_result *tlg_pipeline_model(const struct tlg_pipeline *p);
/* What sink number i was given, the conversions on the way, and whether it could mark gaps; read before it was closed.
 * counts and marks_gaps may be NULL. */
TLG_API uint64_t tlg_pipeline_sink_count(const struct tlg_pipeline *p, size_t i, struct tlg_convert_counts *counts,
                                         int *marks_gaps);
/* A counter of sink number i, and what it has to say, while it runs (from the event callback) and afterwards. */
TLG_API uint64_t tlg_pipeline_sink_counter(const struct tlg_pipeline *p, size_t i, enum tlg_sink_counter which);
TLG_API void tlg_pipeline_sink_say(const struct tlg_pipeline *p, size_t i, char *text, size_t size);
TLG_API int tlg_pipeline_sink_is_live(const struct tlg_pipeline *p, size_t i);
/* The kernel in use, and the group delay in outputs. */
TLG_API enum tlg_cpu tlg_pipeline_cpu(const struct tlg_pipeline *p);
TLG_API void tlg_pipeline_delay(const struct tlg_pipeline *p, struct tlg_rate *outputs);
/* Distributions, for plots and comparisons: which = 0 release, 1 packet, 2 wait_resample, 3 wait_deliver,
 * 4 service_resample, 5 service_deliver, 6 subframe latency; NULL if there is none. */
TLG_API const struct tlg_delays *tlg_pipeline_delays(const struct tlg_pipeline *p, int which);
/* After the run. tlg_pipeline_trace_count records are kept; number i counts from the oldest. */
TLG_API uint64_t tlg_pipeline_trace_count(const struct tlg_pipeline *p);
TLG_API const struct tlg_trace_record *tlg_pipeline_trace_record(const struct tlg_pipeline *p, uint64_t i);
TLG_API void tlg_pipeline_trace_info(const struct tlg_pipeline *p, struct tlg_trace_info *info);
TLG_API int tlg_pipeline_trace_write(const struct tlg_pipeline *p, const char *path, int force, struct tlg_error *err);
/* The same into a file that is open already (a pipe's reader waits since before the run); f is closed or, on failure,
 * aborted. */
TLG_API int tlg_pipeline_trace_put(const struct tlg_pipeline *p, struct tlg_outfile *f, struct tlg_error *err);
TLG_API void tlg_pipeline_free(struct tlg_pipeline *p);

#ifdef __cplusplus
}
#endif
#endif
