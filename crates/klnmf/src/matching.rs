//! Which part of one model corresponds to which part of another.
//!
//! The pairs are those with the largest sum of cosines, one to one. They are found by shortest augmenting
//! paths (Jonker & Volgenant, *A shortest augmenting path algorithm for dense and sparse linear assignment
//! problems*, 1987), which take O(r³) steps.

use crate::{Error, Mat, Result};

/// A part of one model and the part of another that corresponds to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The number of the part in the first model.
    pub first: usize,
    /// The number of the part in the second model.
    pub second: usize,
    /// The cosine of the two parts, from 0 to 1.
    pub cosine: f64,
}

/// Pairs the columns of `a` and `b` one to one, such that the sum of the cosines is as large as possible. The
/// pairs have the order of the columns of `a`. If one matrix has more columns, some of them have no partner.
///
/// ```
/// use klnmf::{Mat, match_parts};
/// let a = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 2.0]]);
/// let b = Mat::from_rows(&[&[0.1, 3.0, 1.0], &[5.0, 0.0, 1.0]]);
/// let pairs: Vec<(usize, usize)> = match_parts(&a, &b)?.iter().map(|m| (m.first, m.second)).collect();
/// assert_eq!(pairs, [(0, 1), (1, 0)]);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn match_parts(a: &Mat<f64>, b: &Mat<f64>) -> Result<Vec<Match>> {
    let table = cosines(a, b)?;
    let pairs = assign(&table).into_iter().enumerate();
    let found = |(first, second): (usize, Option<usize>)| {
        second.map(|second| Match { first, second, cosine: table[(first, second)] })
    };
    Ok(pairs.filter_map(found).collect())
}

/// The cosines between the columns of `a` (rows of the result) and those of `b`.
pub fn cosines(a: &Mat<f64>, b: &Mat<f64>) -> Result<Mat<f64>> {
    if a.rows() != b.rows() {
        let why = format!("parts with {} and with {} features cannot be compared", a.rows(), b.rows());
        return Err(Error::Shape(why));
    }
    if !a.as_slice().iter().chain(b.as_slice()).all(|x| x.is_finite()) {
        return Err(Error::Shape("parts with infinite or undefined numbers cannot be compared".into()));
    }
    let [a, b] = [a, b].map(unit_columns);
    Ok(Mat::from_fn(a.cols(), b.cols(), |i, j| dot(a.col(i), b.col(j))))
}

/// The cosine of two vectors; zero if one of them is zero.
///
/// # Panics
///
/// If the vectors differ in length.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of different lengths have no cosine");
    let [a, b] = [a, b].map(|x| {
        let mut x = x.to_vec();
        to_unit(&mut x);
        x
    });
    dot(&a, &b)
}

/// Σab.
#[doc(hidden)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The columns scaled to length 1; zero columns stay zero.
#[doc(hidden)]
pub fn unit_columns(x: &Mat<f64>) -> Mat<f64> {
    let mut unit = x.clone();
    (0..unit.cols()).for_each(|j| to_unit(unit.col_mut(j)));
    unit
}

/// Scales a vector to length 1, unless it is zero. It is divided by its largest entry first, because squares
/// may overflow or underflow.
fn to_unit(x: &mut [f64]) {
    let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if largest > 0.0 {
        x.iter_mut().for_each(|x| *x /= largest);
        let length = dot(x, x).sqrt();
        x.iter_mut().for_each(|x| *x /= length);
    }
}

/// For every row of a table its column, one to one, such that the sum of the chosen entries is as large as
/// possible. If there are more rows than columns, some rows have none.
///
/// # Panics
/// If an entry is not finite.
pub fn assign(values: &Mat<f64>) -> Vec<Option<usize>> {
    assert!(values.as_slice().iter().all(|x| x.is_finite()), "entries of an assignment must be finite");
    let mut columns = vec![None; values.rows()];
    if values.rows() <= values.cols() {
        for (column, row) in rows_of_columns(values).into_iter().enumerate() {
            row.into_iter().for_each(|row: usize| columns[row] = Some(column));
        }
        return columns;
    }
    rows_of_columns(&values.transpose())
}

/// The row of every column, for at least as many columns as rows. Rows are added one by one. Each is
/// connected with a free column by a path that costs least, and the rows on that path change their columns.
fn rows_of_columns(values: &Mat<f64>) -> Vec<Option<usize>> {
    let (n, m) = (values.rows(), values.cols());
    // Prices of rows and columns: −values − price of the row − price of the column is never negative, and
    // zero for pairs.
    let (mut row_price, mut col_price) = (vec![0.0; n], vec![0.0; m]);
    let mut owner: Vec<Option<usize>> = vec![None; m];
    for new in 0..n {
        let (mut distance, mut before) = (vec![f64::INFINITY; m], vec![None; m]);
        let mut done = vec![false; m];
        let (mut row, mut from, mut length) = (new, None, 0.0);
        let end = loop {
            for j in (0..m).filter(|j| !done[*j]) {
                let reach = length - values[(row, j)] - row_price[row] - col_price[j];
                if reach < distance[j] {
                    (distance[j], before[j]) = (reach, from);
                }
            }
            let open = (0..m).filter(|j| !done[*j]);
            let next =
                open.min_by(|a, b| distance[*a].total_cmp(&distance[*b])).expect("a free column is left");
            (length, from) = (distance[next], Some(next));
            done[next] = true;
            match owner[next] {
                Some(taken) => row = taken,
                None => break next,
            }
        };
        row_price[new] += length;
        for j in (0..m).filter(|j| done[*j] && *j != end) {
            let shift = length - distance[j];
            col_price[j] -= shift;
            row_price[owner[j].expect("only the end of the path is free")] += shift;
        }
        let mut at = end;
        while let Some(previous) = before[at] {
            owner[at] = owner[previous];
            at = previous;
        }
        owner[at] = Some(new);
    }
    owner
}
