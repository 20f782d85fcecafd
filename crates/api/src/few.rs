//! Long lists in a message: the first of them by name, the others by their number.

use std::fmt::Display;

/// So many of one list are named.
pub const NAMED: usize = 5;

/// `a, b and 3 more`, parted by `separator`; of so many as [`NAMED`] all are named. Empty for none.
pub fn few<T: Display>(separator: &str, items: impl IntoIterator<Item = T>) -> String {
    let mut items = items.into_iter();
    let named: Vec<String> = items.by_ref().take(NAMED).map(|item| item.to_string()).collect();
    let text = named.join(separator);
    match items.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn five_are_named_and_the_rest_is_counted() {
        assert_eq!(few(", ", [0; 0]), "");
        assert_eq!(few(", ", 1..=5), "1, 2, 3, 4, 5");
        assert_eq!(few("; ", 1..=8), "1; 2; 3; 4; 5 and 3 more");
    }
}
