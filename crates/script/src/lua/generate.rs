//! Lua that makes text: content of ConfigMaps annotated `projectsveltos.io/lua`.

use mlua::{Table, Value as LuaValue};
use serde_json::{Value, json};
use sluice_template::Env;

use super::{Error, Limits, NAME, Script};
use crate::convert;
use crate::sandbox::Sandbox;

impl Script {
    /// Runs the script's `evaluate` with the global table `resources`, and gives the text that it returns as field
    /// `resources`. What it draws at random follows from `env`.
    ///
    /// # Errors
    /// Whatever the script raises, a result of the wrong form, or a limit.
    pub fn generate(&self, resources: &Value, env: &Env<'_>, limits: &Limits) -> Result<String, Error> {
        self.within(limits, |sandbox| self.make(sandbox, resources, env))
    }

    fn make(&self, sandbox: &mut Sandbox, resources: &Value, env: &Env<'_>) -> mlua::Result<String> {
        let function = sandbox.function(self.id, &self.bytecode, NAME)?;
        let (lua, environment) = sandbox.begin(Some(env))?;
        let globals = convert::table(lua, &json!({"resources": resources}))?;
        environment.raw_set("resources", globals.raw_get::<LuaValue>("resources")?)?;
        function.call::<()>(())?;
        let LuaValue::Function(evaluate) = environment.raw_get("evaluate")? else {
            return Err(mlua::Error::runtime(
                "the script does not define a function evaluate; begin it with: function evaluate()",
            ));
        };
        text_of(evaluate.call::<LuaValue>(())?)
    }
}

fn text_of(result: LuaValue) -> mlua::Result<String> {
    let field = |table: Table| table.raw_get::<LuaValue>("resources");
    match result {
        LuaValue::Table(table) => match field(table)? {
            LuaValue::String(text) => Ok(text.to_string_lossy()),
            other => Err(mlua::Error::runtime(format!(
                "resources is a {}; return {{ resources = <YAML text> }}",
                convert::type_of(&other)
            ))),
        },
        _ => Err(mlua::Error::runtime(
            "lua script output is not a lua table; return { resources = <YAML text> }",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn generate(source: &str) -> Result<String, String> {
        let resources = json!({"Cluster": {"metadata": {"name": "c", "labels": {"env": "fv"}}}});
        let script = Script::compile(source).map_err(|error| error.to_string())?;
        script
            .generate(&resources, &Env::new(0, [1; 32]), &Limits::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn text_is_made_from_the_resources() {
        let text = generate(
            "function evaluate()
               local cluster = getResource(resources, 'Cluster')
               return { resources = 'name: ' .. cluster.metadata.name .. getLabel(cluster, 'env') }
             end",
        );
        assert_eq!(text.unwrap(), "name: cfv");
        assert_eq!(
            generate(
                "function evaluate() return { resources = tostring(getAnnotation(resources.Cluster, 'a')) } end"
            ),
            Ok("nil".into())
        );
    }

    #[test]
    fn wrong_results_and_endless_loops_are_errors() {
        assert!(generate("function evaluate() return 1 end").unwrap_err().contains("return { resources"));
        assert!(generate("function evaluate() return {} end").unwrap_err().contains("resources is a nil"));
        assert!(generate("function evaluate() while true do end end").unwrap_err().contains("too long"));
    }
}
