/* SPDX-License-Identifier: Apache-2.0 */
/* Makes faults in C sources: generated ones (operators, comparisons, constants) by number, hand-made ones by name.
 *   mutate list FILE                 one line a mutant: NUMBER LINE CHANGE
 *   mutate make FILE NUMBER          the source with that mutant
 *   mutate names LIST                hand-made faults: NAME FILE
 *   mutate apply LIST NAME           the source with that fault; status 3 if its text is not there exactly once */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path)
{
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);

  if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0) {
    fprintf(stderr, "mutate: %s cannot be read\n", path);
    exit(4);
  }
  fclose(f);
  return text;
}

/* What stands for what. Longer tokens come first, so that the longest match wins; NULL: no mutation. */
static const struct {
  const char *token, *instead[2];
} operators[] = {
    {"<<=", {">>=", NULL}}, {">>=", {"<<=", NULL}}, {"...", {NULL, NULL}}, {"->", {NULL, NULL}}, {"++", {"--", NULL}},
    {"--", {"++", NULL}},   {"+=", {"-=", "="}},    {"-=", {"+=", NULL}},  {"*=", {NULL, NULL}}, {"/=", {NULL, NULL}},
    {"%=", {NULL, NULL}},   {"&=", {"|=", NULL}},   {"|=", {"&=", NULL}},  {"<<", {">>", NULL}}, {">>", {"<<", NULL}},
    {"<=", {"<", ">"}},     {">=", {">", "<"}},     {"==", {"!=", NULL}},  {"!=", {"==", NULL}}, {"&&", {"||", NULL}},
    {"||", {"&&", NULL}},   {"+", {"-", NULL}},     {"-", {"+", NULL}},    {"/", {"*", NULL}},   {"%", {"/", NULL}},
    {"<", {"<=", ">"}},     {">", {">=", "<"}},     {"!", {"", NULL}},     {"*", {"+", NULL}},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

struct mutant {
  size_t at, length; /* in the source */
  char instead[32];
  unsigned line;
};

static struct mutant *mutants;
static size_t n_mutants;

static void add(size_t at, size_t length, const char *instead, unsigned line)
{
  mutants = realloc(mutants, (n_mutants + 1) * sizeof *mutants);
  if (!mutants) {
    exit(4);
  }
  mutants[n_mutants].at = at;
  mutants[n_mutants].length = length;
  mutants[n_mutants].line = line;
  snprintf(mutants[n_mutants++].instead, sizeof mutants->instead, "%s", instead);
}

/* Whether the operator at s + k works on two values: something that ends a value stands before it. */
static int binary(const char *s, size_t k)
{
  while (k && (s[k - 1] == ' ' || s[k - 1] == '\n')) {
    k--;
  }
  if (!k) {
    return 0;
  }
  if (s[k - 1] == ')') { /* of a cast? */
    size_t open = k - 1, depth = 0;

    for (;; open--) {
      depth += s[open] == ')';
      depth -= s[open] == '(';
      if (!depth || !open) {
        break;
      }
    }
    return !(strncmp(s + open, "(int", 4) == 0 || strncmp(s + open, "(uint", 5) == 0 ||
             strncmp(s + open, "(size_t", 7) == 0 || strncmp(s + open, "(unsigned", 9) == 0 ||
             strncmp(s + open, "(ptrdiff_t", 10) == 0);
  }
  return isalnum((unsigned char)s[k - 1]) || s[k - 1] == '_' || s[k - 1] == ']';
}

/* A declaration's "type *name": the star is no product. */
static int declares(const char *s, size_t k)
{
  static const char *const types[] = {"int16_t",    "tlg_cs16",  "tlg_resamp",     "tlg_bank", "tlg_taps",
                                      "tlg_kernel", "tlg_error", "tlg_resamp_cfg", "tlg_rate", "size_t",
                                      "uint64_t",   "const",     "void",           "char",     "tlg_phase",
                                      "int",        "memory",    "tlg_vector"};
  size_t end = k, begin, i;

  while (end && s[end - 1] == ' ') {
    end--;
  }
  for (begin = end; begin && (isalnum((unsigned char)s[begin - 1]) || s[begin - 1] == '_'); begin--) {
  }
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    if (end - begin == strlen(types[i]) && memcmp(s + begin, types[i], end - begin) == 0) {
      return 1;
    }
  }
  return 0;
}

