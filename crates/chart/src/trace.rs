//! Errors of templates as Helm shows them.

use sluice_template::{Error as TemplateError, ErrorKind};

use crate::error::Error;

/// What stands around a message of `required` and `fail`.
const MESSAGE: (&str, &str) = ("HELM_ERR_START", "HELM_ERR_END");

/// One step on the way to what is wrong.
#[derive(PartialEq, Eq)]
struct Step<'t> {
    place: &'t str,
    call: String,
    message: &'t str,
}

/// An error of a text that is no template.
pub(crate) fn of_parsing(name: &str, error: &TemplateError) -> Error {
    let text = error.to_string();
    let parts: Vec<&str> = text.split(": ").collect();
    let shown = match parts.as_slice() {
        [_, place, .., last] => format!("parse error at ({place}): {last}"),
        [_, last] => format!("parse error at ({last}): {last}"),
        _ => format!("parse error in ({name}): {text}"),
    };
    classed(error.kind(), shown)
}

/// An error of a running template.
pub(crate) fn of_rendering(name: &str, error: &TemplateError) -> Error {
    let text = error.to_string();
    classed(error.kind(), rendered(name, &text, error.causes()))
}

fn classed(kind: ErrorKind, text: String) -> Error {
    match kind {
        ErrorKind::Limit => Error::limit(text),
        ErrorKind::Parse | ErrorKind::Exec => Error::render(text),
    }
}

fn rendered<'t>(name: &str, text: &'t str, causes: impl Iterator<Item = &'t str>) -> String {
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(place), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return format!("execution error in ({name}): {text}");
    };
    if let Some(message) = message(rest) {
        return format!("execution error at ({place}): {message}");
    }
    let mut steps: Vec<Step<'_>> = Vec::new();
    for cause in std::iter::once(text).chain(causes) {
        let Some(step) = Step::read(cause) else { return text.to_owned() };
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    let shown: String = steps.iter().map(Step::show).collect();
    shown.trim().to_owned()
}

/// The message meant for people, from the first mark to the last.
fn message(text: &str) -> Option<&str> {
    let start = text.find(MESSAGE.0)? + MESSAGE.0.len();
    let end = text.rfind(MESSAGE.1).filter(|end| *end >= start)?;
    Some(&text[start..end])
}

// === impl Step ===

impl<'t> Step<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let rest = text.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self { place: "", call: String::new(), message: text });
        }
        Self::executing(rest).or_else(|| {
            let at = rest.rfind(": ")?;
            Some(Self { place: &rest[..at], call: String::new(), message: before_next(&rest[at + 2..]) })
        })
    }

    fn executing(rest: &'t str) -> Option<Self> {
        let (place, after) = rest.split_once(": executing ")?;
        let after = after.strip_prefix('"')?;
        let (function, after) = after.split_once('"')?;
        let (location, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        let call = format!("executing \"{function}\" at <{location}>:");
        Some(Self { place, call, message: before_next(message) })
    }

    fn show(&self) -> String {
        let mut text = String::new();
        for (part, end) in [(self.place, "\n  "), (&self.call, "\n    "), (self.message, "\n")] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(end);
            }
        }
        text
    }
}

fn before_next(message: &str) -> &str {
    message.find(" template:").map_or(message, |at| &message[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_below_each_other_and_repeats_are_left_out() {
        let outer = "template: c/a.yaml:1:3: executing \"c/a.yaml\" at <include \"x\" .>: error calling include: \
                     template: c/b.tpl:2:4: executing \"x\" at <.a.b>: nil pointer";
        let inner = "template: c/b.tpl:2:4: executing \"x\" at <.a.b>: nil pointer";
        assert_eq!(
            rendered("c/a.yaml", outer, [inner, inner].into_iter()),
            "c/a.yaml:1:3\n  executing \"c/a.yaml\" at <include \"x\" .>:\n    error calling include:\nc/b.tpl:2:4\n  \
             executing \"x\" at <.a.b>:\n    nil pointer"
        );
    }

    #[test]
    fn a_message_for_people_stands_alone() {
        let text = "template: c/a.yaml:1:3: executing \"c/a.yaml\" at <fail \"no\">: error calling fail: \
                    HELM_ERR_STARTnoHELM_ERR_END";
        assert_eq!(rendered("c/a.yaml", text, std::iter::empty()), "execution error at (c/a.yaml:1:3): no");
    }

    #[test]
    fn what_a_function_says_is_shown_as_it_came() {
        let text =
            "template: c/a.yaml:1:3: executing \"c/a.yaml\" at <index nil 1>: error calling index: of nil";
        assert_eq!(rendered("c/a.yaml", text, ["of nil"].into_iter()), text);
    }
}
