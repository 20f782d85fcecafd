//! A thousand schedules in every run of the tests. More: the binary `schedules`.

use sluice_simulation::{Coverage, Simulation};

#[test]
fn a_thousand_schedules_break_nothing_and_meet_every_fault() {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let run = |first: u64| {
        let (simulation, mut coverage) = (Simulation::default(), Coverage::default());
        for seed in (first..1000).step_by(threads as usize) {
            coverage.add(&simulation.run(seed, false).unwrap_or_else(|violation| panic!("{violation:?}")));
        }
        coverage
    };
    let mut coverage = Coverage::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|first| scope.spawn(move || run(first))).collect();
        for thread in threads {
            coverage.add(&thread.join().expect("no schedule breaks anything"));
        }
    });
    assert_eq!(coverage.missing(), [], "faults that never happened in {coverage}");
}
