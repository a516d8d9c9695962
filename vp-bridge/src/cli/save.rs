//! `vp save`: writes down where a served platform stands, for `vp serve --restore`.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use vp_client::{Client, Credentials, Error, Options, SaveError};
use vp_observers::WholeFile;
use vp_protocols::native::{ErrorCode, TimeMode, Until};
use vp_transport::Address;

use super::{Failure, Verdict, memory_limit};
use crate::cli::out;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address of the server: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDR")]
    connect: Address,

    /// Name of the shared platform [default: the server's only one]
    #[arg(long, value_name = "NAME")]
    shared: Option<String>,

    /// Seconds to wait until no transaction is under way
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u64,

    /// Limit of the file's size, such as 16G; a larger platform is refused, and nothing is written. The file has the memory that was
    /// written, compressed; built-in platforms have 2 GiB of memory
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = memory_limit::bytes)]
    max_size: u64,

    /// File to write; an existing file is replaced when all of the platform has arrived
    #[arg(value_name = "FILE", value_parser = super::standard::named())]
    file: PathBuf,
}

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let mut options = Options::new(concat!("vp save ", env!("CARGO_PKG_VERSION")));
    options.platform = args.shared.clone();
    options.credentials = Credentials::from_environment().map_err(Failure::new)?;
    options.time_mode = TimeMode::Lockstep;
    // All comes in answers.
    options.share = false;
    let mut client = Client::connect(&args.connect, &options, ()).map_err(Failure::connection)?;
    if client.status().is_ok_and(|status| status.sessions == 1) {
        // With its last session a platform ends.
        let what = "nobody else is at this platform: the server has made it for this session, or all others have gone";
        return Err(Failure::new(match &args.shared {
            Some(name) => format!("`{name}`: {what}"),
            None => what.to_owned(),
        })
        .hint("--shared NAME says which is meant; vp status --connect ADDR lists those that are there"));
    }
    let until = Instant::now() + Duration::from_secs(args.wait);
    if client.welcome().time_mode == TimeMode::Lockstep {
        client.set_deadline(Some(until));
        match client.advance(Until::Idle) {
            // Who may not let time move saves what is at rest.
            Ok(_) | Err(Error::Refused { .. }) => {}
            Err(_) if Instant::now() >= until => {
                let what = format!("the platform has not come to rest within {} s", args.wait);
                return Err(Failure::new(what).hint("let it have longer: --wait SECONDS"));
            }
            Err(error) => return Err(Failure::connection(error)),
        }
        client.set_deadline(None);
    }
    let cannot_write = |error| Failure::new(format!("{}: {error}", args.file.display()));
    loop {
        let mut file = WholeFile::create(&args.file).map_err(cannot_write)?;
        match client.save(&mut file, args.max_size) {
            Ok(time) => {
                file.keep().map_err(cannot_write)?;
                out::println!("saved at {} as {}", time, args.file.display());
                return Ok(Verdict::Right);
            }
            Err(SaveError::Session(Error::Refused { code: ErrorCode::NotAtRest, .. }))
                if Instant::now() < until =>
            {
                thread::sleep(PAUSE);
            }
            Err(SaveError::Session(error @ Error::Refused { .. })) => return Err(Failure::new(error)),
            Err(SaveError::Session(error)) => return Err(Failure::connection(error)),
            Err(error @ SaveError::TooLarge { .. }) => {
                return Err(Failure::new(error).hint("take more: --max-size SIZE"));
            }
            Err(SaveError::Write(error)) => return Err(cannot_write(error)),
        }
    }
}