static void find(const char *s)
{
  unsigned line = 1, depth = 0;
  size_t k = 0;

  while (s[k]) {
    size_t i, length;

    if (s[k] == '\n') {
      line++;
      k++;
    } else if (strncmp(s + k, "/*", 2) == 0) {
      for (k += 2; s[k] && strncmp(s + k, "*/", 2) != 0; k++) {
        line += s[k] == '\n';
      }
      k += 2;
    } else if (s[k] == '#' && (k == 0 || s[k - 1] == '\n')) {
      while (s[k] && s[k] != '\n') {
        k++;
      }
    } else if (s[k] == '"' || s[k] == '\'') {
      const char quote = s[k++];

      for (; s[k] && s[k] != quote; k++) {
        k += s[k] == '\\';
      }
      k++;
    } else if (s[k] == '{' || s[k] == '}') {
      depth += s[k] == '{';
      depth -= s[k] == '}';
      k++;
    } else if (!depth || isalpha((unsigned char)s[k]) || s[k] == '_') {
      do {
        k++;
      } while (depth && (isalnum((unsigned char)s[k]) || s[k] == '_'));
    } else if (isdigit((unsigned char)s[k])) {
      char text[32];
      unsigned long long n = strtoull(s + k, NULL, 0);

      for (length = 0; isalnum((unsigned char)s[k + length]); length++) {
      }
      snprintf(text, sizeof text, "%llu", n + 1);
      add(k, length, text, line);
      if (n) {
        snprintf(text, sizeof text, "%llu", n - 1);
        add(k, length, text, line);
      }
      k += length;
    } else {
      for (i = 0; i < OPERATORS && strncmp(s + k, operators[i].token, strlen(operators[i].token)) != 0; i++) {
      }
      if (i == OPERATORS) {
        k++;
        continue;
      }
      length = strlen(operators[i].token);
      if (!(strchr("*-+", s[k]) && length == 1 && (!binary(s, k) || (s[k] == '*' && declares(s, k))))) {
        if (operators[i].instead[0]) {
          add(k, length, operators[i].instead[0], line);
        }
        if (operators[i].instead[1]) {
          add(k, length, operators[i].instead[1], line);
        }
      }
      k += length;
    }
  }
}

/* The source line that holds s[at], without indentation. */
static void print_line(const char *s, size_t at)
{
  size_t begin = at;

  while (begin && s[begin - 1] != '\n') {
    begin--;
  }
  while (s[begin] == ' ') {
    begin++;
  }
  for (; s[begin] && s[begin] != '\n'; begin++) {
    putchar(s[begin]);
  }
}

static char *next_line(char **text)
{
  char *line = *text, *end;

  if (!*line) {
    return NULL;
  }
  end = strchr(line, '\n');
  *text = end ? end + 1 : line + strlen(line);
  if (end) {
    *end = 0;
  }
  return line;
}

/* A list has blocks "== NAME FILE", then lines "- old" and "+ new". */
static int hand(char *text, const char *wanted)
{
  static char old[8192], new[8192];
  char name[80] = "", file[200] = "", *line, *source, *at;
  int found = 0;

  while ((line = next_line(&text))) {
    if (strncmp(line, "== ", 3) == 0) {
      if (found) {
        break;
      }
      if (sscanf(line, "== %79s %199s", name, file) != 2) {
        return 3;
      }
      if (!wanted) {
        printf("%s %s\n", name, file);
      }
      found = wanted && strcmp(name, wanted) == 0;
      old[0] = new[0] = 0;
    } else if (found && (line[0] == '-' || line[0] == '+')) {
      char *to = line[0] == '-' ? old : new;

      if (strlen(to) + strlen(line) + 2 < sizeof old) {
        strcat(to, *to ? "\n" : "");
        strcat(to, line[1] == ' ' ? line + 2 : line + 1);
      }
    }
  }
  if (!wanted) {
    return 0;
  }
  if (!found) {
    fprintf(stderr, "mutate: no fault is called %s\n", wanted);
    return 2;
  }
  for (line = file; *line && *line != ' '; line++) {
  }
  source = read_text(file);
  at = strstr(source, old);
  if (!*old || !at || strstr(at + 1, old)) {
    fprintf(stderr, "mutate: %s: its text is not in the source exactly once: %s\n", wanted, old);
    return 3;
  }
  fwrite(source, 1, (size_t)(at - source), stdout);
  fputs(new, stdout);
  fputs(at + strlen(old), stdout);
  return 0;
}

int main(int argc, char **argv)
{
  char *s;
  size_t k;

  if (argc < 3) {
    return 2;
  }
  s = read_text(argv[2]);
  if (strcmp(argv[1], "names") == 0) {
    return hand(s, NULL);
  }
  if (strcmp(argv[1], "apply") == 0 && argc > 3) {
    return hand(s, argv[3]);
  }
  find(s);
  if (strcmp(argv[1], "list") == 0) {
    for (k = 0; k < n_mutants; k++) {
      printf("%zu\t%u\t%.*s -> %s\t", k, mutants[k].line, (int)mutants[k].length, s + mutants[k].at,
             mutants[k].instead[0] ? mutants[k].instead : "(nothing)");
      print_line(s, mutants[k].at);
      putchar('\n');
    }
    return 0;
  }
  if (strcmp(argv[1], "make") == 0 && argc > 3) {
    k = strtoul(argv[3], NULL, 10);
    if (k >= n_mutants) {
      return 2;
    }
    fwrite(s, 1, mutants[k].at, stdout);
    fputs(mutants[k].instead, stdout);
    fputs(s + mutants[k].at + mutants[k].length, stdout);
    return 0;
  }
  return 2;
}
