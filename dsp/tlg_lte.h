/* SPDX-License-Identifier: Apache-2.0 */
/* LTE downlink, what transmitter and receiver share: numerology, sequences, codes, resource maps, constellations.
 * FDD, normal cyclic prefix, 15 kHz. Pure functions without state: any thread, any time; nothing allocates unless said.
 * Bits are bytes of 0 or 1, the first transmitted one first. Sources: 3GPP TS 36.211 (physical channels), 36.212
 * (coding), 36.213 (transport block sizes), 36.331 (MIB); docs/lte.md. */
#ifndef TLG_LTE_H
#define TLG_LTE_H

#include "taplag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numerology ------------------------------------------------------------------------------------------- */

#define TLG_LTE_TS_RATE 30720000u /* 1/T_s in Hz; all instants below count T_s */
#define TLG_LTE_SUBFRAME 30720u   /* T_s in a subframe of 1 ms; ten make a frame */
#define TLG_LTE_USEFUL 2048u      /* T_s in a symbol without its prefix */
#define TLG_LTE_SYMBOLS 14u       /* symbols in a subframe */
#define TLG_LTE_MAX_PRB 100u
#define TLG_LTE_MAX_SC (12u * TLG_LTE_MAX_PRB)
#define TLG_LTE_IDS 504u
#define TLG_LTE_MAX_PORTS 4u

/* A cell. prb is 6, 15, 25, 50, 75 or 100; id 0..503; ports 1, 2 or 4. PHICH: resource N_g = 1/6, 1/2, 1, 2 as 0..3,
 * and its extended duration. Maps of PSS, SSS, CRS and PBCH ignore the PHICH. */
struct tlg_lte_cell {
  unsigned prb, id, ports;
  unsigned phich_resource, phich_extended;
};

/* TLG_EINVAL, with a sentence, for what is none of the above. */
TLG_API int tlg_lte_cell_check(const struct tlg_lte_cell *cell, struct tlg_error *err);
/* The channel's width in Hz for so many resource blocks (6: 1.4 MHz ... 100: 20 MHz), and back; 0 if there is none. */
TLG_API unsigned tlg_lte_bandwidth_hz(unsigned prb);
TLG_API unsigned tlg_lte_prb(unsigned bandwidth_hz);
/* The usual transform: 128, 256, 512, 1024, 1536, 2048 points; 15 kHz times it is the usual rate. 0 for another prb. */
TLG_API unsigned tlg_lte_fft_size(unsigned prb);
/* Where symbol l = 0..13 of a subframe begins (with its prefix), in T_s, and its prefix: 160 in symbols 0 and 7, else
 * 144. At a transform of n points multiply by n / 2048 (whole for each multiple of 128). */
TLG_API unsigned tlg_lte_symbol_start(unsigned l, unsigned *prefix);

/* ---- sequences -------------------------------------------------------------------------------------------- */

/* Pseudo-random bits c(first) .. c(first + n - 1) of TS 36.211, 7.2. */
TLG_API void tlg_lte_gold(uint32_t c_init, size_t first, uint8_t *c, size_t n);
/* Primary synchronisation: d(0..61) for N_ID_2 = 0..2, in subcarriers 6 prb - 31 .. 6 prb + 30 of the last symbol of
 * slots 0 and 10 (symbol 6 of subframes 0 and 5). */
TLG_API void tlg_lte_pss(unsigned n_id_2, tlg_cf64 d[62]);
/* Secondary: d(0..61), each +1 or -1, for the cell identity 0..503 in subframe 0 or 5; the symbol before the primary
 * one. */
TLG_API void tlg_lte_sss(unsigned id, unsigned subframe, int8_t d[62]);

/* Cell reference signals in symbol l = 0..13 of subframe 0..9 for a port 0..3: values r of mean power 1 in subcarriers
 * first, first + 6, ...; 2 prb of them. Returns that number, 0 if the port has none in this symbol (values untouched).
 * The middle of a wider cell's values are those of a narrower one, and in the same places. */
