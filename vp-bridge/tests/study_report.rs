//! A study's report in a real browser, without a network: what is in it, what can be seen, that nothing lies upon anything else.

#[path = "common/tools.rs"]
mod tools;

use image::RgbImage;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

const STUDY: &str = "name = 'limits'\nabout = 'What do outstanding reads hide?'\n[sweep]\nnetwork = 'digits'\n\
                     platform = ['nv_small', 'nv_large']\n\
                     'dbb0.read_latency' = { from = 10, to = 1000, points = 9, scale = 'log' }\n\
                     'dbb0.read_outstanding, dbb0.write_outstanding' = [2, 8, 64, 300]\n";

/// Words along the axis, long ones, and more curves than there are colours.
const WORDS: &str = "name = 'words'\n[report]\nx = 'dbb0.dram.standard'\n[sweep]\nnetwork = 'digits'\n\
                     'dbb0.dram.standard' = ['DDR4-1600K', 'DDR4-2400R', 'LPDDR4-3200', \
                     'a-standard-that-nobody-has-ever-heard-of']\n\
                     'dbb0.read_outstanding' = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]\n";

/// The report of a study in which some points fail, made once.
fn report() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    &MADE.get_or_init(|| made(STUDY, "72 points, 18 failed")).1
}

/// One with words.
fn words() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    &MADE.get_or_init(|| made(WORDS, "44 points, 11 failed")).1
}

fn made(study: &str, said: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("it.toml"), study).unwrap();
    let mut vp = Command::new(env!("CARGO_BIN_EXE_vp"));
    let vp = vp.current_dir(folder.path()).args(["study", "it.toml"]).output().unwrap();
    let shown = String::from_utf8_lossy(&vp.stdout);
    assert!(shown.contains(said), "{shown}");
    let path = folder.path().join("it.results/report.html");
    (folder, path)
}

/// A browser that reaches no network.
struct Browser {
    program: PathBuf,
    profile: TempDir,
}

impl Browser {
    /// Chromium, or else says that the test is skipped.
    fn find(test: &str) -> Option<Browser> {
        let program = tools::command(&["chromium", "chromium-browser", "google-chrome"]);
        if program.is_none() {
            tools::skipped(test, "no Chromium (Debian: apt-get install chromium fonts-dejavu-core)");
        }
        Some(Browser { program: program?, profile: tempfile::tempdir().unwrap() })
    }

