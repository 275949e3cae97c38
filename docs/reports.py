#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reports.md from the scenarios: docs/reports.py build/taplag > docs/reports.md. The same bytes every time."""
import json
import subprocess
import sys

taplag = sys.argv[1] if len(sys.argv) > 1 else "build/taplag"


def run(*args):
    return json.loads(subprocess.run([taplag, *args, "--json"], check=True, capture_output=True, text=True).stdout)


def model(name, *settings):
    args = ["model", name]
    for s in settings:
        args += ["--set", s]
    return run(*args)


def us(ps, digits=1):
    return f"{ps / 1e6:.{digits}f}"


def element(m, name):
    return next(e for e in m["elements"] if e["name"] == name)


def server(m, name):
    return next(s for s in m["servers"] if s["name"] == name)["load_percent"]


def life(name, *args):
    return run("explain", name, *args)["life"]


rows = []


def row(what, report, ours, note=""):
    rows.append(f"| {what} | {report} | {ours} | {note} |")


def table(title, text=""):
    global rows
    print(f"\n## {title}\n")
    if text:
        print(text + "\n")
    print("| what | report | model | remarks |\n| --- | --- | --- | --- |")
    print("\n".join(rows))
    rows = []


print("""# The reports' figures beside the model's

Written by `docs/reports.py` from the scenarios in `sim/scenarios/`; the same bytes every time. *Given* = a figure of the report
that went in; *guess* = a parameter that no report states. Times in us unless said.""")

# ---- usrpL0
tandem = life("usrpl0-three-packets", "--packet-no", "2")
air = next(e for e in tandem if e["element"] == "source")["finish_ps"]
last = max(e["finish_ps"] for e in tandem) - air
serial = model("usrpl0-packet-serial")
row("work for 768 outputs in series", "26 (9 + 15 + 2) against 25", f"{server(serial, 'l0') / 4:.2f}",
    f"given; load {server(serial, 'l0'):.2f} %: the model calls it overloaded, first packet lost at {element(serial, 'socket')['first_loss_ps'] / 1e12:.2f} s")
threaded = model("usrpl0-packet-threaded")
row("work for 768 outputs with three threads", "15", us(element(threaded, "resample")["service"]["p50_ps"], 2),
    f"the slowest stage; filter's thread is busy {server(threaded, 'filter'):.1f} %, receive and send together {server(threaded, 'core 1'):.1f} %")
row("three packets at once, pipelined", "56", us(last, 0), "exact; `explain usrpl0-three-packets --packet-no 2`")
row("the same in series", "84", "78", "the report is wrong: 3 x 26 = 78")
for cost, words in (("0.9", "stable"), ("1.0", "at the limit"), ("1.002", "half an hour?"), ("1.01", "a minute"), ("1.05", "seconds"), ("1.5", "seconds")):
    m = model("usrpl0-packet-serial", f"send.fixed_us={cost}", "duration_s=100")
    lost = element(m, "socket")["first_loss_ps"]
    total = 24 + float(cost)
    hold = "no loss in the run" if lost is None else f"first loss at {lost / 1e12:.1f} s"
    if cost == "1.002":
        hold += f"; the buffer's {2170 * 14.48e-3:.1f} ms last {2170 * 14.48e-6 / (total / 25 - 1):.0f} s, so 25.0004 us is half an hour"
    row(f"time to failure at {total:g} us", "seconds or half an hour", hold, f"{server(m, 'l0'):.3f} % load; the mean cost decides, in its fourth digit")
sub = model("usrpl0-subframe")
row("whole-subframe granularity", "1000 + up to 400", f"{us(sub['subframe']['latency']['p50_ps'], 0)} (up to {us(sub['subframe']['latency']['max_ps'], 0)})",
    "200 of IPC and the rest given; when the blocks happen to be aligned with the PHY's subframes")
second = model("usrpl0-second-queue")
worst = model("usrpl0-second-queue", "phy.offset=1")
row("second queueing", "2500-2600", f"{us(second['subframe']['latency']['min_ps'], 0)}-{us(worst['subframe']['latency']['max_ps'], 0)}",
    "offsets of 1536 and 1 output, a guess: the delay falls by 1 us for each us of offset, the mean over all offsets is 500 less")
moderation = model("usrpl0-moderation")
off = model("usrpl0-moderation", "moderation=off")
tuned = model("usrpl0-tuned")
row("waiting for a packet of 362", "14.5", us(362 * 40000, 2), "362 / 25 MHz")
row("smallest chain: 15 queue + 30 filter + 100 fixed beyond the subframe", "145",
    us(tuned["subframe"]["latency"]["mean_ps"] - tuned["subframe"]["floor_ps"]), "the 100 are not explained in the report; here 60 of hop (guess), wake-ups and switches")
