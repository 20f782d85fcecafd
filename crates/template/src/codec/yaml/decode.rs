//! From the tree to values, by way of JSON: keys become strings, numbers floats.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use super::{
    built::{Built, Passed},
    characters,
    order::Dialect,
    parser::{Content, NodeId, Nodes, Parser},
    resolve::{Scalar, resolve},
};
use crate::{
    codec::json_read::unsupported,
    exec::{Cx, Fail},
    gofmt::float::format_float,
    sprig::encoding::decode_base64,
    text::{lossy, quote::quoted},
    value::Value,
};

const PREFIX: &str = "tag:yaml.org,2002:";
/// `yaml.Unmarshal` of `sigs.k8s.io/yaml` into an empty interface: the first document.
pub(crate) fn from_sigs<'a>(cx: &mut Cx<'a>, text: &[u8]) -> Result<Value<'a>, Fail> {
    from_sigs_as(cx, text, Numbers::Floats)
}

/// The same, with what integers become.
pub(crate) fn from_sigs_as<'a>(cx: &mut Cx<'a>, text: &[u8], numbers: Numbers) -> Result<Value<'a>, Fail> {
    first_document(cx, text, |cx, nodes, root| decode(cx, nodes, root, numbers)).map_err(converting)
}

/// The same where of the root only entries whose keys are wanted are needed; it fails where the whole document does.
pub(crate) fn some_from_sigs<'a>(
    cx: &mut Cx<'a>,
    text: &[u8],
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<Value<'a>, Fail> {
    let some = |cx: &mut Cx<'a>, nodes: &Nodes<'_>, root| match decode_some(cx, nodes, root, wanted)? {
        Some(value) => Ok(value),
        None => decode(cx, nodes, root, Numbers::Kept),
    };
    first_document(cx, text, some).map_err(converting)
}

fn converting(fail: Fail) -> Fail {
    match fail {
        Fail::Message(m) => Fail::Message(format!("error converting YAML to JSON: {m}")),
        other => other,
    }
}

fn first_document<'a>(
    cx: &mut Cx<'a>,
    text: &[u8],
    decode: impl FnOnce(&mut Cx<'a>, &Nodes<'_>, NodeId) -> Decode<Value<'a>>,
) -> Decode<Value<'a>> {
    characters::check(cx, text)?;
    let mut parser = Parser::new(cx, text);
    let Some(root) = parser.document()? else { return Ok(Value::Nil) };
    let nodes = parser.nodes;
    decode(cx, &nodes, root)
}

/// All documents of a text.
pub(crate) fn documents<'a>(cx: &mut Cx<'a>, text: &[u8]) -> Result<Vec<Value<'a>>, Fail> {
    characters::check(cx, text)?;
    let mut parser = Parser::new(cx, text);
    let mut roots = Vec::new();
    while let Some(root) = parser.document()? {
        roots.push(root);
    }
    let nodes = parser.nodes;
    roots.into_iter().map(|root| decode(cx, &nodes, root, Numbers::Floats)).collect()
}

/// What integers become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Floats, as in Go where nothing asks for another type.
    Floats,
    /// Integers, where the caller knows the type.
    Kept,
}

/// The state of a decoding; errors of later stages wait until the tree is through.
struct Decoder<'c, 'n, 'a> {
    cx: &'c mut Cx<'a>,
    nodes: &'n Nodes<'n>,
    open: HashSet<NodeId>,
    alias_depth: usize,
    count: u64,
    alias_count: u64,
    key_error: Option<Fail>,
    numbers: Numbers,
}

type Decode<T> = Result<T, Fail>;

fn decode<'a>(cx: &mut Cx<'a>, nodes: &Nodes<'_>, root: NodeId, numbers: Numbers) -> Decode<Value<'a>> {
    let mut decoder = Decoder::new(cx, nodes, numbers);
    let value = decoder.node(root, 0)?;
    if let Some(error) = decoder.key_error {
        return Err(error);
    }
    match first_unsupported(cx, &value) {
        Some(number) => Err(unsupported(number)),
        None => Ok(value),
    }
}

/// The root's entries whose keys are wanted. Nothing where the root is no plain mapping, or where another entry has what
/// JSON does not have: then all of it must be looked at, in the order of its keys.
fn decode_some<'a>(
    cx: &mut Cx<'a>,
    nodes: &Nodes<'_>,
    root: NodeId,
    wanted: impl Fn(&[u8]) -> bool,
) -> Decode<Option<Value<'a>>> {
    let Content::Mapping(pairs) = &nodes.0[root] else { return Ok(None) };
    let mut decoder = Decoder::new(cx, nodes, Numbers::Kept);
    decoder.count = 1;
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        if decoder.is_merge(*key) {
            return Ok(None);
        }
        let Some(key) = decoder.key(*key, *value, 1)? else { return Ok(None) };
        if wanted(&key) {
            let value = decoder.node(*value, 1)?;
            <Value<'_> as Built>::insert(decoder.cx, &mut map, key, value)?;
        } else if decoder.node::<Passed>(*value, 1)?.unsupported {
            return Ok(None);
        }
    }
    let value = decoder.cx.any_map(map)?;
    let unsound = decoder.key_error.is_some() || first_unsupported(cx, &value).is_some();
    Ok((!unsound).then_some(value))
}

