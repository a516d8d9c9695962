//! Findings of a check, rule by rule.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use serde::Serialize;

use crate::PeerRole;
use crate::wire::Wire;

/// A protocol's table of rules.
pub(crate) trait RuleTable: Copy + Eq + Hash + 'static {
    const RULES: &'static [Self];

    /// Name of the rule, its text and its source.
    fn texts(self) -> [&'static str; 3];
}

macro_rules! rule_tables {
    ($($rule:ty),+) => {
        $(impl RuleTable for $rule {
            const RULES: &'static [Self] = Self::ALL;

            fn texts(self) -> [&'static str; 3] {
                [self.name(), self.text(), self.source()]
            }
        })+
    };
}

rule_tables!(
    vp_protocols::native::Rule,
    vp_protocols::remote_port::Rule,
    vp_protocols::renode::Rule,
    vp_protocols::vfio_user::Rule
);

/// Verdict on a rule: whether it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// The rule was kept.
    Kept {
        /// Number of messages or answers that could have broken the rule.
        occasions: u64,
    },
    /// The rule was not kept.
    Broken {
        /// Fault of the peer.
        what: String,
        /// The last bytes that the peer had been sent by then, in hexadecimal.
        sent: String,
        /// The last bytes that had come from it.
        received: String,
    },
    /// Nothing came that could have broken it.
    Untried,
}

/// A rule, and whether it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name, such as `RP-04`.
    pub rule: &'static str,
    /// Statement of what is right.
    pub text: &'static str,
    /// Text that the rule is from.
    pub source: &'static str,
    /// Verdict: whether the rule is kept.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// All that a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// `native`, `remote-port`, `renode` or `vfio-user`.
    pub protocol: &'static str,
    /// Role that the peer was taken for.
    pub peer: &'static str,
    /// Address at which the peer was met.
    pub address: String,
    /// True if no rule is broken.
    pub passed: bool,
    /// One for each rule that the peer could break, in order of their names.
    pub rules: Vec<Finding>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { protocol, peer, address, rules, .. } = self;
        writeln!(f, "{peer} at {address}, {protocol}")?;
        for Finding { rule, text, source, verdict } in rules {
            match verdict {
                Verdict::Kept { occasions } => writeln!(f, "  kept    {rule}  {text} ({occasions})")?,
                Verdict::Untried => writeln!(f, "  -       {rule}  {text}")?,
                Verdict::Broken { what, sent, received } => {
                    writeln!(f, "  BROKEN  {rule}  {text}")?;
                    writeln!(f, "            {what}")?;
                    writeln!(f, "            rule:     {source}")?;
                    writeln!(f, "            sent:     …{sent}")?;
                    writeln!(f, "            received: …{received}")?;
                }
            }
        }
        let count = |is: fn(&Verdict) -> bool| rules.iter().filter(|finding| is(&finding.verdict)).count();
        write!(
            f,
            "{} kept, {} broken, {} without an occasion",
            count(|verdict| matches!(verdict, Verdict::Kept { .. })),
            count(|verdict| matches!(verdict, Verdict::Broken { .. })),
            count(|verdict| *verdict == Verdict::Untried),
        )
    }
}

/// Verdicts known of each rule while a check runs.
pub(crate) struct Tally<R>(HashMap<R, Verdict>);

impl<R: RuleTable> Tally<R> {
    pub(crate) fn new() -> Tally<R> {
        Tally(HashMap::new())
    }

    /// Something that could have broken these rules has not.
    pub(crate) fn kept(&mut self, rules: &[R]) {
        for rule in rules {
            if let Verdict::Kept { occasions } = self.0.entry(*rule).or_insert(Verdict::Kept { occasions: 0 })
            {
                *occasions += 1;
            }
        }
    }

    /// A rule is broken. What was broken first is said.
    pub(crate) fn broken(&mut self, rule: R, what: impl fmt::Display, wire: &Wire) {
        let (sent, received) = (wire.last_sent(), wire.last_received());
        let verdict = Verdict::Broken { what: what.to_string(), sent, received };
        let before = self.0.entry(rule).or_insert(Verdict::Untried);
        if !matches!(before, Verdict::Broken { .. }) {
            *before = verdict;
        }
    }

    /// Kept or broken.
    pub(crate) fn judge(&mut self, rule: R, is_kept: bool, what: impl fmt::Display, wire: &Wire) {
        match is_kept {
            true => self.kept(&[rule]),
            false => self.broken(rule, what, wire),
        }
    }

    /// The report. Of the rules, those are listed that such a peer could break.
    pub(crate) fn report(
        mut self,
        protocol: &'static str,
        peer: PeerRole,
        address: String,
        could_break: impl Fn(R) -> bool,
    ) -> Report {
        let finding = |found: &R| {
            let [rule, text, source] = found.texts();
            Finding { rule, text, source, verdict: self.0.remove(found).unwrap_or(Verdict::Untried) }
        };
        let rules: Vec<Finding> = R::RULES.iter().filter(|rule| could_break(**rule)).map(finding).collect();
        let passed = !rules.iter().any(|finding| matches!(finding.verdict, Verdict::Broken { .. }));
        Report { protocol, peer: peer.name(), address, passed, rules }
    }
}
