//! A script that chooses among all matches.

use super::*;

/// An EventSource with this script.
fn choosing(body: &str) -> Value {
    let mut source = source();
    source["spec"]["collectResources"] = json!(true);
    source["spec"]["aggregatedSelection"] = json!(format!("function evaluate(resources)\n{body}\nend"));
    source
}

/// Chooses the object with the greatest name.
const LAST: &str = "table.sort(resources, function(a, b) return a.metadata.name > b.metadata.name end)
    return {resources = {resources[1]}}";
/// Chooses all, the greatest name first.
const DOWN: &str = "table.sort(resources, function(a, b) return a.metadata.name > b.metadata.name end)
    return {resources = resources}";

fn fixture(one: bool, script: &str) -> Fixture {
    Fixture::new(vec![choosing(script), trigger(one, json!({})), content(one, "1")])
}

impl Fixture {
    /// The source is edited, and the matcher has told everything of its new form.
    fn edit(&mut self, source: Value) {
        self.put(source);
        for (cluster, row) in self.interests.clone() {
            self.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster, row), step));
        }
        self.row(complete(self.revision()));
    }
}

#[test]
fn only_what_is_chosen_is_an_event() {
    let mut fixture = fixture(true, LAST);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a y 1"]);
    fixture.row(report("z", false));
    assert_eq!(fixture.wanted(), ["a z 1"], "another one is chosen, and the former is not any more");
    fixture.row(report("w", false));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a z 1"]);
    fixture.row(report("z", true));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a y 1"]);
    for name in ["w", "x", "y"] {
        fixture.row(report(name, true));
    }
    fixture.wait();
    assert_eq!(fixture.wanted(), [""; 0]);
}

#[test]
fn one_template_sees_what_is_chosen_in_the_order_of_the_script() {
    let mut fixture = fixture(false, DOWN);
    fixture.ready(&["x", "z", "y"]);
    assert_eq!(fixture.wanted(), ["a zyx 1"]);
    fixture.edit(choosing("return {resources = {resources[2]}}"));
    assert_eq!(fixture.wanted(), ["a y 1"]);
    fixture.edit(choosing("return {}"));
    assert_eq!(fixture.wanted(), [""; 0]);
    fixture.edit(source());
    assert_eq!(fixture.wanted(), ["a xyz 1"], "without a script all are events");
}

#[test]
fn the_script_may_change_objects_and_make_others() {
    // One for each pair of neighbours, and x with what it is told of the others.
    let script = "local made = {}
        for i, one in ipairs(resources) do
            if one.metadata.name == 'x' then one.metadata.name = 'x' .. #resources table.insert(made, one) end
            if resources[i + 1] then
                local name = one.metadata.name .. '-' .. resources[i + 1].metadata.name
                table.insert(made, {apiVersion = 'v1', kind = 'Pair', metadata = {name = name}})
            end
        end
        return {resources = made}";
    let mut fixture = fixture(true, &script.replace("one.metadata.name = 'x' .. #resources ", ""));
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x 1", "a x-y 1"]);
    fixture.take_log();
    fixture.row(report("z", false));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a x 1", "a x-y 1", "a y-z 1"]);
    assert_eq!(fixture.take_log(), ["+a"], "what is as before is not made anew");
    fixture.row(report("y", true));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a x 1", "a x-z 1"]);
    let mut all = Fixture::new(vec![choosing(script), trigger(false, json!({})), content(false, "1")]);
    all.ready(&["x", "y"]);
    assert_eq!(all.wanted(), ["a x2x2-y 1"]);
}

