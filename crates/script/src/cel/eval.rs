//! What an expression is, of one object.

use std::cmp::Ordering;
use std::rc::Rc;

use serde_json::Value as Json;

use super::arithmetic::{arithmetic, negate, unknown};
use super::budget::{Budget, Fault};
use super::functions::{call, matches};
use super::numbers::{equal, lookup, order};
use super::syntax::{Expr, Fold, FoldKind, Operator};
use super::value::{List, Map, Value};

/// One evaluation.
pub(super) struct Evaluation<'a> {
    resource: &'a Json,
    budget: Budget,
    /// The variables of the macros around, from the outside.
    locals: Vec<Value<'a>>,
}

/// What a macro makes of the elements that it has seen.
struct Folded<'a> {
    kind: FoldKind,
    made: Vec<Value<'a>>,
    count: usize,
    fault: Option<Fault>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(resource: &'a Json, budget: Budget) -> Self {
        Self { resource, budget, locals: Vec::new() }
    }

    pub(super) fn eval(&mut self, expr: &'a Expr) -> Result<Value<'a>, Fault> {
        self.budget.step(1)?;
        match expr {
            Expr::Null => Ok(Value::Null),
            Expr::Bool(value) => Ok(Value::Bool(*value)),
            Expr::Int(value) => Ok(Value::Int(*value)),
            Expr::Uint(value) => Ok(Value::Uint(*value)),
            Expr::Double(value) => Ok(Value::Double(*value)),
            Expr::Text(text) => Ok(Value::lend(text)),
            Expr::Bytes(bytes) => Ok(Value::Bytes(super::value::Shared::Lent(bytes))),
            Expr::Type(name) => Ok(Value::Type(name)),
            Expr::Resource => Ok(Value::of(self.resource)),
            Expr::Local(depth) => {
                self.locals.get(*depth).cloned().ok_or_else(|| Fault::data("a variable outside its macro"))
            }
            Expr::Select(operand, field) => select(&self.eval(operand)?, field),
            Expr::Has(operand, field) => Ok(Value::Bool(has(&self.eval(operand)?, field)?)),
            Expr::Index(both) => self.index(both),
            Expr::List(parts) => self.list(parts),
            Expr::Map(entries) => self.map(entries),
            Expr::Not(operand) => match self.eval(operand)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                other => Err(Fault::data(format!("no such overload: !{}", other.type_name()))),
            },
            Expr::Negate(operand) => negate(&self.eval(operand)?),
            Expr::And(parts) => self.logic(parts, false),
            Expr::Or(parts) => self.logic(parts, true),
            Expr::Choose(parts) => self.choose(parts),
            Expr::Binary(operator, both) => self.binary(*operator, both),
            Expr::Call(function, parts) => {
                let arguments = parts.iter().map(|part| self.eval(part)).collect::<Result<_, _>>()?;
                call(*function, arguments, &mut self.budget)
            }
            Expr::Matches(operand, regex) => match self.eval(operand)? {
                Value::Text(text) => matches(&text, regex, &mut self.budget),
                other => Err(Fault::data(format!("no such overload: {}.matches(string)", other.type_name()))),
            },
            Expr::Fold(fold) => self.fold(fold),
        }
    }

    /// `&&` and `||`: what decides is asked for in any order, as far as faults go.
    fn logic(&mut self, parts: &'a [Expr], decides: bool) -> Result<Value<'a>, Fault> {
        let mut fault = None;
        for part in parts {
            match self.eval(part) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(other) => {
                    let symbol = if decides { "||" } else { "&&" };
                    let text = format!("no such overload: {} with {symbol}", other.type_name());
                    fault = fault.or(Some(Fault::data(text)));
                }
                Err(limit @ Fault::Limit(_)) => return Err(limit),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn choose(&mut self, [condition, then, otherwise]: &'a [Expr; 3]) -> Result<Value<'a>, Fault> {
        match self.eval(condition)? {
            Value::Bool(true) => self.eval(then),
            Value::Bool(false) => self.eval(otherwise),
            other => Err(Fault::data(format!("no such overload: {} ? … : …", other.type_name()))),
        }
    }

    fn index(&mut self, [operand, index]: &'a [Expr; 2]) -> Result<Value<'a>, Fault> {
        let (operand, index) = (self.eval(operand)?, self.eval(index)?);
        match &operand {
            Value::List(list) => {
                let place = match &index {
                    Value::Int(place) => Some(*place),
                    Value::Uint(place) => i64::try_from(*place).ok(),
                    Value::Double(place) if place.fract() == 0.0 => super::numbers::to_int(*place),
                    _ => None,
                };
                let place = place.ok_or_else(|| no_overload(&operand, &index))?;
                let item = usize::try_from(place).ok().and_then(|place| list.get(place));
                item.ok_or_else(|| Fault::data(format!("index out of bounds: {place}")))
            }
            Value::Map(map) => {
                let found = lookup(map, &index, &mut self.budget)?;
                found.ok_or_else(|| Fault::data(format!("no such key: {}", shown(&index))))
            }
            _ => Err(no_overload(&operand, &index)),
        }
    }

    fn list(&mut self, parts: &'a [Expr]) -> Result<Value<'a>, Fault> {
        self.budget.hold(parts.len() * Value::size())?;
        let items: Vec<_> = parts.iter().map(|part| self.eval(part)).collect::<Result<_, _>>()?;
        Ok(Value::List(List::Made(items.into())))
    }

    fn map(&mut self, parts: &'a [(Expr, Expr)]) -> Result<Value<'a>, Fault> {
        self.budget.hold(parts.len() * Value::size() * 2)?;
        let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(parts.len());
        for (key, value) in parts {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            let mut same = None;
            for (index, (other, _)) in entries.iter().enumerate() {
                if equal(other, &key, &mut self.budget)? {
                    same = Some(index);
                }
            }
            match same.and_then(|index| entries.get_mut(index)) {
                Some(entry) => entry.1 = value,
                None => entries.push((key, value)),
            }
        }
        Ok(Value::Map(Map::Made(entries.into())))
    }

    fn binary(&mut self, operator: Operator, [left, right]: &'a [Expr; 2]) -> Result<Value<'a>, Fault> {
        let (left, right) = (self.eval(left)?, self.eval(right)?);
        let is = match operator {
            Operator::Equal => equal(&left, &right, &mut self.budget)?,
            Operator::Unequal => !equal(&left, &right, &mut self.budget)?,
            Operator::Less => order(&left, &right, &mut self.budget)? == Ordering::Less,
            Operator::AtMost => order(&left, &right, &mut self.budget)? != Ordering::Greater,
            Operator::Greater => order(&left, &right, &mut self.budget)? == Ordering::Greater,
            Operator::AtLeast => order(&left, &right, &mut self.budget)? != Ordering::Less,
            Operator::In => self.is_in(&left, &right)?,
            _ => return arithmetic(operator, left, right, &mut self.budget),
        };
        Ok(Value::Bool(is))
    }

    fn is_in(&mut self, value: &Value<'a>, range: &Value<'a>) -> Result<bool, Fault> {
        match range {
            Value::List(list) => {
                for item in list.iter() {
                    if equal(&item, value, &mut self.budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Map(map) => Ok(lookup(map, value, &mut self.budget)?.is_some()),
            _ => Err(unknown(Operator::In, value, range)),
        }
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Value<'a>, Fault> {
        let range = match self.eval(&fold.range)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.budget.hold(map.len() * Value::size())?;
                List::Made(Rc::from(map.keys()))
            }
            other => {
                return Err(Fault::data(format!(
                    "no such overload: {}.{:?}(…)",
                    other.type_name(),
                    fold.kind
                )));
            }
        };
        let mut folded = Folded { kind: fold.kind, made: Vec::new(), count: 0, fault: None };
        let around = self.locals.len();
        for item in range.iter() {
            self.locals.push(item);
            let ends = self.element(fold, around, &mut folded);
            self.locals.truncate(around);
            if let Some(value) = ends? {
                return Ok(value);
            }
        }
        folded.end()
    }

    /// One element of a macro; the value when it decides.
    fn element(
        &mut self,
        fold: &'a Fold,
        place: usize,
        folded: &mut Folded<'a>,
    ) -> Result<Option<Value<'a>>, Fault> {
        if let Some(filter) = &fold.filter
            && !is_true(&self.eval(filter)?)?
        {
            return Ok(None);
        }
        let value = match (self.eval(&fold.body), fold.kind) {
            (Err(fault @ Fault::Data(_)), FoldKind::All | FoldKind::Exists) => {
                folded.fault.get_or_insert(fault);
                return Ok(None);
            }
            (value, _) => value?,
        };
        if fold.kind == FoldKind::Map {
            self.budget.hold(Value::size())?;
            folded.made.push(value);
            return Ok(None);
        }
        let value = match (is_true(&value), fold.kind) {
            (Err(fault), FoldKind::All | FoldKind::Exists) => {
                folded.fault.get_or_insert(fault);
                return Ok(None);
            }
            (value, _) => value?,
        };
        match fold.kind {
            FoldKind::All if !value => return Ok(Some(Value::Bool(false))),
            FoldKind::Exists if value => return Ok(Some(Value::Bool(true))),
            FoldKind::ExistsOne => folded.count += usize::from(value),
            FoldKind::Filter if value => {
                self.budget.hold(Value::size())?;
                folded.made.extend(self.locals.get(place).cloned());
            }
            _ => {}
        }
        Ok(None)
    }
}

// === impl Folded ===

impl<'a> Folded<'a> {
    /// When all elements have been seen.
    fn end(self) -> Result<Value<'a>, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        Ok(match self.kind {
            FoldKind::All => Value::Bool(true),
            FoldKind::Exists => Value::Bool(false),
            FoldKind::ExistsOne => Value::Bool(self.count == 1),
            FoldKind::Map | FoldKind::Filter => Value::List(List::Made(self.made.into())),
        })
    }
}

fn select<'a>(operand: &Value<'a>, field: &str) -> Result<Value<'a>, Fault> {
    match operand {
        Value::Map(map) => map.field(field).ok_or_else(|| Fault::data(format!("no such key: {field}"))),
        other => {
            Err(Fault::data(format!("no such key: {field}: it is looked for in a {}", other.type_name())))
        }
    }
}

/// Only maps have fields; a list cannot be asked for one.
fn has(operand: &Value<'_>, field: &str) -> Result<bool, Fault> {
    match operand {
        Value::Map(map) => Ok(map.field(field).is_some()),
        Value::List(_) => Err(Fault::data(format!("no such key: {field}: it is looked for in a list"))),
        _ => Ok(false),
    }
}

fn is_true(value: &Value<'_>) -> Result<bool, Fault> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(Fault::data(format!(
            "the condition of a macro is a {}; it must be true or false",
            other.type_name()
        ))),
    }
}

fn no_overload(operand: &Value<'_>, index: &Value<'_>) -> Fault {
    Fault::data(format!("no such overload: {}[{}]", operand.type_name(), index.type_name()))
}

/// A key as it is told.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.chars().take(60).collect::<String>().escape_debug().to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        other => other.type_name().to_owned(),
    }
}

#[cfg(test)]
mod tests;
