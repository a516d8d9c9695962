//! The order in which sessions' commands are carried out: a session that asks for very much delays another one
//! only a little.
//!
//! There are three kinds of sessions. Those that ask for *little* come first, such as one that waits for each
//! answer. Then come those that ask for *much*, but had nothing to ask for a short while ago: a driver that
//! starts a layer, a client that loads. The last kind is the *backlog*: sessions that have asked without an end
//! for long, or for something that takes long in one piece. While sessions of an earlier kind go on asking, a
//! turn for much is followed by as long a time without one, and a turn of the backlog by [three times](PAUSES) as
//! long a time. So no session waits without end, and a sparse flow passes backlogged ones, as in fq_codel (RFC
//! 8290, 4.2).
//!
//! Within a kind sessions get equal parts by the cost of their commands: start-time fair queueing (Goyal, Vin,
//! Cheng, 1996). All this is only the order of commands: the hub decides what a command does, and when in
//! simulated time.

use std::time::{Duration, Instant};

use vp_protocols::native::{Request, SessionId};

use super::PlatformThread;
use super::member::Member;
use super::message::SessionCommand;
use super::run::PollSchedule;
use super::session_stream::SessionStream;

/// Largest cost of waiting commands that counts as little. A command costs one, which is about a third of a
/// microsecond.
const LITTLE: u64 = 4;
/// Cost of a round of sessions that ask for little, about, and of a turn of one that asks for more.
const ROUND: u64 = 16;
const TURN: u64 = 16;
/// Cost that a session may have from when it had nothing to ask for until it is of the backlog: 1 MiB, and some more.
const BURST: u64 = 2048;
/// A command that costs more is of the backlog. Client libraries load in pieces of 256 KiB.
const LONG: u64 = 512;
/// Bytes that cost as much as a command.
const BYTES: u64 = 1024;
/// Cost of a report, and of a reset, which builds the device anew.
const REPORT: u64 = 1024;
/// After a turn the backlog waits this many times as long as the turn took, while others go on asking: so a
/// quarter of the thread's time is its own. With a half, each access of a session that waits for every answer
/// would wait for a turn.
const PAUSES: u32 = 3;
/// A session that has been answered still counts as asking if its next request comes within this time.
const SOON: Duration = Duration::from_micros(50);

impl SessionCommand {
    /// Returns what the command costs the platform's thread, beside what it lets the platform do.
    pub(super) fn cost(&self) -> u64 {
        let bytes = match self {
            _ if self.is_report() => return REPORT,
            Self::Request { request: Request::Reset, .. } => return REPORT,
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

/// Costs of what a session asks for that has not been carried out: of all of it, and of the first command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingCosts {
    pub(super) all: u64,
    pub(super) first: u64,
}

/// The kind of a session by how much it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Little,
    Much,
    Backlog,
}

impl Kind {
    /// Little and much are counted together, the backlog separately: a session does not pay there for earlier
    /// small commands.
    fn queue(self) -> usize {
        usize::from(self == Kind::Backlog)
    }

    /// The orders by which the next session of that kind may be chosen.
    fn orders(self) -> &'static [Order] {
        match self {
            Kind::Little => &[],
            Kind::Much => &[Order::ShortestBurst, Order::LeastCost],
            Kind::Backlog => &[Order::LeastCostInBacklog],
        }
    }
}

/// The order by which the next session of a kind is chosen: the one with the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    ShortestBurst,
    LeastCost,
    LeastCostInBacklog,
}

impl Order {
    pub(super) const ALL: [Order; 3] = [Order::ShortestBurst, Order::LeastCost, Order::LeastCostInBacklog];
}

/// Costs that a session has had, among the others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CommandCosts {
    /// In each of the queues.
    costs: [u64; 2],
    /// Since it had nothing to ask for.
    burst: u64,
    /// True if the session had commands at the last look.
    is_waiting: bool,
}

