/* The function under test, behind posvec's protocol. C99.
 *
 *     cc -O2 -o posvec_target posvec_target.c -lm
 *     posvec verify --match equivalent --exec ./posvec_target
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool original; /* posvec asks for the random stream `original` (before JAX 0.5), not `partitionable` */

/* ---- The function under test: fill this in. ------------------------------------------------------------------ */

#define NAME "my port"
#define VERSION "0.1"

/* Write the first T rows of the table, T * d_model values row by row, to out. Return NULL, or why it cannot be done.
 *
 * T may be 0. seed may be any 64-bit integer. Compare your stages with those that this prints:
 *     posvec show --seed 7 --d-model 4 --explain --position 0 --feature 0
 */
static const char *learned_pos_embed_forward(int64_t seed, int64_t T, int64_t d_model, float *out)
{
    (void)seed, (void)T, (void)d_model, (void)out; /* remove this line: it says that they are not used yet */
    return "not implemented: fill in learned_pos_embed_forward";
}

/* ---- The protocol (docs/protocol.md of posvec): nothing to change below. ------------------------------------ */

static int64_t field(const char *line, const char *quoted_key)
{
    const char *at = strstr(line, quoted_key);
    return at ? strtoll(strchr(at, ':') + 1, NULL, 10) : 0;
}

/* Byte i of the values in little-endian order, whatever the order of this machine; 0 after the last. */
static uint32_t byte_at(const float *values, size_t n, size_t i)
{
    uint32_t word;
    if (i / 4 >= n)
        return 0;
    memcpy(&word, &values[i / 4], sizeof word);
    return word >> (8 * (i % 4)) & 0xff;
}

static void print_base64(const float *values, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < 4 * n; i += 3) {
        uint32_t three = byte_at(values, n, i) << 16 | byte_at(values, n, i + 1) << 8 | byte_at(values, n, i + 2);
        putchar(digit[three >> 18]);
        putchar(digit[three >> 12 & 63]);
        putchar(i + 1 < 4 * n ? digit[three >> 6 & 63] : '=');
        putchar(i + 2 < 4 * n ? digit[three & 63] : '=');
    }
}

static void answer(const char *line)
{
    int64_t T = field(line, "\"T\""), d_model = field(line, "\"d_model\"");
    size_t n = (size_t)(T * d_model);
    float *values = calloc(n + 1, sizeof *values); /* + 1: calloc(0) may return NULL */
    const char *error =
        values ? learned_pos_embed_forward(field(line, "\"seed\""), T, d_model, values) : "out of memory";
    printf("{\"id\": %" PRId64, field(line, "\"id\""));
    if (error) {
        printf(", \"error\": \"");
        for (; *error; error++)
            putchar(*error == '"' || *error == '\\' || (unsigned char)*error < ' ' ? '\'' : *error);
        printf("\"}\n");
    } else {
        printf(", \"data\": \"");
        print_base64(values, n);
        printf("\", \"dtype\": \"float32\", \"shape\": [%zu]}\n", n);
    }
    free(values);
}

int main(void)
{
    char line[4096]; /* posvec's lines have at most some 150 bytes */
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (fgets(line, sizeof line, stdin)) {
        if (strstr(line, "\"protocol\"")) {
            original = strstr(line, "\"original\"") != NULL;
            printf("{\"protocol\": 1, \"name\": \"" NAME "\", \"version\": \"" VERSION "\", \"language\": \"C\"}\n");
        } else {
            answer(line);
        }
        fflush(stdout); /* into a pipe, C keeps what is printed until its buffer is full */
    }
    return 0;
}
