//! What commands print. A reader that has seen enough (`sluice events | head`) and a full disk are no reason to panic: a command
//! that goes on without end stops, and what could not be written to a file is an error.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _, stdout};
use std::sync::OnceLock;

/// Why the output could not be written, the first time.
static FAILED: OnceLock<std::io::Error> = OnceLock::new();

/// Prints text as it is.
macro_rules! put {
    ($($text:tt)*) => { $crate::print::write(format_args!($($text)*)) };
}

/// Prints a line.
macro_rules! say {
    () => { $crate::print::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::print::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {put, say};

/// For the macros.
pub(crate) fn write(text: Arguments<'_>) {
    note(stdout().lock().write_fmt(text));
}

/// Whether nobody reads any more what is printed.
pub(crate) fn is_over() -> bool {
    note(stdout().lock().flush());
    FAILED.get().is_some()
}

/// Why something is missing in the output, when that is a fault: that its reader has seen enough is none.
pub(crate) fn fault() -> Option<&'static std::io::Error> {
    note(stdout().lock().flush());
    FAILED.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

fn note(result: std::io::Result<()>) {
    if let Err(error) = result {
        FAILED.get_or_init(|| error);
    }
}
