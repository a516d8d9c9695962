//! A study's report in a real browser, without a network: what is in it, what can be seen, that nothing lies upon anything else.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::collections::HashMap;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
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
    let vp = vp.current_dir(folder.path()).args(["study", "it.toml", "--keep-going"]).ended();
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
    /// Time in the page is virtual, and jumps to the next timer when the page has nothing to do; what works beside it, such as the
    /// unpacking of its scripts, takes none. So scripts that wait look often, and may do so for very long.
    fn look(&self, page: &Path, arguments: &[&str]) -> String {
        let output = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=1000000"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .args(arguments)
            .arg(format!("file://{}", page.display()))
            .ended();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The pixels of a page as it is seen: red, green and blue.
    fn screenshot(&self, page: &Path, arguments: &[&str]) -> Vec<[u8; 3]> {
        let file = self.profile.path().join("seen.png");
        let screenshot = format!("--screenshot={}", file.display());
        self.look(page, &[&[screenshot.as_str(), "--window-size=1280,6000"], arguments].concat());
        let mut reader =
            png::Decoder::new(BufReader::new(fs::File::open(&file).unwrap())).read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut samples).unwrap();
        let pixels = samples[..frame.buffer_size()].chunks_exact(frame.color_type.samples());
        pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
}

/// Runs a script in the page when it is loaded, and gives what it leaves in `found`. It may wait; with `scripts` the page's own have
/// begun, and else they are taken out.
fn probe_with(browser: &Browser, page: &Path, scripts: bool, script: &str) -> Vec<String> {
    let mut page = fs::read_to_string(page).unwrap();
    if !scripts {
        page = without_scripts(&page);
    }
    let begun = if scripts {
        "for (let at = 0; at < 40000 && !document.documentElement.dataset.charts; at++) await pause(20);"
    } else {
        ""
    };
    let script = format!(
        "<script>addEventListener('load', async () => {{ const found = []; \
         const pause = time => new Promise(done => setTimeout(done, time)); {begun} {script}; \
         document.body.dataset.found = found.join('|') }})</script></body>"
    );
    let file = browser.profile.path().join("probed.html");
    fs::write(&file, page.replace("</body>", &script)).unwrap();
    let seen = browser.look(&file, &["--dump-dom", "--window-size=1280,2000"]);
    let (_, rest) = seen.split_once("data-found=\"").expect("the script ran");
    let (found, _) = rest.split_once('"').unwrap();
    found.split('|').filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Runs a script as [`probe_with`] does, in a page without scripts: what is to be seen there, and on paper.
fn probe(browser: &Browser, page: &Path, script: &str) -> Vec<String> {
    probe_with(browser, page, false, script)
}

/// A page as somebody sees it whose browser runs no scripts.
fn without_scripts(page: &str) -> String {
    let parts = page.split("<script").enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once("</script>").expect("scripts end").1,
    });
    parts.collect()
}

/// Brings the chart of a section into sight and waits for it: `plot` is it then.
fn with_plot(section: &str, script: &str) -> String {
    format!(
        "const figure = document.querySelector('#{section} figure'); figure.scrollIntoView(); \
         for (let at = 0; at < 40000 && !figure.querySelector('.js-plotly-plot .plot-container'); at++) await pause(20); \
         const plot = figure.querySelector('.js-plotly-plot'); await pause(100); {script}"
    )
}

fn colours(pixels: &[[u8; 3]]) -> HashMap<[u8; 3], usize> {
    let mut colours = HashMap::new();
    pixels.iter().for_each(|pixel| *colours.entry(*pixel).or_default() += 1);
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
        "facts 0 0",
        "failed 0 0",
        "throughput 2 2",
        "bounds 4 4",
        "roofline 2 2",
        // All reads took the same: that is a number, and no picture.
        "latency 0 0",
        "time 2 2",
        "points 0 0",
    ];
    assert_eq!(found, expected);
    // Behind a DRAM they did not.
    assert!(probe(&browser, words(), script).contains(&"latency 1 1".to_owned()));
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

#[test]
fn a_point_under_the_pointer_says_what_it_is() {
    let Some(browser) = Browser::find("a_point_under_the_pointer_says_what_it_is") else { return };
    let said = |section: &str, trace: usize| {
        let script = format!(
            "Plotly.Fx.hover(plot, [{{ curveNumber: {trace}, pointNumber: 0 }}]); await pause(100); \
             found.push([...plot.querySelectorAll('.hoverlayer .hovertext text')].map(it => it.textContent).join(' '))"
        );
        probe_with(&browser, report(), true, &with_plot(section, &script)).join(" ")
    };
    let frames = said("throughput", 0);
    for part in ["10 cycles", "frames/s", "point 1", "of the ideal", "outstanding at most 2"] {
        assert!(frames.contains(part), "no `{part}` in {frames}");
    }
    let bounds = said("bounds", 1);
    assert!(bounds.contains("% of the time") && bounds.contains("read latency"), "{bounds}");
    let time = said("time", 0);
    assert!(time.contains("conv1") && time.contains("from "), "{time}");
}

