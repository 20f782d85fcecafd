//! `Chart.yaml`: what a chart is called and what it consists of.

use serde_json::{Value as Json, json};
use sluice_template::{TextError, go_quoted as quoted};

use crate::{
    error::{Error, load},
    yaml::Fields,
};

/// The content of `Chart.yaml`, with that of `requirements.yaml`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    /// The chart's name; that of a dependency with an alias is the alias.
    pub name: String,
    /// Of the chart, not of what it installs.
    pub version: String,
    /// `v1` or `v2`.
    pub api_version: String,
    /// The version of what it installs.
    pub app_version: String,
    /// Which versions of Kubernetes it is for.
    pub kube_version: String,
    /// `application`, `library` or nothing.
    pub kind: String,
    /// Whether nobody should use it any more.
    pub deprecated: bool,
    /// What it depends on; nothing where the file says nothing.
    pub dependencies: Option<Vec<Dependency>>,
    description: String,
    home: String,
    icon: String,
    condition: String,
    tags: String,
    sources: Vec<String>,
    keywords: Vec<String>,
    maintainers: Vec<[String; 3]>,
    annotations: Vec<(String, String)>,
}

/// A chart within a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dependency {
    /// Its name, later its alias if it has one.
    pub name: String,
    /// Which versions fit.
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Paths into the values, separated by commas: the first that is a truth decides whether it is used.
    pub condition: String,
    /// Names below `tags` in the values that decide when no condition does.
    pub tags: Vec<String>,
    /// Another name for it.
    pub alias: String,
    /// Values that its parent takes over.
    pub import_values: Vec<Json>,
    /// Whether it is used.
    pub enabled: bool,
}

// === impl Metadata ===

impl Metadata {
    /// Reads the fields of a file over what is there.
    pub(crate) fn read(&mut self, text: &[u8], go_type: &str) -> Result<(), TextError> {
        let json = crate::yaml::read(text)?;
        let Some(fields) = Fields::of(&json, "Metadata", go_type)? else { return Ok(()) };
        let set = |field: &str, target: &mut String| -> Result<(), String> {
            if fields.get(field).is_some() {
                *target = fields.text(field)?;
            }
            Ok(())
        };
        set("name", &mut self.name)?;
        set("version", &mut self.version)?;
        set("apiVersion", &mut self.api_version)?;
        set("appVersion", &mut self.app_version)?;
        set("kubeVersion", &mut self.kube_version)?;
        set("type", &mut self.kind)?;
        set("description", &mut self.description)?;
        set("home", &mut self.home)?;
        set("icon", &mut self.icon)?;
        set("condition", &mut self.condition)?;
        set("tags", &mut self.tags)?;
        if fields.get("deprecated").is_some() {
            self.deprecated = fields.truth("deprecated")?;
        }
        if fields.get("sources").is_some() {
            self.sources = fields.texts("sources")?;
        }
        if fields.get("keywords").is_some() {
            self.keywords = fields.texts("keywords")?;
        }
        if fields.get("annotations").is_some() {
            self.annotations = fields.text_map("annotations")?;
        }
        Ok(self.read_lists(&fields)?)
    }

    fn read_lists(&mut self, fields: &Fields<'_>) -> Result<(), String> {
        if fields.get("maintainers").is_some() {
            self.maintainers.clear();
            for item in fields.list("maintainers", "[]*v2.Maintainer")? {
                let Some(fields) = Fields::of(item, "Maintainer", "v2.Maintainer")? else {
                    return Err("maintainers must not contain empty or null nodes".into());
                };
                self.maintainers.push([fields.text("name")?, fields.text("email")?, fields.text("url")?]);
            }
        }
        if fields.get("dependencies").is_some() {
            let mut dependencies = Vec::new();
            for item in fields.list("dependencies", "[]*v2.Dependency")? {
                dependencies.push(Dependency::read(item)?);
            }
            self.dependencies = Some(dependencies);
        }
        Ok(())
    }

