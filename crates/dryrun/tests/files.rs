//! What is read from files as an API server would have it.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_dryrun::Input;

#[test]
fn string_data_of_files_is_data_in_all_clusters() {
    let dir = tempfile::tempdir().unwrap();
    let held = dir.path().join("clusters/default/c1");
    std::fs::create_dir_all(&held).unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: x}\n";
    std::fs::write(dir.path().join("secret.yaml"), secret).unwrap();
    std::fs::write(held.join("secret.yaml"), secret).unwrap();
    let input = Input::read(dir.path()).unwrap();
    let expected =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "eA=="}});
    assert_eq!(input.management, std::slice::from_ref(&expected));
    assert_eq!(input.clusters[&("default".to_owned(), "c1".to_owned())], [expected]);

    std::fs::write(dir.path().join("secret.yaml"), secret.replace("{a: x}", "{a: 1}")).unwrap();
    let error = Input::read(dir.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("secret.yaml: document 1 (Secret s): stringData.a is not a string; quote it"),
        "{error}"
    );
}
