//! `data/README.md`: what every column of every table means, and in which unit.

use std::collections::BTreeSet;

/// A table.
struct Table {
    file: &'static str,
    about: &'static str,
    columns: &'static [Column],
}

/// A column; a name that ends with " …" stands for all that differ from it in the number only.
struct Column {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
}

const fn column(name: &'static str, unit: &'static str, about: &'static str) -> Column {
    Column { name, unit, about }
}

const DIVERGENCE: &str = "unit of V (nats for counts)";

const TABLES: [Table; 9] = [
    Table {
        file: "traces.csv",
        about: "The lines of the figures: a row for each point, at most about a hundred for each method on each problem. `inf` is infinite, \
                `NaN` is not known.",
        columns: &[
            column(
                "problem",
                "name",
                "what was solved: `NMF` is the whole factorisation; `W given H*` and `H given W*` are the convex problems; `first` and `second` are \
                 before and after a warm restart; `weights given the topics` and `topics and weights` are those of topics",
            ),
            column("method", "name", "who solved it, as in the figures"),
            column("iteration", "iterations", "each an access to the data; 0 is the start"),
            column(
                "seconds",
                "s",
                "time of the work so far by the clock, without the evaluation of points; counted anew for each problem",
            ),
            column(
                "divergence",
                DIVERGENCE,
                "D(V‖WH) = Σ V log(V/WH) − V + WH; for MUA, ADMM and FPA with the authors' 2.2e-16 inside the logarithm",
            ),
            column(
                "gap_w",
                DIVERGENCE,
                "what a better W could gain at most while H stays: the duality gap of W. In `W given H*` divergence − gap_w is the value of the dual \
                 point; in `H given W*` W does not move, and gap_w is no measure of convergence",
            ),
            column(
                "gap_h",
                DIVERGENCE,
                "what a better H could gain at most while W stays; the other way round",
            ),
            column(
                "dual",
                DIVERGENCE,
                "the value of the dual point that the method itself carries, FPA's χ projected as in §3.1 of the paper; `NaN` for methods without one. \
                 the gaps take the better of it and of the point −V/(WH), scaled",
            ),
        ],
    },
    Table {
        file: "rho.csv",
        about: "ADMM with several ρ: a row for each.",
        columns: &[
            column("problem", "name", "as in traces.csv"),
            column(
                "rho",
                "none",
                "ADMM's penalty ρ; the best one depends on the scales of V and of the start",
            ),
            column("divergence", DIVERGENCE, "at the end; `inf` where it diverged"),
            column(
                "reached",
                "iterations",
                "the iteration at which the divergence is at most 1e-6 of the optimum above it; empty if that was not reached, and for `NMF`, whose \
                 optimum is not known",
            ),
        ],
    },
    Table {
        file: "restart.csv",
        about: "ADMM before and after the warm restart with c = 0, with several ρ: a row for each pair, from the first start.",
        columns: &[
            column("before", "none", "ρ of the first phase"),
            column("after", "none", "ρ of the second phase"),
            column("first", DIVERGENCE, "at the end of the first phase; `inf` where it diverged"),
            column("second", DIVERGENCE, "at the end of the second phase; `inf` where it diverged"),
        ],
    },
    Table {
        file: "starts.csv",
        about: "The paper's methods from several random starts: divergences at a few places on their way. The first start is that of traces.csv; a \
                time of another is the iteration that the method had made by then from the first. `NaN` where FPA has no time, as after a warm restart.",
        columns: &[
            column("problem", "name", "as in traces.csv"),
            column("method", "name", "as in traces.csv"),
            column("start", "number", "from 0; the seed of the random start is larger by as much"),
            column("first", DIVERGENCE, "at the start"),
            column("few", DIVERGENCE, "after one iteration in a hundred, at least ten"),
            column("early", DIVERGENCE, "at a hundredth of FPA's time"),
            column("half", DIVERGENCE, "at half of FPA's time"),
            column("same", DIVERGENCE, "when FPA ends"),
            column("end", DIVERGENCE, "at the end"),
        ],
    },
    Table {
        file: "parts.csv",
        about: "Images and parts of images: a row for each, upright.",
        columns: &[
            column(
                "method",
                "name",
                "whose W it is; `data` for some of the images themselves if they are generated",
            ),
            column(
                "part",
                "number",
                "from 1: the column of W, or the number among the images that are shown",
            ),
            column(
                "p0 …",
                "grey levels, 0 to 255",
                "pixels row by row from the upper left; 255 is the largest value of this image, so that images cannot be compared by their levels",
            ),
        ],
    },
    Table {
        file: "waves.csv",
        about: "Envelopes of the recording and of the signals recovered from its parts.",
        columns: &[
            column("part", "number", "0 is the recording, 1 the loudest part and so on"),
            column(
                "column",
                "number",
                "from 0: pieces of equal length, one after the other; 400 of them make up the recording",
            ),
            column("low", "full scale is 1", "the lowest sample of the piece, at most 0"),
            column("high", "full scale is 1", "the highest sample of the piece, at least 0"),
        ],
    },
    Table {
        file: "spectra.csv",
        about: "The columns of FPA's W: a row for each frequency.",
        columns: &[
            column("bin", "11025/256 Hz = 43.07 Hz", "from 0, the frequency"),
            column("part1 …", "share of the part's power", "the parts, loudest first; each sums to 1"),
        ],
    },
    Table {
        file: "spectrogram.csv",
        about: "The power spectrogram V: a row for each frequency bin as in spectra.csv, the lowest first.",
        columns: &[column(
            "c0 …",
            "dB below the loudest",
            "times, evenly spaced over the recording, at most 400: the loudest of those that fall together; −80 stands for all that is quieter",
        )],
    },
    Table {
        file: "found.csv",
        about: "The topics that were learned.",
        columns: &[
            column("method", "name", "as in traces.csv"),
            column("perplexity", "words", "of the corpus that was learned from"),
            column(
                "found",
                "topics",
                "true topics that are paired with a learned one at a cosine of at least 0.95; empty where they are not known",
            ),
            column("cosine", "0 to 1", "the mean over all pairs; empty where they are not known"),
        ],
    },
];

impl Column {
    fn row(&self) -> String {
        let name = match self.name.strip_suffix(" …") {
            Some(first) => format!("`{first}` …"),
            None => format!("`{}`", self.name),
        };
        format!("| {name} | {} | {} |\n", self.unit, self.about)
    }
}

/// The description of these files as Markdown.
pub fn text(files: &BTreeSet<String>) -> String {
    let mut text = String::from(
        "# The numbers of the report\n\nOne folder for each experiment. `manifest.json` has the settings, the machine, sizes and single numbers \
         (`facts`: times in seconds, divergences and gaps in the unit of V), and the rows and CRC-32 checksum of each table: a table that was \
         changed does not count, and its experiment is measured anew. Tables have a line of names and fields between commas. `klnmf reproduce` \
         writes this file.\n",
    );
    for table in TABLES.iter().filter(|table| files.contains(table.file)) {
        text += &format!(
            "\n## {}\n\n{}\n\n| column | unit | meaning |\n| --- | --- | --- |\n",
            table.file, table.about
        );
        table.columns.iter().for_each(|column| text += &column.row());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_that_are_there_are_described() {
        let text = text(&BTreeSet::from(["rho.csv".to_owned()]));
        assert!(text.contains("## rho.csv") && text.contains("| `reached` | iterations |"));
        assert!(!text.contains("## waves.csv"));
    }
}
