//! What an error of an API server means for the plan.

use sluice_deployer_core::{Class, Failure};

/// Sorts an error of a call; `planned` tells that the call was made against a known version of an object.
pub(crate) fn of(error: &kube::Error, planned: bool) -> Failure {
    let kube::Error::Api(status) = error else {
        return Failure::new(Class::Transient, format!("the API server cannot be reached: {}", root(error)));
    };
    let class = match status.code {
        409 => Class::Conflict,
        422 if planned && status.message.contains("metadata.uid") => Class::Conflict,
        404 if planned => Class::Conflict,
        408 | 429 | 500..=599 => Class::Transient,
        _ => Class::Refused,
    };
    let remedy = match status.code {
        401 => "; the credentials in the cluster's kubeconfig are not valid (any more), renew them",
        403 => "; allow it to the user of the cluster's kubeconfig",
        _ => "",
    };
    Failure::new(class, format!("{}{remedy}", status.message))
}

fn root(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn the_code_decides_what_follows() {
        let class = |code: u16, planned: bool| {
            let status =
                Status { code, message: "metadata.uid: field is immutable".into(), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), planned).class
        };
        assert_eq!(class(409, true), Class::Conflict);
        assert_eq!((class(422, true), class(422, false)), (Class::Conflict, Class::Refused));
        assert_eq!((class(429, false), class(503, false)), (Class::Transient, Class::Transient));
        assert_eq!((class(403, false), class(400, true)), (Class::Refused, Class::Refused));
    }
}