    /// Looks at a page; gives what is printed.
    fn look(&self, page: &Path, arguments: &[&str]) -> String {
        let output = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .args(arguments)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screenshot(&self, page: &Path, arguments: &[&str]) -> RgbImage {
        let file = self.profile.path().join("seen.png");
        let screenshot = format!("--screenshot={}", file.display());
        self.look(page, &[&[screenshot.as_str(), "--window-size=1280,6000"], arguments].concat());
        image::open(&file).unwrap().to_rgb8()
    }
}

/// Runs a script in the page when it is loaded, and gives what it leaves in `found`.
fn probe(browser: &Browser, page: &Path, script: &str) -> Vec<String> {
    let page = fs::read_to_string(page).unwrap();
    let script = format!(
        "<script>addEventListener('load', () => {{ const found = []; {script}; \
         document.body.dataset.found = found.join('|') }})</script></body>"
    );
    let file = browser.profile.path().join("probed.html");
    fs::write(&file, page.replace("</body>", &script)).unwrap();
    let seen = browser.look(&file, &["--dump-dom", "--window-size=1280,2000"]);
    let (_, rest) = seen.split_once("data-found=\"").expect("the script ran");
    let (found, _) = rest.split_once('"').unwrap();
    found.split('|').filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

fn colours(image: &RgbImage) -> HashMap<[u8; 3], usize> {
    let mut colours = HashMap::new();
    image.pixels().for_each(|pixel| *colours.entry(pixel.0).or_default() += 1);
    colours
}

#[test]
fn every_section_has_its_pictures_and_their_tables() {
    let Some(browser) = Browser::find("every_section_has_its_pictures_and_their_tables") else { return };
    let script = "for (const section of document.querySelectorAll('section')) found.push([section.id, \
                  section.querySelectorAll('svg').length, section.querySelectorAll('figure table').length].join(' '))";
    let found = probe(&browser, report(), script);
    // Of each of the two platforms one, of the bounds two: by latency and by layer.
    let expected = [
        "failed 0 0",
        "throughput 2 2",
        "bounds 4 4",
        "roofline 2 2",
        "latency 2 2",
        "time 2 2",
        "points 0 0",
    ];
    assert_eq!(found, expected);
}

#[test]
fn words_stand_below_their_bars() {
    let Some(browser) = Browser::find("words_stand_below_their_bars") else { return };
    // Texts below the axis with the bars right above them: those whose middle is within the words' place.
    let script = "const svg = document.querySelector('#throughput svg'); \
         const bars = [...svg.querySelectorAll('rect')].map(it => it.getBoundingClientRect()).filter(it => it.height > 12 || it.top > 300); \
         for (const text of svg.querySelectorAll('text')) if (/DDR|heard/.test(text.textContent)) { \
           const edge = text.getBoundingClientRect(), middle = (edge.left + edge.right) / 2; \
           found.push([text.textContent.trim(), edge.height > edge.width, \
             bars.some(bar => bar.left < middle && middle < bar.right && bar.bottom < edge.top)].join(' ')) }";
    // What failed has its place, and nothing in it.
    let expected = [
        "DDR4-1600K true true",
        "DDR4-2400R true true",
        "LPDDR4-3200 true true",
        "…obody-has-ever-heard-of true false",
    ];
    assert_eq!(probe(&browser, words(), script), expected);
}

#[test]
fn no_text_lies_upon_another_or_leaves_its_picture() {
    let Some(browser) = Browser::find("no_text_lies_upon_another_or_leaves_its_picture") else { return };
    let script = "for (const svg of document.querySelectorAll('svg')) { \
         const edge = svg.getBoundingClientRect(); \
         const texts = [...svg.querySelectorAll('text')].map(it => [it.textContent.trim(), it.getBoundingClientRect()]); \
         texts.forEach(([text, a], at) => { \
           if (a.left < edge.left - 1 || a.right > edge.right + 1 || a.top < edge.top - 1 || a.bottom > edge.bottom + 1) \
             found.push('outside: ' + text); \
           for (const [other, b] of texts.slice(at + 1)) \
             if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && \
                 Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) found.push(text + ' on ' + other) }) }";
    assert_eq!(probe(&browser, report(), script), Vec::<String>::new());
    assert_eq!(probe(&browser, words(), script), Vec::<String>::new());
}

#[test]
fn nothing_is_fetched_and_nothing_is_wider_than_the_page() {
    let Some(browser) = Browser::find("nothing_is_fetched_and_nothing_is_wider_than_the_page") else {
        return;
    };
    let script = "found.push(performance.getEntriesByType('resource').length, \
                  document.documentElement.scrollWidth > innerWidth)";
    assert_eq!(probe(&browser, report(), script), ["0", "false"]);
}

#[test]
fn it_is_seen_in_light_and_in_dark() {
    let Some(browser) = Browser::find("it_is_seen_in_light_and_in_dark") else { return };
    let paper = |dress: &[&str]| {
        let colours = colours(&browser.screenshot(report(), dress));
        // Curves, bars, texts and their rims.
        assert!(colours.len() > 200, "{} colours", colours.len());
        colours.into_iter().max_by_key(|(_, count)| *count).unwrap().0
    };
    let light = paper(&[]);
    let dark = paper(&["--force-dark-mode"]);
    assert!(
        light.iter().all(|part| *part > 0xe0) && dark.iter().all(|part| *part < 0x30),
        "{light:?} {dark:?}"
    );
}

#[test]
fn it_can_be_printed() {
    let Some(browser) = Browser::find("it_can_be_printed") else { return };
    let file = browser.profile.path().join("printed.pdf");
    browser.look(report(), &[&format!("--print-to-pdf={}", file.display())]);
    let printed = fs::read(file).unwrap();
    let pages = printed.windows(11).filter(|part| part == b"/Type /Page").count();
    assert!(printed.starts_with(b"%PDF") && pages > 3, "{pages} pages");
}
