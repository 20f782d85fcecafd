//! Compiles the `.proto` files: no `protoc` is needed.

use std::error::Error;
use std::path::PathBuf;

/// All files of the contract, seen from this folder.
const FILES: [&str; 1] = ["sluice/inspect/v1/inspect.proto"];

/// What nobody speaks, for who measures it.
const ROWS: &str = "sluice/bus/v1/rows.proto";

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo:rerun-if-changed={file}");
    }
    let mut compiler = protox::Compiler::new(["."])?;
    // With their comments, which become those of the generated types.
    compiler.include_imports(true).include_source_info(true).open_files(FILES)?;
    let mut descriptors = compiler.file_descriptor_set();
    let service = std::env::var_os("CARGO_FEATURE_SERVICE").is_some();
    let types = tonic_prost_build::configure().build_client(service).build_server(service);
    types.btree_map(".").compile_fds(descriptors.clone())?;
    // The comments are not part of the contract: what is compared and reflected is smaller without them.
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("sluice.binpb");
    std::fs::write(out, prost::Message::encode_to_vec(&descriptors))?;
    if std::env::var_os("CARGO_FEATURE_BUS_ROWS").is_some() {
        println!("cargo:rerun-if-changed={ROWS}");
        tonic_prost_build::configure().compile_fds(protox::compile([ROWS], ["."])?)?;
    }
    Ok(())
}
