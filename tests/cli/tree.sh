# SPDX-License-Identifier: Apache-2.0
# The tree keeps its own rules: licence lines, unique file names, the direction of includes, symbols, what links to what.
. "$(dirname "$0")/lib.sh"
B=$(dirname "$TAPLAG")
cd "$ROOT" || exit 1
sources=$(find dsp sim vectors replay cli tests -name '*.c' -o -name '*.h' -o -name '*.cc' | sort)

bad=$(for f in $sources; do head -n 2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"; done)
[ -z "$bad" ] && ok "every source opens with its SPDX line" || not_ok "no SPDX line: $bad"

bad=$(for f in $sources; do basename "$f"; done | sort | uniq -d)
[ -z "$bad" ] && ok "file names are unique across the tree" || not_ok "names that occur twice: $bad"

# FOLDER may include headers only from the folders named after it.
arrows() {
  local folder=$1 f header home allowed
  shift
  find "$folder" -name '*.[ch]' 2>/dev/null | while read -r f; do
    grep -hoE '^#include "[^"]+"' "$f" | sed 's/.*"\(.*\)"/\1/' | while read -r header; do
      home=$(find dsp sim vectors replay cli tests -name "$(basename "$header")" | head -n 1 | cut -d/ -f1)
      [ -z "$home" ] && continue
      case " $folder $* " in *" $home "*) ;; *) echo "$f includes $header of $home/" ;; esac
    done
  done
}
bad=$(arrows dsp; arrows sim dsp; arrows vectors dsp; arrows replay vectors sim dsp; arrows cli replay vectors sim dsp)
[ -z "$bad" ] && ok "includes follow cli -> replay -> vectors, sim -> dsp" || not_ok "includes against the arrows: $bad"

bad=$(grep -lE 'fftw|uhd\.h' $(find dsp sim vectors replay -name '*.[ch]') 2>/dev/null | grep -vE '^dsp/(spectr|tlg_spectra)|^replay/uhd/' || true)
[ -z "$bad" ] && ok "FFTW and UHD stay out of libtaplag's sources" || not_ok "FFTW or UHD outside their place: $bad"
bad=$(grep -nE '\b(printf|puts|exit|signal|sigaction)\(' $(find dsp sim vectors replay -name '*.c') | grep -vE 'snprintf|vsnprintf|_exit' || true)
[ -z "$bad" ] && ok "the library never prints, exits or touches signals" || not_ok "library prints or exits: $bad"
bad=$(grep -lE 'pthread_create|stdatomic|clock_gettime|<time\.h>' $(find dsp -name '*.[ch]') 2>/dev/null || true)
[ -z "$bad" ] && ok "dsp has no threads and no clock" || not_ok "threads or clock in dsp: $bad"

if [ -f "$B/libtaplag.so" ]; then
  bad=$(nm -D --defined-only "$B/libtaplag.so" "$B/libtaplag-spectra.so" | awk 'NF == 3 {print $3}' | grep -vE '^tlg_|^_(init|fini)$|^(__bss_start|_edata|_end)$|^(__asan|__ubsan|__tsan|__odr)' || true)
  [ -z "$bad" ] && ok "the libraries export tlg_ symbols only" || not_ok "other symbols exported: $bad"
  if readelf -d "$B/libtaplag.so" | grep -qE 'fftw|uhd'; then not_ok "libtaplag links FFTW or UHD"; else ok "libtaplag links neither FFTW nor UHD"; fi
else
  skip "symbols: no shared library in $B"
fi
if command -v clang-format >/dev/null; then
  bad=$(clang-format --dry-run $(find dsp sim vectors replay cli tests -name '*.[ch]') 2>&1 | grep -E 'warning' | cut -d: -f1 | sort -u)
  [ -z "$bad" ] && ok "the tree is clang-format clean" || not_ok "not clang-format clean: $bad"
else
  skip "clang-format is not installed"
fi
if git rev-parse --git-dir >/dev/null 2>&1; then
  bad=$(git ls-files -z | xargs -0 -I{} find {} -maxdepth 0 -size +400k 2>/dev/null)
  [ -z "$bad" ] && ok "no tracked file is above 400 KiB" || not_ok "recordings do not belong into the tree: $bad"
else
  skip "tracked files: no git here"
fi
