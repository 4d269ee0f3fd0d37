//! Generates the Swimmer images (after Donoho & Stodden 2003): a body with four limbs, each in one of four
//! positions, in all 256 combinations. The images have 17 parts in all.

use klnmf::Mat;

/// Width and height of an image.
pub const SIDE: usize = 32;
/// The number of parts: the body, and four positions of each of four limbs.
pub const PARTS: usize = 17;

/// The true parts as columns of 0 and 1: the body, then the four positions of each limb. Pixel (x, y) is row
/// y·32 + x.
pub fn parts() -> Mat<f64> {
    let mut parts = Mat::zeros(SIDE * SIDE, PARTS);
    let mut dot = |part: usize, x: i32, y: i32| parts[(y as usize * SIDE + x as usize, part)] = 1.0;
    for y in 10..22 {
        dot(0, 15, y);
        dot(0, 16, y);
    }
    // Where each limb begins, and its directions away from the body in x and in y.
    let limbs = [(14, 11, -1, -1), (17, 11, 1, -1), (14, 20, -1, 1), (17, 20, 1, 1)];
    for (limb, (x, y, out, away)) in limbs.into_iter().enumerate() {
        let positions = [(0, away), (out, away), (out, 0), (out, -away)];
        for (position, (dx, dy)) in positions.into_iter().enumerate() {
            for step in 1..9 {
                dot(1 + 4 * limb + position, x + step * dx, y + step * dy);
            }
        }
    }
    parts
}

/// The 256 images as columns.
pub fn images() -> Mat<f64> {
    let parts = parts();
    Mat::from_fn(SIDE * SIDE, 256, |pixel, image| {
        let limbs = (0..4).map(|limb| 1 + 4 * limb + (image >> (2 * limb)) % 4);
        limbs.chain([0]).map(|part| parts[(pixel, part)]).fold(0.0, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_add_up_to_the_images() {
        let (parts, images) = (parts(), images());
        assert!(parts.row_sums().iter().all(|s| *s <= 1.0));
        assert!(parts.col_sums().iter().skip(1).all(|s| *s == 8.0));
        assert_eq!(parts.col_sums()[0], 24.0);
        assert!(images.col_sums().iter().all(|s| *s == 24.0 + 4.0 * 8.0));
        let mut distinct: Vec<Vec<u8>> =
            (0..256).map(|j| images.col(j).iter().map(|x| *x as u8).collect()).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 256);
    }
}
