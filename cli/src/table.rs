//! How answers are printed: tables as `sveltosctl` frames them, or data.

use std::fmt;

use serde::Serialize;

use crate::print::put;

/// How something is printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Output {
    /// Format.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
    /// Leave the header of a table out.
    #[arg(long)]
    pub(crate) no_headers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Table,
    /// With more columns.
    Wide,
    /// One JSON object a line.
    Json,
    /// One YAML document for each.
    Yaml,
}

// === impl Output ===

impl Output {
    /// Whether a table has more columns.
    pub(crate) fn is_wide(self) -> bool {
        self.output == Format::Wide
    }

    /// An answer as data; none where a table, or words, are wanted.
    pub(crate) fn data(self, answer: &impl Serialize) -> serde_json::Result<Option<String>> {
        Ok(match self.output {
            Format::Table | Format::Wide => None,
            Format::Json => Some(format!("{}\n", serde_json::to_string(answer)?)),
            Format::Yaml => Some(format!(
                "---\n{}\n",
                sluice_template::to_yaml(&serde_json::to_value(answer)?).trim_end()
            )),
        })
    }

    /// Prints each answer as data, or all of them as this table.
    pub(crate) fn print<T: Serialize>(
        self,
        answers: Vec<T>,
        table: impl FnOnce(Vec<T>) -> Table,
    ) -> serde_json::Result<()> {
        if matches!(self.output, Format::Table | Format::Wide) {
            put!("{}", table(answers));
            return Ok(());
        }
        for answer in &answers {
            put!("{}", self.data(answer)?.unwrap_or_default());
        }
        Ok(())
    }

    /// Prints the table, where one is wanted.
    pub(crate) fn end(self, table: &Table) {
        if matches!(self.output, Format::Table | Format::Wide) {
            put!("{table}");
        }
    }
}

/// Microseconds since 1970 as people read them.
pub(crate) fn time(micros: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(micros);
    at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()).unwrap_or_default()
}

/// Rows below a header; every row has as many cells. There may be hundreds of thousands, so they are one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    widths: Vec<usize>,
    /// A line for each row, with a tab after each cell: neither is in any.
    rows: String,
    /// Whether the header is left out.
    bare: bool,
}

// === impl Table ===

impl Table {
    /// A table without rows.
    pub(crate) fn new(header: &[&'static str], bare: bool) -> Self {
        let widths = header.iter().map(|title| title.len()).collect();
        Self { header: header.to_vec(), widths, rows: String::new(), bare }
    }

    /// Adds a row. What is missing is empty.
    pub(crate) fn add(&mut self, row: impl IntoIterator<Item = String>) {
        let mut row = row.into_iter();
        for width in &mut self.widths {
            let cell = row.next().unwrap_or_default();
            *width = cell.chars().count().max(*width);
            self.rows.push_str(&cell.replace(['\n', '\r', '\t'], " "));
            self.rows.push('\t');
        }
        self.rows.push('\n');
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = &self.widths;
        let line = |f: &mut fmt::Formatter<'_>| {
            widths.iter().try_for_each(|width| write!(f, "+{}", "-".repeat(width + 2)))?;
            f.write_str("+\n")
        };
        line(f)?;
        if !self.bare {
            for (title, width) in self.header.iter().zip(widths) {
                write!(f, "| {title:^width$} ")?;
            }
            f.write_str("|\n")?;
            line(f)?;
        }
        for row in self.rows.split_terminator('\n') {
            for (cell, width) in row.split('\t').zip(widths) {
                write!(f, "| {cell:<width$} ")?;
            }
            f.write_str("|\n")?;
        }
        line(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_a_line_of_json_or_a_document_of_yaml() {
        let data =
            |output| Output { output, no_headers: false }.data(&json!({"name": "web", "of": [1]})).unwrap();
        assert_eq!(data(Format::Json).unwrap(), "{\"name\":\"web\",\"of\":[1]}\n");
        assert_eq!(data(Format::Yaml).unwrap(), "---\nname: web\nof:\n- 1\n");
        assert_eq!((data(Format::Table), data(Format::Wide)), (None, None));
    }

    #[test]
    fn headers_are_in_the_middle_and_cells_on_the_left() {
        let mut table = Table::new(&["CLUSTER", "NAME"], false);
        table.add(["default/workload".to_owned(), "é\nx".to_owned()]);
        let text = "\
+------------------+------+
|     CLUSTER      | NAME |
+------------------+------+
| default/workload | é x  |
+------------------+------+
";
        assert_eq!(table.to_string(), text);
        table.bare = true;
        assert_eq!(table.to_string().lines().count(), 3);
    }
}
