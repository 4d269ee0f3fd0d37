//! Scores of the stems, if the true ones are known.

use anyhow::{Context, bail};
use klnmf_audio::{Score, Sound, evaluate, si_sdr};
use serde_json::{Value, json};

/// The scores, in decibels.
pub struct Scores {
    pub rows: Vec<Row>,
    pub taps: usize,
}

/// The scores of the stem that is matched to a true one.
pub struct Row {
    pub truth: String,
    pub stem: String,
    /// In the order of [`MEASURES`].
    pub values: [f64; 5],
}

/// The last one is the SI-SDR of the stem minus that of the mix.
const MEASURES: [&str; 5] = ["sdr", "sir", "sar", "si_sdr", "si_sdr_improvement"];

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
        estimates: &[&[f64]],
        taps: usize,
    ) -> anyhow::Result<Option<Self>> {
        let (false, Some(mix)) = (truth.is_empty(), mix) else { return Ok(None) };
        let references: Vec<Vec<f64>> = truth.iter().map(|(_, sound)| sound.mono()).collect();
        let (scores, mix) = (evaluate(&references, estimates, taps)?, mix.mono());
        let row = |((score, (truth, _)), reference): ((Score, &(String, Sound)), &Vec<f64>)| {
            let Score { estimate, sdr, sir, sar, si_sdr: own, .. } = score;
            let values = [sdr, sir, sar, own, own - si_sdr(reference, &mix)];
            Row { truth: truth.clone(), stem: names[estimate].clone(), values }
        };
        let rows = scores.into_iter().zip(truth).zip(&references).map(row).collect();
        Ok(Some(Self { rows, taps }))
    }

    /// The median of the improvements.
    fn median_improvement(&self) -> f64 {
        let mut all: Vec<f64> = self.rows.iter().map(|row| row.values[4]).collect();
        all.sort_by(f64::total_cmp);
        let n = all.len();
        0.5 * (all[(n - 1) / 2] + all[n / 2])
    }

    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            let mut object = json!({ "reference": row.truth, "stem": row.stem });
            MEASURES.iter().zip(row.values).for_each(|(name, value)| object[*name] = json!(value));
            object
        };
        json!({
            "taps": self.taps,
            "median_si_sdr_improvement": self.median_improvement(),
            "stems": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "dB           {:<20} {:<14} {:>7} {:>7} {:>7} {:>8} {:>12}   (BSS Eval v3, {} taps)\n",
            "truth", "stem", "SDR", "SIR", "SAR", "SI-SDR", "improvement", self.taps
        );
        for Row { truth, stem, values: [sdr, sir, sar, si_sdr, improvement] } in &self.rows {
            text += &format!(
                "             {truth:<20} {stem:<14} {sdr:>7.1} {sir:>7.1} {sar:>7.1} {si_sdr:>8.1} {improvement:>12.1}\n"
            );
        }
        text + &format!("             median improvement of SI-SDR {:.1} dB\n", self.median_improvement())
    }
}
