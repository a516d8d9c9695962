//! Networks, planned and run layer by layer.

mod built_in;
mod channelwise;
mod copies;
mod formats;
mod loadables;
mod outputs;
mod placement;
mod planned;
mod tiles;
mod weights;
