//! What a verb prints at the end: one JSON object or a few sentences.

use anyhow::Context;
use klnmf::Info;
use serde_json::{Value, json};

/// A number for JSON, which has no infinity: `null` stands for numbers that are not finite.
pub fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

/// A number with six significant digits and no trailing zeros.
pub fn six(x: f64) -> String {
    let scientific = format!("{x:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return x.to_string() };
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..6) => trimmed(&format!("{x:.*}", (5 - exponent) as usize)),
        _ => format!("{}e{exponent}", trimmed(digits)),
    }
}

/// A status as a keyword for JSON.
pub fn status(status: klnmf::Status) -> &'static str {
    match status {
        klnmf::Status::Converged => "converged",
        klnmf::Status::IterationLimit => "iteration_limit",
        klnmf::Status::TimeLimit => "time_limit",
        _ => "interrupted",
    }
}

/// Prints one line of JSON on standard output.
pub fn print_json(object: &Value) -> anyhow::Result<()> {
    print(&format!("{object}\n"))
}

/// Prints text on standard output. A failure, such as a closed pipe, is an error, not a panic.
pub fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.context("cannot print the result, but its files are complete")
}

/// A number of bytes in readable units.
pub fn bytes(n: u128) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// The divergence and the single-factor gaps as text.
pub fn gaps(info: &Info) -> String {
    if !info.divergence.is_finite() || !info.gap_h.is_finite() {
        return format!(
            "divergence   {:.8e}\ngaps         infinite: the model is zero where V is not; use --solver auto, \
             another --rho, or other factors to start from\n",
            info.divergence
        );
    }
    let relative = |x: f64| if info.sum > 0.0 { x / info.sum } else { 0.0 };
    format!(
        "divergence   {:.8e} ({:.3} % of the sum)\n\
         gaps         changing W alone can gain at most {:.3e}, H alone {:.3e} (relative gap {:.1e})\n\
         left         {}\n",
        info.divergence,
        100.0 * relative(info.divergence),
        info.gap_w,
        info.gap_h,
        info.relative_gap(),
        info.left()
    )
}
