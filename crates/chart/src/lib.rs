//! Helm charts, rendered as Helm renders them, without Helm.
//!
//! ```text
//!   archive or folder ──► Chart ──┐
//!                                 ├──► decided dependencies ──► values ──► templates ──► manifests, hooks, CRDs, notes
//!   values, release, cluster ─────┘       (`tree`)         (`coalesce`)  (`context`)        (`manifest`)
//! ```
//!
//! The templates run on the engine of `sluice-template`. Nothing here does IO or reads a clock: bytes come in, texts
//! go out, and the same input gives the same output, random values included. `lookup` finds nothing.
//!
//! ```
//! use std::collections::BTreeMap;
//! use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release, Show};
//!
//! let files = BTreeMap::from([
//!     ("Chart.yaml".to_owned(), b"apiVersion: v2\nname: web\nversion: 1.0.0\n".to_vec()),
//!     ("templates/a.yaml".to_owned(), b"kind: ConfigMap\nname: {{ .Release.Name }}\n".to_vec()),
//! ]);
//! let chart = Chart::from_folder(&files, LoadLimits::default())?;
//! let release = Release { name: "site".into(), namespace: "default".into(), revision: 1, is_upgrade: false };
//! let env = sluice_template::Env::default();
//! let values = serde_json::Map::new();
//! let rendered =
//!     sluice_chart::render(&chart, &values, &release, &Capabilities::default(), &env, &Options::default())?;
//! assert_eq!(
//!     rendered.show(&Show::default()).as_deref(),
//!     Ok("---\n# Source: web/templates/a.yaml\nkind: ConfigMap\nname: site\n")
//! );
//! # Ok::<(), sluice_chart::Error>(())
//! ```

// D-0920: charts are rendered as Helm 4 renders them, without Helm.
#![forbid(unsafe_code)]

mod archive;
mod capabilities;
mod coalesce;
mod compiled;
mod context;
mod error;
mod ignore;
mod kinds;
mod load;
mod manifest;
mod metadata;
mod output;
mod render;
mod schema;
mod strvals;
mod table;
mod trace;
mod tree;
mod versions;
mod warning;
mod yaml;

pub use archive::{File, LoadLimits};
pub use capabilities::Capabilities;
pub use compiled::{Compiled, CompiledCharts};
pub use error::{Error, cut};
pub use kinds::{install_order, uninstall_order};
pub use load::{Chart, merge, read_values};
pub use manifest::{Hook, HookEvent, Manifest};
pub use metadata::{Dependency, Metadata};
pub use output::Show;
pub use render::{Options, Release, RenderLimits, Rendered, render, render_and_warn};
pub use strvals::set;
pub use versions::best_version;
pub use warning::{Warning, Warnings};
