//! The standards' tables: figures in nanoseconds and clocks as JEDEC's documents give them, each file one standard.
//!
//! Where the vendor chooses (latencies of HBM and GDDR6, core timings of HBM) the table has the example that its text names.

mod ddr4;
mod ddr5;
mod gddr6;
mod hbm2;
mod hbm3;
mod lpddr4;
mod lpddr5;

use super::sheet::Sheet;

/// Names of all grades, standard by standard.
pub const GRADES: [(&str, &[&str]); 7] = [
    ("DDR4", ddr4::GRADES),
    ("DDR5", ddr5::GRADES),
    ("LPDDR4", lpddr4::GRADES),
    ("LPDDR5", lpddr5::GRADES),
    ("HBM2", hbm2::GRADES),
    ("HBM3", hbm3::GRADES),
    ("GDDR6", gddr6::GRADES),
];

/// Returns the sheet of a grade. Where refresh goes bank by bank a device may be in another mode.
pub fn sheet(grade: &str, bank_by_bank: bool) -> Option<Sheet> {
    let (standard, _) = GRADES.iter().find(|(_, grades)| grades.contains(&grade))?;
    match *standard {
        "DDR4" => ddr4::sheet(grade),
        "DDR5" => ddr5::sheet(grade, bank_by_bank),
        "LPDDR4" => lpddr4::sheet(grade),
        "LPDDR5" => lpddr5::sheet(grade),
        "HBM2" => hbm2::sheet(grade),
        "HBM3" => hbm3::sheet(grade),
        _ => gddr6::sheet(grade),
    }
}
