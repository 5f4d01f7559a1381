/* The learned position embedding in C99 and its libm, behind posvec's protocol.
 *
 *     cc -O2 -o port port.c -lm
 *     posvec verify --match equivalent --exec ./port
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool original; /* posvec asks for the random stream `original` (before JAX 0.5), not `partitionable` */

/* ---- The function under test. --------------------------------------------------------------------------------- */

#define NAME "port.c"
#define VERSION "1"

#define ROWS 32 /* of the whole table; the function returns the first T */

typedef struct {
    uint32_t word[2];
} pair; /* a key or a counter */

/* jax._src.prng.threefry2x32: 20 rounds of threefry-2x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC11). */
static pair threefry2x32(pair key, pair x)
{
    static const int rotation[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t schedule[3] = {key.word[0], key.word[1], key.word[0] ^ key.word[1] ^ 0x1BD11BDA};
    uint32_t x0 = x.word[0] + schedule[0], x1 = x.word[1] + schedule[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            int r = rotation[group % 2][i];
            x0 += x1;
            x1 = (x1 << r | x1 >> (32 - r)) ^ x0;
        }
        x0 += schedule[(group + 1) % 3];
        x1 += schedule[(group + 2) % 3] + group + 1;
    }
    return (pair){{x0, x1}};
}

/* The key of Flax's first parameter. jax.random.PRNGKey(seed) keeps the low 32 bits of the seed; jax.random.fold_in
 * then folds in the first four bytes, big endian, of the SHA-1 of the byte 1 (flax.core.scope._fold_in_static). */
static pair parameter_key(int64_t seed)
{
    return threefry2x32((pair){{0, (uint32_t)seed}}, (pair){{0, 0xBF8B4530}});
}

/* Word i of jax.random.bits(key, (size,)). The size is a multiple of 32, so the original stream never pads. */
static uint32_t random_word(pair key, uint32_t i, uint32_t size)
{
    uint32_t half = size / 2, block = i % half;
    pair x;
    if (!original) {
        x = threefry2x32(key, (pair){{0, i}});
        return x.word[0] ^ x.word[1];
    }
    x = threefry2x32(key, (pair){{block, block + half}});
    return x.word[i / half];
}

/* c[0] + c[1] r + ... + c[7] r**7 */
static double polynomial(const double c[8], double r)
{
    double sum = c[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * r + c[i];
    return sum;
}

/* sqrt(2) * erf_inv(u): the normal quantile of (1 + u) / 2, by Wichura, "Algorithm AS 241: The percentage points of the
 * normal distribution" (Applied Statistics 37, 1988), PPND16: 16 digits. Its third range starts at |u| > 1 - 2**-35,
 * where no uniform lies. */
static double normal_quantile(double u)
{
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                                2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
                                5.2264952788528545610e3};
    static const double c[8] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                                1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    double q = u / 2, r;
    if (fabs(q) <= 0.425) {
        r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    r = sqrt(-log(0.5 - fabs(q))) - 1.6;
    return copysign(polynomial(c, r) / polynomial(d, r), u);
}

/* Write the first T rows of the table, T * d_model values row by row, to out. */
static const char *learned_pos_embed_forward(int64_t seed, int64_t T, int64_t d_model, float *out)
{
    pair key = parameter_key(seed);
    uint32_t size = (uint32_t)(ROWS * d_model), n = (uint32_t)(T * d_model);
    if (T > ROWS)
        return "T must be at most 32";
    for (uint32_t i = 0; i < n; i++) {
        uint32_t draw = random_word(key, i, size) >> 9; /* jax.random.uniform keeps 23 bits */
        double u = draw * 0x1p-22 - (1 - 0x1p-24);      /* in (-1, 1); exact, in float32 too */
        out[i] = (float)(normal_quantile(u) * 0.02);    /* nn.initializers.normal(stddev=0.02), rounded once */
    }
    return NULL;
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
