//! The simulated clusters keep the contract.
#![allow(clippy::unwrap_used)]

use sluice_e2e::contract::{Server, load_all, play};
use sluice_simcluster::{FleetConfig, SimFleet};

#[tokio::test]
async fn the_simulator_answers_as_the_real_server() {
    let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
    let server = Server::connect(&fleet.kubeconfig(&["management"])).await.unwrap();
    let mut failures = Vec::new();
    for case in load_all().unwrap() {
        let (transcript, expected) = (play(&case, &server).await.unwrap(), case.expected().unwrap());
        let steps = transcript.as_array().unwrap().iter().zip(expected.as_array().unwrap());
        for (found, wanted) in steps.filter(|(found, wanted)| found != wanted) {
            failures
                .push(format!("{}: the real server answers {wanted:#}, the simulator {found:#}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} steps differ:\n{}", failures.len(), failures.join("\n"));
}