row("subframes inside 1200 after pipelining", "90 %, some over 2000",
    f"{threaded['subframe']['inside_percent']:.1f} %, largest {us(threaded['subframe']['latency']['max_ps'], 0)}",
    "random stalls of 0.6 ms on average every 15 ms, a guess fitted to the 90 %; every 10, 30 and 60 ms: "
    + ", ".join(f"{model('usrpl0-packet-threaded', 'duration_s=10', f'stalls.1.every_s={t}')['subframe']['inside_percent']:.1f}" for t in (0.01, 0.03, 0.06)) + " %")
flush = model("usrpl0-diskflush")
bursts = [b["when_ps"] / 1e12 for b in flush["subframe"]["late_bursts"]]
row("log on a disk: bursts of late subframes", "every 5 s", ", ".join(f"{b:.2f}" for b in bursts) + " s",
    f"5 s given, stalls of 5 to 15 ms a guess: each burst has {flush['subframe']['late_bursts'][0]['subframes']} late subframes; proportional to the stall")
row("log in memory", "cured", f"{tuned['subframe']['inside_percent']:.1f} % inside", "")
gap = moderation["gap_peaks_ps"]
row("igb, rx-usecs 3: distance of interrupts", "101 or 185, then 9", f"{element(moderation, 'nic')['waiting']['max_ps'] / 1e6:.1f} longest wait; rule: 192.25",
    "the driver's rule at 1514-byte frames; 185 = 192.25 less the 13 packets of a burst at 0.57 us (7.4)")
row("gaps between packets in L0", "101 or 185, then 9", " / ".join(us(g) for g in gap),
    "0.6 within a burst, 9.6 where a hand-over unit of 625 samples is passed on (9 given), then the rest of the interval")
bulk = model("usrpl0-moderation-bulk")
row("... with one vector, after a backlog", "101, then 9", " / ".join(us(g) for g in reversed(bulk["gap_peaks_ps"])),
    "9 us a packet given. The driver's other rule stays in its bulk class, 245 us, once more than 10 kB came in one interval: 245 - 16 x 9 = 101. "
    "What brought it there is a guess (one stall of 0.3 ms), and without it the distance stays 49 us; "
    f"{bulk['sent'] / bulk['interrupts']:.1f} packets of 362 samples a burst, not 8-9")
row("packets of a burst", "8-9", f"{moderation['sent'] / moderation['interrupts']:.1f} of 362 samples, {moderation['sent'] * 362 / 625 / moderation['interrupts']:.1f} hand-over units", "")
row("peaks of the latency", "several", f"{len(moderation['packet_peaks_ps'])} ({', '.join(us(p) for p in moderation['packet_peaks_ps'])})", "")
row("with rx-usecs 0: air to L0", "comb gone, below 80", f"{len(off['received_peaks_ps'])} peak{'s' if len(off['received_peaks_ps']) != 1 else ''}, {us(off['received']['p50_ps'])} to {us(off['received']['max_ps'])}",
    f"all within {us(off['received']['max_ps'] - off['received']['min_ps'])} us; with moderation {us(moderation['received']['min_ps'])} to {us(moderation['received']['max_ps'])}")
table("1. usrpL0")

# ---- camera
frames = 2560 * 2048 * 3 * 30
row("one camera", "3.8 Gbit/s", f"{frames * 8 / 1e9:.3f} Gbit/s", "2560 x 2048 x 3 bytes x 30")
for size, bits in ((1514, "812,000/s"), (9014, "14,000/s")):
    n = round(10e9 / ((size + 24) * 8))
    row(f"packets a second at {size} bytes", bits, f"{n:,}/s", "right" if size == 1514 else "the report is wrong by a factor of ten")
def rate(m):
    return m["samples_delivered"] * 8 / (m["scenario"]["span_ps"] / 1e12) / 1e6
default = model("camera-10gbe-default")
row("as delivered", "300-500 Mbit/s, massive loss", f"{rate(default):.0f} Mbit/s, {100 * default['lost'] / default['sent']:.0f} % lost",
    "datagrams of 144 bytes, a guess for \"small packets\"; kernel 2.4 us a packet, a guess")
for size in (64, 256, 1472):
    m = model("camera-10gbe-default", f"packet={size}", "duration_s=0.3")
    row(f"... with datagrams of {size} bytes", "", f"{rate(m):.0f} Mbit/s, {100 * m['lost'] / m['sent']:.0f} % lost", "sensitive: the kernel's cost is by the packet" if m["stable"] else "the link cannot carry it")