TLG_API unsigned tlg_lte_crs(unsigned id, unsigned prb, unsigned port, unsigned subframe, unsigned l, unsigned *first,
                             tlg_cf64 *values);

/* ---- constellations --------------------------------------------------------------------------------------- */

/* The 2^bits points (bits = 1 BPSK, 2, 4, 6, 8 = 256QAM) of mean power 1; b(0) is the highest bit of the index. */
TLG_API int tlg_lte_constellation(unsigned bits, tlg_cf64 *points);
/* n symbols from bits * n bits. TLG_EINVAL for other constellations. */
TLG_API int tlg_lte_modulate(unsigned bits, const uint8_t *b, size_t n, tlg_cf64 *out);
/* Transmit diversity on 2 ports (TS 36.211, 6.3.3.3, 6.3.4.3): n (even) symbols of the codeword into n of each port,
 * scaled by 1/sqrt(2). out0 and out1 do not overlap d. */
TLG_API void tlg_lte_sfbc(const tlg_cf64 *d, size_t n, tlg_cf64 *out0, tlg_cf64 *out1);

/* ---- codes ------------------------------------------------------------------------------------------------ */

enum tlg_lte_crc { TLG_LTE_CRC8, TLG_LTE_CRC16, TLG_LTE_CRC24A, TLG_LTE_CRC24B };

/* The remainder, its highest bit first on the air. */
TLG_API uint32_t tlg_lte_crc(enum tlg_lte_crc kind, const uint8_t *bits, size_t n);
TLG_API unsigned tlg_lte_crc_size(enum tlg_lte_crc kind);
/* value's lowest n bits, the highest of them first. And back. */
TLG_API void tlg_lte_put_bits(uint8_t *bits, uint32_t value, unsigned n);
TLG_API uint32_t tlg_lte_get_bits(const uint8_t *bits, unsigned n);

/* Tail-biting convolutional code, K = 7, 133 171 165: n bits (n >= 6) give d = n of stream 0, n of 1, n of 2. */
TLG_API void tlg_lte_conv_encode(const uint8_t *bits, size_t n, uint8_t *d);
/* Its rate matching: e(k) = d[index[k]], k < n_e, d as above with n a stream. A receiver adds soft bit k into
 * d[index[k]]. n <= 4096. */
TLG_API int tlg_lte_conv_match(size_t n, uint32_t *index, size_t n_e);

/* Turbo code. tlg_lte_qpp: interleaver of block size k (TLG_EINVAL if it is none of the 188): pi(i). */
TLG_API int tlg_lte_qpp(unsigned k, uint16_t *pi);
/* The least block size >= bits, the table's last below it (0 if none); 0 if bits > 6144. */
TLG_API unsigned tlg_lte_turbo_size(unsigned bits, unsigned *below);
/* d = k + 4 of the systematic stream, k + 4 of each parity, tails included as TS 36.212, 5.1.3.2.2 orders them. */
TLG_API int tlg_lte_turbo_encode(const uint8_t *bits, unsigned k, uint8_t *d);
/* Its rate matching: e(i) = d[index[i]]; fillers bits at the start of streams 0 and 1 are passed over. n_cb: length of
 * the circular buffer, 0 = all of it. rv 0..3. */
TLG_API int tlg_lte_turbo_match(unsigned k, unsigned fillers, unsigned rv, unsigned n_cb, uint32_t *index, size_t n_e);

/* Segmentation of a transport block of n bits (its CRC24A not counted): n_minus blocks of k_minus, then n_plus of
 * k_plus, the first with fillers; each with a CRC24B if there are several. */
struct tlg_lte_segments {
  unsigned n, n_minus, n_plus, k_minus, k_plus, fillers;
};
TLG_API int tlg_lte_segment(unsigned n, struct tlg_lte_segments *s);
/* Number of bits of code block r of n after rate matching, for n_e bits in all in symbols of bits_a_symbol * layers. */
TLG_API size_t tlg_lte_block_share(size_t n_e, unsigned n_blocks, unsigned r, unsigned bits_a_symbol);
/* A downlink shared channel: n bits of the transport block to n_e bits before scrambling, redundancy version rv. The
 * soft buffer is not limited. Transmit diversity counts as two layers: layers = ports. _new allocates (TLG_EINVAL,
 * TLG_ENOMEM; then *c is NULL), _run does not; one thread at a time. */
