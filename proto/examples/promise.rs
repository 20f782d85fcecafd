//! Writes the contract as it is now into the file that holds what was promised: `make proto`. What breaks a promise is refused.

use std::process::ExitCode;

use sluice_proto::DESCRIPTORS;
use sluice_proto::contract::{broken, promises};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("promise: name the file, proto/sluice.binpb");
        return ExitCode::from(2);
    };
    let promised = std::fs::read(&file).unwrap_or_default();
    match (promises(&promised), promises(DESCRIPTORS)) {
        (Ok(promised), Ok(present)) => {
            let broken = broken(&promised, &present);
            if !broken.is_empty() {
                eprintln!("promise: clients rely on what is no more:\n{}", broken.join("\n"));
                return ExitCode::FAILURE;
            }
        }
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("promise: {file}: {error}");
            return ExitCode::from(2);
        }
    }
    if let Err(error) = std::fs::write(&file, DESCRIPTORS) {
        eprintln!("promise: {file}: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