#[test]
fn what_a_script_has_changed_is_rendered_anew_when_that_differs() {
    let source = choosing("resources[1].data = {count = #resources} return {resources = {resources[1]}}");
    let mut count = content(true, "1");
    let text = count["data"]["a.yaml"].as_str().unwrap().replace(".metadata.name", ".data.count");
    count["data"]["a.yaml"] = text.into();
    let mut fixture = Fixture::new(vec![source, trigger(true, json!({})), count]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a 1 1"]);
    fixture.row(report("y", false));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a 2 1"], "x itself has not changed");
}

#[test]
fn what_has_no_name_is_an_error() {
    for (made, part) in [
        ("{kind = 'Pair', metadata = {}}", "resources[1] has no apiVersion, kind or metadata.name"),
        (
            "{apiVersion = 'sluice.dev/v1', kind = 'CloudEvent', metadata = {name = 'a'}}",
            "kind of CloudEvents",
        ),
    ] {
        let mut fixture = fixture(true, &format!("return {{resources = {{{made}}}}}"));
        fixture.ready(&["x"]);
        let said: Vec<_> = fixture.problems.values().collect();
        assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
    }
}

#[test]
fn nothing_is_chosen_from_a_part_of_a_set() {
    let mut fixture = fixture(true, LAST);
    fixture.row(report("x", false));
    fixture.caught_up();
    assert_eq!(fixture.wanted(), [""; 0], "y may be there");
    fixture.row(report("y", false));
    fixture.row(complete(fixture.revision()));
    assert_eq!(fixture.wanted(), ["a y 1"]);
    fixture.put(choosing(DOWN));
    fixture.row(report("y", true));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a y 1"], "not every matcher has told what it knows of the new form");
    fixture.edit(choosing(DOWN));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a x 1"]);
}

#[test]
fn without_the_script_what_it_did_not_choose_waits_until_it_is_known_to_match() {
    let mut fixture = fixture(true, LAST);
    fixture.ready(&["x", "y"]);
    fixture.put(source());
    fixture.put(content(true, "2"));
    assert_eq!(fixture.wanted(), ["a y 2"], "x may match no more");
    fixture.row(report("x", true));
    fixture.row(complete(fixture.revision()));
    fixture.row(report("z", false));
    assert_eq!(fixture.wanted(), ["a y 2", "a z 2"]);
}

#[test]
fn while_the_script_fails_what_is_there_stays() {
    let mut fixture = fixture(true, LAST);
    fixture.ready(&["x", "y"]);
    fixture.edit(choosing("error('no')"));
    fixture.row(report("z", false));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a y 1"]);
    let said: Vec<_> = fixture.problems.values().collect();
    assert!(
        said.len() == 1 && said[0].starts_with("EventSource s: spec.aggregatedSelection: evaluate:"),
        "{said:?}"
    );
    fixture.edit(choosing(LAST));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a z 1".to_owned()], 0));
    fixture.edit(choosing("return 1"));
    assert_eq!(fixture.problems.len(), 1);
    fixture.delete(trigger(true, json!({})));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec![], 0), "nobody asks for it any more");
}

#[test]
fn a_script_that_does_not_compile_is_told_at_once() {
    let fixture = Fixture::new(vec![choosing("return {")]);
    let said = fixture.problems.get("EventSource s").cloned().unwrap_or_default();
    assert!(said.starts_with("EventSource s: spec.aggregatedSelection: evaluate:"), "{said}");
}

#[test]
fn the_report_names_what_is_chosen_and_has_objects_only_where_they_are_collected() {
    let mut plain = choosing(LAST);
    plain["spec"]["collectResources"] = json!(false);
    for (source, collected) in [(choosing(LAST), true), (plain, false)] {
        let mut fixture = Fixture::new(vec![source, trigger(true, json!({})), content(true, "1")]);
        fixture.ready(&["x", "y"]);
        while !fixture.projected.keys().any(|key| key.contains("EventReport")) {
            fixture.wait();
        }
        let report =
            fixture.projected.iter().find(|(key, _)| key.contains("EventReport")).unwrap().1.clone().unwrap();
        assert_eq!(report["spec"]["matchingResources"].as_array().map(Vec::len), Some(1), "{report}");
        assert_eq!(report["spec"]["matchingResources"][0]["name"], "y");
        assert_eq!(report["spec"]["resources"].is_string(), collected, "{report}");
    }
}

#[test]
fn what_is_chosen_or_not_by_what_it_leads_to_is_slowed_down_and_told() {
    // Chooses x as long as what is deployed because of it is not there.
    let script = "for _, one in ipairs(resources) do if one.metadata.name == 'made' then return {} end end
        return {resources = resources}";
    let mut fixture = fixture(true, script);
    fixture.ready(&["x"]);
    let maker = fixture.renderer.planning.ledger.places(&cause(Some("x"))).into_iter().next().unwrap().1;
    let mut made = report("made", false);
    made.head.meta = Meta::parse(&json!({"selectors": [0], "owner": maker.path()}).to_string());
    let (start, mut rounds) = (fixture.now, 0);
    while fixture.now - start < 60_000_000 {
        let before = fixture.wanted();
        fixture.row(if before.is_empty() { report("made", true) } else { made.clone() });
        rounds += 1;
        while fixture.wanted() == before && fixture.now - start < 60_000_000 {
            fixture.now += 10_000;
            fixture.run(|renderer, step| renderer.tick(step));
        }
    }
    assert!((20..100).contains(&rounds), "{rounds}: once a second, after the first");
    let told = fixture.problems.values().any(|said| said.contains("rendered once a second"));
    assert!(told, "{:?}", fixture.problems);
}
