// The function under test, behind posvec's protocol. Needs Node and nothing else.
//
//     posvec verify --match equivalent --exec node posvec_target.js
'use strict';

let stream = 'partitionable'; // or 'original', the random stream before JAX 0.5: which of them posvec asks for

// ---- The function under test: fill this in. -------------------------------------------------------------------------

const NAME = 'my port';
const VERSION = '0.1';

// Returns the first T rows of the table, T * d_model values row by row: a Float32Array, or an array of numbers.
// T may be 0. seed is a BigInt: any integer of 64 bits. Compare your stages with those that this prints:
//     posvec show --seed 7 --d-model 4 --explain --position 0 --feature 0
function learned_pos_embed_forward(seed, T, d_model) {
  throw new Error('not implemented: fill in learned_pos_embed_forward');
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
