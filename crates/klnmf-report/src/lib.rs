//! Charts, pictures and pages for the reports of klnmf. All of them are self-contained: SVG and HTML without
//! scripts, in colours that follow the light or dark mode of the reader.
//!
//! ```
//! use klnmf_report::chart::{Chart, Line};
//!
//! let line = Line { name: "mu".into(), points: vec![(1.0, 30.0), (10.0, 4.0)], ..Line::default() };
//! let chart = Chart { x_label: "iterations", y_label: "divergence", lines: vec![line], ..Chart::default() };
//! assert!(chart.svg().starts_with("<svg"));
//! ```

pub mod chart;
mod heat;
pub mod html;
pub mod panels;
mod parts;
pub mod picture;
mod report;

pub use report::Report;
