// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many cases: drawn by seed, guided by coverage, in parallel. Findings do not depend on the number of threads.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::case::Case;
use crate::generate::{draw_case, mutate_case};
use crate::run::{FuzzError, Rtl, RtlCoverage, Verdict, run_case};
use crate::shrink::shrink_case;

/// Cases that are drawn from the same corpus.
const BATCH: u64 = 64;
/// Cases that the corpus keeps.
const CORPUS: usize = 512;

/// Options of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Seed of all cases.
    pub seed: u64,
    /// Cases.
    pub cases: u64,
    /// Only this shape.
    pub dims: Option<Vec<u16>>,
    /// Cases run at a time.
    pub threads: usize,
    /// Ends with the first batch that finds something.
    pub stop_at_first: bool,
    /// Runs to shrink the first case of each kind of finding; 0 keeps the drawn case.
    pub shrink_runs: u64,
    /// RTL under test. With coverage, cases that run new lines are kept as well.
    pub rtl: Rtl,
}

/// A kind of failure.
#[derive(Clone, Debug)]
pub struct FoundKind {
    /// Its name.
    pub signature: String,
    /// Cases that failed so.
    pub cases: u64,
    /// Number of the first.
    pub first: u64,
    /// Observation in the case as drawn.
    pub detail: String,
    /// The first, made small.
    pub case: Case,
    /// Stimuli of the first before.
    pub stimuli: usize,
}

/// Result of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignReport {
    /// Cases run.
    pub cases: u64,
    /// Cases without a finding.
    pub good: u64,
    /// Simulated cycles.
    pub cycles: u64,
    /// Kinds of failures, in the order of their names.
    pub found: Vec<FoundKind>,
    /// Things reached, by group: the first word of their names.
    pub coverage: BTreeMap<String, usize>,
    /// Lines and branches of the RTL that were run, one entry a model; none where they were not counted.
    pub rtl: Vec<RtlCoverage>,
    /// Cases that reached something new.
    pub corpus: usize,
    /// Digest of all cases' machines, verdicts and coverage, in order.
    pub hash: u64,
}

/// A run of many cases.
#[derive(Debug)]
pub struct Campaign {
    options: CampaignOptions,
    corpus: Vec<Case>,
    coverage: BTreeSet<String>,
    /// By dimensions of the model: whether each line and branch was run.
    rtl: BTreeMap<usize, Vec<bool>>,
    found: BTreeMap<String, FoundKind>,
    cases: u64,
    good: u64,
    cycles: u64,
    hash: u64,
}

fn mix(hash: u64, value: u64) -> u64 {
    let x = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ x >> 32
}

fn mix_text(hash: u64, text: &str) -> u64 {
    text.bytes()
        .fold(mix(hash, text.len() as u64), |hash, byte| {
            mix(hash, byte.into())
        })
}

fn covered((dims, points): (usize, Vec<bool>)) -> RtlCoverage {
    let run = (0..).zip(&points).filter(|(_, run)| **run);
    RtlCoverage {
        dims,
        points: points.len(),
        run: run.map(|(point, _)| point).collect(),
    }
}

impl Campaign {
    /// A campaign that has run nothing.
    pub fn new(options: CampaignOptions) -> Self {
        Self {
            options,
            corpus: Vec::new(),
            coverage: BTreeSet::new(),
            rtl: BTreeMap::new(),
            found: BTreeMap::new(),
            cases: 0,
            good: 0,
            cycles: 0,
            hash: 0,
        }
    }

    /// Case `number`, from the present corpus: drawn afresh, or a mutation of cases that added coverage.
    fn case(&self, number: u64) -> Case {
        let Some(last) = self.corpus.len().checked_sub(1) else {
            return draw_case(self.options.seed, number, self.options.dims.as_deref());
        };
        let mut random = ChaCha8Rng::seed_from_u64(self.options.seed ^ 0x636f_7270_7573);
        random.set_stream(number);
        if random.random_bool(0.5) {
            return draw_case(self.options.seed, number, self.options.dims.as_deref());
        }
        // The latest cases have been mutated least.
        let at = random
            .random_range(0..=last)
            .max(random.random_range(0..=last));
        let other = random.random_range(0..=last);
        mutate_case(
            &self.corpus[at],
            &self.corpus[other],
            self.options.seed,
            number,
        )
    }

