//! Lua that looks at many objects together: `aggregatedSelection` of an EventSource, checks of a cluster.

use std::collections::HashMap;

use mlua::{Function, Lua, Table, Value as LuaValue};
use serde_json::Value;
use sluice_api::object;

use super::{Error, Evaluation, Limits, NAME, Script, verdict};
use crate::convert;
use crate::returned::Returned;
use crate::sandbox::Sandbox;

/// What tells an object from all others: apiVersion, kind, namespace and name.
type Identity = [String; 4];

impl Script {
    /// Runs the script's `evaluate` with the list `resources`, as a global and as its argument. Gives what it returns as field
    /// `resources`: objects that it was given, changed or not, and others that it has made.
    ///
    /// # Errors
    /// Whatever the script raises, a result of the wrong form, or a limit.
    pub fn choose(&self, objects: &[&Value], limits: &Limits) -> Result<Vec<Value>, Error> {
        self.within(limits, |sandbox| self.run_over(sandbox, objects, limits))
    }

    /// Asks the script whether these objects together `pass`; it knows them as the list `resources`, a global and its argument.
    ///
    /// # Errors
    /// Whatever the script raises, a result of the wrong form, or a limit.
    pub fn passes(&self, objects: &[&Value], limits: &Limits) -> Result<Evaluation, Error> {
        self.within(limits, |sandbox| {
            let (evaluate, resources) = self.over(sandbox, objects)?;
            verdict(&evaluate, resources, "pass")
        })
    }

    fn run_over(
        &self,
        sandbox: &mut Sandbox,
        objects: &[&Value],
        limits: &Limits,
    ) -> mlua::Result<Vec<Value>> {
        let (evaluate, resources) = self.over(sandbox, objects)?;
        chosen(evaluate.call::<LuaValue>(resources)?, objects, limits)
    }

    /// Its function, and the list that is given to it.
    fn over(&self, sandbox: &mut Sandbox, objects: &[&Value]) -> mlua::Result<(Function, Table)> {
        let function = sandbox.function(self.id, &self.bytecode, NAME)?;
        let (lua, environment) = sandbox.begin(None)?;
        function.call::<()>(())?;
        let resources = list(lua, objects)?;
        environment.raw_set("resources", &resources)?;
        let LuaValue::Function(evaluate) = environment.raw_get("evaluate")? else {
            return Err(mlua::Error::runtime(
                "the script does not define a function evaluate; begin it with: function evaluate()",
            ));
        };
        Ok((evaluate, resources))
    }
}

fn list(lua: &Lua, objects: &[&Value]) -> mlua::Result<Table> {
    let resources = lua.create_table_with_capacity(objects.len(), 0)?;
    for object in objects {
        resources.raw_push(convert::table(lua, object)?)?;
    }
    Ok(resources)
}

fn chosen(result: LuaValue, objects: &[&Value], limits: &Limits) -> mlua::Result<Vec<Value>> {
    let LuaValue::Table(result) = result else {
        return Err(mlua::Error::runtime(
            "lua script output is not a lua table; return { resources = <list> }",
        ));
    };
    let no_list = |found: &str| {
        mlua::Error::runtime(format!("resources {found}; return a list of objects, filled by table.insert"))
    };
    let resources = match result.raw_get::<LuaValue>("resources")? {
        LuaValue::Nil => return Ok(Vec::new()),
        LuaValue::Table(resources) => resources,
        other => return Err(no_list(&format!("is a {}", convert::type_of(&other)))),
    };
    if resources.raw_len() == 0 && !resources.is_empty() {
        return Err(no_list("is no list"));
    }
    let given: HashMap<Identity, &Value> =
        objects.iter().map(|object| (identity_of(object), *object)).collect();
    let mut returned = Returned::within(limits.memory);
    let one = |one: mlua::Result<LuaValue>| match one? {
        LuaValue::Table(table) => returned.object(&table, given.get(&identity_in(&table)?).copied()),
        other => Err(no_list(&format!("has a {}", convert::type_of(&other)))),
    };
    resources.sequence_values::<LuaValue>().map(one).collect()
}