struct tlg_lte_dlsch; /* opaque */
TLG_API int tlg_lte_dlsch_new(struct tlg_lte_dlsch **c, unsigned n, unsigned bits_a_symbol, unsigned layers,
                              unsigned rv, size_t n_e);
TLG_API void tlg_lte_dlsch_free(struct tlg_lte_dlsch *c);
TLG_API void tlg_lte_dlsch_run(struct tlg_lte_dlsch *c, const uint8_t *block, uint8_t *e);
/* All three at once. */
TLG_API int tlg_lte_dlsch_encode(const uint8_t *block, unsigned n, unsigned bits_a_symbol, unsigned layers, unsigned rv,
                                 uint8_t *e, size_t n_e);

/* Transport block sizes (TS 36.213, table 7.1.7.2.1-1) for an allocation of the whole band: i_tbs 0..33, prb one of
 * the six; 0 if there is none. */
TLG_API unsigned tlg_lte_tbs(unsigned i_tbs, unsigned prb);
/* MCS 0..28 of table 7.1.7.1-1, or 0..27 of table 7.1.7.1-1A (with 256QAM) if table_256 is not 0. */
TLG_API int tlg_lte_mcs(unsigned mcs, int table_256, unsigned *bits_a_symbol, unsigned *i_tbs);

/* ---- master information block, PBCH ----------------------------------------------------------------------- */

struct tlg_lte_mib {
  unsigned prb, phich_resource, phich_extended;
  unsigned sfn;   /* 0..1023; the block carries its upper eight bits */
  unsigned spare; /* the last ten bits; 0 before release 13 */
};
#define TLG_LTE_PBCH_BITS 1920u /* in four frames of 480 */
#define TLG_LTE_PBCH_RES 240u   /* resource elements a frame */

TLG_API void tlg_lte_mib_pack(const struct tlg_lte_mib *mib, uint8_t bits[24]);
/* sfn becomes a multiple of 4. TLG_EFORMAT if the bandwidth is none. */
TLG_API int tlg_lte_mib_unpack(struct tlg_lte_mib *mib, const uint8_t bits[24]);
/* What the CRC16 is xored with: 0x0000, 0xffff, 0x5555 for 1, 2, 4 ports. */
TLG_API uint32_t tlg_lte_pbch_mask(unsigned ports);
/* 24 bits to the 1920 of four frames before scrambling, the first sent where sfn mod 4 = 0. Its index table is
 * tlg_lte_conv_match(40, index, 1920). */
TLG_API void tlg_lte_pbch_encode(const uint8_t mib[24], unsigned ports, uint8_t bits[1920]);
/* The scrambling bits of the cell for four frames: tlg_lte_gold(id, 0, c, 1920). The resource elements in the order of
 * mapping, as symbol * 12 prb + subcarrier of subframe 0 (places for four ports of reference signals are left out). */
TLG_API void tlg_lte_pbch_res(unsigned id, unsigned prb, uint32_t re[240]);

/* ---- resource map of a subframe --------------------------------------------------------------------------- */

/* Subcarriers count from the lowest up, DC (which carries nothing) left out: k < 6 prb lies at (k - 6 prb) 15 kHz, the
 * others at (k - 6 prb + 1) 15 kHz. Grids are symbol-major: [l * 12 prb + k]. */
