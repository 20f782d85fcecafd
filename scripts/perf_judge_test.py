#!/usr/bin/env python3
"""What scripts/perf_judge.py calls more, and what it takes for noise."""

import unittest

import perf_judge

CPU = "rate500.cpu_ms_per_event.renderer"
P50 = "rate500.p50_per_floor"


def compare(name, before, after):
    (only,) = perf_judge.compare([{name: value} for value in before], [{name: value} for value in after])
    return only


class Judging(unittest.TestCase):
    def test_what_is_more_than_a_tenth_beyond_the_spread_fails(self):
        self.assertTrue(compare(CPU, [1.0, 1.02], [1.20, 1.25]).fails)

    def test_a_tenth_is_allowed(self):
        self.assertFalse(compare(CPU, [1.0, 1.0], [1.09, 1.10]).fails)

    def test_what_a_single_run_says_is_noise(self):
        self.assertFalse(compare(CPU, [1.0, 1.0], [1.05, 1.60]).fails)
        self.assertFalse(compare(CPU, [1.0, 1.5], [1.55, 1.60]).fails)

    def test_less_never_fails(self):
        self.assertFalse(compare(CPU, [1.0, 1.1], [0.2, 0.3]).fails)

    def test_a_tenth_of_next_to_nothing_is_noise(self):
        self.assertFalse(compare(CPU, [0.010, 0.011], [0.025, 0.026]).fails)
        self.assertFalse(compare("rate500.rows_per_event.problems", [0.0, 0.0], [0.01, 0.02]).fails)

    def test_rows_that_were_none_can_become_too_many(self):
        rows = compare("rate500.rows_per_event.problems", [0.0, 0.0], [1.0, 1.0])
        self.assertTrue(rows.fails)
        self.assertIsNone(rows.ratio)

    def test_latency_is_not_judged(self):
        self.assertFalse(compare(P50, [1.0, 1.0], [9.0, 9.0]).fails)

    def test_memory_that_has_shrunk_below_what_it_was_at_rest_is_no_ratio(self):
        memory = compare("memory.kib_per_object.agent", [-0.1, 0.1], [0.2, 0.1])
        self.assertFalse(memory.fails)
        self.assertIsNone(memory.ratio)


class Comparing(unittest.TestCase):
    def test_only_what_every_run_has_is_compared_in_the_order_of_families(self):
        runs = [{CPU: 1.0, P50: 2.0, "rate500.sent": 5.0, "later.p50_ms": 1.0}, {CPU: 1.0, P50: 2.0, "rate500.sent": 5.0}]
        self.assertEqual([one.name for one in perf_judge.compare(runs, runs)], [CPU, P50])
        self.assertEqual(perf_judge.compare(runs, [{P50: 1.0}])[0].name, P50)
        self.assertEqual(perf_judge.compare([], []), [])

    def test_ratio_and_spread_are_those_of_all_runs(self):
        one = compare(CPU, [1.0, 3.0], [3.0, 5.0])
        self.assertEqual((one.ratio, one.spread), (2.0, 1.0))

    def test_what_passes_each_time_adds_up(self):
        once = perf_judge.drift({}, [compare(CPU, [1.0], [1.5])])
        twice = perf_judge.drift({**once, "gone": 1.2}, [compare(CPU, [1.0], [1.5])])
        self.assertEqual(twice, {CPU: 2.25, "gone": 1.2})

    def test_the_table_has_a_row_for_each_figure_under_its_family(self):
        rows = perf_judge.table([compare(CPU, [1.0], [2.0]), compare(P50, [1.0], [2.0])], {CPU: 2.0}).splitlines()
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[3], f"| `{CPU}` | 1.000 | 2.000 | 2.00 | 0 % | 2.00 | **more** |")
        self.assertIn("(not judged)", rows[4])
        self.assertTrue(rows[5].endswith("| – |  |"))


if __name__ == "__main__":
    unittest.main()