impl CommandCosts {
    fn kind(&self, asked: PendingCosts) -> Kind {
        match asked {
            _ if self.burst >= BURST || asked.first > LONG => Kind::Backlog,
            PendingCosts { all: ..=LITTLE, .. } => Kind::Little,
            _ => Kind::Much,
        }
    }

    /// Returns the session's rank in each of the orders of its kind, if it asks for more than a little.
    pub(super) fn ranks(&self, asked: PendingCosts) -> impl Iterator<Item = (Order, u64)> + use<> {
        let orders = if asked.all == 0 { &[] } else { self.kind(asked).orders() };
        let account = *self;
        orders.iter().map(move |order| (*order, account.rank(*order)))
    }

    fn rank(&self, order: Order) -> u64 {
        match order {
            Order::ShortestBurst => self.burst,
            Order::LeastCost => self.costs[Kind::Much.queue()],
            Order::LeastCostInBacklog => self.costs[Kind::Backlog.queue()],
        }
    }

    #[cfg(test)]
    pub(super) fn use_up(&mut self) {
        self.burst = BURST;
    }
}

/// A session that may have commands: what it wants, and what it has cost.
type Candidate<'a> = (SessionId, PendingCosts, &'a CommandCosts);

/// The order of turns.
#[derive(Debug)]
pub(super) struct Turns {
    /// The largest cost of a session at its turn, in each of the queues.
    reached: [u64; 2],
    /// The last time that a session of little, or of little or much, had its turn or sent a part of its
    /// request; and the session.
    answered: [Option<(Instant, SessionId)>; 2],
    /// True if the next turn for much goes to the session with the least cost since it had nothing to ask for,
    /// so that many sessions that begin at once do not delay it. Otherwise it goes to the session with the
    /// least cost at all, so that none waits without end.
    is_for_shortest: bool,
    /// The session that sends much in one piece, and was read last.
    read: SessionId,
    /// The time of the next turn for much, and for the backlog, whatever other sessions ask.
    due: [Option<Instant>; 2],
}

impl Default for Turns {
    fn default() -> Self {
        let (reached, answered, due) = Default::default();
        Self { reached, answered, is_for_shortest: true, read: SessionId(0), due }
    }
}

impl Turns {
    /// The account of a session that joins now: it does not count as waiting since the platform began, and the
    /// existing sessions owe nothing to many that join.
    pub(super) fn joining(&self) -> CommandCosts {
        CommandCosts { costs: self.reached, ..CommandCosts::default() }
    }

    /// After a look at what a session wants.
    pub(super) fn look(&self, account: &mut CommandCosts, asked: PendingCosts) {
        let was_waiting = std::mem::replace(&mut account.is_waiting, asked.all > 0);
        if asked.all == 0 {
            account.burst = 0;
        } else if !was_waiting {
            // What it did not use while others waited is lost.
            for (cost, reached) in account.costs.iter_mut().zip(self.reached) {
                *cost = reached.max(*cost);
            }
        }
    }

    /// The order by which the next session of that kind is chosen.
    fn order(&self, kind: Kind) -> Order {
        match kind {
            Kind::Much if self.is_for_shortest => Order::ShortestBurst,
            Kind::Little | Kind::Much => Order::LeastCost,
            Kind::Backlog => Order::LeastCostInBacklog,
        }
    }