#[test]
fn a_series_is_switched_off_and_on_in_the_legend() {
    let Some(browser) = Browser::find("a_series_is_switched_off_and_on_in_the_legend") else { return };
    let script = "const shown = () => plot.querySelectorAll('.scatterlayer .trace').length; \
         const click = async () => { const toggle = plot.querySelector('.legendtoggle'); \
           for (const kind of ['mousedown', 'mouseup']) toggle.dispatchEvent(new MouseEvent(kind, { bubbles: true })); \
           await pause(700); }; \
         const before = shown(); await click(); found.push(before - shown()); \
         found.push(plot.data[0].visible); await click(); found.push(before - shown())";
    let found = probe_with(&browser, report(), true, &with_plot("throughput", script));
    assert!(found[0].parse::<usize>().unwrap() >= 1, "{found:?}");
    assert_eq!(found[1..], ["legendonly", "0"]);
}

#[test]
fn a_chart_is_drawn_closer_and_whole_again() {
    let Some(browser) = Browser::find("a_chart_is_drawn_closer_and_whole_again") else { return };
    let script = "const range = () => plot._fullLayout.yaxis.range[1]; const whole = range(); \
         await Plotly.relayout(plot, { 'yaxis.range': [0, whole / 2] }); found.push(whole / range()); \
         await Plotly.relayout(plot, { 'yaxis.autorange': true }); found.push(whole / range())";
    assert_eq!(probe_with(&browser, report(), true, &with_plot("throughput", script)), ["2", "1"]);
}

#[test]
fn tables_sort_and_filter() {
    let Some(browser) = Browser::find("tables_sort_and_filter") else { return };
    let script = "const table = document.querySelector('#points table'); \
         const numbers = () => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[0].textContent); \
         const header = [...table.tHead.rows[0].cells].find(it => it.textContent === 'frames/s'); \
         const frames = () => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[header.cellIndex]?.textContent.replace(/\\u202f/g, ''))) \
           .filter(it => !isNaN(it)); \
         const sorted = sign => frames().every((it, at, all) => !at || sign * (it - all[at - 1]) >= 0); \
         found.push(numbers().length, sorted(1)); header.querySelector('button').click(); found.push(sorted(1), header.ariaSort); \
         header.querySelector('button').click(); found.push(sorted(-1)); header.querySelector('button').click(); found.push(numbers()[0]); \
         const filter = document.querySelector('#points .filter input'); filter.value = 'nv_large transactions'; \
         filter.dispatchEvent(new Event('input')); found.push(numbers().length, document.querySelector('#points .filter small').textContent.trim()); \
         filter.value = ''; filter.dispatchEvent(new Event('input')); found.push(numbers().length)";
    let found = probe_with(&browser, report(), true, script);
    let expected = ["72", "false", "true", "ascending", "true", "1", "9", "9 of 72 rows", "72"];
    assert_eq!(found, expected);
}

#[test]
fn charts_take_the_place_of_pictures_on_a_screen_and_nothing_is_fetched() {
    let name = "charts_take_the_place_of_pictures_on_a_screen_and_nothing_is_fetched";
    let Some(browser) = Browser::find(name) else { return };
    let script = "found.push(getComputedStyle(figure.querySelector('.drawn')).display, plot.clientHeight > 200, \
         performance.getEntriesByType('resource').length, document.documentElement.scrollWidth > innerWidth)";
    let found = probe_with(&browser, report(), true, &with_plot("roofline", script));
    assert_eq!(found, ["none", "true", "0", "false"]);
}

#[test]
fn a_phone_shows_nothing_wider_than_itself() {
    let Some(browser) = Browser::find("a_phone_shows_nothing_wider_than_itself") else { return };
    // A window is never as narrow as a phone; a frame is.
    let page = fs::read_to_string(report()).unwrap();
    let inner = browser.profile.path().join("inner.html");
    let told = "<script>addEventListener('load', async () => { \
         const charts = () => document.querySelectorAll('.js-plotly-plot .plot-container').length; \
         document.querySelector('#roofline figure').scrollIntoView(); \
         for (let at = 0; at < 40000 && !charts(); at++) await new Promise(done => setTimeout(done, 20)); \
         parent.postMessage([document.documentElement.scrollWidth, charts()], '*') })</script></body>";
    fs::write(&inner, page.replace("</body>", told)).unwrap();
    let outer = browser.profile.path().join("outer.html");
    let frame = "<body><iframe src='inner.html' style='width:390px;height:800px;border:0'></iframe><script>\
         addEventListener('message', it => document.body.dataset.found = it.data.join(' '))</script></body>";
    fs::write(&outer, frame).unwrap();
    let seen =
        browser.look(&outer, &["--dump-dom", "--allow-file-access-from-files", "--window-size=800,900"]);
    let (_, rest) = seen.split_once("data-found=\"").expect("the page said it");
    let (found, _) = rest.split_once('"').unwrap();
    let [wide, charts] = found.split(' ').map(|it| it.parse::<usize>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{found}")
    };
    assert!(wide <= 390 && charts > 0, "{wide} pixels, {charts} charts");
}

#[test]
fn the_page_is_smaller_than_six_megabytes_and_has_the_licence_of_what_it_carries() {
    let page = fs::read_to_string(report()).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert!(page.contains("Plotly, Inc.") && page.contains("WITHOUT WARRANTY OF ANY KIND"));
    // And it leads with what each chart says.
    let answers = page.split_once("class=\"answers\"").unwrap().1.split_once("</ul>").unwrap().0;
    assert_eq!(answers.matches("<li>").count(), 2, "{answers}");
    assert!(answers.contains("digits on nv_large keeps"), "{answers}");
}
