//! The page `docs/tera.md`, generated from the table of functions.

use sluice_template::{Callable, Stage, callables};

use crate::functions::REPLACED;

/// The page: how to use the engine, and how every function is spelled.
pub fn reference_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let replaced: Vec<_> = REPLACED.iter().map(|name| format!("`{name}`")).collect();
    page.push_str(&FUNCTIONS.replace("{replaced}", &replaced.join(", ")));
    let (event, deploy) = (callables(Stage::Event), callables(Stage::Deploy));
    let own = |all: &[Callable], function: &Callable| {
        all.iter().any(|other| other.name() == function.name() && other.params() == function.params())
    };
    let (both, event): (Vec<_>, Vec<_>) = event.into_iter().partition(|function| own(&deploy, function));
    let deploy: Vec<_> = deploy.into_iter().filter(|function| !own(&both, function)).collect();
    table(&mut page, "Both stages", &both);
    table(&mut page, "Event stage", &event);
    table(&mut page, "Deploy stage", &deploy);
    page
}

fn table(page: &mut String, title: &str, functions: &[Callable]) {
    page.push_str(&format!("\n### {title}\n\n| as a filter | as a function |\n|---|---|\n"));
    for function in functions {
        page.push_str(&format!("| {} | `{}` |\n", filter(*function), call(*function)));
    }
}

fn argument(function: Callable, at: usize) -> String {
    let name = function.params()[at];
    let list = function.variadic() && at + 1 == function.params().len();
    if list { format!("{name}=[…]") } else { format!("{name}=…") }
}

fn call(function: Callable) -> String {
    let all: Vec<_> = (0..function.params().len()).map(|at| argument(function, at)).collect();
    format!("{}({})", function.name(), all.join(", "))
}

fn filter(function: Callable) -> String {
    let Some((last, _)) = function.params().split_last() else { return String::new() };
    let named: Vec<_> = (0..function.params().len() - 1).map(|at| argument(function, at)).collect();
    let named = if named.is_empty() { String::new() } else { format!("({})", named.join(", ")) };
    format!("`{last} \\| {}{named}`", function.name())
}

const INTRODUCTION: &str = r#"# Templates in Tera

This page is generated from the table that registers the functions; a test keeps it up to date
(`SLUICE_WRITE_DOCS=1 cargo test -p sluice-tera --test docs` writes it anew).

Go templates are what Sveltos has and what every template is unless it says otherwise. A ConfigMap or Secret may say
that its values are [Tera](https://keats.github.io/tera/docs/) templates instead:

```yaml
metadata:
  annotations:
    sluice.dev/engine: tera                # or: go, which is the default
    projectsveltos.io/instantiate: ok      # rendered with the event; or
    projectsveltos.io/template: ok         # rendered with .Cluster of the destination; or both
```

The annotation decides for both renderings of the object. It renders nothing by itself: the two other annotations say
when. Names, namespaces and every other field of triggers and profiles stay Go templates. Any other engine is a
problem that names the object.

## Variables

Those of Go templates, without the dot: `{{ Resource.metadata.name }}`, `{{ MatchingResource.Name }}`,
`{{ Cluster.metadata.labels["env"] }}`, `{% for service in Resources %}…{% endfor %}`. A variable that does not exist
is an error; `{% if Resource.metadata.labels?.app %}` asks first. Nothing is escaped for HTML. Maps are walked in
the order of their keys. What shall survive the first rendering stands between `{% raw %}` and `{% endraw %}`.

## Limits

Tera counts no steps, so it runs in a process of its own, a *worker*, which has no files, no network and no environment.
Exceeding a limit is an error of this object only.

| limit | default |
|---|---|
| time of a render | 1 s; the worker is killed and started again |
| memory of the worker for data, text and values | 256 MiB; as above |
| output | 4 MiB |
| template text | 1 MiB |
| steps and values of the functions below | those of [Go templates](templates.md#limits) |

A template that was stopped three times in a row is not tried again for a minute, unless its text changes.
"#;

const FUNCTIONS: &str = r#"
## Functions

All of the stage's functions of [Go templates](templates.md) that work on values alone, under the same names, run by
the same code. Tera names every argument, so **an argument has the name it has in the table of Go templates**. What stands
before a bar is the last parameter that is not named: `text | indent(spaces=4)` is Go's `text | indent 4`, and
`map | omit(keys=["a", "b"])` is Go's `omit map "a" "b"`. A parameter that repeats takes a list.

```
{{ Resource.metadata.name | trunc(length=40) | quote }}
{{ Resource.metadata.labels | toYaml | nindent(spaces=4) }}
{{ Resource.metadata.labels?.app | default(default="none") }}
{{ printf(format="%s-%d", args=[Resource.metadata.name, 3]) }}
{% set secret = getResource(identifier="Secret") %}{{ secret.data.password | b64dec }}
{% filter indent(spaces=4) %}…{% endfilter %}
```

| in Go templates | here |
|---|---|
| `and`, `or`, `not`, comparisons | Tera's own operators |
| `template`, `include`, `tpl`, `call` | not there: a value is one template. Components of the same text are. |
| a function that changes a map in place (`set`, `unset`, `merge`, `setField`, `chainSetField`, …) | returns what it would have changed; the variable stays as it was |
| `f(x).field` | `{% set y = f(…) %}{{ y.field }}` |
| a time | `{"Time": "2026-11-21T16:00:00Z", "Unix": 1795276800}`, for `date` and the like; no methods |
| a version of `semver` | `{"Major": 1, "Minor": 2, "Patch": 3, "Prerelease": "", "Metadata": "", "Original": "1.2.3"}` |
| a certificate | `{"Cert": "…", "Key": "…"}` |
| `int` and `int64` | one kind of integer, which fits either |
| an undefined value as an argument | an error, but for `default`, `coalesce`, `empty` and `ternary` |

Filters of Tera that these functions replace, because they have the same name: {replaced}. Its other filters, its tests
and its functions `range` and `throw` are there.
"#;
