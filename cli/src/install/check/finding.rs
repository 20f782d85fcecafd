//! What a check has found.

use serde::Serialize;

/// How a check has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// It works, and could be better, or will not work for ever.
    Warning,
    /// It does not work.
    Error,
    /// What it needs to know could not be had.
    Skipped,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What is checked: `bus.version`, `rights.renderer`.
    pub(super) check: String,
    pub(super) level: Level,
    /// What is there.
    pub(super) says: String,
    /// What to do; empty where nothing is to be done.
    pub(super) remedy: String,
    /// The page that says more, in `docs`.
    pub(super) see: &'static str,
}

// === impl Level ===

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// The page and the area of some checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) name: &'static str,
    pub(super) see: &'static str,
}

// === impl Area ===

impl Area {
    fn find(self, check: &str, level: Level, says: String, remedy: String) -> Finding {
        Finding { check: format!("{}.{check}", self.name), level, says, remedy, see: self.see }
    }

    pub(super) fn fine(self, check: &str, says: impl Into<String>) -> Finding {
        self.find(check, Level::Ok, says.into(), String::new())
    }

    pub(super) fn warn(self, check: &str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.find(check, Level::Warning, says.into(), remedy.into())
    }

    pub(super) fn wrong(self, check: &str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.find(check, Level::Error, says.into(), remedy.into())
    }

    pub(super) fn skip(self, check: &str, why: &str) -> Finding {
        self.find(check, Level::Skipped, why.to_owned(), String::new())
    }

    /// Fine when it holds, else wrong.
    pub(super) fn hold(self, holds: bool, check: &str, says: impl Into<String>, remedy: &str) -> Finding {
        let (says, remedy) = (says.into(), if holds { "" } else { remedy });
        self.find(check, if holds { Level::Ok } else { Level::Error }, says, remedy.to_owned())
    }

    /// Fine when it holds, else to be looked at.
    pub(super) fn prefer(self, holds: bool, check: &str, says: impl Into<String>, remedy: &str) -> Finding {
        let (says, remedy) = (says.into(), if holds { "" } else { remedy });
        self.find(check, if holds { Level::Ok } else { Level::Warning }, says, remedy.to_owned())
    }
}
