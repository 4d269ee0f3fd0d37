//! The progress on standard error: a bar if that is a terminal, and otherwise a line now and then.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use klnmf::Info;
use std::time::{Duration, Instant};

/// The time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(30);

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

/// Decides when a log gets a line.
pub struct Log {
    begun: Instant,
    told: Instant,
}

impl Log {
    pub fn new(now: Instant) -> Self {
        Self { begun: now, told: now }
    }

    /// The line for a share of the work that is done, if the last one was long ago.
    pub fn line(&mut self, now: Instant, message: &str, share: f64) -> Option<String> {
        if share >= 1.0 {
            // More work may follow, and takes its own time.
            self.begun = now;
        }
        if now - self.told < PAUSE || share <= 0.0 {
            return None;
        }
        let (elapsed, left) = ((now - self.begun).as_secs_f64(), 1.0 / share - 1.0);
        self.told = now;
        Some(format!("{message}, about {} left", HumanDuration(Duration::from_secs_f64(elapsed * left))))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_now_and_then() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut log = Log::new(begun);
        assert_eq!(log.line(after(29), "1 of 4 fits", 0.25), None);
        assert_eq!(log.line(after(60), "0 of 4 fits", 0.0), None);
        assert_eq!(log.line(after(60), "2 of 4 fits", 0.5).unwrap(), "2 of 4 fits, about 60 seconds left");
        assert_eq!(log.line(after(89), "3 of 4 fits", 0.75), None);
        // Then comes the next kind of work.
        assert_eq!(log.line(after(89), "4 of 4 fits", 1.0), None);
        assert_eq!(log.line(after(94), "1 of 9 fits", 0.1).unwrap(), "1 of 9 fits, about 45 seconds left");
    }
}
