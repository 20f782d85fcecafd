//! The parser: tokens to a tree of nodes, document by document.

use std::collections::HashMap;

use super::{
    scanner::Scanner,
    tokens::{Lexeme, Mark, Text, Token, error},
};
use crate::exec::{Cx, Fail};

/// Index of a node.
pub(super) type NodeId = usize;

/// What a node holds.
#[derive(Debug)]
pub(super) enum Content<'t> {
    /// A scalar; an implicit one is resolved by its text.
    Scalar {
        value: Text<'t>,
        tag: Vec<u8>,
        implicit: bool,
    },
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
    Alias {
        name: Vec<u8>,
        target: NodeId,
    },
}

/// The nodes of a text.
#[derive(Debug, Default)]
pub(super) struct Nodes<'t>(pub(super) Vec<Content<'t>>);

/// The state of a parse.
pub(super) struct Parser<'c, 't, 'a> {
    pub(super) cx: &'c mut Cx<'a>,
    scanner: Scanner<'t>,
    pub(super) nodes: Nodes<'t>,
    anchors: HashMap<Vec<u8>, NodeId>,
    tags: Vec<(Vec<u8>, Vec<u8>)>,
    depth: usize,
    first: bool,
}

type Parse<T> = Result<T, Fail>;

/// The properties before a node.
#[derive(Debug, Default)]
struct Properties {
    anchor: Option<Vec<u8>>,
    tag: Vec<u8>,
    start: Option<Mark>,
}

// === impl Parser ===

impl<'c, 't, 'a> Parser<'c, 't, 'a> {
    pub(super) fn new(cx: &'c mut Cx<'a>, text: &'t [u8]) -> Self {
        Self {
            cx,
            scanner: Scanner::new(text),
            nodes: Nodes::default(),
            anchors: HashMap::new(),
            tags: Vec::new(),
            depth: 0,
            first: true,
        }
    }

    /// How many bytes have been looked at.
    pub(super) fn position(&self) -> usize {
        self.scanner.mark.index
    }

    /// The next document's node; nothing at the end of the text.
    pub(super) fn document(&mut self) -> Parse<Option<NodeId>> {
        let implicit = std::mem::take(&mut self.first);
        self.anchors.clear();
        self.tags = vec![(b"!".to_vec(), b"!".to_vec()), (b"!!".to_vec(), b"tag:yaml.org,2002:".to_vec())];
        if !implicit {
            while *self.kind()? == Lexeme::DocumentEnd {
                self.skip();
            }
        }
        let token = self.peek()?;
        match token.kind {
            Lexeme::StreamEnd => return Ok(None),
            Lexeme::Directive(_) | Lexeme::DocumentStart => self.directives()?,
            _ if implicit => {
                let node = self.node(true, false)?;
                return self.document_end(node).map(Some);
            }
            _ => return self.fail("did not find expected <document start>", token.start, Mark::default()),
        }
        let token = self.peek()?;
        let empty = matches!(
            token.kind,
            Lexeme::Directive(_) | Lexeme::DocumentStart | Lexeme::DocumentEnd | Lexeme::StreamEnd
        );
        let node = if empty { self.empty() } else { self.node(true, false)? };
        self.document_end(node).map(Some)
    }

    fn document_end(&mut self, node: NodeId) -> Parse<NodeId> {
        if *self.kind()? == Lexeme::DocumentEnd {
            self.skip();
        }
        Ok(node)
    }

    fn directives(&mut self) -> Parse<()> {
        loop {
            let token = self.peek()?;
            match token.kind {
                Lexeme::Directive(Some((handle, prefix))) => {
                    self.tags.retain(|(known, _)| *known != handle);
                    self.tags.push((handle, prefix));
                }
                Lexeme::Directive(None) => {}
                Lexeme::DocumentStart => {
                    self.skip();
                    return Ok(());
                }
                _ => {
                    return self.fail("did not find expected <document start>", token.start, Mark::default());
                }
            }
            self.skip();
        }
    }

