//! Paths of the API.

use super::params::decode;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// `/healthz` and the like.
    Health,
    /// `/version`.
    Version,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/apis/<group>`.
    Group(String),
    /// `/api/v1` or `/apis/<group>/<version>`.
    Resources(String, String),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiIndex,
    /// `/openapi/v3/api/v1` or `/openapi/v3/apis/<group>/<version>`.
    OpenApi(String, String),
    /// Objects.
    Object(Target),
}

/// The objects that a path names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Resource.
    pub plural: String,
    /// Namespace; empty when the path has none.
    pub namespace: String,
    /// Name; empty for the whole collection.
    pub name: String,
    /// Subresource; empty for the object itself.
    pub subresource: String,
}

// === impl Route ===

impl Route {
    /// Reads a path below the URL of a cluster.
    pub fn parse(path: &str) -> Option<Self> {
        let decoded: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["healthz" | "readyz" | "livez", ..] => Some(Self::Health),
            ["version"] => Some(Self::Version),
            ["api"] => Some(Self::Core),
            ["apis"] => Some(Self::Groups),
            ["openapi", "v2"] => Some(Self::OpenApiV2),
            ["openapi", "v3"] => Some(Self::OpenApiIndex),
            ["openapi", "v3", "api", version] => Some(Self::OpenApi(String::new(), (*version).into())),
            ["openapi", "v3", "apis", group, version] => {
                Some(Self::OpenApi((*group).into(), (*version).into()))
            }
            ["api", version] => Some(Self::Resources(String::new(), (*version).into())),
            ["api", version, rest @ ..] => Target::parse("", version, rest).map(Self::Object),
            ["apis", group] => Some(Self::Group((*group).into())),
            ["apis", group, version] => Some(Self::Resources((*group).into(), (*version).into())),
            ["apis", group, version, rest @ ..] => Target::parse(group, version, rest).map(Self::Object),
            _ => None,
        }
    }
}

// === impl Target ===

impl Target {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let core = group.is_empty();
        let (namespace, rest) = match rest {
            // `namespaces/x` and its subresources are the namespace itself.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if core => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let mut parts = rest.iter().map(|part| (*part).to_owned());
        let target = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: parts.next()?,
            namespace: namespace.to_owned(),
            name: parts.next().unwrap_or_default(),
            subresource: parts.next().unwrap_or_default(),
        };
        parts.next().is_none().then_some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> [String; 6] {
        match Route::parse(path) {
            Some(Route::Object(t)) => [t.group, t.version, t.namespace, t.plural, t.name, t.subresource],
            other => unreachable!("{path} is {other:?}"),
        }
    }

    #[test]
    fn objects_are_named_by_their_path() {
        assert_eq!(target("/api/v1/pods"), ["", "v1", "", "pods", "", ""]);
        assert_eq!(target("/api/v1/namespaces"), ["", "v1", "", "namespaces", "", ""]);
        assert_eq!(target("/api/v1/namespaces/a"), ["", "v1", "", "namespaces", "a", ""]);
        assert_eq!(target("/api/v1/namespaces/a/status"), ["", "v1", "", "namespaces", "a", "status"]);
        assert_eq!(target("/api/v1/namespaces/a/pods"), ["", "v1", "a", "pods", "", ""]);
        assert_eq!(
            target("/apis/g.io/v1/namespaces/a/ws/b/status"),
            ["g.io", "v1", "a", "ws", "b", "status"]
        );
        assert_eq!(target("/apis/g.io/v1/ws/system%3Ab"), ["g.io", "v1", "", "ws", "system:b", ""]);
    }

    #[test]
    fn documents_have_their_own_routes() {
        assert_eq!(Route::parse("/apis"), Some(Route::Groups));
        assert_eq!(Route::parse("/apis/a"), Some(Route::Group("a".into())));
        assert_eq!(Route::parse("/api/v1"), Some(Route::Resources(String::new(), "v1".into())));
        assert_eq!(Route::parse("/openapi/v3/apis/a/v1"), Some(Route::OpenApi("a".into(), "v1".into())));
        assert_eq!(Route::parse("/openapi/v2"), Some(Route::OpenApiV2));
        assert_eq!(Route::parse("/api/v1/namespaces/a/pods/b/c/d"), None);
    }
}
