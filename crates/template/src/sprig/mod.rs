//! sprig 3.3, one file per family. Both of its function maps hold the same functions.

pub(crate) mod cases;
pub(crate) mod casts;
pub(crate) mod dates;
pub(crate) mod decimals;
pub(crate) mod defaults;
pub(crate) mod dicts;
pub(crate) mod digests;
pub(crate) mod encoding;
pub(crate) mod equal;
pub(crate) mod flow;
pub(crate) mod go;
pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod lists_more;
pub(crate) mod merge;
pub(crate) mod methods;
pub(crate) mod numbers;
pub(crate) mod passwords;
pub(crate) mod paths;
pub(crate) mod pattern;
pub(crate) mod random;
pub(crate) mod re2;
pub(crate) mod re2_class;
pub(crate) mod re2_group;
pub(crate) mod reflection;
pub(crate) mod regexes;
pub(crate) mod semver;
pub(crate) mod strings;
pub(crate) mod strings_join;
pub(crate) mod url_parts;
pub(crate) mod urls;
pub(crate) mod wrapping;

use crate::funcs::Row;

/// All tables of sprig.
pub(crate) const TABLES: &[&&[Row]] = &[
    &strings::TABLE,
    &strings_join::TABLE,
    &cases::TABLE,
    &wrapping::TABLE,
    &numbers::TABLE,
    &decimals::TABLE,
    &lists::TABLE,
    &lists_more::TABLE,
    &dicts::TABLE,
    &merge::TABLE,
    &defaults::TABLE,
    &reflection::TABLE,
    &paths::TABLE,
    &encoding::TABLE,
    &digests::TABLE,
    &dates::TABLE,
    &semver::TABLE,
    &regexes::TABLE,
    &urls::TABLE,
    &random::TABLE,
    &passwords::TABLE,
    &keys::TABLE,
    &flow::TABLE,
];
