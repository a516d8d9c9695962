//! Credentials that a server is shown, and the messages where they are not right: in the words of the device's options, which stand before the variables
//! of the environment.

use vp_client::native::ErrorCode;
use vp_client::{Address, ConnectError, Credentials, CredentialsError, InClear};

use crate::options::Options;

/// The option or variable with which a user names the trusted authority.
const AUTHORITY: &str = "ca=FILE, with the certificate of the authority (or VP_CA in QEMU's environment)";

/// The credentials for a server.
///
/// # Errors
/// What is missing or cannot be read, for people.
pub(super) fn of(options: &Options, server: &Address) -> Result<Credentials, String> {
    let credentials = Credentials::with(options.token_file.as_deref(), options.authority.as_deref());
    let credentials = credentials.map_err(|error| match error {
        CredentialsError::Half { there, missing: "VP_CA" } => {
            format!("{there} is set, and whom to trust is not said: add {AUTHORITY}")
        }
        CredentialsError::Token { path, source } if options.token_file.is_some() => {
            format!("token-file={}: {source}", path.display())
        }
        CredentialsError::Tls(error) => match &options.authority {
            Some(path) => format!("ca={}: {error}", path.display()),
            None => error.to_string(),
        },
        error => error.to_string(),
    })?;
    match server {
        Address::Tls { .. } if credentials.tls.is_none() => Err(format!(
            "cannot connect to {server}: it has TLS, and whom to trust is not said: add {AUTHORITY}"
        )),
        _ => Ok(credentials),
    }
}

/// Reason for which there is no session with these credentials.
pub(crate) fn refusal(error: &ConnectError, shown: &Credentials) -> String {
    match error {
        ConnectError::Refused { code: ErrorCode::NotAuthenticated, reason, .. }
            if shown.token.is_none() && reason.contains("token") =>
        {
            format!("{error}; here that is token-file=FILE")
        }
        ConnectError::TokenInClear { peer, source: InClear(far) } => format!(
            "{peer} wants a token, and it is not sent: what is sent to {far} can be read on the network: write connect=tls: in place \
             of connect=tcp: and add {AUTHORITY}, or connect to a tunnel on this host"
        ),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_client::native::Token;

    fn options(text: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        text.iter().for_each(|(key, value)| options.set(key, value).unwrap());
        options
    }

    #[test]
    fn a_server_with_tls_needs_the_option_that_says_whom_to_trust() {
        let server: Address = "tls:nobody.example:7700".parse().unwrap();
        let why = of(&options(&[]), &server).unwrap_err();
        assert!(
            why.starts_with("cannot connect to tls:nobody.example:7700: it has TLS")
                && why.contains("add ca=FILE"),
            "{why}"
        );
        let file = |key| of(&options(&[(key, "/nowhere/file")]), &server).unwrap_err();
        assert!(file("ca").starts_with("ca=/nowhere/file: "), "{}", file("ca"));
        assert!(file("token-file").starts_with("token-file=/nowhere/file: "), "{}", file("token-file"));
    }

    #[test]
    fn a_refusal_names_the_options_of_the_device() {
        let refused = |reason: &str| ConnectError::Refused {
            peer: "tcp:127.0.0.1:1".into(),
            code: ErrorCode::NotAuthenticated,
            reason: reason.into(),
        };
        let nothing = Credentials::default();
        assert!(
            refusal(&refused("give the client a token"), &nothing)
                .ends_with("; here that is token-file=FILE")
        );
        assert!(refusal(&refused("give the client a certificate"), &nothing).ends_with("certificate"));
        let shown = Credentials { token: Some(Token::new("one")), tls: None };
        assert!(refusal(&refused("the token is not known"), &shown).ends_with("the token is not known"));
        let peer = "tcp:192.0.2.1:7700".to_owned();
        let clear = ConnectError::TokenInClear { peer, source: InClear("192.0.2.1:7700".parse().unwrap()) };
        let told = refusal(&clear, &shown);
        assert!(told.contains("write connect=tls:") && told.contains("ca=FILE"), "{told}");
    }
}
