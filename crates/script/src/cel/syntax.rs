//! A parsed rule.

use std::fmt;

use regex::Regex;

/// An expression. How deep it nests is limited when it is parsed.
#[derive(Debug)]
pub(super) enum Expr {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    /// A type by its name.
    Type(&'static str),
    /// The object.
    Resource,
    /// The variable of a macro: how many macros are around the one that it belongs to.
    Local(usize),
    /// `operand.field`.
    Select(Box<Self>, Box<str>),
    /// `has(operand.field)`.
    Has(Box<Self>, Box<str>),
    /// `operand[index]`.
    Index(Box<[Self; 2]>),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Not(Box<Self>),
    Negate(Box<Self>),
    /// All of these, with `&&`.
    And(Vec<Self>),
    /// One of these, with `||`.
    Or(Vec<Self>),
    /// `condition ? then : otherwise`.
    Choose(Box<[Self; 3]>),
    Binary(Operator, Box<[Self; 2]>),
    Call(Function, Vec<Self>),
    /// `text.matches("pattern")`, where the pattern stands in the rule.
    Matches(Box<Self>, Box<Regex>),
    Fold(Box<Fold>),
}

/// A macro over a list or the keys of a map.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    /// Of `map` with three arguments: which elements count.
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Bool,
    Bytes,
    Double,
    Dyn,
    Duration,
    Int,
    Text,
    Timestamp,
    Type,
    Uint,
    Part(Part),
}

/// A part of a timestamp or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// How a function may be called.
pub(super) struct Signature {
    pub(super) function: Function,
    /// As `target.name(…)`; the target is the first argument.
    pub(super) member: bool,
    /// As `name(…)`.
    pub(super) global: bool,
    /// Arguments at least and at most, with the target.
    pub(super) arguments: (usize, usize),
}

/// The names of types. A name with dots is one name.
pub(super) const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

// === impl Signature ===

impl Signature {
    /// That of the function with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let conversion = |function| Self { function, member: false, global: true, arguments: (1, 1) };
        let of_text = |function| Self { function, member: true, global: false, arguments: (2, 2) };
        let part =
            |part| Self { function: Function::Part(part), member: true, global: false, arguments: (1, 2) };
        Some(match name {
            "size" => Self { function: Function::Size, member: true, global: true, arguments: (1, 1) },
            "matches" => Self { function: Function::Matches, member: true, global: true, arguments: (2, 2) },
            "contains" => of_text(Function::Contains),
            "startsWith" => of_text(Function::StartsWith),
            "endsWith" => of_text(Function::EndsWith),
            "bool" => conversion(Function::Bool),
            "bytes" => conversion(Function::Bytes),
            "double" => conversion(Function::Double),
            "dyn" => conversion(Function::Dyn),
            "duration" => conversion(Function::Duration),
            "int" => conversion(Function::Int),
            "string" => conversion(Function::Text),
            "timestamp" => conversion(Function::Timestamp),
            "type" => conversion(Function::Type),
            "uint" => conversion(Function::Uint),
            "getFullYear" => part(Part::FullYear),
            "getMonth" => part(Part::Month),
            "getDate" => part(Part::Date),
            "getDayOfMonth" => part(Part::DayOfMonth),
            "getDayOfWeek" => part(Part::DayOfWeek),
            "getDayOfYear" => part(Part::DayOfYear),
            "getHours" => part(Part::Hours),
            "getMinutes" => part(Part::Minutes),
            "getSeconds" => part(Part::Seconds),
            "getMilliseconds" => part(Part::Milliseconds),
            _ => return None,
        })
    }
}

// === impl Operator ===

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        })
    }
}
