//! Whose commands are carried out next: what one session asks for, however much, delays another by little.
//!
//! Who asks for little at a time, as one does that waits for each answer, comes before who asks for much; of both kinds, who has
//! cost the platform's thread less. After each round of those with little one with much has a turn, and its cost counts: so
//! nobody waits without end. It is the order of commands only: what a command does, and when in simulated time, is the hub's.

use std::time::Instant;

use vp_protocols::native::{Request, SessionId};

use super::PlatformThread;
use super::message::SessionCommand;
use super::run::Looks;

/// Cost of what waits that is little. A command costs one, and about a third of a microsecond.
const LITTLE: u64 = 4;
/// Cost of a round of sessions that ask for little, about, and of a turn of one that asks for much.
const ROUND: u64 = 16;
const TURN: u64 = 16;
/// By how much less than others a session counts that had nothing to ask for: a driver that starts a layer has so many commands at
/// once.
const CREDIT: u64 = 1024;
/// Bytes that cost as much as a command.
const BYTES: u64 = 1024;
/// What reports cost, and a reset, which builds the device anew.
const REPORT: u64 = 256;

impl SessionCommand {
    /// What it costs the platform's thread, beside what it lets the platform do.
    pub(super) fn cost(&self) -> u64 {
        let bytes = match self {
            Self::Request {
                request:
                    Request::Statistics { .. } | Request::Inspect { .. } | Request::Reset | Request::Save { .. },
                ..
            } => return REPORT,
            Self::Request { request: Request::RegisterPeek(peek), .. } => u64::from(peek.bytes()),
            Self::Request { request: Request::MemoryRead(read), .. } => u64::from(read.length),
            Self::Request { payload, .. }
            | Self::Posted { payload, .. }
            | Self::Answer { payload, .. }
            | Self::Driven { payload, .. } => payload.len() as u64,
            Self::Share { .. } | Self::Promised { .. } => 0,
        };
        1 + bytes / BYTES
    }
}

/// What a session has cost, among the others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    cost: u64,
    /// Whether it had commands at the last look.
    is_waiting: bool,
}

impl Account {
    pub(super) fn charge(&mut self, cost: u64) {
        self.cost += cost;
    }

    /// Nothing is asked for, and nobody looks.
    pub(super) fn rest(&mut self) {
        self.is_waiting = false;
    }
}

/// A session that may have commands: what these cost, and what it has cost.
type Candidate<'a> = (SessionId, u64, &'a mut Account);

/// How much asked for decides who is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Little,
    Much,
}

/// The order of turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The most that a session had cost when it had its turn.
    served: u64,
}

impl Turns {
    /// A session has had a turn, for which nobody had to be chosen.
    fn note(&mut self, account: &Account) {
        self.served = self.served.max(account.cost);
    }

    /// Of a session that comes now: it has not waited since the platform began, and many that come are owed nothing by who is there.
    pub(super) fn newcomer(&self) -> Account {
        Account { cost: self.served, is_waiting: false }
    }

    /// Who of those with little, or with much, to be carried out is next.
    fn next<'a>(&mut self, kind: Kind, sessions: impl Iterator<Item = Candidate<'a>>) -> Option<SessionId> {
        let mut next: Option<(u64, SessionId)> = None;
        for (session, asked, account) in sessions {
            if !std::mem::replace(&mut account.is_waiting, asked > 0) {
                // What it did not use while others waited is lost, but for this.
                account.cost = account.cost.max(self.served.saturating_sub(CREDIT));
            }
            let is_of_kind = match kind {
                Kind::Little => (1..=LITTLE).contains(&asked),
                Kind::Much => asked > LITTLE,
            };
            if is_of_kind {
                let place = (account.cost, session);
                next = Some(next.map_or(place, |next| next.min(place)));
            }
        }
        let (cost, session) = next?;
        self.served = self.served.max(cost);
        Some(session)
    }
}

impl PlatformThread {
    /// Whether a session wants something that has not been carried out.
    pub(super) fn has_commands(&self) -> bool {
        self.members.awake().any(|(_, member)| member.stream.asked() > 0)
    }

