//! The clients that a server knows: by tokens, or by names in certificates.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use subtle::ConstantTimeEq as _;
use vp_models::memory::MemoryPool;
use vp_models::printable::one_line;
use vp_models::toml_text::{TextError, TomlText};
use vp_protocols::native::{MAX_TOKEN, Token};

use super::{Right, Rights, Role};
use crate::names;

/// Bytes of a file of tokens, at most.
const MOST_BYTES: u64 = 1 << 20;
/// Characters of a token, at least: fewer can be guessed.
const LEAST: usize = 16;

/// The known clients, and what each may do.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    tokens: Arc<[(Secret, Arc<TokenHolder>)]>,
    certificates: Arc<[Arc<TokenHolder>]>,
}

/// A known client.
#[derive(Debug)]
pub(crate) struct TokenHolder {
    pub(crate) name: String,
    pub(crate) rights: Rights,
    /// The shared platforms that it may join; `None`: every one.
    platforms: Option<Vec<String>>,
    /// Number of sessions that the holder may have.
    sessions: Option<usize>,
    open: AtomicUsize,
    /// Memory of the host that the platforms that the holder has begun may take together.
    memory: Option<Arc<MemoryPool>>,
}

impl TokenHolder {
    /// Returns the pool from which the holder's platforms take memory, beside the server's own limit.
    pub(crate) fn memory(&self) -> Option<&Arc<MemoryPool>> {
        self.memory.as_ref()
    }

    /// Returns true if the holder may join the shared platform of that name.
    pub(crate) fn may_join(&self, platform: &str) -> bool {
        self.platforms.as_ref().is_none_or(|may| may.iter().any(|name| name == platform))
    }

    /// One more session, on the shared platform of that name or on none.
    ///
    /// # Errors
    /// Why it may not be.
    pub(crate) fn enter(self: &Arc<Self>, platform: Option<&str>) -> Result<TokenUse, String> {
        if let Some(platform) = platform.filter(|platform| !self.may_join(platform)) {
            return Err(format!("`{}` lacks the right to join the platform `{platform}`", self.name));
        }
        // Counted first: two at once must not both be the last.
        let presence = TokenUse(self.clone());
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        match self.sessions {
            Some(most) if before >= most => {
                Err(format!("`{}` has {most} sessions, the most it may have", self.name))
            }
            _ => Ok(presence),
        }
    }
}

/// A session of a known client, counted as long as it exists.
#[derive(Debug)]
pub(crate) struct TokenUse(Arc<TokenHolder>);

impl TokenUse {
    pub(crate) fn holder(&self) -> &TokenHolder {
        &self.0
    }
}

