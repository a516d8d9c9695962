//! Memories by themselves: what a DRAM is told is legal by its standard.

mod figures;
mod legality;
mod mutations;