fn identity_of(object: &Value) -> Identity {
    let text = |path: &[&str]| object::text(object, path).to_owned();
    [text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"])]
}

/// The identity of an object that is returned; what is missing is empty.
fn identity_in(object: &Table) -> mlua::Result<Identity> {
    let text = |table: &Table, field: &str| match table.raw_get::<LuaValue>(field) {
        Ok(LuaValue::String(text)) => Ok(text.to_string_lossy()),
        other => other.map(|_| String::new()),
    };
    let (namespace, name) = match object.raw_get::<LuaValue>("metadata")? {
        LuaValue::Table(metadata) => (text(&metadata, "namespace")?, text(&metadata, "name")?),
        _ => (String::new(), String::new()),
    };
    Ok([text(object, "apiVersion")?, text(object, "kind")?, namespace, name])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn given(name: &str, size: u64) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": name},
            "size": size, "large": 9_007_199_254_740_993_u64, "none": [], "nothing": {}, "half": 0.5, "flag": true, "list": [1, [2]]})
    }

    fn choose(body: &str) -> Result<Vec<Value>, String> {
        let objects = [given("a", 3), given("b", 1), given("c", 2)];
        let script = Script::compile(&format!("function evaluate(given)\n{body}\nend")).unwrap();
        let objects: Vec<&Value> = objects.iter().collect();
        script.choose(&objects, &Limits::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_returned_is_chosen_as_it_was_and_in_its_order() {
        let sorted =
            "table.sort(resources, function(a, b) return a.size < b.size end) return {resources = resources}";
        assert_eq!(choose(sorted), Ok(vec![given("b", 1), given("c", 2), given("a", 3)]));
        let large = "local large = {} for _, one in ipairs(given) do if one.size > 1 then table.insert(large, one) end end return {resources = large}";
        assert_eq!(choose(large), Ok(vec![given("a", 3), given("c", 2)]));
    }

    #[test]
    fn objects_may_be_changed_and_made() {
        let changed = choose(
            "local b = given[2] b.metadata.labels = {x = 'y'} b.size = b.size + 1 b.list = {} b.flag = nil return {resources = {b}}",
        );
        let mut expected = given("b", 2);
        expected["metadata"]["labels"] = json!({"x": "y"});
        expected["list"] = json!([]);
        expected.as_object_mut().unwrap().remove("flag");
        assert_eq!(changed, Ok(vec![expected]));
        let made = "return {resources = {{apiVersion = 'x/v1', kind = 'Pair', metadata = {name = 'p'}, spec = {of = {'a', 'b'}, count = 2, half = 1.5, empty = {}}}}}";
        let expected = json!({"apiVersion": "x/v1", "kind": "Pair", "metadata": {"name": "p"}, "spec": {"of": ["a", "b"], "count": 2, "half": 1.5, "empty": {}}});
        assert_eq!(choose(made), Ok(vec![expected]));
    }

    #[test]
    fn nothing_may_be_chosen() {
        assert_eq!(choose("return {message = 'none'}"), Ok(vec![]));
        assert_eq!(choose("return {resources = {}}"), Ok(vec![]));
    }

    #[test]
    fn wrong_results_are_errors() {
        let circle = "local one = given[1] one.self = one return {resources = {one}}";
        let doubled =
            "local one = {a = 1} for _ = 1, 60 do one = {l = one, r = one} end return {resources = {one}}";
        for (body, part) in [
            ("return 1", "not a lua table"),
            ("return {resources = 'a'}", "resources is a string"),
            ("return {resources = {a = 1}}", "resources is no list"),
            ("return {resources = {1}}", "return a list of objects"),
            ("return {resources = {{a = print}}}", "a function"),
            ("return {resources = {{[print] = 1}}}", "a key is a function"),
            ("return {resources = {{a = 0/0}}}", "no number"),
            (circle, "nested deeper"),
            ("while true do end", "ran for too long"),
            ("error('x')", "x"),
        ] {
            let error = choose(body).unwrap_err();
            assert!(error.contains(part), "{body}: {error}");
        }
        let error = choose(doubled).unwrap_err();
        assert!(error.starts_with("limit: ") || error.contains("ran for too long"), "{error}");
        let script = Script::compile("-- evaluate").unwrap();
        let error = script.choose(&[], &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("does not define"), "{error}");
    }
}
