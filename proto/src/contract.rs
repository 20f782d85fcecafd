//! Whether a set of descriptors still keeps what another one has promised.

// D-1110: the contract only grows.

use std::collections::BTreeMap;

use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

/// Everything that somebody may rely on, each with the form that it has: `message.field` with number, type and whether it is
/// repeated, `enum.value` with its number, `service.method` with its types.
pub type Promises = BTreeMap<String, String>;

/// What encoded descriptors promise.
///
/// # Errors
/// When they are none.
pub fn promises(encoded: &[u8]) -> Result<Promises, prost::DecodeError> {
    let mut found = Promises::new();
    for file in FileDescriptorSet::decode(encoded)?.file {
        let package = file.package().to_owned();
        for message in &file.message_type {
            of_message(&package, message, &mut found);
        }
        for one in &file.enum_type {
            of_enum(&package, one, &mut found);
        }
        for service in &file.service {
            let name = format!("{package}.{}", service.name());
            for method in &service.method {
                let stream = |yes: bool| if yes { "stream " } else { "" };
                let form = format!(
                    "takes {}{}, returns {}{}",
                    stream(method.client_streaming()),
                    method.input_type(),
                    stream(method.server_streaming()),
                    method.output_type()
                );
                found.insert(format!("{name}.{}", method.name()), form);
            }
            found.insert(name, "service".to_owned());
        }
    }
    Ok(found)
}

fn of_message(scope: &str, message: &DescriptorProto, found: &mut Promises) {
    let name = format!("{scope}.{}", message.name());
    for field in &message.field {
        // Leaving a oneof, or entering one, changes what can be set at the same time.
        let place = field.oneof_index.filter(|_| !field.proto3_optional());
        let oneof = place.and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?));
        let oneof = oneof.map(|oneof| format!(" of {}", oneof.name())).unwrap_or_default();
        let of = Some(field.type_name()).filter(|name| !name.is_empty());
        let form = format!(
            "number {}, {:?} {:?}{}{oneof}{}",
            field.number(),
            field.label(),
            field.r#type(),
            of.map(|name| format!(" {name}")).unwrap_or_default(),
            if field.proto3_optional() { " optional" } else { "" }
        );
        found.insert(format!("{name}.{}", field.name()), form);
    }
    for inner in &message.nested_type {
        of_message(&name, inner, found);
    }
    for inner in &message.enum_type {
        of_enum(&name, inner, found);
    }
    found.insert(name, "message".to_owned());
}

fn of_enum(scope: &str, one: &EnumDescriptorProto, found: &mut Promises) {
    let name = format!("{scope}.{}", one.name());
    for value in &one.value {
        found.insert(format!("{name}.{}", value.name()), format!("number {}", value.number()));
    }
    found.insert(name, "enum".to_owned());
}

/// What of the promises is broken, in words. Additions break nothing.
pub fn broken(promised: &Promises, present: &Promises) -> Vec<String> {
    let judge = |(name, form): (&String, &String)| match present.get(name) {
        None => Some(format!("{name} is gone; it was: {form}")),
        Some(now) if now != form => Some(format!("{name} has changed: it was {form}, and is {now}")),
        Some(_) => None,
    };
    promised.iter().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use prost_types::FileDescriptorSet;

    use super::*;
    use crate::DESCRIPTORS;

    /// What is broken after a change of the descriptors.
    fn after(change: impl Fn(&mut DescriptorProto)) -> Vec<String> {
        let mut set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        let file = set.file.iter_mut().find(|file| file.package() == "sluice.inspect.v1").unwrap();
        change(file.message_type.iter_mut().find(|message| message.name() == "TraceRequest").unwrap());
        broken(&promises(DESCRIPTORS).unwrap(), &promises(&set.encode_to_vec()).unwrap())
    }

    #[test]
    fn a_field_that_is_gone_renumbered_or_retyped_is_said() {
        let gone = after(|message| drop(message.field.remove(0)));
        assert!(gone[0].starts_with("sluice.inspect.v1.TraceRequest.cluster is gone"), "{gone:?}");
        let renumbered = after(|message| message.field[0].number = Some(7));
        assert!(renumbered[0].contains("cluster has changed: it was number 1"), "{renumbered:?}");
        let retyped = after(|message| message.field[0].r#type = Some(12));
        assert!(retyped[0].contains("String") && retyped[0].contains("Bytes"), "{retyped:?}");
    }

    #[test]
    fn a_method_that_is_gone_is_said() {
        let promised = promises(DESCRIPTORS).unwrap();
        let mut present = promised.clone();
        present.remove("sluice.inspect.v1.Inspect.Trace").unwrap();
        assert!(broken(&promised, &present)[0].starts_with("sluice.inspect.v1.Inspect.Trace is gone"));
    }

    #[test]
    fn what_is_added_breaks_nothing() {
        let promised = promises(DESCRIPTORS).unwrap();
        let mut present = promised.clone();
        present.insert("sluice.inspect.v1.TraceRequest.more".into(), "number 3".into());
        assert!(broken(&promised, &present).is_empty());
    }
}
