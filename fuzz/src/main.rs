//! The loop of `scripts/fuzz`: runs the targets in turn for some minutes and counts.
//!
//! A first process starts a second one that does the work, so that an input is saved whatever happens: a
//! panic, a run of more than [`SECONDS`], memory beyond [`BYTES`], a stack overflow.

use klnmf_fuzz::memory::{self, Bounded};
use klnmf_fuzz::mutate::{Random, mutated};
use klnmf_fuzz::{SCRATCH, TARGETS, Target, new_scratch, outcome, scratch};
use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

/// The longest time of a run, in seconds of the processor.
const SECONDS: f64 = 10.0;
/// The variable with another limit.
const LIMIT: &str = "KLNMF_FUZZ_SECONDS";
/// The memory of a run. Inputs have at most 64 kB; files of this length may hold 1040 times as much, gzipped.
const BYTES: usize = 256 << 20;
/// Targets take turns of this length.
const TURN: Duration = Duration::from_millis(250);
/// Inputs that are kept for a target because their outcome was new.
const KEPT: usize = 500;

const USAGE: &str = "usage: klnmf-fuzz MINUTES [TARGET] [--seed N]   run one target or all\n       \
    klnmf-fuzz TARGET FILE                     run one input\n       klnmf-fuzz --list";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--list"] => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            ExitCode::SUCCESS
        }
        [target, file] if target.parse::<f64>().is_err() => one(target, Path::new(file)),
        [minutes, ref rest @ ..] if minutes.parse::<f64>().is_ok() => {
            if std::env::var_os(SCRATCH).is_some() {
                work(minutes, rest)
            } else {
                supervise(&words)
            }
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Option<&'static Target> {
    let found = TARGETS.iter().chain(&BAD).find(|target| target.name == name);
    if found.is_none() {
        eprintln!("there is no target {name:?}: --list prints them");
    }
    found
}

/// Targets that go wrong, to test that this is noticed.
static BAD: [Target; 3] = [
    Target {
        name: "bad-panic",
        run: |data| assert!(data.len() < 6, "as it should"),
        seeds: || vec![vec![0; 4]],
    },
    Target { name: "bad-hang", run: |data| while data.len() > 5 {}, seeds: || vec![vec![0; 4]] },
    Target {
        name: "bad-memory",
        run: |data| drop(std::hint::black_box(vec![1u8; data.len() << 26])),
        seeds: || vec![vec![0; 2]],
    },
];

/// Runs one input, without a net.
fn one(name: &str, file: &Path) -> ExitCode {
    let (Some(target), Ok(data)) = (named(name), fs::read(file)) else { return ExitCode::FAILURE };
    memory::bound(BYTES);
    pool().install(|| (target.run)(&data));
    println!("fine");
    ExitCode::SUCCESS
}

/// Starts the process that works, and saves its input if it ends badly.
fn supervise(words: &[&str]) -> ExitCode {
    let folder = new_scratch();
    let program = std::env::current_exe().expect("this program has a path");
    let status = Command::new(program).args(words).env(SCRATCH, &folder).status();
    let fine = status.as_ref().is_ok_and(|status| status.success());
    if !fine {
        let target = fs::read_to_string(folder.join("target")).unwrap_or_default();
        let saved = format!(
            "found-{target}-{}",
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
        );
        match fs::copy(folder.join("current"), &saved) {
            Ok(_) => eprintln!("{target} ended badly ({status:?}): the input is in {saved}"),
            Err(why) => eprintln!("nothing was run ({status:?}, {why})"),
        }
    }
    let _ = fs::remove_dir_all(&folder);
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One thread with a stack like that of the main thread. Inside it, the library starts no others.
fn pool() -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(8 << 20).build();
    pool.expect("a thread can be started")
}

/// The run that is under way, counting from 1; 0 between two runs.
static RUN: AtomicU64 = AtomicU64::new(0);

fn work(minutes: &str, rest: &[&str]) -> ExitCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let (mut seed, mut only) = (now, None);
    match rest {
        [] => {}
        [target] => only = Some(*target),
        ["--seed", number] => seed = number.parse().unwrap_or(now),
        [target, "--seed", number] => (only, seed) = (Some(*target), number.parse().unwrap_or(now)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    let chosen: Vec<&Target> = match only.map(named) {
        None => TARGETS.iter().collect(),
        Some(Some(target)) => vec![target],
        Some(None) => return ExitCode::FAILURE,
    };
    let time = Duration::from_secs_f64(60.0 * minutes.parse::<f64>().unwrap_or(0.0));
    println!("seed {seed}");
    let pool = pool();
    let mut loops: Vec<Loop> =
        pool.install(|| chosen.into_iter().map(|target| Loop::new(target, seed)).collect());
    std::thread::spawn(watch);
    // Panics are counted by those who do not catch them.
    std::panic::set_hook(Box::new(|_| ()));
    let begun = Instant::now();
    let mut fine = true;
    while fine && begun.elapsed() < time {
        fine = loops.iter_mut().all(|each| pool.install(|| each.turn()));
    }
    for each in &loops {
        println!("{:<14} {:>10} runs {:>5} inputs", each.target.name, each.runs, each.corpus.len());
    }
    println!(
        "total          {:>10} runs in {:.0} s",
        loops.iter().map(|each| each.runs).sum::<u64>(),
        begun.elapsed().as_secs_f64()
    );
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The runs of one target.
struct Loop {
    target: &'static Target,
    corpus: Vec<Vec<u8>>,
    most: usize,
    outcomes: HashSet<u64>,
    random: Random,
    runs: u64,
}

impl Loop {
    fn new(target: &'static Target, seed: u64) -> Self {
        let corpus = (target.seeds)();
        let most = corpus.len() + KEPT;
        Self { target, corpus, most, outcomes: HashSet::new(), random: Random(seed), runs: 0 }
    }

    /// Runs for a moment; false if something was found.
    fn turn(&mut self) -> bool {
        fs::write(scratch().join("target"), self.target.name).expect("the scratch folder is writable");
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            let data = mutated(&self.corpus, &mut self.random);
            if let Err(panic) = self.run(&data) {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                println!(
                    "{}: {}",
                    self.target.name,
                    text.or(panic.downcast_ref().copied()).unwrap_or("a panic")
                );
                return false;
            }
            if self.outcomes.insert(outcome::take()) && self.corpus.len() < self.most {
                self.corpus.push(data);
            }
        }
        true
    }

    fn run(&mut self, data: &[u8]) -> std::thread::Result<()> {
        fs::write(scratch().join("current"), data).expect("the scratch folder is writable");
        self.runs += 1;
        RUN.fetch_add(1, Ordering::Relaxed);
        memory::bound(BYTES);
        let ended = catch_unwind(AssertUnwindSafe(|| (self.target.run)(data)));
        memory::bound(usize::MAX / 2);
        ended
    }
}

/// Ends the process if a run takes too long.
fn watch() {
    let limit = std::env::var(LIMIT).ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let (mut run, mut since) = (0, processor());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        if RUN.load(Ordering::Relaxed) != run {
            (run, since) = (RUN.load(Ordering::Relaxed), processor());
        } else if processor() - since > limit {
            println!("a run takes more than {limit} s");
            std::process::exit(1);
        }
    }
}

/// Seconds of the processor that this process has used, or those of the clock where the system does not say.
fn processor() -> f64 {
    static BEGUN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let ticks = |text: String| -> Option<f64> {
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    };
    let used = fs::read_to_string("/proc/self/stat").ok().and_then(ticks);
    used.map_or_else(|| BEGUN.elapsed().as_secs_f64(), |ticks| ticks / 100.0)
}