    /// The next session of that kind.
    fn next<'a>(&self, kind: Kind, sessions: impl Iterator<Item = Candidate<'a>>) -> Option<SessionId> {
        let of_kind = sessions.filter(|(_, asked, account)| asked.all > 0 && account.kind(*asked) == kind);
        let order = self.order(kind);
        of_kind.map(|(session, _, account)| (account.rank(order), session)).min().map(|(_, next)| next)
    }

    /// Returns true if a session may have a turn of that kind: not if others are likely to go on asking for less, until the next such turn
    /// is due.
    fn may_begin(&self, kind: Kind, session: SessionId, now: Instant) -> bool {
        let place = match kind {
            Kind::Little => return true,
            Kind::Much => 0,
            Kind::Backlog => 1,
        };
        let go_on = |(at, who): (Instant, SessionId)| who != session && now < at + SOON;
        !self.answered[place].is_some_and(go_on) || self.due[place].is_none_or(|due| now >= due)
    }

    /// A part of what it asks for has come, and it sends more.
    pub(super) fn receives(&mut self, session: SessionId, account: &CommandCosts) {
        if account.burst < BURST {
            self.answered[1] = Some((Instant::now(), session));
        }
    }

    /// A session has a turn.
    fn begin(&mut self, kind: Kind, account: &CommandCosts) {
        let reached = &mut self.reached[kind.queue()];
        *reached = account.costs[kind.queue()].max(*reached);
    }

    /// Adds the cost of what a session has asked for to its account.
    fn charge(&self, kind: Kind, account: &mut CommandCosts, cost: u64) {
        account.costs[kind.queue()] += cost;
        let was_in_backlog = account.burst >= BURST;
        account.burst += cost;
        if !was_in_backlog && account.burst >= BURST {
            // It comes there now.
            let backlog = Kind::Backlog.queue();
            account.costs[backlog] = account.costs[backlog].max(self.reached[backlog]);
        }
    }

    /// A turn has taken from when to when.
    fn end(&mut self, kind: Kind, session: SessionId, (began, ended): (Instant, Instant)) {
        let took = ended - began;
        match kind {
            Kind::Little => self.answered = [Some((ended, session)); 2],
            Kind::Much => {
                (self.answered[1], self.due[0]) = (Some((ended, session)), Some(ended + took));
                self.is_for_shortest = !self.is_for_shortest;
            }
            Kind::Backlog => self.due[1] = Some(ended + PAUSES * took),
        }
    }
}

/// Returns true if a stream is not read with all others, because a long message is coming.
pub(super) fn is_read_in_turn(stream: &SessionStream) -> bool {
    stream.is_receiving(LONG * BYTES)
}

impl PlatformThread {
    /// Returns true if a session wants something that has not been carried out.
    pub(super) fn has_commands(&self) -> bool {
        self.members.are_waiting() || self.members.awake().any(|(_, member)| member.stream.asked().all > 0)
    }

    /// Carries out a part of what the sessions want.
    pub(super) fn take_turns(&mut self) {
        if !self.has_commands() {
            return;
        }
        let only = self.members.awake().next().map(|(session, _)| session);
        if let Some(only) = only.filter(|_| self.sessions() == 1) {
            self.take_commands(Kind::Little, only, u64::MAX);
            self.looks = PollSchedule::SOON;
            return;
        }
        let began = Instant::now();
        let (mut now, mut left) = (began, ROUND);
        while left > 0
            && let Some(session) = self.next_in_turn(Kind::Little)
        {
            left = left.saturating_sub(self.take_commands(Kind::Little, session, LITTLE));
            now = Instant::now();
            self.turns.end(Kind::Little, session, (began, now));
        }
        for kind in [Kind::Much, Kind::Backlog] {
            if let Some(session) =
                self.next_in_turn(kind).filter(|next| self.turns.may_begin(kind, *next, now))
            {
                let from = now;
                self.take_commands(kind, session, TURN);
                if let Some(member) = self.members.get_mut(session) {
                    // To write the answers, and to read and to decode what comes next, is a part of its turn.
                    member.stream.flush();
                    if member.stream.asked().all == 0 {
                        member.stream.poll();
                        if kind == Kind::Backlog {
                            member.look_no_more();
                        }
                    }
                }
                now = Instant::now();
                self.turns.end(kind, session, (from, now));
            }
        }
        self.looks = PollSchedule::after(now - began);
    }

    /// Reads a part of what one session sends that is long in one piece: of the backlog's turns, too.
    pub(super) fn read_long(&mut self) {
        let Some(session) = self.members.next_to_be_read(self.turns.read) else { return };
        let began = Instant::now();
        if self.turns.may_begin(Kind::Backlog, session, began)
            && let Some(member) = self.members.get_mut(session)
        {
            member.read_in_turn();
            self.turns.look(&mut member.account, member.stream.asked());
            self.turns.read = session;
            self.turns.end(Kind::Backlog, session, (began, Instant::now()));
        }
    }

