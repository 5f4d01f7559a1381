// The function under test, behind posvec's protocol. Needs std only.
//
//     rustc -O -o posvec_target posvec_target.rs
//     posvec verify --match equivalent --exec ./posvec_target

use std::io::{self, BufRead, Write};
use std::panic;

/// Which integers a seed gives; posvec says which it asks for.
#[derive(Clone, Copy, PartialEq)]
enum Stream {
    Partitionable,
    Original, // before JAX 0.5
}

// ---- The function under test: fill this in. -------------------------------------------------------------------------

const NAME: &str = "my port";
const VERSION: &str = "0.1";

/// Returns the first `t` rows of the table, `t * d_model` values row by row, or why it cannot be done.
///
/// `t` may be 0. `seed` may be any `i64`. Compare your stages with those that this prints:
///     posvec show --seed 7 --d-model 4 --explain --position 0 --feature 0
fn learned_pos_embed_forward(seed: i64, t: usize, d_model: usize, stream: Stream) -> Result<Vec<f32>, String> {
    let _ = (seed, t, d_model, stream == Stream::Original); // remove this line: it says that they are not used yet
    Err("not implemented: fill in learned_pos_embed_forward".into())
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
