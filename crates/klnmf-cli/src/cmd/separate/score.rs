//! Scores of the stems, if the true ones are known.

use anyhow::{Context, bail};
use klnmf_audio::{Score, Sound, evaluate, si_sdr};
use serde_json::{Value, json};

/// The scores: one line for every true stem.
pub struct Scores {
    lines: Vec<Line>,
    pub taps: usize,
}

struct Line {
    name: String,
    /// The stem that is matched to it.
    stem: String,
    score: Score,
    /// SI-SDR of the stem minus that of the mix.
    improvement: f64,
}

/// Fails before the work starts if the stems could not be scored.
pub fn check(
    truth: &[(String, Sound)],
    mix: Option<&Sound>,
    stems: usize,
    taps: usize,
) -> anyhow::Result<()> {
    for ((name, sound), mix) in truth.iter().zip(mix.into_iter().cycle()) {
        if (sound.rate, sound.len()) != (mix.rate, mix.len()) {
            bail!(
                "--evaluate: {name} has {} samples at {} Hz and the recording {} at {} Hz: give stems of \
                 the same length and rate",
                sound.len(),
                sound.rate,
                mix.len(),
                mix.rate
            );
        }
        if sound.mono().iter().all(|x| *x == 0.0) {
            bail!("--evaluate: {name} is silent; leave it out");
        }
    }
    if !truth.is_empty() && truth.len() != stems {
        bail!(
            "--evaluate: there are {} true stems but {stems} stems will be written: give as many, or set \
             --sources",
            truth.len()
        );
    }
    if !truth.is_empty() {
        klnmf_audio::check_taps(truth.len(), taps).context("--taps")?;
    }
    Ok(())
}

impl Scores {
    /// Compares the means of the channels; `estimates` are those of the stems. None if no true stems are
    /// given.
    pub fn new(
        truth: &[(String, Sound)],
        mix: Option<&Sound>,
        names: &[String],
        estimates: &[Vec<f64>],
        taps: usize,
    ) -> anyhow::Result<Option<Self>> {
        let (false, Some(mix)) = (truth.is_empty(), mix) else { return Ok(None) };
        let references: Vec<Vec<f64>> = truth.iter().map(|(_, sound)| sound.mono()).collect();
        let (scores, mix) = (evaluate(&references, estimates, taps)?, mix.mono());
        let line = |((score, (name, _)), reference): ((Score, &(String, Sound)), &Vec<f64>)| Line {
            name: name.clone(),
            stem: names[score.estimate].clone(),
            improvement: score.si_sdr - si_sdr(reference, &mix),
            score,
        };
        let lines = scores.into_iter().zip(truth).zip(&references).map(line).collect();
        Ok(Some(Self { lines, taps }))
    }

    /// The median of the improvements.
    pub fn median_improvement(&self) -> f64 {
        let mut all: Vec<f64> = self.lines.iter().map(|line| line.improvement).collect();
        all.sort_by(f64::total_cmp);
        let n = all.len();
        0.5 * (all[(n - 1) / 2] + all[n / 2])
    }

    pub fn json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "reference": line.name, "stem": line.stem, "sdr": line.score.sdr, "sir": line.score.sir,
                "sar": line.score.sar, "si_sdr": line.score.si_sdr, "si_sdr_improvement": line.improvement,
            })
        };
        json!({
            "taps": self.taps,
            "median_si_sdr_improvement": self.median_improvement(),
            "stems": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }

    /// Name and stem; SDR, SIR, SAR, SI-SDR and its improvement.
    pub fn rows(&self) -> Vec<([&str; 2], [f64; 5])> {
        let mut rows = Vec::new();
        for Line { name, stem, score, improvement } in &self.lines {
            let Score { sdr, sir, sar, si_sdr, .. } = *score;
            rows.push(([name.as_str(), stem.as_str()], [sdr, sir, sar, si_sdr, *improvement]));
        }
        rows
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "dB           {:<20} {:<14} {:>7} {:>7} {:>7} {:>8} {:>12}   (BSS Eval v3, {} taps)\n",
            "truth", "stem", "SDR", "SIR", "SAR", "SI-SDR", "improvement", self.taps
        );
        for ([name, stem], [sdr, sir, sar, si_sdr, improvement]) in self.rows() {
            text += &format!(
                "             {name:<20} {stem:<14} {sdr:>7.1} {sir:>7.1} {sar:>7.1} {si_sdr:>8.1} {improvement:>12.1}\n"
            );
        }
        text + &format!("             median improvement of SI-SDR {:.1} dB\n", self.median_improvement())
    }
}
