//! A thousand schedules in every run of the tests. More: the binary `schedules`.

#[test]
fn a_thousand_schedules_break_nothing() {
    for seed in 0..1000 {
        assert_eq!(sluice_simulation::run(seed, false), Ok(()));
    }
}
