//! Explain counts by known signatures, certified sample by sample.
//!
//! cargo run --release -p klnmf --example decompose

use klnmf::{DecomposeSettings, Mat, decompose};

fn main() -> Result<(), klnmf::Error> {
    let signatures = Mat::from_rows(&[&[0.5, 0.1], &[0.3, 0.1], &[0.1, 0.3], &[0.1, 0.5]]);
    let samples =
        Mat::from_rows(&[&[52.0, 12.0, 0.0], &[31.0, 9.0, 0.0], &[14.0, 33.0, 0.0], &[18.0, 47.0, 0.0]]);
    let settings = DecomposeSettings { tol: 1e-10, ..DecomposeSettings::default() };
    let found = decompose(&samples, &signatures, &settings)?;
    for (j, column) in found.columns.iter().enumerate() {
        println!(
            "sample {j}: weights {:.3?}, divergence {:.6}, at most {:.1e} from the best, {} steps",
            found.h.col(j),
            column.divergence,
            column.gap,
            column.iterations
        );
    }
    Ok(())
}
