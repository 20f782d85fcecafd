//! What a template is compiled for: which functions exist and how strict lookups are.

/// What a lookup of an absent map key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MissingKey {
    /// Prints `<no value>` and goes on.
    Default,
    /// Yields the zero value of the map's element type.
    Zero,
    /// Fails. What Sveltos uses everywhere.
    #[default]
    Error,
}

/// The set of functions a template may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stage {
    /// The built-ins and the codecs (`toYaml`, `fromJson`, …).
    Plain,
    /// `Plain` and sprig.
    Sprig,
    /// `Sprig` and the resource functions of the event stage, which take an object.
    #[default]
    Event,
    /// `Sprig` and the resource functions of the deploy stage, which take an identifier.
    Deploy,
    /// What a Helm chart may call: see [`crate::TemplateSet`].
    Helm,
}

/// How to compile a template. The default is the product's event stage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// What a lookup of an absent map key does.
    pub missing_key: MissingKey,
    /// The set of functions.
    pub stage: Stage,
    /// Compares an integer with a float by value instead of failing as Go does.
    pub lenient_numbers: bool,
    /// Adds `required`, `include`, `tpl`, `lookup` and `fromYamlDocuments`.
    pub extras: bool,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self { missing_key: MissingKey::Error, stage: Stage::Event, lenient_numbers: true, extras: false }
    }
}
