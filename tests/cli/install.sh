# SPDX-License-Identifier: Apache-2.0
# make install puts everything in its place, a stranger's C program builds against it, and the manual page is well formed.
. "$(dirname "$0")/lib.sh"
case ${MAKEFLAGS:-} in
*SANITIZE*)
  skip "install: not from a sanitized build"
  exit 0
  ;;
esac
if ! make -s -C "$ROOT" B="${B:-build}" DEPS=none DESTDIR="$WORK/d" PREFIX=/usr install >install.log 2>&1; then
  not_ok "make install fails"
  tail -n 5 install.log
  exit 1
fi
for f in bin/taplag lib/libtaplag.so.0 lib/libtaplag.a lib/libtaplag-spectra.so.0 lib/pkgconfig/taplag.pc include/taplag/taplag.h \
  include/taplag/tlg_dsp.h include/taplag/tlg_files.h share/man/man1/taplag.1; do
  [ -s "d/usr/$f" ] && ok "installed: $f" || not_ok "not installed: $f"
done
expect 0 '' "the installed program runs" -- ./d/usr/bin/taplag --version
expect 0 'passed, 0 failed' "the installed program finds its vectors" -- ./d/usr/bin/taplag vectors verify impulse-first

cat >user.c <<'END'
#include <stdio.h>
#include <tlg_dsp.h>

int main(void)
{
  const struct tlg_rate in = {25000000, 1}, out = {30720000, 1};
  struct tlg_taps taps;
  struct tlg_error err;
  struct tlg_resamp *r;
  tlg_cs16 x[625] = {{16384, -16384}}, y[768];
  size_t got;

  if (tlg_taps_default(&taps, &in, &out, &err)) {
    return 1;
  }
  struct tlg_resamp_cfg cfg = {.up = 768, .down = 625, .taps = &taps};
  if (tlg_resamp_new(&r, &cfg, &err) || tlg_resamp_process(r, x, 625, y, 768, &got)) {
    return 1;
  }
  printf("%zu outputs\n", got);
  tlg_resamp_free(r);
  tlg_taps_free(&taps);
  return 0;
}
END
flags=$(PKG_CONFIG_SYSROOT_DIR="$WORK/d" PKG_CONFIG_PATH="$WORK/d/usr/lib/pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
  PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs taplag)
if ${CC:-cc} -std=c11 user.c $flags -o user 2>cc.log && LD_LIBRARY_PATH=$WORK/d/usr/lib ./user | grep -q '^768 outputs'; then
  ok "a program builds against the installed library and runs"
else
  not_ok "a program against the installed library"
  cat cc.log
fi
printf '#include <taplag.h>\n#include <tlg_dsp.h>\n#include <tlg_files.h>\n#include <tlg_replay.h>\n#include <tlg_vectors.h>\n#include <tlg_sim.h>\n#include <tlg_spectra.h>\nint main() { return tlg_version() == nullptr; }\n' >user.cc
if command -v g++ >/dev/null; then
  g++ -Wall -Wextra -Werror user.cc $flags -o usercc 2>cc.log && ok "the headers serve C++ as well" || { not_ok "C++"; cat cc.log; }
else
  skip "no C++ compiler"
fi

page=d/usr/share/man/man1/taplag.1
if command -v man >/dev/null; then
  MANWIDTH=120 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>man.log >/dev/null
  [ -s man.log ] && not_ok "the manual page warns: $(head -n 1 man.log)" || ok "the manual page is well formed"
else
  skip "no man here"
fi
grep -q 'TAPLAG RESAMPLE' "$page" && grep -q 'swap.*iq' "$page" && ok "the manual page holds the commands' options" || not_ok "the manual page lacks options"
