/* SPDX-License-Identifier: Apache-2.0 */
/* Times of captures: ISO 8601 to seconds and picoseconds, and back. */
#include "reader.h"

#include <stdio.h>
#include <string.h>

/* Days since 1970-01-01 of a civil date, and back. Source: the Gregorian rule, eras of 400 years. */
static int64_t days_of(int64_t y, int m, int d)
{
  int64_t era, yoe, doy;

  y -= m <= 2;
  era = (y >= 0 ? y : y - 399) / 400;
  yoe = y - era * 400;
  doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_of(int64_t days, int *y, int *m, int *d)
{
  int64_t era, doe, yoe, doy, mp;

  days += 719468;
  era = (days >= 0 ? days : days - 146096) / 146097;
  doe = days - era * 146097;
  yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  mp = (5 * doy + 2) / 153;
  *d = (int)(doy - (153 * mp + 2) / 5 + 1);
  *m = (int)(mp < 10 ? mp + 3 : mp - 9);
  *y = (int)(yoe + era * 400 + (*m <= 2));
}

int tlg_datetime_parse(const char *text, struct tlg_datetime *t)
{
  int y, mo, d, h, mi, s, n = 0;
  uint64_t scale = 1000000000000u;
  const char *p;

  if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &n) != 6 || n < 19 || y < 0 || mo < 1 ||
      mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60) {
    return TLG_EFORMAT;
  }
  t->seconds = days_of(y, mo, d) * 86400 + h * 3600 + mi * 60 + s;
  t->picoseconds = 0;
  t->digits = 0;
  p = text + n;
  if (*p == '.') {
    for (p++; *p >= '0' && *p <= '9'; p++) {
      scale /= 10; /* digits beyond picoseconds are dropped */
      t->picoseconds += (uint64_t)(*p - '0') * scale;
      t->digits += scale > 0;
    }
  }
  return (p[0] == 'Z' && p[1] == '\0') || strcmp(p, "+00:00") == 0 ? TLG_OK : TLG_EFORMAT;
}

void tlg_datetime_text(const struct tlg_datetime *t, uint64_t add_ps, char text[40])
{
  const uint64_t second = 1000000000000u;
  const uint64_t ps = t->picoseconds + add_ps % second;
  const int64_t seconds = t->seconds + (int64_t)(add_ps / second + ps / second);
  const int64_t days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400;
  const int rest = (int)(seconds - days * 86400);
  char whole[80];
  int y, m, d;

  civil_of(days, &y, &m, &d);
  snprintf(whole, sizeof whole, "%04d-%02d-%02dT%02d:%02d:%02d.%012lluZ", y % 10000, m, d, rest / 3600, rest / 60 % 60,
           rest % 60, (unsigned long long)(ps % second));
  memcpy(text, whole, 39);
  text[39] = '\0';
}
