//! How much of what a profile has is deleted at once without anybody being asked.

// D-1059: a change of a profile that deletes much of what it has waits until somebody says so.

use std::str::FromStr;

/// A plan that deletes more objects than this, and this part of all that the profile has, waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneGuard {
    /// More objects than these.
    pub objects: usize,
    /// And so many of a hundred of all that it has, or more.
    pub percent: u8,
}

/// The text is no guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write off, or a number of objects and a percentage, such as 20,50")]
pub struct NoGuard;

// === impl PruneGuard ===

impl PruneGuard {
    /// Where nothing else is said.
    pub const USUAL: Self = Self { objects: 20, percent: 50 };

    /// Reads `off`, or `20,50`.
    ///
    /// # Errors
    /// That it is neither.
    pub fn read(text: &str) -> Result<Option<Self>, NoGuard> {
        if text == "off" { Ok(None) } else { text.parse().map(Some) }
    }

    /// Whether so many objects of all of these are too many.
    pub(crate) fn stops(self, doomed: usize, all: usize) -> bool {
        doomed > self.objects && doomed.saturating_mul(100) >= all.saturating_mul(usize::from(self.percent))
    }
}

impl FromStr for PruneGuard {
    type Err = NoGuard;

    fn from_str(text: &str) -> Result<Self, NoGuard> {
        let (objects, percent) = text.split_once(',').ok_or(NoGuard)?;
        let objects = objects.trim().parse().map_err(|_| NoGuard)?;
        let percent = percent.trim().parse().ok().filter(|percent| *percent <= 100).ok_or(NoGuard)?;
        Ok(Self { objects, percent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_off_or_two_numbers() {
        assert_eq!(PruneGuard::read("off"), Ok(None));
        assert_eq!(PruneGuard::read("20,50"), Ok(Some(PruneGuard::USUAL)));
        assert_eq!(PruneGuard::read("0, 100"), Ok(Some(PruneGuard { objects: 0, percent: 100 })));
        for wrong in ["", "20", "20,101", "x,5", "-1,50", "20,50,1", "on"] {
            assert_eq!(PruneGuard::read(wrong), Err(NoGuard), "{wrong}");
        }
    }

    #[test]
    fn more_than_so_many_and_than_such_a_part_stop() {
        let stops = |doomed, all| PruneGuard::USUAL.stops(doomed, all);
        assert_eq!([stops(20, 20), stops(21, 42), stops(21, 43), stops(30, 30)], [false, true, false, true]);
    }
}
