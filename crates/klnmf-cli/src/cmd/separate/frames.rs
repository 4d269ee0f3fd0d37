//! The frames of a recording that was separated while it was heard.

use klnmf_audio::Frame;
use serde_json::{Value, json};
use std::fmt::Write;

/// The table of all frames.
pub fn csv(heard: &[Frame], facts: &Value) -> String {
    let hop = facts["hop"].as_f64().unwrap_or_default() / facts["rate"].as_f64().unwrap_or(1.0);
    let mut table = String::from("frame,seconds,latency_ms,divergence,gap,relative_gap\n");
    for (number, frame) in heard.iter().enumerate() {
        let Frame { latency, divergence, gap, sum } = frame;
        let (ends, milliseconds) = (hop * (number + 1) as f64, 1e3 * latency);
        let relative = if *sum > 0.0 { gap / sum } else { 0.0 };
        writeln!(table, "{number},{ends:.6},{milliseconds:.4},{divergence:e},{gap:e},{relative:e}")
            .expect("text can be appended");
    }
    table
}

/// Median and worst latency, beside the time from one frame to the next, and the worst relative gap.
pub fn latency(heard: &[Frame], hop_ms: f64) -> Value {
    let mut all: Vec<f64> = heard.iter().map(|frame| 1e3 * frame.latency).collect();
    all.sort_by(f64::total_cmp);
    let late = all.iter().filter(|latency| **latency > hop_ms).count();
    let relative = heard.iter().filter(|frame| frame.sum > 0.0).map(|frame| frame.gap / frame.sum);
    json!({
        "median_ms": all.get(all.len() / 2),
        "worst_ms": all.last(),
        "hop_ms": hop_ms,
        "late_frames": late,
        "worst_relative_gap": relative.fold(0.0, f64::max),
    })
}

/// The same as a line of the summary.
pub fn text(latency: &Value) -> String {
    let number = |key: &str| latency[key].as_f64().unwrap_or_default();
    format!(
        "latency      median {:.2} ms, worst {:.2} ms, {} frames later than the hop of {:.1} ms; worst relative \
         gap of a frame {:.1e}\n",
        number("median_ms"),
        number("worst_ms"),
        latency["late_frames"],
        number("hop_ms"),
        number("worst_relative_gap")
    )
}
