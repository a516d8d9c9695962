//! The discrete-event kernel: time, processes, events, channels, transactions.
