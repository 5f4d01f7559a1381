// The learned position embedding in JavaScript, behind posvec's protocol. Needs Node and nothing else.
//
//     posvec verify --match equivalent --exec node port.js
'use strict';

let stream = 'partitionable'; // or 'original', the random stream before JAX 0.5: which of them posvec asks for

// ---- The function under test. ---------------------------------------------------------------------------------------

const NAME = 'port.js';
const VERSION = '1';

const ROWS = 32; // of the whole table; the function returns the first T
const ROTATIONS = [[13, 15, 26, 6], [17, 29, 16, 24]];

// jax._src.prng.threefry2x32: 20 rounds of threefry-2x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC11). `| 0` keeps a sum within 32 bits; beyond 2**53 a double would lose its low ones.
function threefry2x32([key0, key1], x0, x1) {
  const schedule = [key0, key1, key0 ^ key1 ^ 0x1bd11bda];
  x0 = (x0 + schedule[0]) | 0;
  x1 = (x1 + schedule[1]) | 0;
  for (let group = 0; group < 5; group++) {
    for (const r of ROTATIONS[group % 2]) {
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << r) | (x1 >>> (32 - r))) ^ x0;
    }
    x0 = (x0 + schedule[(group + 1) % 3]) | 0;
    x1 = (x1 + schedule[(group + 2) % 3] + group + 1) | 0;
  }
  return [x0, x1];
}

// The key of Flax's first parameter. jax.random.PRNGKey(seed) keeps the low 32 bits of the seed; jax.random.fold_in
// then folds in the first four bytes, big endian, of the SHA-1 of the byte 1 (flax.core.scope._fold_in_static).
function parameterKey(seed) {
  return threefry2x32([0, Number(BigInt.asIntN(32, seed))], 0, 0xbf8b4530);
}

// Word i of jax.random.bits(key, (size,)). The size is a multiple of 32, so the original stream never pads.
function randomWord(key, i, size) {
  if (stream === 'partitionable') {
    const [x0, x1] = threefry2x32(key, 0, i);
    return x0 ^ x1;
  }
  const half = size / 2;
  const block = i % half;
  return threefry2x32(key, block, block + half)[i < half ? 0 : 1];
}

// sqrt(2) * erf_inv(u): the normal quantile of (1 + u) / 2, by Wichura, "Algorithm AS 241: The percentage points of the
// normal distribution" (Applied Statistics 37, 1988), PPND16: 16 digits. Its third range starts at |u| > 1 - 2**-35,
// where no uniform lies. Coefficients from the highest power down.
const CENTRE = {
  numerator: [2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
    1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080],
  denominator: [5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
    5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1],
};
const TAIL = {
  numerator: [7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
    3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734],
  denominator: [1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
    1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1],
};

function polynomial(coefficients, r) {
  let sum = 0;
  for (const coefficient of coefficients) sum = sum * r + coefficient;
  return sum;
}

function normalQuantile(u) {
  const q = u / 2;
  const centre = Math.abs(q) <= 0.425;
  const { numerator, denominator } = centre ? CENTRE : TAIL;
  const r = centre ? 0.180625 - q * q : Math.sqrt(-Math.log(0.5 - Math.abs(q))) - 1.6;
  return ((centre ? q : Math.sign(q)) * polynomial(numerator, r)) / polynomial(denominator, r);
}

// Returns the first T rows of the table, T * d_model values row by row.
function learned_pos_embed_forward(seed, T, d_model) {
  if (T > ROWS) throw new RangeError(`T must be at most ${ROWS}, got ${T}`);
  const key = parameterKey(seed);
  return Float32Array.from({ length: T * d_model }, (_, i) => {
    const draw = randomWord(key, i, ROWS * d_model) >>> 9; // jax.random.uniform keeps 23 bits
    const u = draw * 2 ** -22 - (1 - 2 ** -24); // in (-1, 1); exact, in float32 too
    return Math.fround(normalQuantile(u) * 0.02); // nn.initializers.normal(stddev=0.02), rounded once
  });
}

// ---- The protocol (docs/protocol.md of posvec): nothing to change below. --------------------------------------------

// JSON.parse rounds integers beyond 2**53; posvec sends the two halves of such a seed too.
function readSeed({ seed, seed_lo, seed_hi }) {
  return seed_hi === undefined ? BigInt(seed) : BigInt.asIntN(64, (BigInt(seed_hi) << 32n) | BigInt(seed_lo));
}

function answer(message) {
  if ('protocol' in message) {
    stream = message.stream;
    return { protocol: 1, name: NAME, version: VERSION, language: 'JavaScript' };
  }
  const { id, T, d_model } = message;
  try {
    const returned = learned_pos_embed_forward(readSeed(message), T, d_model);
    const values = returned instanceof Float32Array ? returned : Float32Array.from(returned);
    const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
    return { id, data, dtype: 'float32', shape: [values.length] };
  } catch (error) {
    return { id, error: String(error) };
  }
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop(); // what follows the last newline is not a whole line yet
  for (const line of lines) process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
});
