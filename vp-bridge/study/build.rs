//! Takes the script of plotly.js out of the crate `plotly`, packed as the page carries it: a third of its size.

use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    // It has MathJax too, which no chart here needs.
    let script = sources
        .split("<script type=\"text/javascript\">")
        .filter_map(|part| part.rsplit_once("</script>").map(|(script, _)| script))
        .find(|script| script.contains("plotly.js v"))
        .expect("the crate carries plotly.js");
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(script.as_bytes()).expect("memory");
    let text = data_encoding::BASE64.encode(&packed.finish().expect("memory"));
    let notice: Vec<&str> = script.lines().skip(1).take_while(|line| !line.contains("*/")).collect();
    let notice: Vec<&str> = notice.iter().map(|line| line.trim_start_matches(['*', ' '])).collect();
    let folder = std::env::var_os("OUT_DIR").expect("Cargo says where");
    let put = |name: &str, text: &str| std::fs::write(Path::new(&folder).join(name), text).expect("a file");
    put("plotly.js.gz.base64", &text);
    put("plotly.notice", &notice.join("\n"));
}