    fn peek(&mut self) -> Parse<Token<'t>> {
        self.cx.step(1)?;
        Ok(self.scanner.peek()?.clone())
    }

    /// What the next token is, where nothing else of it is needed.
    fn kind(&mut self) -> Parse<&Lexeme<'t>> {
        self.cx.step(1)?;
        Ok(&self.scanner.peek()?.kind)
    }

    /// Complains about the next token.
    fn unexpected<T>(&mut self, problem: &str, context: Mark) -> Parse<T> {
        let at = self.scanner.peek()?.start;
        self.fail(problem, at, context)
    }

    fn skip(&mut self) {
        self.scanner.skip_token();
    }

    fn fail<T>(&self, problem: &str, mark: Mark, context: Mark) -> Parse<T> {
        Err(Fail::Message(error(problem, mark, context, false)))
    }

    fn add(&mut self, content: Content<'t>) -> NodeId {
        self.nodes.0.push(content);
        self.nodes.0.len() - 1
    }

    fn empty(&mut self) -> NodeId {
        self.add(Content::Scalar { value: Text::There(&[]), tag: Vec::new(), implicit: true })
    }

    fn properties(&mut self) -> Parse<Properties> {
        let mut found = Properties::default();
        let mut tagged = false;
        while matches!(self.kind()?, Lexeme::Anchor(_) | Lexeme::Tag { .. }) {
            let token = self.peek()?;
            match token.kind {
                Lexeme::Anchor(name) if found.anchor.is_none() => found.anchor = Some(name),
                Lexeme::Tag { handle, suffix } if !tagged => {
                    tagged = true;
                    let start = found.start.unwrap_or(token.start);
                    found.tag = self.resolve_tag(&handle, &suffix, token.start, start)?;
                }
                _ => break,
            }
            found.start.get_or_insert(token.start);
            self.skip();
        }
        Ok(found)
    }

    fn resolve_tag(&self, handle: &[u8], suffix: &[u8], mark: Mark, start: Mark) -> Parse<Vec<u8>> {
        if handle.is_empty() {
            return Ok(suffix.to_vec());
        }
        match self.tags.iter().find(|(known, _)| known == handle) {
            Some((_, prefix)) => Ok([prefix.as_slice(), suffix].concat()),
            None => self.fail("found undefined tag handle", mark, start),
        }
    }

    fn node(&mut self, block: bool, indentless: bool) -> Parse<NodeId> {
        self.cx.may_be_deep(self.depth + 1, "YAML")?;
        self.depth += 1;
        let node = self.node_inside(block, indentless);
        self.depth -= 1;
        node
    }

    fn node_inside(&mut self, block: bool, indentless: bool) -> Parse<NodeId> {
        if let Lexeme::Alias(name) = self.kind()? {
            let name = name.clone();
            let Some(&target) = self.anchors.get(&name) else {
                let name = crate::text::lossy(&name);
                return Err(format!("yaml: unknown anchor '{name}' referenced").into());
            };
            self.skip();
            return Ok(self.add(Content::Alias { name, target }));
        }
        let properties = self.properties()?;
        let token = self.peek()?;
        let start = properties.start.unwrap_or(token.start);
        let node = self.empty();
        if let Some(anchor) = &properties.anchor {
            self.anchors.insert(anchor.clone(), node);
        }
        let content = match token.kind {
            Lexeme::BlockEntry if indentless => Content::Sequence(self.indentless_sequence()?),
            Lexeme::Scalar { value, plain } => {
                self.skip();
                self.cx.spend(value.len())?;
                let implicit = (properties.tag.is_empty() && plain) || properties.tag == b"!";
                Content::Scalar { value, tag: properties.tag, implicit }
            }
            Lexeme::FlowSequenceStart => Content::Sequence(self.flow_sequence(token.start)?),
            Lexeme::FlowMappingStart => Content::Mapping(self.flow_mapping(token.start)?),
            Lexeme::BlockSequenceStart if block => Content::Sequence(self.block_sequence(token.start)?),
            Lexeme::BlockMappingStart if block => Content::Mapping(self.block_mapping(token.start)?),
            _ if properties.anchor.is_some() || !properties.tag.is_empty() => {
                let implicit = properties.tag.is_empty();
                Content::Scalar { value: Text::There(&[]), tag: properties.tag, implicit }
            }
            _ => return self.fail("did not find expected node content", token.start, start),
        };
        self.cx.spend(64)?;
        self.nodes.0[node] = content;
        Ok(node)
    }

    fn indentless_sequence(&mut self) -> Parse<Vec<NodeId>> {
        let mut items = Vec::new();
        while *self.kind()? == Lexeme::BlockEntry {
            self.skip();
            let next = self.kind()?;
            let empty = matches!(next, Lexeme::BlockEntry | Lexeme::Key | Lexeme::Value | Lexeme::BlockEnd);
            items.push(if empty { self.empty() } else { self.node(true, false)? });
        }
        Ok(items)
    }

    fn block_sequence(&mut self, context: Mark) -> Parse<Vec<NodeId>> {
        self.skip();
        let mut items = Vec::new();
        loop {
            match self.kind()? {
                Lexeme::BlockEntry => {
                    self.skip();
                    let next = self.kind()?;
                    let empty = matches!(next, Lexeme::BlockEntry | Lexeme::BlockEnd);
                    items.push(if empty { self.empty() } else { self.node(true, false)? });
                }
                Lexeme::BlockEnd => {
                    self.skip();
                    return Ok(items);
                }
                _ => return self.unexpected("did not find expected '-' indicator", context),
            }
        }
    }

    /// A key or value of a block mapping, which may be left out.
    fn block_part(&mut self) -> Parse<NodeId> {
        self.skip();
        match self.kind()? {
            Lexeme::Key | Lexeme::Value | Lexeme::BlockEnd => Ok(self.empty()),
            _ => self.node(true, true),
        }
    }

    fn block_mapping(&mut self, context: Mark) -> Parse<Vec<(NodeId, NodeId)>> {
        self.skip();
        let mut pairs = Vec::new();
        loop {
            let key = match self.kind()? {
                Lexeme::Key => self.block_part()?,
                Lexeme::BlockEnd => {
                    self.skip();
                    return Ok(pairs);
                }
                _ => return self.unexpected("did not find expected key", context),
            };
            let value = match self.kind()? {
                Lexeme::Value => self.block_part()?,
                _ => self.empty(),
            };
            pairs.push((key, value));
        }
    }

    fn flow_sequence(&mut self, context: Mark) -> Parse<Vec<NodeId>> {
        self.skip();
        let mut items = Vec::new();
        let mut first = true;
        loop {
            let mut token = self.peek()?;
            if token.kind != Lexeme::FlowSequenceEnd && !first {
                if token.kind != Lexeme::FlowEntry {
                    return self.fail("did not find expected ',' or ']'", token.start, context);
                }
                self.skip();
                token = self.peek()?;
            }
            first = false;
            match token.kind {
                Lexeme::FlowSequenceEnd => {
                    self.skip();
                    return Ok(items);
                }
                Lexeme::Key => {
                    let pair = self.flow_pair()?;
                    items.push(self.add(Content::Mapping(vec![pair])));
                }
                _ => items.push(self.node(false, false)?),
            }
        }
    }

    /// A single pair inside of a flow sequence.
    fn flow_pair(&mut self) -> Parse<(NodeId, NodeId)> {
        self.skip();
        let key = match self.kind()? {
            Lexeme::Value | Lexeme::FlowEntry | Lexeme::FlowSequenceEnd => self.empty(),
            _ => self.node(false, false)?,
        };
        if *self.kind()? != Lexeme::Value {
            return Ok((key, self.empty()));
        }
        self.skip();
        let value = match self.kind()? {
            Lexeme::FlowEntry | Lexeme::FlowSequenceEnd => self.empty(),
            _ => self.node(false, false)?,
        };
        Ok((key, value))
    }

    fn flow_mapping(&mut self, context: Mark) -> Parse<Vec<(NodeId, NodeId)>> {
        self.skip();
        let mut pairs = Vec::new();
        let mut first = true;
        loop {
            let mut token = self.peek()?;
            if token.kind != Lexeme::FlowMappingEnd && !first {
                if token.kind != Lexeme::FlowEntry {
                    return self.fail("did not find expected ',' or '}'", token.start, context);
                }
                self.skip();
                token = self.peek()?;
            }
            first = false;
            let key = match token.kind {
                Lexeme::FlowMappingEnd => {
                    self.skip();
                    return Ok(pairs);
                }
                Lexeme::Key => {
                    self.skip();
                    match self.kind()? {
                        Lexeme::Value | Lexeme::FlowEntry | Lexeme::FlowMappingEnd => self.empty(),
                        _ => self.node(false, false)?,
                    }
                }
                _ => {
                    let key = self.node(false, false)?;
                    pairs.push((key, self.empty()));
                    continue;
                }
            };
            let value = self.flow_value()?;
            pairs.push((key, value));
        }
    }

    fn flow_value(&mut self) -> Parse<NodeId> {
        if *self.kind()? != Lexeme::Value {
            return Ok(self.empty());
        }
        self.skip();
        match self.kind()? {
            Lexeme::FlowEntry | Lexeme::FlowMappingEnd => Ok(self.empty()),
            _ => self.node(false, false),
        }
    }
}
