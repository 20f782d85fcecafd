//! `sluice`: dry runs, the whole pipeline on one machine, and looking at a running one.

/// Rows and objects are parsed and built all the time: with the system's allocator that is a third of the work.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    sluice_tera::serve_if_asked();
    sluice_cli::Args::of_process().run()
}