/// The first number that JSON does not have.
fn first_unsupported<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Option<f64> {
    match value {
        Value::Float(f) if !f.is_finite() => Some(*f),
        Value::List(list) => list.to_vec().iter().find_map(|item| first_unsupported(cx, item)),
        Value::Map(map) => cx.maps.entries(map).iter().find_map(|(_, item)| first_unsupported(cx, item)),
        _ => None,
    }
}

/// How much of a document may come from aliases; large ones may expand less.
fn allowed_alias_ratio(count: u64) -> f64 {
    match count {
        0..=400_000 => 0.99,
        4_000_000.. => 0.10,
        _ => 0.99 - 0.89 * ((count - 400_000) as f64 / 3_600_000.0),
    }
}

// === impl Decoder ===

impl<'c, 'n, 'a> Decoder<'c, 'n, 'a> {
    fn new(cx: &'c mut Cx<'a>, nodes: &'n Nodes<'n>, numbers: Numbers) -> Self {
        Self {
            cx,
            nodes,
            open: HashSet::new(),
            alias_depth: 0,
            count: 0,
            alias_count: 0,
            key_error: None,
            numbers,
        }
    }

    fn node<B: Built<'a>>(&mut self, id: NodeId, depth: usize) -> Decode<B> {
        self.cx.step(1)?;
        self.cx.may_be_deep(depth, "YAML")?;
        self.count += 1;
        self.alias_count += u64::from(self.alias_depth > 0);
        let ratio = self.alias_count as f64 / self.count as f64;
        if self.alias_count > 100 && self.count > 1000 && ratio > allowed_alias_ratio(self.count) {
            return Err("yaml: document contains excessive aliasing".into());
        }
        let nodes = self.nodes;
        match &nodes.0[id] {
            Content::Scalar { value, tag, implicit } => {
                let (scalar, text) = self.resolved(value, tag, *implicit)?;
                B::scalar(self.cx, &scalar, &text, self.numbers)
            }
            Content::Sequence(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    out.push(self.node(*item, depth + 1)?);
                }
                B::list(self.cx, out)
            }
            Content::Mapping(pairs) => {
                let mut out = B::Entries::default();
                self.mapping::<B>(pairs, &mut out, depth)?;
                B::map(self.cx, out)
            }
            Content::Alias { name, target } => {
                self.enter_alias(id, name)?;
                let value = self.node(*target, depth + 1)?;
                self.leave_alias(id);
                Ok(value)
            }
        }
    }

    fn enter_alias(&mut self, id: NodeId, name: &[u8]) -> Decode<()> {
        if !self.open.insert(id) {
            return Err(format!("yaml: anchor '{}' value contains itself", lossy(name)).into());
        }
        self.alias_depth += 1;
        Ok(())
    }

    fn leave_alias(&mut self, id: NodeId) {
        self.open.remove(&id);
        self.alias_depth -= 1;
    }

    fn mapping<B: Built<'a>>(
        &mut self,
        pairs: &[(NodeId, NodeId)],
        out: &mut B::Entries,
        depth: usize,
    ) -> Decode<()> {
        for (key, value) in pairs {
            if self.is_merge(*key) {
                self.merge::<B>(*value, out, depth)?;
                continue;
            }
            let value = *value;
            let key = self.key(*key, value, depth + 1)?;
            let value = self.node(value, depth + 1)?;
            if let Some(key) = key {
                B::insert(self.cx, out, key, value)?;
            }
        }
        Ok(())
    }

    fn is_merge(&self, id: NodeId) -> bool {
        match &self.nodes.0[id] {
            Content::Scalar { value, tag, implicit } => {
                &**value == b"<<" && (*implicit || tag == b"tag:yaml.org,2002:merge")
            }
            _ => false,
        }
    }

    /// `<<`: the entries of a mapping, or of several with the first winning.
    fn merge<B: Built<'a>>(&mut self, id: NodeId, out: &mut B::Entries, depth: usize) -> Decode<()> {
        self.cx.may_be_deep(depth, "YAML")?;
        let nodes = self.nodes;
        let mapping = |id: NodeId| match &nodes.0[id] {
            Content::Mapping(pairs) => Some(pairs),
            Content::Alias { target, .. } => match &nodes.0[*target] {
                Content::Mapping(pairs) => Some(pairs),
                _ => None,
            },
            _ => None,
        };
        let sources = match &nodes.0[id] {
            Content::Sequence(items) => items.iter().rev().copied().collect(),
            _ => vec![id],
        };
        for source in sources {
            let want = "yaml: map merge requires map or sequence of maps as the value";
            let pairs = mapping(source).ok_or(want)?;
            match &nodes.0[source] {
                Content::Alias { name, .. } => {
                    self.enter_alias(source, name)?;
                    self.mapping::<B>(pairs, out, depth + 1)?;
                    self.leave_alias(source);
                }
                _ => self.mapping::<B>(pairs, out, depth + 1)?,
            }
        }
        Ok(())
    }

    /// A key as JSON has it; nothing if JSON has none, which is reported at the end.
    fn key(&mut self, id: NodeId, value_of: NodeId, depth: usize) -> Decode<Option<Cow<'n, [u8]>>> {
        let id = match &self.nodes.0[id] {
            Content::Alias { target, .. } => *target,
            _ => id,
        };
        let nodes = self.nodes;
        let Content::Scalar { value, tag, implicit } = &nodes.0[id] else {
            self.node::<Passed>(id, depth)?;
            return Err(format!("yaml: invalid map key: {}", self.go_syntax(id, 0)).into());
        };
        let text = match self.resolved(value, tag, *implicit)? {
            (Scalar::Str | Scalar::Time(_), text) => text,
            (Scalar::Bool(b), _) => b.to_string().into_bytes().into(),
            (Scalar::Int(i), _) => i.to_string().into_bytes().into(),
            (Scalar::Float(f), _) => float_key(f).into_bytes().into(),
            (Scalar::Null, _) => {
                return self.bad_key("%!s(<nil>), key: <nil>", value_of);
            }
            (Scalar::Uint(u), _) => {
                return self.bad_key(&format!("uint64, key: {u:#x}"), value_of);
            }
        };
        Ok(Some(text))
    }

    fn bad_key(&mut self, what: &str, value: NodeId) -> Decode<Option<Cow<'n, [u8]>>> {
        let value = match self.go_syntax(value, 0) {
            nil if nil == "interface {}(nil)" => "<nil>".to_owned(),
            other => other,
        };
        let message = format!("unsupported map key of type: {what}, value: {value}");
        self.key_error.get_or_insert(Fail::Message(message));
        Ok(None)
    }

    /// What a scalar resolves to, and its text.
    fn resolved<'v>(&self, value: &'v [u8], tag: &[u8], implicit: bool) -> Decode<(Scalar, Cow<'v, [u8]>)> {
        if tag.is_empty() {
            let scalar = if implicit { resolve(value, Dialect::Sigs) } else { Scalar::Str };
            return Ok((scalar, value.into()));
        }
        let Some(name) = tag.strip_prefix(PREFIX.as_bytes()) else { return Ok((Scalar::Str, value.into())) };
        let wanted = match name {
            b"binary" => {
                let bytes = decode_base64(value)
                    .map_err(|_| Fail::from("yaml: !!binary value contains invalid base64 data"))?;
                return Ok((Scalar::Str, bytes.into()));
            }
            b"bool" | b"int" | b"float" | b"null" | b"timestamp" => name,
            _ => return Ok((Scalar::Str, value.into())),
        };
        let scalar = resolve(value, Dialect::Sigs);
        let found: &[u8] = match &scalar {
            Scalar::Null => b"null",
            Scalar::Bool(_) => b"bool",
            Scalar::Int(_) | Scalar::Uint(_) => b"int",
            Scalar::Float(_) => b"float",
            Scalar::Time(_) => b"timestamp",
            Scalar::Str => b"str",
        };
        match (scalar, wanted) {
            (Scalar::Int(i), b"float") => Ok((Scalar::Float(i as f64), value.into())),
            (scalar, wanted) if found == wanted => Ok((scalar, value.into())),
            _ => {
                let (found, wanted, shown) = (lossy(found), lossy(wanted), lossy(value));
                Err(format!("yaml: cannot decode !!{found} `{shown}` as a !!{wanted}").into())
            }
        }
    }

    /// A node in Go's syntax, for the message about keys that are no scalars.
    fn go_syntax(&self, id: NodeId, depth: usize) -> String {
        if depth > 8 {
            return "…".to_owned();
        }
        match &self.nodes.0[id] {
            Content::Alias { target, .. } => self.go_syntax(*target, depth + 1),
            Content::Sequence(items) => {
                let items: Vec<String> = items.iter().map(|i| self.go_syntax(*i, depth + 1)).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Content::Mapping(pairs) => {
                let pair = |(k, v): &(NodeId, NodeId)| {
                    format!("{}:{}", self.go_syntax(*k, depth + 1), self.go_syntax(*v, depth + 1))
                };
                let mut pairs: Vec<String> = pairs.iter().map(pair).collect();
                pairs.sort();
                format!("map[interface {{}}]interface {{}}{{{}}}", pairs.join(", "))
            }
            Content::Scalar { value, tag, implicit } => match self.resolved(value, tag, *implicit) {
                Ok((Scalar::Null, _)) => "interface {}(nil)".to_owned(),
                Ok((Scalar::Bool(b), _)) => b.to_string(),
                Ok((Scalar::Int(i), _)) => i.to_string(),
                Ok((Scalar::Uint(u), _)) => format!("{u:#x}"),
                Ok((Scalar::Float(f), _)) => format_float(f, 'g', None),
                _ => quoted(&lossy(value)),
            },
        }
    }
}

/// Float keys are printed with the precision of 32 bits.
fn float_key(f: f64) -> String {
    let narrow: f64 = (f as f32).to_string().parse().unwrap_or(f);
    match format_float(narrow, 'g', None).as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        text => text.to_owned(),
    }
}
