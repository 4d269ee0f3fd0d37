//! `klnmf demo`: the main job on built-in data.

use super::factorize::certificate_text;
use crate::matching::match_parts;
use crate::picture::Grid;
use crate::{interrupt, progress, summary, swimmer};
use anyhow::Context;
use clap::Args;
use klnmf::{Mat, Problem, Settings, Solution, Solver};
use klnmf_io::Model;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Find the parts of 256 small images of swimmers, generated, whose true parts are known
///
/// Each image shows a body with four limbs, each limb in one of four positions: 17 parts make up them all. The demo
/// factorises the images from eight random starts, keeps the sparsest of the best fits, compares the parts it finds with
/// the true ones and draws them.
#[derive(Args)]
pub struct Demo {
    /// Folder for the pictures and the model
    #[arg(long, short, value_name = "FOLDER", default_value = "klnmf-demo")]
    out: PathBuf,
    /// Seed of the first random start; the others follow
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// A found part counts as a true one from this cosine on.
const ALIKE: f64 = 0.95;
const STARTS: usize = 8;

impl Demo {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let folder = &self.out;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let (v, truth) = (swimmer::images(), swimmer::parts());
        let solution = self.best_of_starts(&v)?;

        let matches = match_parts(&truth, &solution.w);
        let found = matches.iter().filter(|m| m.cosine >= ALIKE).count();
        let images = Mat::from_fn(v.rows(), matches.len(), |i, k| solution.w[(i, matches[k].found)]);
        let labels = matches.iter().map(|m| format!("{} {:.2}", part_name(m.truth), m.cosine)).collect();
        let grid = Grid { images: &images, width: swimmer::SIDE, across: 6, labels };
        let (png, svg) = (folder.join("parts.png"), folder.join("parts.svg"));
        grid.write_png(&png)?;
        grid.write_svg(&svg)?;
        let info = solution.info;
        let facts = json!({
            "status": summary::status(solution.status),
            "iterations": info.iteration,
            "seconds": info.seconds,
            "divergence": summary::number(info.divergence),
            "gap_w": summary::number(info.gap_w),
            "gap_h": summary::number(info.gap_h),
            "parts": swimmer::PARTS,
            "found": found,
            "pictures": [png.display().to_string(), svg.display().to_string()],
        });
        let metadata =
            json!({ "data": "swimmer", "seed": self.seed, "divergence": info.divergence }).to_string();
        let model = Model {
            w: solution.w,
            h: solution.h,
            metadata,
            row_names: None,
            col_names: None,
            part_names: None,
            columns: Vec::new(),
        };
        klnmf_io::write_model(&folder.join("model.npz"), &model)?;
        if self.json {
            summary::print_json(facts.as_object().cloned().unwrap_or_default())?;
        } else {
            summary::print(&format!(
                "data         256 images of swimmers, {} × {}, generated; {} true parts\n\
                 fpa          best of {STARTS} starts: {} after {} iterations in {:.2} s\n{}\
                 parts        {found} of {} true parts found (cosine ≥ {ALIKE})\n\
                 pictures     {}\n             {}\n\
                 model        {}\n",
                swimmer::SIDE,
                swimmer::SIDE,
                swimmer::PARTS,
                solution.status.name(),
                info.iteration,
                info.seconds,
                certificate_text(&info),
                swimmer::PARTS,
                png.display(),
                svg.display(),
                folder.join("model.npz").display()
            ))?;
        }
        let interrupted = solution.status == klnmf::Status::Stopped;
        Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
    }
}

impl Demo {
    /// The problem is not convex, so several starts are tried; the one that is kept has the fewest entries among those
    /// that fit as well as the best.
    fn best_of_starts(&self, v: &Mat<f64>) -> anyhow::Result<Solution<f64>> {
        let stop = interrupt::flag();
        let bar = progress::bar(STARTS, self.json);
        let problem = Problem::new(v, 0)?;
        let mut found: Vec<Solution<f64>> = Vec::new();
        for start in 0..STARTS {
            let seed = self.seed.wrapping_add(start as u64);
            let stop = Some(stop.clone());
            // Many factorisations fit exactly, and most of them have a piece of the body in every limb. Auto is at one of those
            // in no time; the small steps of the primal-dual algorithm leave the body where it is.
            let settings = Settings {
                solver: Solver::Fpa,
                seed,
                tol: 1e-6,
                max_iter: 2000,
                stop,
                ..Settings::default()
            };
            // A warm restart, as in the paper: one part first, which is the mean image, then all the others from zero.
            // They only learn what the mean does not explain, so the body, which is in every image, stays in one part.
            let mean = problem.factorize(1, &settings)?;
            let (w, h) = klnmf::grow(&mean.w, &mean.h, swimmer::PARTS, seed)?;
            found.push(problem.factorize_from(w, h, &settings, |_| ControlFlow::Continue(()))?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let best = found.iter().map(|s| s.info.divergence).fold(f64::INFINITY, f64::min);
        let as_good = found.into_iter().filter(|s| s.info.divergence <= best + 1e-6 * s.info.sum);
        as_good.min_by_key(|s| entries(&s.w)).context("no start was tried")
    }
}

/// How many entries of W count for anything.
fn entries(w: &Mat<f64>) -> usize {
    let column = |k: usize| {
        let most = w.col(k).iter().copied().fold(0.0, f64::max);
        w.col(k).iter().filter(|x| **x > 1e-3 * most).count()
    };
    (0..w.cols()).map(column).sum()
}

fn part_name(part: usize) -> String {
    const LIMBS: [&str; 4] = ["left arm", "right arm", "left leg", "right leg"];
    match part.checked_sub(1) {
        None => "body".into(),
        Some(limb) => format!("{} {}", LIMBS[limb / 4], limb % 4 + 1),
    }
}
