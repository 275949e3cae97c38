/* SPDX-License-Identifier: Apache-2.0 */
/* A validator for the part of JSON Schema that vectors/schema.json uses; a keyword it does not know is an error. */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include <jansson.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct schema_check {
  const json_t *root;
  char text[300]; /* the first violation */
};

static int schema_bad(struct schema_check *c, const char *where, const char *what)
{
  if (!c->text[0]) {
    snprintf(c->text, sizeof c->text, "%.200s: %.80s", where, what);
  }
  return 0;
}

static int schema_type(const char *type, const json_t *x)
{
  return strcmp(type, "object") == 0    ? json_is_object(x)
         : strcmp(type, "array") == 0   ? json_is_array(x)
         : strcmp(type, "string") == 0  ? json_is_string(x)
         : strcmp(type, "integer") == 0 ? json_is_integer(x)
         : strcmp(type, "boolean") == 0 ? json_is_boolean(x)
                                        : 0;
}

static int schema_pattern(const char *pattern, const char *text)
{
  regex_t re;
  int ok;

  if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
    return 0;
  }
  ok = regexec(&re, text, 0, NULL, 0) == 0;
  regfree(&re);
  return ok;
}

static int schema_holds(struct schema_check *c, const json_t *schema, const json_t *x, const char *where)
{
  const char *keyword;
  json_t *value, *item;
  size_t i, hits;

  json_object_foreach((json_t *)(uintptr_t)schema, keyword, value)
  {
    char inner[400];

    if (strcmp(keyword, "$ref") == 0) {
      const char *name = strrchr(json_string_value(value), '/') + 1;

      if (!schema_holds(c, json_object_get(json_object_get(c->root, "$defs"), name), x, where)) {
        return 0;
      }
    } else if (strcmp(keyword, "type") == 0) {
      if (!schema_type(json_string_value(value), x)) {
        return schema_bad(c, where, "is of the wrong type");
      }
    } else if (strcmp(keyword, "const") == 0) {
      if (!json_equal(value, x)) {
        return schema_bad(c, where, "is not the one value allowed");
      }
    } else if (strcmp(keyword, "enum") == 0) {
      hits = 0;
      json_array_foreach(value, i, item)
      {
        hits += (size_t)json_equal(item, x);
      }
      if (!hits) {
        return schema_bad(c, where, "is none of the values allowed");
      }
    } else if (strcmp(keyword, "pattern") == 0) {
      if (json_is_string(x) && !schema_pattern(json_string_value(value), json_string_value(x))) {
        return schema_bad(c, where, "does not match its pattern");
      }
    } else if (strcmp(keyword, "minimum") == 0 || strcmp(keyword, "maximum") == 0) {
      const json_int_t limit = json_integer_value(value), n = json_integer_value(x);

      if (json_is_integer(x) && (keyword[1] == 'i' ? n < limit : n > limit)) {
        return schema_bad(c, where, "is out of range");
      }
    } else if (strcmp(keyword, "minLength") == 0 || strcmp(keyword, "maxLength") == 0) {
      const size_t limit = (size_t)json_integer_value(value), n = json_string_length(x);

      if (json_is_string(x) && (keyword[1] == 'i' ? n < limit : n > limit)) {
        return schema_bad(c, where, "is too short or too long");
      }
    } else if (strcmp(keyword, "minItems") == 0 || strcmp(keyword, "maxItems") == 0) {
      const size_t limit = (size_t)json_integer_value(value), n = json_array_size(x);

      if (json_is_array(x) && (keyword[1] == 'i' ? n < limit : n > limit)) {
        return schema_bad(c, where, "has too few or too many items");
      }
    } else if (strcmp(keyword, "items") == 0) {
      json_array_foreach((json_t *)(uintptr_t)x, i, item)
      {
        snprintf(inner, sizeof inner, "%.300s[%zu]", where, i);
        if (!schema_holds(c, value, item, inner)) {
          return 0;
        }
      }
    } else if (strcmp(keyword, "required") == 0) {
      json_array_foreach(value, i, item)
      {
        if (!json_object_get(x, json_string_value(item))) {
          return schema_bad(c, where, json_string_value(item));
        }
      }
    } else if (strcmp(keyword, "properties") == 0 || strcmp(keyword, "additionalProperties") == 0) {
      const json_t *properties = json_object_get(schema, "properties");
      const char *name;

      json_object_foreach((json_t *)(uintptr_t)x, name, item)
      {
        const json_t *inside = json_object_get(properties, name);

        snprintf(inner, sizeof inner, "%.300s.%.60s", where, name);
        if (!inside) {
          return schema_bad(c, inner, "is not known");
        }
        if (keyword[0] == 'p' && !schema_holds(c, inside, item, inner)) {
          return 0;
        }
      }
    } else if (strcmp(keyword, "oneOf") == 0) {
      char first[sizeof c->text];

      memcpy(first, c->text, sizeof first);
      hits = 0;
      json_array_foreach(value, i, item)
      {
        hits += (size_t)schema_holds(c, item, x, where);
      }
      if (hits != 1) {
        return schema_bad(c, where, "fits none, or more than one, of its forms");
      }
      memcpy(c->text, first, sizeof first);
    } else if (keyword[0] != '$' && strcmp(keyword, "title") != 0 && strcmp(keyword, "description") != 0) {
      return schema_bad(c, keyword, "a keyword of the schema that this validator does not know");
    }
  }
  return 1;
}

#endif
