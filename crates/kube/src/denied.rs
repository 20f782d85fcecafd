//! What to do where an API server says that an account may not do something.

/// Where that is said of the account of a stage.
const REMEDY: &str = "; the account of this stage lacks that right in the management cluster: `sluice install check --only rights` names \
                      what its role lacks, `helm upgrade` gives it back";

/// How the text of an error goes on, so that it says which role to mend: empty where it tells of no right that is missing. Quotas and
/// policies forbid as well, and no role changes that.
pub fn remedy_of_denial(error: &str) -> &'static str {
    if is_denial(error) { REMEDY } else { "" }
}

/// Whether somebody `cannot <verb> resource "<resource>"`, as authorizers say it.
fn is_denial(error: &str) -> bool {
    error.match_indices(" cannot ").any(|(at, cannot)| {
        let after = error.get(at + cannot.len()..).unwrap_or_default();
        let (verb, rest) = after.split_once(' ').unwrap_or_default();
        let is_word = !verb.is_empty() && verb.bytes().all(|byte| byte.is_ascii_lowercase());
        is_word && rest.starts_with("resource \"")
    })
}

#[cfg(test)]
mod tests {
    use super::remedy_of_denial;

    #[test]
    fn a_right_that_is_missing_has_a_remedy_that_names_the_check() {
        for error in [
            "ApiError: secrets is forbidden: User \"system:serviceaccount:projectsveltos:sluice-agent\" cannot watch resource \"secrets\" in \
             API group \"\" at the cluster scope: Forbidden",
            "sets.lib.projectsveltos.io \"s\" is forbidden: User \"u\" cannot patch resource \"sets/status\" in API group",
            "User \"who cannot spell\" cannot get resource \"configmaps\"",
        ] {
            let remedy = remedy_of_denial(error);
            assert!(remedy.contains("sluice install check --only rights"), "{error}{remedy}");
            assert!(remedy.starts_with("; ") && remedy.contains("helm upgrade"), "{remedy}");
        }
    }

    #[test]
    fn what_no_role_changes_has_none() {
        for error in [
            "",
            "pods \"p\" is forbidden: exceeded quota: small",
            "admission webhook \"w\" denied the request: it cannot be",
            "User \"u\" cannot get path \"/metrics\"",
            "one cannot ",
            "who cannot  resource \"secrets\"",
            "the API server cannot be reached: connection refused",
        ] {
            assert_eq!(remedy_of_denial(error), "", "{error}");
        }
    }
}
