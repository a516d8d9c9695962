//! Layers on whole devices: the bytes they leave, what they are told is wrong, and when they are done.

mod behaviour;
mod convolution;
mod counters;
mod data_movers;
mod enables;
mod int8_build;
mod lacks;
mod memory;
mod mutation;
mod orders;
mod performance;
mod random_floats;
mod random_layers;
mod robustness;
mod rtl_nv_full;
mod sdp_formats;
mod sequences;
mod special_numbers;
mod unaligned;
mod weight_room;