    /// Cleans the texts and refuses what no chart may be.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.sanitize();
        let invalid = |text: String| Err(load(format!("validation: {text}")));
        if self.name.is_empty() {
            return invalid("chart.metadata.name is required".into());
        }
        if self.name == "." || self.name == ".." {
            return invalid(format!("chart.metadata.name {} is not allowed", quoted(&self.name)));
        }
        if self.name.contains('/') {
            return invalid(format!("chart.metadata.name {} is invalid", quoted(&self.name)));
        }
        if self.version.is_empty() {
            return invalid("chart.metadata.version is required".into());
        }
        if !sluice_template::is_version(&self.version) {
            return invalid(format!("chart.metadata.version {} is invalid", quoted(&self.version)));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return invalid("chart.metadata.type must be application or library".into());
        }
        let mut known = Vec::new();
        for dependency in self.dependencies.iter().flatten() {
            let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            if !dependency.alias.bytes().all(letters) {
                let name = quoted(&dependency.name);
                return invalid(format!("dependency {name} has disallowed characters in the alias"));
            }
            let key = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
            if known.contains(&key) {
                return invalid(format!("more than one dependency with name or alias {}", quoted(key)));
            }
            known.push(key);
        }
        Ok(())
    }

    fn sanitize(&mut self) {
        let own = [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ];
        let lists =
            self.sources.iter_mut().chain(&mut self.keywords).chain(self.maintainers.iter_mut().flatten());
        own.into_iter().chain(lists).for_each(sanitize);
        for dependency in self.dependencies.iter_mut().flatten() {
            let Dependency { name, version, repository, condition, tags, .. } = dependency;
            [name, version, repository, condition].into_iter().chain(tags).for_each(sanitize);
        }
    }

    /// Whether the chart gives nothing but named templates.
    pub(crate) fn is_library(&self) -> bool {
        self.kind.eq_ignore_ascii_case("library")
    }

    /// What templates see as `.Chart`.
    pub(crate) fn as_json(&self, is_root: bool) -> Json {
        let maintainers: Vec<Json> = self
            .maintainers
            .iter()
            .map(|[name, email, url]| json!({"Name": name, "Email": email, "URL": url}))
            .collect();
        let dependencies: Vec<Json> = self.dependencies.iter().flatten().map(Dependency::as_json).collect();
        let annotations: serde_json::Map<String, Json> =
            self.annotations.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        json!({
            "Name": self.name, "Home": self.home, "Sources": self.sources, "Version": self.version,
            "Description": self.description, "Keywords": self.keywords, "Maintainers": maintainers,
            "Icon": self.icon, "APIVersion": self.api_version, "Condition": self.condition, "Tags": self.tags,
            "AppVersion": self.app_version, "Deprecated": self.deprecated, "Annotations": if annotations.is_empty() { Json::Null } else { annotations.into() },
            "KubeVersion": self.kube_version, "Dependencies": dependencies, "Type": self.kind, "IsRoot": is_root,
        })
    }
}

// === impl Dependency ===

impl Dependency {
    fn read(json: &Json) -> Result<Self, String> {
        let Some(fields) = Fields::of(json, "Dependency", "v2.Dependency")? else {
            return Err("dependencies must not contain empty or null nodes".into());
        };
        Ok(Self {
            name: fields.text("name")?,
            version: fields.text("version")?,
            repository: fields.text("repository")?,
            condition: fields.text("condition")?,
            tags: fields.texts("tags")?,
            alias: fields.text("alias")?,
            import_values: fields.list("import-values", "[]interface {}")?.to_vec(),
            enabled: fields.truth("enabled")?,
        })
    }

    fn as_json(&self) -> Json {
        json!({
            "Name": self.name, "Version": self.version, "Repository": self.repository, "Condition": self.condition,
            "Tags": self.tags, "Enabled": self.enabled, "ImportValues": self.import_values, "Alias": self.alias,
        })
    }
}

/// Any space becomes a plain one, and what cannot be printed goes.
fn sanitize(text: &mut String) {
    if text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return;
    }
    let clean = text.chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some(' '),
        c if c.is_control()
            || matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{FEFF}') =>
        {
            None
        }
        c => Some(c),
    });
    *text = clean.collect();
}