enum tlg_lte_re {
  TLG_LTE_RE_PDSCH, /* data, where it is allocated */
  TLG_LTE_RE_CRS0,  /* reference signals of ports 0..3 that the cell has; the others of its ports are silent there */
  TLG_LTE_RE_CRS1,
  TLG_LTE_RE_CRS2,
  TLG_LTE_RE_CRS3,
  TLG_LTE_RE_PSS,
  TLG_LTE_RE_SSS,
  TLG_LTE_RE_GUARD, /* the five empty ones on both sides of PSS and SSS */
  TLG_LTE_RE_PBCH,
  TLG_LTE_RE_HOLE, /* kept free for reference signals of ports that the cell has not (PBCH's and symbol 0's) */
  TLG_LTE_RE_PCFICH,
  TLG_LTE_RE_PHICH,
  TLG_LTE_RE_PDCCH,
  TLG_LTE_RE_N
};

/* Symbols of the control region for a control format indicator 1..3: one more where prb <= 10. */
TLG_API unsigned tlg_lte_control_symbols(unsigned prb, unsigned cfi);
/* map[14 * 12 prb] of enum tlg_lte_re for a subframe 0..9. TLG_EINVAL (cell, cfi 1..3). */
TLG_API int tlg_lte_map(const struct tlg_lte_cell *cell, unsigned subframe, unsigned cfi, uint8_t *map);

/* A resource element group: four elements (as [l * 12 prb + k]) in the order of mapping. */
struct tlg_lte_reg {
  uint32_t re[4];
};
/* The four groups of the PCFICH. */
TLG_API void tlg_lte_pcfich_regs(const struct tlg_lte_cell *cell, struct tlg_lte_reg regs[4]);
/* The groups of the PHICH: three for each of its groups, in the order of mapping; returns their number (<= 75). */
TLG_API unsigned tlg_lte_phich_regs(const struct tlg_lte_cell *cell, struct tlg_lte_reg *regs);
/* The groups of the PDCCH in the order in which its quadruplets are sent (interleaver and cyclic shift undone):
 * quadruplet i goes to regs[i]. Returns their number (<= 800); control channel element j is quadruplets 9 j .. 9 j + 8.
 * regs NULL: only count. */
TLG_API unsigned tlg_lte_pdcch_regs(const struct tlg_lte_cell *cell, unsigned cfi, struct tlg_lte_reg *regs);

/* ---- control channels and scrambling ---------------------------------------------------------------------- */

/* The 32 bits of control format indicator 1..3 (TS 36.212, table 5.3.4-1), before scrambling. */
TLG_API void tlg_lte_cfi_bits(unsigned cfi, uint8_t bits[32]);
/* Initial values of the scrambling sequences in a subframe 0..9; the PHICH's is the PCFICH's. */
TLG_API uint32_t tlg_lte_pcfich_init(unsigned id, unsigned subframe);
TLG_API uint32_t tlg_lte_pdcch_init(unsigned id, unsigned subframe);
TLG_API uint32_t tlg_lte_pdsch_init(unsigned id, unsigned subframe, unsigned rnti, unsigned codeword);
/* n bits of downlink control information to n_e bits on the air (CRC16 with the RNTI, tail biting, rate matching);
 * n <= 100. */
TLG_API int tlg_lte_dci_encode(const uint8_t *bits, size_t n, unsigned rnti, uint8_t *e, size_t n_e);
/* DCI for the whole band to one RNTI: format 1 (resource allocation type 0) with mcs 0..31, HARQ process and new data
 * indicator 0; and format 1A (localized type 2). Return the number of bits (<= 40). */
TLG_API unsigned tlg_lte_dci_1(unsigned prb, unsigned mcs, unsigned harq, unsigned ndi, unsigned rv, uint8_t *bits);
TLG_API unsigned tlg_lte_dci_1a(unsigned prb, unsigned mcs, unsigned harq, unsigned ndi, unsigned rv, uint8_t *bits);
/* First control channel element of candidate m (0..) of a UE's search space at an aggregation level of 1, 2, 4, 8 in a
 * subframe; TLG_EINVAL if n_cce has no room for one. */
TLG_API int tlg_lte_search_space(unsigned n_cce, unsigned level, unsigned rnti, unsigned subframe, unsigned m);

#ifdef __cplusplus
}
#endif
#endif
