//! Runs many schedules: `schedules COUNT [FIRST_SEED] [trace]`. Ends at the first violation and prints its seed;
//! `trace` tells every step on standard error. At the end it prints how often each fault happened.

use sluice_simulation::{Coverage, Simulation};

/// As in the product's binaries.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (count, first) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(0));
    let trace = std::env::args().any(|text| text == "trace");
    let (simulation, mut coverage) = (Simulation::default(), Coverage::default());
    for seed in first..first + count {
        match simulation.run(seed, trace) {
            Ok(more) => coverage.add(&more),
            Err(violation) => {
                println!("seed {}, step {}: {}", violation.seed, violation.step, violation.what);
                return std::process::ExitCode::FAILURE;
            }
        }
    }
    println!("{count} schedules, no violation; {coverage}");
    std::process::ExitCode::SUCCESS
}