    /// Runs all cases; `progress` hears how many are done and how many kinds of failures are known.
    ///
    /// # Errors
    /// [`FuzzError`] if a machine cannot be made.
    pub fn run(mut self, progress: impl Fn(u64, usize)) -> Result<CampaignReport, FuzzError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.options.threads)
            .build();
        // Without threads of its own the campaign runs on those that there are.
        let pool = pool.ok();
        while self.cases < self.options.cases {
            let first = self.cases;
            let count = BATCH.min(self.options.cases - first);
            let cases: Vec<Case> = (first..first + count).map(|n| self.case(n)).collect();
            let rtl = &self.options.rtl;
            let work = || -> Vec<Result<Verdict, FuzzError>> {
                cases.par_iter().map(|case| run_case(case, rtl)).collect()
            };
            let verdicts = match &pool {
                Some(pool) => pool.install(work),
                None => work(),
            };
            for ((number, case), verdict) in (first..).zip(cases).zip(verdicts) {
                self.take(number, case, verdict?);
            }
            progress(self.cases, self.found.len());
            if self.options.stop_at_first && !self.found.is_empty() {
                break;
            }
        }
        let kinds: Vec<FoundKind> = std::mem::take(&mut self.found).into_values().collect();
        let shrink = |kind: &FoundKind| self.shrunk(kind);
        let work = || -> Vec<FoundKind> { kinds.par_iter().map(shrink).collect() };
        let found = match &pool {
            Some(pool) => pool.install(work),
            None => work(),
        };
        let mut coverage = BTreeMap::new();
        for name in &self.coverage {
            let group = name.split(' ').next().unwrap_or(name);
            *coverage.entry(group.to_owned()).or_insert(0) += 1;
        }
        Ok(CampaignReport {
            cases: self.cases,
            good: self.good,
            cycles: self.cycles,
            found,
            coverage,
            rtl: self.rtl.into_iter().map(covered).collect(),
            corpus: self.corpus.len(),
            hash: self.hash,
        })
    }

    fn take(&mut self, number: u64, case: Case, verdict: Verdict) {
        self.cases += 1;
        self.cycles += verdict.cycles;
        self.good += u64::from(verdict.findings.is_empty());
        self.hash = mix(self.hash, verdict.hash);
        let mut new = false;
        for name in verdict.coverage {
            self.hash = mix_text(self.hash, &name);
            new |= self.coverage.insert(name);
        }
        let points = match verdict.rtl.points {
            0 => &mut Vec::new(),
            count => {
                let points = self.rtl.entry(verdict.rtl.dims).or_default();
                points.resize(count, false);
                points
            }
        };
        for point in verdict.rtl.run {
            let before = std::mem::replace(&mut points[point as usize], true);
            if !before {
                self.hash = mix(self.hash, point.into());
                new = true;
            }
        }
        for finding in verdict.findings {
            self.hash = mix_text(self.hash, &finding.signature);
            let kind = self
                .found
                .entry(finding.signature.clone())
                .or_insert_with(|| FoundKind {
                    signature: finding.signature,
                    cases: 0,
                    first: number,
                    detail: finding.detail,
                    stimuli: case.stimulus.len(),
                    case: case.clone(),
                });
            kind.cases += 1;
        }
        if new {
            if self.corpus.len() == CORPUS {
                self.corpus.remove(0);
            }
            self.corpus.push(case);
        }
    }

    fn shrunk(&self, kind: &FoundKind) -> FoundKind {
        // Of the last case that fails: the one that is kept.
        let mut detail = kind.detail.clone();
        let shrunk = shrink_case(&kind.case, self.options.shrink_runs, |case| {
            let Ok(verdict) = run_case(case, &self.options.rtl) else {
                return false;
            };
            let mut findings = verdict.findings.into_iter();
            match findings.find(|finding| finding.signature == kind.signature) {
                Some(finding) => {
                    detail = finding.detail;
                    true
                }
                None => false,
            }
        });
        FoundKind {
            case: shrunk.case,
            detail,
            ..kind.clone()
        }
    }
}
