//! The page of `klnmf consensus`.

use klnmf::cosine;
use klnmf_report::html;
use klnmf_report::picture::{base64, png};
use klnmf_select::Consensus;
use minijinja::{Value as Jinja, context};
use std::path::Path;

/// The largest side of the clustergram in pixels. Of more parts, some are shown.
const SIDE: usize = 600;

/// The page as HTML.
pub fn page(input: &Path, found: &Consensus) -> anyhow::Result<String> {
    let (picture, side) = clustergram(found);
    let values = context! {
        input => klnmf_io::file_name(input),
        fits => found.fits.len(),
        unconverged => found.fits.iter().filter(|fit| !fit.converged).count(),
        left_out => found.left_out,
        divergence => crate::summary::six(found.divergence),
        best => crate::summary::six(found.fits[0].divergence),
        gap => format!("{:.2e}", found.gaps.iter().sum::<f64>()),
        parts => parts(found),
        picture,
        side,
    };
    Ok(html::render("consensus.html", include_str!("consensus.html"), values)?)
}

fn parts(found: &Consensus) -> Vec<Jinja> {
    let two = |x: f64| if x.is_finite() { format!("{x:.3}") } else { "–".into() };
    let width = |x: f64| format!("{:.1}", if x.is_finite() { 100.0 * x.clamp(0.0, 1.0) } else { 0.0 });
    let (cosines, silhouettes) = (&found.stability.cosines, &found.stability.silhouettes);
    let part = |(k, members): (usize, &Vec<(usize, usize)>)| {
        context! {
            number => k + 1,
            members => members.len(),
            cosine => two(cosines[k]),
            silhouette => two(silhouettes[k]),
            width => width(silhouettes[k]),
        }
    };
    found.members.iter().enumerate().map(part).collect()
}

/// The cosines between all members, cluster by cluster, as a grey picture in base64; dark is alike.
fn clustergram(found: &Consensus) -> (String, usize) {
    let all: Vec<&(usize, usize)> = found.members.iter().flatten().collect();
    let side = all.len().min(SIDE);
    let parts: Vec<&[f64]> = (0..side)
        .map(|k| *all[k * all.len() / side])
        .map(|(fit, part)| found.fits[fit].w.col(part))
        .collect();
    let mut pixels = vec![0u8; side * side];
    for a in 0..side {
        for b in 0..=a {
            let shade = (255.0 * (1.0 - cosine(parts[a], parts[b]).clamp(0.0, 1.0))) as u8;
            (pixels[a * side + b], pixels[b * side + a]) = (shade, shade);
        }
    }
    (png(&pixels, side, side).map_or(String::new(), |bytes| base64(&bytes)), side)
}
