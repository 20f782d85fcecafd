//! The real API server keeps the contract of its version (`make e2e`). With `SLUICE_CONTRACT_RECORD` set, its
//! answers become the contract.
#![allow(clippy::unwrap_used)]

use sluice_e2e::contract::{Server, load_all, play};
use sluice_e2e::control_plane::{ControlPlane, assets};

#[tokio::test]
#[ignore = "needs etcd and kube-apiserver: make e2e"]
async fn the_real_server_answers_as_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let plane = ControlPlane::start(&assets().unwrap(), dir.path()).await.unwrap();
    let server = Server::connect(&plane.kubeconfig()).await.unwrap();
    let version = server.version().await.unwrap();
    for case in load_all().unwrap() {
        let transcript = play(&case, &server).await.unwrap();
        if std::env::var_os("SLUICE_CONTRACT_RECORD").is_some() {
            case.record(&version, &transcript).unwrap();
        }
        assert_eq!(transcript, case.expected_of(&version).unwrap(), "{} of {version}", case.name);
    }
}
