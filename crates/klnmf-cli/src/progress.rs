//! The progress bar: on standard error, and only if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use klnmf::Info;
use std::time::Duration;

/// A bar of `steps` steps; hidden if `quiet` or if standard error is not a terminal.
pub fn bar(steps: usize, quiet: bool) -> ProgressBar {
    styled(steps, quiet, "{bar:30} {pos}/{len}  {msg}  {elapsed}, {eta} left")
}

/// A bar with a label in front, which shows a percentage instead of steps.
pub fn share(steps: usize, label: &str, quiet: bool) -> ProgressBar {
    let bar = styled(steps, quiet, "{prefix}  {bar:30} {percent} %  {msg}  {elapsed}, {eta} left");
    bar.set_prefix(label.to_owned());
    bar
}

fn styled(steps: usize, quiet: bool, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    if quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Shows the progress of a factorisation.
pub fn show(bar: &ProgressBar, info: &Info) {
    bar.set_position(info.iteration as u64);
    bar.set_message(message(info));
}

/// The progress of a factorisation as a line of its own.
pub fn line(info: &Info) -> String {
    format!("iteration {}  {}  {:.1} s", info.iteration, message(info), info.seconds)
}

fn message(info: &Info) -> String {
    format!("divergence {:.6e}  gap {:.1e}", info.divergence, info.relative_gap())
}