    /// Carries out a part of what the sessions want.
    pub(super) fn take_turns(&mut self) {
        if !self.has_commands() {
            return;
        }
        let only = self.members.awake().next().map(|(session, _)| session);
        if let Some(only) = only.filter(|_| self.sessions() == 1) {
            self.take_commands(only, u64::MAX);
            if let Some(member) = self.members.get(only) {
                self.turns.note(&member.account);
            }
            self.looks = Looks::SOON;
            return;
        }
        let began = Instant::now();
        let mut left = ROUND;
        while left > 0
            && let Some(session) = self.next_in_turn(Kind::Little)
        {
            left = left.saturating_sub(self.take_commands(session, LITTLE));
        }
        if let Some(session) = self.next_in_turn(Kind::Much) {
            self.take_commands(session, TURN);
        }
        self.looks = Looks::after(began.elapsed());
    }

    fn next_in_turn(&mut self, kind: Kind) -> Option<SessionId> {
        let sessions = self.members.awake_mut();
        self.turns.next(
            kind,
            sessions.map(|(session, member)| (session, member.stream.asked(), &mut member.account)),
        )
    }

    /// Carries out commands of a session that cost about so much; gives what they cost.
    fn take_commands(&mut self, session: SessionId, most: u64) -> u64 {
        let mut sum = 0;
        while sum < most {
            let Some(member) = self.members.get_mut(session) else { break };
            let Some(command) = member.stream.next_command() else { break };
            let cost = command.cost();
            member.account.charge(cost);
            sum += cost;
            self.session_command(session, command);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions with so much to be carried out.
    struct Sessions {
        turns: Turns,
        asked: Vec<u64>,
        accounts: Vec<Account>,
    }

    impl Sessions {
        fn new(asked: &[u64]) -> Sessions {
            let accounts = vec![Account::default(); asked.len()];
            Sessions { turns: Turns::default(), asked: asked.to_vec(), accounts }
        }

        /// Who is next, and has some of what it asks for carried out.
        fn serve(&mut self, kind: Kind, most: u64) -> Option<usize> {
            let sessions = self.asked.iter().zip(&mut self.accounts);
            let sessions =
                sessions.enumerate().map(|(id, (asked, account))| (SessionId(id as u64), *asked, account));
            let next = usize::try_from(self.turns.next(kind, sessions)?.0).unwrap();
            let cost = self.asked[next].min(most);
            self.asked[next] -= cost;
            self.accounts[next].charge(cost);
            Some(next)
        }
    }

    #[test]
    fn who_asks_for_little_is_next_whatever_others_ask_for() {
        let mut sessions = Sessions::new(&[10_000, 10_000, 0]);
        for _ in 0..1000 {
            sessions.asked[2] = 1;
            assert_eq!(sessions.serve(Kind::Little, LITTLE), Some(2));
            assert_eq!(sessions.serve(Kind::Little, LITTLE), None);
            assert!(matches!(sessions.serve(Kind::Much, TURN), Some(0 | 1)));
        }
    }

    #[test]
    fn who_ask_for_much_have_equal_parts_by_cost() {
        let mut sessions = Sessions::new(&[1 << 40; 5]);
        for turn in 0..1000 {
            // A long payload cannot be divided.
            sessions.serve(Kind::Much, if turn % 7 == 0 { 10 * TURN } else { TURN });
        }
        let costs: Vec<u64> = sessions.accounts.iter().map(|account| account.cost).collect();
        let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
        assert!(most - least <= 10 * TURN, "{costs:?}");
    }

    #[test]
    fn who_was_alone_for_long_is_not_behind_those_who_come_then() {
        let mut sessions = Sessions::new(&[1 << 40]);
        sessions.accounts[0].charge(1 << 30);
        sessions.turns.note(&sessions.accounts[0]);
        sessions.accounts.resize(500, sessions.turns.newcomer());
        sessions.asked.resize(500, 1 << 40);
        for _ in 0..10 {
            let others = (0..).take_while(|_| sessions.serve(Kind::Much, TURN) != Some(0)).count();
            assert!(others < 500, "{others}");
        }
    }

    #[test]
    fn who_comes_late_has_some_credit_and_holds_nobody_up_for_long() {
        let mut sessions = Sessions::new(&[1 << 40, 0]);
        (0..100_000).for_each(|_| assert_eq!(sessions.serve(Kind::Much, TURN), Some(0)));
        sessions.asked[1] = 1 << 40;
        let late = (0..1000).take_while(|_| sessions.serve(Kind::Much, TURN) == Some(1)).count() as u64;
        assert!((CREDIT / TURN..=CREDIT / TURN + 2).contains(&late), "{late}");
    }
}
