//! Learns the unknown components of a recording, and the weights of all components.

use super::Separate;
use super::model::{Dictionary, Sources};
use crate::progress;
use klnmf::{Mat, Problem};

impl Separate {
    /// Learns the unknown components, and the weights of all.
    pub(super) fn explain(
        &self,
        v: &Mat<f64>,
        known: Option<&Dictionary>,
        names: Vec<String>,
        settings: &klnmf::Settings,
    ) -> anyhow::Result<(Sources, Mat<f64>)> {
        let (fixed, free) = (known.map_or(0, |known| known.w.cols()), self.free(known.is_some()));
        let problem = Problem::new(v, settings.threads)?;
        let (mut w, h) = problem.init(fixed + free, settings)?;
        if let Some(known) = known {
            w.as_mut_slice()[..known.w.as_slice().len()].copy_from_slice(known.w.as_slice());
        }
        let settings = klnmf::Settings { fixed, ..settings.clone() };
        let bar = progress::bar(settings.max_iter, self.output.quiet);
        let found = self.factorise(v, problem, (w, h), &settings, &bar)?;
        bar.finish_and_clear();
        Ok(Sources::learned(known, found, self.sources, names))
    }
}