    fn next_in_turn<'a>(&'a self, kind: Kind) -> Option<SessionId> {
        let waiting = self.members.first_waiting(self.turns.order(kind));
        let sessions = self.members.awake().chain(waiting);
        let candidate =
            |(session, member): (_, &'a Member)| (session, member.stream.asked(), &member.account);
        self.turns.next(kind, sessions.map(candidate))
    }

    /// Carries out commands of a session that cost about so much; gives what they cost.
    fn take_commands(&mut self, kind: Kind, session: SessionId, most: u64) -> u64 {
        let mut sum = 0;
        if let Some(member) = self.members.get_mut(session) {
            self.turns.begin(kind, &member.account);
        }
        while sum < most {
            let Some(member) = self.members.get_mut(session) else { break };
            if sum > 0 && kind != Kind::Backlog && member.stream.asked().first > LONG && most < u64::MAX {
                break;
            }
            let Some(command) = member.stream.next_command() else { break };
            let cost = command.cost();
            self.turns.charge(kind, &mut member.account, cost);
            sum += cost;
            self.session_command(session, command);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions with so much to be carried out, whose commands cost one each, and an imagined clock.
    struct Sessions {
        turns: Turns,
        asked: Vec<PendingCosts>,
        accounts: Vec<CommandCosts>,
        now: Instant,
    }

    /// Time that a command takes.
    const COMMAND: Duration = Duration::from_nanos(300);

    fn asked(all: u64) -> PendingCosts {
        PendingCosts { all, first: all.min(1) }
    }

    impl Sessions {
        fn new(all: &[u64]) -> Sessions {
            let accounts = vec![CommandCosts::default(); all.len()];
            let asked = all.iter().map(|all| asked(*all)).collect();
            Sessions { turns: Turns::default(), asked, accounts, now: Instant::now() }
        }

        fn look(&mut self) {
            for (account, asked) in self.accounts.iter_mut().zip(&self.asked) {
                self.turns.look(account, *asked);
            }
        }

        /// Returns who is next, and has some of what it asks for carried out.
        fn serve(&mut self, kind: Kind, most: u64) -> Option<usize> {
            self.look();
            let sessions = self.asked.iter().zip(&self.accounts).enumerate();
            let next = self
                .turns
                .next(kind, sessions.map(|(id, (asked, account))| (SessionId(id as u64), *asked, account)))?;
            if !self.turns.may_begin(kind, next, self.now) {
                return None;
            }
            let place = usize::try_from(next.0).unwrap();
            let cost = self.asked[place].all.min(most.max(self.asked[place].first));
            self.turns.begin(kind, &self.accounts[place]);
            self.turns.charge(kind, &mut self.accounts[place], cost);
            self.asked[place] = asked(self.asked[place].all - cost);
            let began = self.now;
            self.now += COMMAND * u32::try_from(cost).unwrap();
            self.turns.end(kind, next, (began, self.now));
            Some(place)
        }

        /// A turn of each kind, as far as they have one: who had it.
        fn round(&mut self) -> Vec<usize> {
            let kinds = [(Kind::Little, LITTLE), (Kind::Much, TURN), (Kind::Backlog, TURN)];
            let served: Vec<usize> =
                kinds.into_iter().filter_map(|(kind, most)| self.serve(kind, most)).collect();
            if served.is_empty() {
                // It is looked at the sockets.
                self.now += COMMAND;
            }
            served
        }
    }

    #[test]
    fn who_asks_for_little_is_next_whatever_others_ask_for() {
        let mut sessions = Sessions::new(&[1 << 40, 1 << 40, 0]);
        for _ in 0..10_000 {
            sessions.asked[2] = asked(1);
            assert_eq!(sessions.round()[0], 2);
        }
    }

    #[test]
    fn who_loads_now_and_then_waits_for_one_turn_of_the_backlog_at_a_time() {
        let mut sessions = Sessions::new(&[1 << 40; 501]);
        sessions.asked[500] = asked(0);
        while sessions.accounts[..500].iter().any(|account| account.burst < BURST) {
            sessions.round();
        }
        for _ in 0..10 {
            sessions.look();
            sessions.asked[500] = asked(1024);
            let mut others = 0;
            while sessions.asked[500].all > 0 {
                others += sessions.round().iter().filter(|session| **session != 500).count() as u64;
            }
            assert!(others <= 1024 / TURN, "{others}");
        }
    }

    #[test]
    fn the_backlog_has_a_quarter_of_the_time_that_who_asks_for_little_wants_too() {
        let mut sessions = Sessions::new(&[1 << 40, 0]);
        while sessions.accounts[0].burst < BURST {
            sessions.round();
        }
        // What takes long in one piece: as many turns of the other come between as take as long.
        let (mut of_first, mut of_second) = (0, 0);
        for _ in 0..100_000 {
            (sessions.asked[0].first, sessions.asked[1]) = (400, asked(1));
            for session in sessions.round() {
                match session {
                    0 => of_first += 400,
                    _ => of_second += 1,
                }
            }
        }
        let rest = u64::from(PAUSES);
        assert!((of_second..=of_second + rest * 800).contains(&(rest * of_first)), "{of_first} {of_second}");
    }

    #[test]
    fn nobody_is_waited_for_who_does_not_ask_any_more() {
        let mut sessions = Sessions::new(&[1 << 40, 1]);
        while sessions.accounts[0].burst < BURST {
            sessions.round();
        }
        sessions.now += SOON;
        sessions.asked[1] = asked(1);
        assert_eq!(sessions.round(), [1, 0]);
        sessions.now += SOON;
        assert_eq!((sessions.round(), sessions.round()), (vec![0], vec![0]));
    }

    #[test]
    fn who_ask_for_much_have_equal_parts_by_cost() {
        let mut sessions = Sessions::new(&[1 << 40; 5]);
        for turn in 0..5000 {
            // A long payload cannot be divided.
            let most = if turn % 7 == 0 { 10 * TURN } else { TURN };
            if sessions.serve(Kind::Much, most).or_else(|| sessions.serve(Kind::Backlog, most)).is_none() {
                sessions.now += COMMAND;
            }
        }
        let costs: Vec<u64> = sessions.accounts.iter().map(|account| account.burst).collect();
        let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
        assert!(*least > BURST && most - least <= 20 * TURN, "{costs:?}");
    }

    #[test]
    fn who_was_alone_for_long_is_not_behind_those_who_come_then() {
        let mut sessions = Sessions::new(&[1 << 40]);
        (0..100_000).for_each(|_| drop(sessions.round()));
        sessions.accounts.resize(500, sessions.turns.joining());
        sessions.asked.resize(500, asked(1 << 40));
        for _ in 0..10 {
            let others = (0..).take_while(|_| !sessions.round().contains(&0)).count();
            assert!(others < 500, "{others}");
        }
    }

    #[test]
    fn who_had_nothing_to_ask_for_is_owed_nothing_of_that_time() {
        let mut sessions = Sessions::new(&[1 << 40, 0]);
        (0..100_000).for_each(|_| drop(sessions.round()));
        sessions.asked[1] = asked(1 << 40);
        while sessions.accounts[1].burst < BURST {
            sessions.round();
        }
        let turns = std::iter::repeat_with(|| sessions.round()).filter(|round| !round.is_empty()).take(1000);
        let late = turns.filter(|round| round.contains(&1)).count();
        assert!((499..=501).contains(&late), "{late}");
    }

    #[test]
    fn what_takes_long_in_one_piece_is_of_the_backlog_at_once() {
        let mut sessions = Sessions::new(&[2 * LONG, 2 * LONG]);
        sessions.asked[0].first = 2 * LONG;
        assert_eq!(sessions.serve(Kind::Much, TURN), Some(1));
        assert_eq!(sessions.serve(Kind::Backlog, TURN), Some(0));
    }
}
