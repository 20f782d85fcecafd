//! Statements: text, actions, branches, loops, template calls.

use serde_json::Value as Json;

use super::{Exec, Ref, Stop};
use crate::{
    error::ErrorKind,
    gofmt,
    syntax::{Decl, NodeId, NodeKind},
    text::quote::quoted,
    value::{IntTy, List, Map, Str, Value, truth::is_true},
};

type Done = Result<(), Stop>;

/// A loop's parts that every iteration needs.
struct Loop<'a> {
    decl: &'a [Decl],
    assign: bool,
    list: NodeId,
}

// === impl Exec ===

impl<'a> Exec<'a> {
    pub(crate) fn walk_list(&mut self, dot: &Ref<'a>, list: NodeId) -> Done {
        self.descend()?;
        self.node = list;
        let program = self.program;
        let children: &'a [NodeId] = match program.arena().kind(list) {
            NodeKind::List(children) => children,
            _ => &[],
        };
        for child in children {
            self.walk(dot, *child)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn walk(&mut self, dot: &Ref<'a>, node: NodeId) -> Done {
        self.node = node;
        self.step()?;
        let program = self.program;
        match program.arena().kind(node) {
            NodeKind::Text { start, end } => {
                self.write(&program.text().as_bytes()[*start as usize..*end as usize])
            }
            NodeKind::Action(pipe) => self.walk_action(dot, node, *pipe),
            NodeKind::Break => Err(Stop::Break),
            NodeKind::Continue => Err(Stop::Continue),
            NodeKind::If { pipe, list, or_else } => self.walk_branch(dot, *pipe, *list, *or_else, false),
            NodeKind::With { pipe, list, or_else } => self.walk_branch(dot, *pipe, *list, *or_else, true),
            NodeKind::Range { pipe, list, or_else } => self.walk_range(dot, *pipe, *list, *or_else),
            NodeKind::Template { name, pipe } => self.walk_template(dot, name, *pipe),
            _ => Ok(()),
        }
    }

    fn walk_action(&mut self, dot: &Ref<'a>, node: NodeId, pipe: NodeId) -> Done {
        if let Some(value) = self.short_pipeline(dot, pipe) {
            return self.print(&value);
        }
        let value = self.eval_pipeline(dot, pipe)?;
        if matches!(self.program.arena().kind(pipe), NodeKind::Pipe { decl, .. } if !decl.is_empty()) {
            return Ok(());
        }
        self.node = node;
        self.print(&value)
    }

    fn print(&mut self, value: &Value<'a>) -> Done {
        match value {
            Value::Str(s) => self.write(s.bytes()),
            Value::Invalid | Value::Nil => self.write(b"<no value>"),
            Value::Int(IntTy::Int | IntTy::Int64, i) => self.write_integer(*i),
            // A struct whose pointer has the method `String`.
            Value::Record(record) if let Some(Value::Str(text)) = record.get("String") => {
                self.write(text.bytes())
            }
            other => {
                let text = gofmt::sprint_one(&mut self.cx, other).map_err(|f| self.failed(f))?;
                self.write(&text)
            }
        }
    }

    /// Writes a decimal integer without a string in between.
    fn write_integer(&mut self, value: i64) -> Done {
        let (mut digits, mut at, mut rest) = ([0; 20], 20, value.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            at -= 1;
            digits[at] = b'-';
        }
        self.write(&digits[at..])
    }

    fn walk_branch(
        &mut self,
        dot: &Ref<'a>,
        pipe: NodeId,
        list: NodeId,
        or_else: Option<NodeId>,
        with: bool,
    ) -> Done {
        let value = self.eval_pipeline(dot, pipe)?;
        if is_true(&value, &self.cx.maps) {
            return if with { self.walk_list(&Ref::plain(value), list) } else { self.walk_list(dot, list) };
        }
        or_else.map_or(Ok(()), |list| self.walk_list(dot, list))
    }

    fn walk_template(&mut self, dot: &Ref<'a>, name: &str, pipe: Option<NodeId>) -> Done {
        let Some((program, template)) = self.find_template(name) else {
            return Err(self.fail(format!("template {} not defined", quoted(name))));
        };
        if self.calls_are_exhausted() {
            let limit = self.cx.limits.call_depth;
            return Err(self.fail_as(ErrorKind::Limit, format!("exceeded maximum template depth ({limit})")));
        }
        let dot = match pipe {
            Some(pipe) => self.eval_pipeline(dot, pipe)?,
            None => Value::Invalid,
        };
        self.calls += 1;
        let outer = std::mem::replace(&mut self.program, program);
        let walked = self.enter(template, Ref::plain(dot));
        if walked.is_ok() {
            self.program = outer;
        }
        self.calls -= 1;
        walked
    }

    fn walk_range(&mut self, dot: &Ref<'a>, pipe: NodeId, list: NodeId, or_else: Option<NodeId>) -> Done {
        let value = self.eval_pipeline(dot, pipe)?;
        let program = self.program;
        let NodeKind::Pipe { decl, assign, .. } = program.arena().kind(pipe) else { return Ok(()) };
        let looping = Loop { decl, assign: *assign, list };
        let depth = self.depth;
        let ran = match self.iterate(&looping, &value) {
            Err(Stop::Break) => {
                self.depth = depth;
                true
            }
            other => other?,
        };
        match or_else {
            Some(list) if !ran => match self.walk_list(dot, list) {
                // As in Go, `break` in the `else` list ends this loop and not an outer one.
                Err(Stop::Break) => {
                    self.depth = depth;
                    Ok(())
                }
                other => other,
            },
            _ => Ok(()),
        }
    }

    /// Runs the loop; answers whether there was anything to iterate over.
    fn iterate(&mut self, looping: &Loop<'a>, value: &Value<'a>) -> Result<bool, Stop> {
        match value {
            Value::Int(..) | Value::Uint(..) => self.iterate_integer(looping, value),
            Value::List(List::Json(items)) => self.iterate_json(looping, items),
            Value::List(items) => self.iterate_list(looping, items),
            Value::Map(map) => self.iterate_map(looping, map),
            Value::Invalid | Value::Nil => Ok(false),
            other => {
                let shown = gofmt::sprint_one(&mut self.cx, other).map_err(|f| self.failed(f))?;
                Err(self.fail(format!("range can't iterate over {}", crate::text::lossy(&shown))))
            }
        }
    }

    fn iterate_integer(&mut self, looping: &Loop<'a>, value: &Value<'a>) -> Result<bool, Stop> {
        if looping.decl.len() > 1 {
            let shown = gofmt::sprint_one(&mut self.cx, value).map_err(|f| self.failed(f))?;
            let shown = crate::text::lossy(&shown);
            return Err(self.fail(format!("can't use {shown} to iterate over more than one variable")));
        }
        let end = value.as_int();
        for i in 0..end {
            let element = match value {
                Value::Uint(ty, _) => Value::Uint(*ty, i as u64),
                Value::Int(ty, _) => Value::Int(*ty, i),
                _ => Value::int(i),
            };
            self.iteration(looping, Value::Invalid, Ref::plain(element))?;
        }
        Ok(end > 0)
    }

    fn iterate_json(&mut self, looping: &Loop<'a>, items: &'a [Json]) -> Result<bool, Stop> {
        for (i, item) in items.iter().enumerate() {
            self.iteration(looping, Value::len(i), Ref { value: Value::from(item), iface: true })?;
        }
        Ok(!items.is_empty())
    }

    fn iterate_list(&mut self, looping: &Loop<'a>, items: &List<'a>) -> Result<bool, Stop> {
        let iface = items.elements_are_interfaces();
        let len = items.len();
        for i in 0..len {
            let value = items.get(i).unwrap_or_default();
            self.iteration(looping, Value::len(i), Ref { value, iface })?;
        }
        Ok(len > 0)
    }

    fn iterate_map(&mut self, looping: &Loop<'a>, map: &Map<'a>) -> Result<bool, Stop> {
        let map = self.cx.maps.current(map);
        let iface = map.ty().of_any();
        if let Map::Json(entries) | Map::Values(entries) = map {
            for (key, value) in entries {
                let key = Value::Str(Str::Ref(key.as_bytes()));
                self.iteration(looping, key, Ref { value: Value::from(value), iface })?;
            }
            return Ok(!entries.is_empty());
        }
        let entries = map.entries_direct();
        self.cx.spend(entries.len() * 64).map_err(|f| self.failed(f))?;
        let ran = !entries.is_empty();
        for (key, value) in entries {
            self.iteration(looping, Value::Str(key), Ref { value, iface })?;
        }
        Ok(ran)
    }

    fn iteration(&mut self, looping: &Loop<'a>, index: Value<'a>, element: Ref<'a>) -> Done {
        match (looping.decl, looping.assign) {
            ([], _) => {}
            ([only], _) => self.set_var(only, element.clone())?,
            ([first, second, ..], false) => {
                self.set_var(second, element.clone())?;
                self.set_var(first, Ref::plain(index))?;
            }
            ([first, second, ..], true) => {
                self.set_var(first, Ref::plain(index))?;
                self.set_var(second, element.clone())?;
            }
        }
        let depth = self.depth;
        match self.walk_list(&element, looping.list) {
            Err(Stop::Continue) => {
                self.depth = depth;
                Ok(())
            }
            other => other,
        }
    }
}
