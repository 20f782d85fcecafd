//! Texts as parts of what is asked of an API server. Whoever chooses a name or a namespace asks for nothing else with it.

// D-1211: a name is one segment of a path.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in one segment of a path. Names that API servers take have nothing else.
const OTHERS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b'@');

/// A text as one segment of a path.
pub fn segment(text: &str) -> Cow<'_, str> {
    match text {
        // Who resolves dots would leave the path.
        "." => "%2E".into(),
        ".." => "%2E%2E".into(),
        _ => utf8_percent_encode(text, OTHERS).into(),
    }
}

/// The field selector of the one object of this name.
pub fn only(name: &str) -> String {
    let mut selector = "metadata.name=".to_owned();
    for letter in name.chars() {
        // What follows would be read as another term.
        if matches!(letter, '\\' | ',' | '=') {
            selector.push('\\');
        }
        selector.push(letter);
    }
    selector
}

/// The path of a kind: of its objects in a namespace, or of all.
pub(crate) fn of_kind(api_version: &str, plural: &str, namespace: Option<&str>) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let version: Vec<_> = api_version.split('/').map(segment).collect();
    let namespaces = namespace.map(|namespace| format!("namespaces/{}/", segment(namespace)));
    format!("/{root}/{}/{}{}", version.join("/"), namespaces.unwrap_or_default(), segment(plural))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_servers_take_stands_for_itself() {
        for name in ["a", "a-b.c", "system:node@x", "10.0.0.1", "fd00::1", "A_b~"] {
            assert!(matches!(segment(name), Cow::Borrowed(same) if same == name), "{name}");
        }
        assert_eq!(of_kind("v1", "secrets", Some("n")), "/api/v1/namespaces/n/secrets");
        assert_eq!(of_kind("apps/v1", "deployments", None), "/apis/apps/v1/deployments");
    }

    #[test]
    fn a_name_is_one_term_of_a_selector() {
        assert_eq!(only("a.b"), "metadata.name=a.b");
        assert_eq!(only("a,metadata.namespace!=b"), "metadata.name=a\\,metadata.namespace!\\=b");
    }

    #[test]
    fn nothing_else_is_reached_by_a_name() {
        let path = of_kind("v1", "configmaps", Some("kube-system/secrets?x="));
        assert_eq!(path, "/api/v1/namespaces/kube-system%2Fsecrets%3Fx%3D/configmaps");
        assert_eq!(segment(".."), "%2E%2E");
    }

    proptest! {
        #[test]
        fn a_text_is_one_segment(text in "\\PC{1,20}") {
            let path = format!("/a/{}", segment(&text));
            let uri: http::Uri = path.parse().unwrap();
            prop_assert!(uri.query().is_none() && uri.path() == path);
            prop_assert_eq!(path.matches('/').count(), 2);
            prop_assert!(!path.ends_with("/.") && !path.ends_with("/.."));
        }
    }
}
