//! Factorise a small table of counts and print the parts with their certificate.
//!
//! cargo run --release -p klnmf --example factorize

use klnmf::{Mat, Settings, factorize};

fn main() -> Result<(), klnmf::Error> {
    // Two kinds of baskets: breakfasts and dinners.
    let goods = ["bread", "butter", "coffee", "pasta", "tomatoes", "wine"];
    let v = Mat::from_rows(&[
        &[4.0, 5.0, 3.0, 0.0, 1.0, 0.0, 2.0],
        &[2.0, 3.0, 2.0, 0.0, 0.0, 0.0, 1.0],
        &[3.0, 4.0, 2.0, 0.0, 0.0, 1.0, 2.0],
        &[0.0, 0.0, 0.0, 3.0, 2.0, 4.0, 2.0],
        &[0.0, 1.0, 0.0, 5.0, 3.0, 6.0, 3.0],
        &[0.0, 0.0, 0.0, 2.0, 1.0, 2.0, 1.0],
    ]);
    let model = factorize(&v, 2, &Settings { tol: 1e-6, ..Settings::default() })?;
    for k in 0..2 {
        println!("part {}", k + 1);
        for (good, share) in goods.iter().zip(model.w.col(k)).filter(|(_, share)| **share > 0.01) {
            println!("  {good:<9} {:5.1} %", 100.0 * share);
        }
    }
    println!("divergence {:.4}, {}", model.info.divergence, model.status.name());
    println!("W alone can gain at most {:.1e}, H alone {:.1e}", model.info.gap_w, model.info.gap_h);
    Ok(())
}