good = model("camera-10gbe-tuned")
row("tuned: one camera", "without loss", f"{good['lost']} of {good['sent']:,} lost", f"busiest: {good['bottleneck']}")
full = model("camera-10gbe-tuned", "rate=1239M", "duration_s=1")
row("tuned: what goes through at most", "9 Gbit/s", f"{rate(full) / 1e3:.2f} Gbit/s, {full['lost']} lost", "the link's limit with 8000-byte datagrams; a cost of 7.1 us a packet somewhere would make it 9.0")
for what, settings in (("MTU 1500, datagrams of 8000", ["mtu=1500"]), ("moderation adaptive", ["moderation=ixgbe"]), ("ring of 512", ["ring=512"]),
                       ("default socket buffer", ["socket.buffer_bytes=212992"]), ("no checksum offload, 0.3 ns a byte", ["kernel.checksum_offload=false", "kernel.checksum_byte_ns=0.3"])):
    m = model("camera-10gbe-tuned", "duration_s=1", *settings)
    row(f"tuned, but {what}", "", f"{rate(m) / 1e3:.2f} Gbit/s, {100 * m['lost'] / m['sent']:.1f} % lost", f"packet p99.9 {us(m['packet']['p999_ps'])}")
table("2. Ten-gigabit Ethernet for a camera")

# ---- bluetooth
before, after = model("bluetooth-poll-before"), model("bluetooth-poll-after")
def round_ms(m):
    return m["scenario"]["span_ps"] / m["rounds"] / 1e9
row("a round, reading the clock before each of 70 tasks", "1.80 ms", f"{round_ms(before):.2f} ms", "given: 11.26 us a task and 14.46 a reading are solved from 1.80 and 0.80")
row("a round, reading once", "0.8 ms", f"{round_ms(after):.2f} ms", "\"8 us in every 24 us\" alone would give 1.80 - 69 x 0.008 = 1.25 ms: each reading cost another 6.5 us outside the call, "
    "the tracer's own events most likely; the report's figures do not fit together without it")
row("clock readings before", "129,275", f"{before['clock_reads']:,}", "in 3.324 s, a guess: 129,275 / 70 rounds of 1.80 ms")
row("clock readings after", "13,641", f"{after['clock_reads']:,}", "2857 tasks a second really run, a guess: 13,641 less one a round")
row("time in the call before / after", "1657 / 278 ms", f"{129275 * 8 / 1e3:.0f} / {13641 * 8 / 1e3:.0f} ms at 8 us each", "the report's totals are 12.8 and 20.4 us a call: its 8 us are the least, not the mean")
row("an event waits for its task", "not given", f"{us(before['packet']['mean_ps'], 0)} before, {us(after['packet']['mean_ps'], 0)} after", "half a round")
row("untraced rounds", "1.1-1.2 and 0.7-0.8 ms", "given only as estimates", f"difference 0.4 ms / 69 = {0.4e3 / 69:.1f} us a reading untraced; CPU load is not modelled")
table("3. Polling in a Bluetooth stack")

# ---- hops
m3 = model("usrpl0-three-packets")
for kind in ("shm", "unix", "udp", "zmq-inproc", "zmq-ipc", "zmq-tcp", "omniorb-unix", "omniorb-tcp"):
    cells = []
    for size in (256, 8192, 65536, 196608):
        m = model("usrpl0-three-packets", "batch=1", f"hop.transport={kind}", "source.sample_bytes=4", f"packet={size // 4}", "receive.fixed_us=0", "resample.fixed_us=0",
                  "send.fixed_us=0", "rate=1M", "duration_s=0.5" if size < 65536 else "duration_s=5")
        cells.append(us(element(m, "hop")["service"]["p50_ps"], 0))
    row(f"hop by {kind}", "", " / ".join(cells), "delay of a lone message of 256 B, 8 KiB, 64 KiB, 192 KiB: a table measured on a two-core machine, or what its throughput allows, if that is more" if kind == "shm" else "")
table("4. Middleware", "The report names orders, not figures: delay grows with size, TAO far behind, throughput flattens above 64 KiB. The transports below are parameters of the model's `hop`; TAO and e*ORB are not available here.")

# ---- published host
x = model("published-x310-dpdk")
fill = 1996 / 200
total = x["packet"]["mean_ps"] / 1e6 + fill
row("X310 and a poll-mode driver, antenna to antenna", "31", f"{total:.1f} ({100 * (total / 31 - 1):+.0f} %)",
    f"{fill:.2f} to fill a packet of 1996 samples at 200 Msps, {us(element(x, 'link')['service']['p50_ps'], 2)} each way on 10 GbE, half a packet's time for the filter; only the total is published, the parts are guesses")
table("A published host")
