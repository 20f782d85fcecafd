//! The compiled form: all nodes of all templates of one text, in one flat arena.

use super::number::Number;
use crate::funcs::Function;

/// Index of a node in its arena.
pub(crate) type NodeId = u32;

/// The slot of a variable that no executed declaration can have set.
pub(crate) const UNSET: u32 = u32::MAX;

/// A field name as bytes, ready for lookups.
pub(crate) type Ident = Box<str>;

/// One node and where it starts in the text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) pos: u32,
    pub(crate) kind: NodeKind,
}

/// A declared or assigned variable of a pipeline.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Box<str>,
    pub(crate) slot: u32,
}

/// What a node is. Functions and variables are resolved while parsing.
#[derive(Debug)]
pub(crate) enum NodeKind {
    List(Box<[NodeId]>),
    Text {
        start: u32,
        end: u32,
    },
    Action(NodeId),
    Break,
    Continue,
    If {
        pipe: NodeId,
        list: NodeId,
        or_else: Option<NodeId>,
    },
    With {
        pipe: NodeId,
        list: NodeId,
        or_else: Option<NodeId>,
    },
    Range {
        pipe: NodeId,
        list: NodeId,
        or_else: Option<NodeId>,
    },
    Template {
        name: Box<str>,
        pipe: Option<NodeId>,
    },
    Pipe {
        decl: Box<[Decl]>,
        assign: bool,
        cmds: Box<[NodeId]>,
    },
    Command(Box<[NodeId]>),
    Function(&'static Function),
    Variable {
        name: Box<str>,
        slot: u32,
        fields: Box<[Ident]>,
    },
    Field(Box<[Ident]>),
    Chain {
        node: NodeId,
        fields: Box<[Ident]>,
    },
    Dot,
    Nil,
    Bool(bool),
    Number(Box<Number>),
    Str {
        quoted: Box<str>,
        text: Box<[u8]>,
    },
    /// `{{end}}` and `{{else}}`: they end a list and never reach the program.
    End,
    Else,
}

/// A named template: its root list and how many variable slots it needs.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) name: Box<str>,
    pub(crate) root: NodeId,
    pub(crate) slots: u32,
}

/// All nodes of one text.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
}

// === impl Arena ===

impl Arena {
    pub(crate) fn push(&mut self, pos: usize, kind: NodeKind) -> NodeId {
        let id = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node { pos: u32::try_from(pos).unwrap_or(u32::MAX), kind });
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub(crate) fn kind(&self, id: NodeId) -> &NodeKind {
        &self.nodes[id as usize].kind
    }

    /// About how many bytes the nodes take, with their lists of children.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + size_of::<NodeId>() * 4)
    }

    /// Whether the tree holds nothing but space. Such a definition does not replace another.
    pub(crate) fn is_empty_tree(&self, id: NodeId, text: &str) -> bool {
        match self.kind(id) {
            NodeKind::List(children) => children.iter().all(|child| self.is_empty_tree(*child, text)),
            NodeKind::Text { start, end } => text[*start as usize..*end as usize].trim().is_empty(),
            _ => false,
        }
    }
}
