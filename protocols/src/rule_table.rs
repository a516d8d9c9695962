//! The table of a protocol's rules: each defined once, with its name, its sentence and its source.

/// Defines the enum `Rule` of a module: a variant a line, `Variant: "name", "sentence", "source";`.
macro_rules! rule_table {
    ($(#[$about:meta])* $($rule:ident: $name:literal, $text:literal, $source:expr;)+) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $text] $rule,)+
        }

        impl Rule {
            /// All rules, in order of their names.
            pub const ALL: &'static [Self] = &[$(Self::$rule),+];

            /// The name that reports and people use. A name is never given to another rule.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name),+ }
            }

            /// Returns what is right, in one sentence.
            pub fn text(self) -> &'static str {
                match self { $(Self::$rule => $text),+ }
            }

            /// Returns the source of the rule.
            pub fn source(self) -> &'static str {
                match self { $(Self::$rule => $source),+ }
            }
        }

        impl std::fmt::Display for Rule {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}: {}", self.name(), self.text())
            }
        }
    };
}

pub(crate) use rule_table;
