// The learned position embedding in Rust, behind posvec's protocol. Needs std only.
//
//     rustc -O -o port port.rs
//     posvec verify --match equivalent --exec ./port

use std::io::{self, BufRead, Write};
use std::panic;

/// Which integers a seed gives; posvec says which it asks for.
#[derive(Clone, Copy, PartialEq)]
enum Stream {
    Partitionable,
    Original, // before JAX 0.5
}

// ---- The function under test. ---------------------------------------------------------------------------------------

const NAME: &str = "port.rs";
const VERSION: &str = "1";

/// Rows of the whole table; the function returns the first `t`.
const ROWS: usize = 32;

/// `jax._src.prng.threefry2x32`: 20 rounds of threefry-2x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
/// as easy as 1, 2, 3", SC11).
fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let mut x0 = counter[0].wrapping_add(schedule[0]);
    let mut x1 = counter[1].wrapping_add(schedule[1]);
    for group in 0..5 {
        for r in ROTATIONS[group % 2] {
            x0 = x0.wrapping_add(x1);
            x1 = x1.rotate_left(r) ^ x0;
        }
        x0 = x0.wrapping_add(schedule[(group + 1) % 3]);
        x1 = x1.wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x0, x1]
}

/// The key of Flax's first parameter. `jax.random.PRNGKey(seed)` keeps the low 32 bits of the seed;
/// `jax.random.fold_in` then folds in the first four bytes, big endian, of the SHA-1 of the byte 1
/// (`flax.core.scope._fold_in_static`).
fn parameter_key(seed: i64) -> [u32; 2] {
    threefry2x32([0, seed as u32], [0, 0xBF8B_4530])
}

/// Word `i` of `jax.random.bits(key, (size,))`. The size is a multiple of 32, so the original stream never pads.
fn random_word(key: [u32; 2], i: u32, size: u32, stream: Stream) -> u32 {
    match stream {
        Stream::Partitionable => {
            let [x0, x1] = threefry2x32(key, [0, i]);
            x0 ^ x1
        }
        Stream::Original => {
            let half = size / 2;
            let block = i % half;
            threefry2x32(key, [block, block + half])[(i / half) as usize]
        }
    }
}

/// `c[0] + c[1] r + ... + c[7] r**7`
fn polynomial(c: [f64; 8], r: f64) -> f64 {
    c.iter().rev().fold(0.0, |sum, coefficient| sum * r + coefficient)
}

/// `sqrt(2) * erf_inv(u)`: the normal quantile of `(1 + u) / 2`, by Wichura, "Algorithm AS 241: The percentage points
/// of the normal distribution" (Applied Statistics 37, 1988), PPND16: 16 digits. Its third range starts at
/// `|u| > 1 - 2**-35`, where no uniform lies.
#[allow(clippy::excessive_precision)] // the digits as published
fn normal_quantile(u: f64) -> f64 {
    let q = u / 2.0;
    if q.abs() <= 0.425 {
        const A: [f64; 8] = [
            3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
            4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
        ];
        const B: [f64; 8] = [
            1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
            2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
        ];
        let r = 0.180625 - q * q;
        q * polynomial(A, r) / polynomial(B, r)
    } else {
        const C: [f64; 8] = [
            1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
            1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
        ];
        const D: [f64; 8] = [
            1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
            1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
        ];
        let r = (-(0.5 - q.abs()).ln()).sqrt() - 1.6;
        (polynomial(C, r) / polynomial(D, r)).copysign(u)
    }
}

/// Returns the first `t` rows of the table, `t * d_model` values row by row.
fn learned_pos_embed_forward(seed: i64, t: usize, d_model: usize, stream: Stream) -> Result<Vec<f32>, String> {
    if t > ROWS {
        return Err(format!("T must be at most {ROWS}, got {t}"));
    }
    let key = parameter_key(seed);
    let value = |i| {
        let draw = random_word(key, i, (ROWS * d_model) as u32, stream) >> 9; // jax.random.uniform keeps 23 bits
        let u = f64::from(draw) / f64::from(1 << 22) - (1.0 - 1.0 / f64::from(1 << 24)); // exact, in f32 too
        (normal_quantile(u) * 0.02) as f32 // nn.initializers.normal(stddev=0.02), rounded once
    };
    Ok((0..(t * d_model) as u32).map(value).collect())
}

// ---- The protocol (docs/protocol.md of posvec): nothing to change below. --------------------------------------------

fn field(line: &str, key: &str) -> i64 {
    let start = line.find(&format!("\"{key}\"")).expect("every request has id, seed, T and d_model");
    let number = line[start..].split_once(':').map_or("", |(_, rest)| rest.trim_start());
    let length = number.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(number.len());
    number[..length].parse().expect("integers of 64 bits")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for chunk in bytes.chunks(3) {
        let three = (0..3).fold(0, |sum, i| sum << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = DIGITS[(three >> (18 - 6 * i) & 63) as usize] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

fn answer(line: &str, stream: Stream) -> String {
    let (id, seed) = (field(line, "id"), field(line, "seed"));
    let (t, d_model) = (field(line, "T") as usize, field(line, "d_model") as usize);
    // a panic shall cost this case only, not the program
    let result = panic::catch_unwind(|| learned_pos_embed_forward(seed, t, d_model, stream))
        .unwrap_or_else(|_| Err("panicked; its message is on standard error".into()));
    match result {
        Ok(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let about = format!("\"dtype\": \"float32\", \"shape\": [{}]", values.len());
            format!("{{\"id\": {id}, \"data\": \"{}\", {about}}}", base64(&bytes))
        }
        Err(error) => {
            let plain = error.replace(|c: char| c == '"' || c == '\\' || c.is_control(), "'");
            format!("{{\"id\": {id}, \"error\": \"{plain}\"}}")
        }
    }
}

fn main() -> io::Result<()> {
    let mut stream = Stream::Partitionable;
    let mut out = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.contains("\"protocol\"") {
            stream = if line.contains("\"original\"") { Stream::Original } else { Stream::Partitionable };
            let about = format!("\"name\": \"{NAME}\", \"version\": \"{VERSION}\", \"language\": \"Rust\"");
            writeln!(out, "{{\"protocol\": 1, {about}}}")?;
        } else {
            writeln!(out, "{}", answer(&line, stream))?;
        }
        out.flush()?;
    }
    Ok(())
}
