//! The text of a node as Go prints it in `executing "…" at <…>`.

use super::{Arena, NodeId, NodeKind};
use crate::text::quote::quoted;

/// Appends the node's text.
pub(crate) fn write_node(arena: &Arena, source: &str, id: NodeId, out: &mut String) {
    match arena.kind(id) {
        NodeKind::List(children) => children.iter().for_each(|c| write_node(arena, source, *c, out)),
        NodeKind::Text { start, end } => out.push_str(&source[*start as usize..*end as usize]),
        NodeKind::Action(pipe) => wrapped(arena, source, "", *pipe, out),
        NodeKind::Break => out.push_str("{{break}}"),
        NodeKind::Continue => out.push_str("{{continue}}"),
        NodeKind::If { pipe, list, or_else } => branch(arena, source, "if ", (*pipe, *list, *or_else), out),
        NodeKind::With { pipe, list, or_else } => {
            branch(arena, source, "with ", (*pipe, *list, *or_else), out)
        }
        NodeKind::Range { pipe, list, or_else } => {
            branch(arena, source, "range ", (*pipe, *list, *or_else), out)
        }
        NodeKind::Template { name, pipe } => {
            out.push_str("{{template ");
            out.push_str(&quoted(name));
            if let Some(pipe) = pipe {
                out.push(' ');
                write_node(arena, source, *pipe, out);
            }
            out.push_str("}}");
        }
        NodeKind::Pipe { decl, assign, cmds } => {
            for (i, d) in decl.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(&d.name);
            }
            if !decl.is_empty() {
                out.push_str(if *assign { " = " } else { " := " });
            }
            joined(arena, source, cmds, " | ", out);
        }
        NodeKind::Command(args) => joined(arena, source, args, " ", out),
        _ => write_term(arena, source, id, out),
    }
}

fn write_term(arena: &Arena, source: &str, id: NodeId, out: &mut String) {
    match arena.kind(id) {
        NodeKind::Function(function) => out.push_str(function.name),
        NodeKind::Variable { name, fields, .. } => {
            out.push_str(name);
            push_fields(fields, out);
        }
        NodeKind::Field(fields) => push_fields(fields, out),
        NodeKind::Chain { node, fields } => {
            parenthesized(arena, source, *node, out);
            push_fields(fields, out);
        }
        NodeKind::Dot => out.push('.'),
        NodeKind::Nil => out.push_str("nil"),
        NodeKind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        NodeKind::Number(number) => out.push_str(&number.text),
        NodeKind::Str { quoted, .. } => out.push_str(quoted),
        NodeKind::End => out.push_str("{{end}}"),
        NodeKind::Else => out.push_str("{{else}}"),
        _ => {}
    }
}

/// The node's text as a string of its own.
pub(crate) fn node_text(arena: &Arena, source: &str, id: NodeId) -> String {
    let mut out = String::new();
    write_node(arena, source, id, &mut out);
    out
}

fn push_fields(fields: &[Box<str>], out: &mut String) {
    for field in fields {
        out.push('.');
        out.push_str(field);
    }
}

fn joined(arena: &Arena, source: &str, ids: &[NodeId], between: &str, out: &mut String) {
    for (i, id) in ids.iter().enumerate() {
        out.push_str(if i > 0 { between } else { "" });
        parenthesized(arena, source, *id, out);
    }
}

fn parenthesized(arena: &Arena, source: &str, id: NodeId, out: &mut String) {
    let pipe = matches!(arena.kind(id), NodeKind::Pipe { .. });
    out.push_str(if pipe { "(" } else { "" });
    write_node(arena, source, id, out);
    out.push_str(if pipe { ")" } else { "" });
}

fn wrapped(arena: &Arena, source: &str, keyword: &str, pipe: NodeId, out: &mut String) {
    out.push_str("{{");
    out.push_str(keyword);
    write_node(arena, source, pipe, out);
    out.push_str("}}");
}

fn branch(
    arena: &Arena,
    source: &str,
    keyword: &str,
    (pipe, list, or_else): (NodeId, NodeId, Option<NodeId>),
    out: &mut String,
) {
    wrapped(arena, source, keyword, pipe, out);
    write_node(arena, source, list, out);
    if let Some(or_else) = or_else {
        out.push_str("{{else}}");
        write_node(arena, source, or_else, out);
    }
    out.push_str("{{end}}");
}
