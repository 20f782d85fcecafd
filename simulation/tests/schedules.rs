//! A thousand schedules in every run of the tests. More: the binary `schedules`.

#[test]
fn a_thousand_schedules_break_nothing() {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || {
                for seed in (first..1000).step_by(threads as usize) {
                    assert_eq!(sluice_simulation::run(seed, false), Ok(()));
                }
            });
        }
    });
}
