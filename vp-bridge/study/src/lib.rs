//! Studies: a question about a platform, asked at many points, and answered in a report.
//!
//! A [`Study`] is read from a file ([`file`](Study::load)): products of lists and ranges ([`Product`]). Each [`Point`] is
//! resolved to a platform and a network, and run ([`Bench`]) on all cores ([`run()`]); what came of it is kept as soon as it is there
//! ([`Store`]), so that nothing is lost or done twice. From what is kept follow tables ([`table`]) and one page with pictures
//! ([`report`]). Everything but how long it took follows from the file: the same study gives the same numbers.
//!
//! [`rtl`] holds the model beside measurements of the vendor's RTL.

mod area;
mod bench;
mod checks;
mod command;
mod difference;
pub mod energy;
mod explore;
mod file;
mod ideal;
mod input_difference;
mod inputs;
mod knee;
mod layout;
mod measured;
mod memories;
mod model;
mod named_once;
mod networks;
mod places;
mod point;
pub mod published;
mod quantity;
pub mod report;
mod result_files;
mod results;
pub mod rtl;
mod run;
mod search;
mod store;
mod sweep;
pub mod table;
mod watch;
mod wording;

pub use area::{Area, front};
pub use bench::{Bench, Job, OnHost, Open, Outside};
pub use checks::{WrongValue, impossible_goals, wrong_values};
pub use difference::{Cause, Difference, LayerDifference, PointDifference, RunFigures, change};
pub use explore::Finding;
pub use file::{Report, Study};
pub use ideal::{Ideal, Trend};
pub use input_difference::{InputDifference, network_names};
pub use inputs::Inputs;
pub use knee::{Knee, falls_below, first_at};
pub use layout::{Curve, IdealPoint, Layout, Panel};
pub use measured::{Direction, Histogram, Levels, Machine, Measured, MeasuredLayer, Outcome, Port, Timeline};
pub use memories::{MemoryCurves, StudyMemories};
pub use networks::{NetworkFacts, WeightSource};
pub use places::{KeyLocation, Places};
pub use point::{Chosen, DEFAULT_PLATFORM, Point};
pub use result_files::write;
pub use results::{Row, curve, curve_points, ends, rows};
pub use run::{Planned, Shard, missing, none_runs, plan, run};
pub use search::{Goal, Known, Search, SearchEnd, SearchExtreme};
pub use store::{Differs, Finished, Store, StoreError, of_program, program};
pub use sweep::{Assignment, Product, SweepError};
pub use wording::rounded;