impl Drop for TokenUse {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A token, filled up with zeros: comparing two takes the same time whatever is in them.
struct Secret([u8; MAX_TOKEN]);

impl Secret {
    /// `None`: it is too long.
    fn of(token: &str) -> Option<Self> {
        let mut bytes = [0; MAX_TOKEN];
        bytes.get_mut(..token.len())?.copy_from_slice(token.as_bytes());
        Some(Self(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// As the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
    #[serde(default)]
    certificate: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// Taken as any value: what serde says of a wrong one would have it in it.
    secret: Option<toml::Value>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    rights: Vec<Right>,
    #[serde(default)]
    platforms: Vec<String>,
    sessions: Option<usize>,
    memory: Option<Bytes>,
}

/// A number of bytes, or a size such as `512 MiB`.
#[derive(Deserialize)]
#[serde(transparent)]
struct Bytes(#[serde(deserialize_with = "vp_models::units::size")] u64);

impl Tokens {
    /// One that may do everything.
    ///
    /// # Errors
    /// It is too short or too long.
    pub fn of_one(token: &Token) -> Result<Self, TextError> {
        let holder = TokenHolder {
            name: "token".to_owned(),
            rights: Rights::ALL,
            platforms: None,
            sessions: None,
            open: AtomicUsize::new(0),
            memory: None,
        };
        let secret = secret(token.secret()).map_err(|why| TextError::whole(format!("the token {why}")))?;
        Ok(Self { tokens: Arc::new([(secret, Arc::new(holder))]), certificates: Arc::default() })
    }

    /// Reads the tokens and certificates that a file names.
    ///
    /// # Errors
    /// It cannot be read, or makes no sense. Nothing of a token is in the text.
    pub fn read(path: &Path) -> Result<Self, TextError> {
        let text = vp_transport::secret_file::read(path, MOST_BYTES)
            .map_err(|error| TextError::unreadable(path, error))?;
        Self::parse(&text).map_err(|error| error.in_file(path))
    }

    fn parse(text: &str) -> Result<Self, TextError> {
        let text = TomlText::parse(text)?;
        let file: File = text.read()?;
        let mut names: Vec<&str> = Vec::new();
        for (list, entries) in [("token", &file.token), ("certificate", &file.certificate)] {
            for (at, Entry { name, platforms, .. }) in entries.iter().enumerate() {
                let named = platforms.iter().filter(|platform| *platform != "*");
                for platform in named {
                    if let Err(why) = names::check_platform(platform) {
                        let what = format!("`{}`: {why}", one_line(platform));
                        return Err(text.wrong(&format!("{list}.{at}.platforms"), what));
                    }
                }
                if names.contains(&name.as_str()) {
                    let what = format!("`{name}` is there twice");
                    return Err(text.wrong(&format!("{list}.{at}.name"), what));
                }
                names.push(name);
            }
        }
        let mut tokens: Vec<(Secret, Arc<TokenHolder>)> = Vec::new();
        for (at, entry) in file.token.into_iter().enumerate() {
            let path = |key: &str| format!("token.{at}.{key}");
            let wrong =
                |why: &str| text.wrong(&path("secret"), format!("the secret of `{}` {why}", entry.name));
            let given = entry.secret.as_ref().ok_or_else(|| wrong("is missing"))?;
            let given = given.as_str().ok_or_else(|| wrong("is no text: write it in quotes"))?;
            let secret = secret(given).map_err(|why| wrong(&why))?;
            if let Some((_, other)) = tokens.iter().find(|(other, _)| other.0 == secret.0) {
                return Err(wrong(&format!("is that of `{}`, too", other.name)));
            }
            let holder = entry.holder().map_err(|why| text.wrong(&path("name"), why))?;
            tokens.push((secret, holder));
        }
        let certificates = file.certificate.into_iter().enumerate().map(|(at, entry)| {
            let wrong = |key: &str, why| text.wrong(&format!("certificate.{at}.{key}"), why);
            match entry.secret {
                Some(_) => {
                    let why = format!("`{}` is a certificate, and has no secret", entry.name);
                    Err(wrong("secret", why))
                }
                None => entry.holder().map_err(|why| wrong("name", why)),
            }
        });
        let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { tokens: tokens.into(), certificates: certificates.into() })
    }

    /// Returns true if there are no entries at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.certificates.is_empty()
    }

    /// Returns true if there are entries with tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// The holder of the token. All tokens are compared, each in the same time.
    pub(crate) fn holder_of(&self, token: &Token) -> Option<&Arc<TokenHolder>> {
        let shown = secret(token.secret()).ok()?;
        let mut found = None;
        for (secret, holder) in self.tokens.iter() {
            if secret.0.ct_eq(&shown.0).into() {
                found = Some(holder);
            }
        }
        found
    }

    /// Returns the holders that show a certificate.
    pub(crate) fn certificates(&self) -> &[Arc<TokenHolder>] {
        &self.certificates
    }
}

/// Parses a token; an error says what is wrong with it.
fn secret(text: &str) -> Result<Secret, String> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("has other characters than letters, digits and signs of ASCII".to_owned());
    }
    let right = || format!("has {} characters: {LEAST} to {MAX_TOKEN} make a token", text.len());
    match text.len() {
        LEAST.. => Secret::of(text).ok_or_else(right),
        _ => Err(right()),
    }
}

impl Entry {
    fn holder(self) -> Result<Arc<TokenHolder>, String> {
        let Self { name, roles, rights, platforms, sessions, memory, .. } = self;
        names::check(&name)?;
        let platforms = (!platforms.iter().any(|name| name == "*")).then_some(platforms);
        let rights = Rights::of(&roles, &rights);
        let memory = memory.map(|Bytes(limit)| MemoryPool::of("this token's platforms", limit));
        let open = AtomicUsize::new(0);
        Ok(Arc::new(TokenHolder { name, rights, platforms, sessions, open, memory }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = "
        [[token]]
        name = 'cpu'
        secret = '0123456789abcdef'
        roles = ['cpu', 'memory']
        platforms = ['lab']
        sessions = 1

        [[token]]
        name = 'least'
        secret = 'fedcba9876543210'

        [[certificate]]
        name = 'qemu.lab'
        rights = ['cpu']
        platforms = ['*']
    ";

    #[test]
    fn a_token_is_its_holders_and_no_other_is() {
        let tokens = Tokens::parse(LAB).unwrap();
        let name = |secret: &str| Some(tokens.holder_of(&Token::new(secret))?.name.clone());
        assert_eq!(name("0123456789abcdef").as_deref(), Some("cpu"));
        assert_eq!(name("fedcba9876543210").as_deref(), Some("least"));
        for wrong in ["", "0123456789abcde", "0123456789abcdef\0", "0123456789abcdefg", &"x".repeat(300)] {
            assert_eq!(name(wrong), None);
        }
        assert_eq!(tokens.certificates()[0].name, "qemu.lab");
    }

    #[test]
    fn what_is_not_given_is_not_allowed() {
        let tokens = Tokens::parse(LAB).unwrap();
        let least = tokens.holder_of(&Token::new("fedcba9876543210")).unwrap();
        assert_eq!(least.rights, Rights::NONE);
        assert!(least.enter(None).is_ok());
        let refused = least.enter(Some("lab")).unwrap_err();
        assert_eq!(refused, "`least` lacks the right to join the platform `lab`");
        assert!(tokens.certificates()[0].enter(Some("any")).is_ok());
    }

    #[test]
    fn a_quota_is_of_sessions_at_a_time() {
        let tokens = Tokens::parse(LAB).unwrap();
        let cpu = tokens.holder_of(&Token::new("0123456789abcdef")).unwrap();
        let first = cpu.enter(Some("lab")).unwrap();
        for _ in 0..2 {
            assert_eq!(cpu.enter(None).unwrap_err(), "`cpu` has 1 sessions, the most it may have");
        }
        drop(first);
        assert!(cpu.enter(None).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        let secret = "0123456789abcdef";
        let token = |rest: &str| format!("[[token]]\nname = 'a'\n{rest}");
        let wrong = [
            (token(""), "the secret of `a` is missing"),
            (token("secret = 1234567890123456"), "no text"),
            (token("secret = 'short'"), "has 5 characters: 16 to 256"),
            (token("secret = '0123456789 abcdef'"), "other characters"),
            (token(&format!("secret = '{secret}'\nroles = ['king']")), "found `king`, expected"),
            (token(&format!("secret = '{secret}'\nrole = ['cpu']")), "unknown field `role`"),
            (token(&format!("secret = '{secret}'\nmemory = 'much'")), "`much` is no size"),
            (token(&format!("secret = '{secret}\n")), ""),
            (
                [token(&format!("secret = '{secret}'")), token("secret = 'x'")].join("\n"),
                "`a` is there twice",
            ),
            (LAB.replace("fedcba9876543210", secret), "is that of `cpu`, too"),
            (format!("[[certificate]]\nname = 'a'\nsecret = '{secret}'"), "has no secret"),
        ];
        for (text, said) in wrong {
            let what = Tokens::parse(&text).unwrap_err().to_string();
            assert!(what.contains(said) && !what.contains("0123456789"), "{text}: {what}");
            assert!(!what.contains("1234567890123456"), "{what}");
        }
        let error = Tokens::parse(&token("\nrole = 1")).unwrap_err();
        assert_eq!((error.line, error.within.as_str()), (Some(4), "token 1 `a`"));
    }

    #[test]
    fn nothing_shows_a_token() {
        let shown = format!("{:?}", Tokens::parse(LAB).unwrap());
        assert!(
            shown.contains("least") && !shown.contains("0123456789") && !shown.contains("fedcba"),
            "{shown}"
        );
    }
}
