//! Job files: a graph, what it is given, and what must come out.

use std::path::Path;

use serde::Deserialize;

use super::model::Model;
use vp_models::bounded_file::{read_at_most, read_text_at_most};
use vp_models::fpga_ai_suite::graph::Graph;
use vp_models::toml_text::{TextError, TomlText};

/// A model with inputs for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The model.
    pub model: Model,
    /// Inputs of the model.
    pub inputs: Vec<Vec<i8>>,
    /// Outputs that must come out, if they are known.
    pub outputs: Option<Vec<Vec<i8>>>,
    /// Index of the output that must be the largest one, for each input, if that is known.
    pub labels: Option<Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    graph: String,
    inputs: String,
    outputs: Option<String>,
    labels: Option<String>,
}

impl Job {
    /// The keys of a job file; one of them makes a file a job.
    pub const KEYS: [&str; 4] = ["graph", "inputs", "outputs", "labels"];

    /// Reads a job file. A graph file is a job without inputs.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn load(path: &Path) -> Result<Job, TextError> {
        let most = Graph::MOST_FILTERS.into();
        let text = read_text_at_most(path, most).map_err(|error| TextError::unreadable(path, error))?;
        let text = TomlText::parse(&text).map_err(|error| error.in_file(path))?;
        // One of its keys makes it a job, lest a mistake in another makes it a graph.
        if Job::KEYS.iter().all(|key| !text.table().contains_key(*key)) {
            let model = Model::load(path)?;
            return Ok(Job { model, inputs: Vec::new(), outputs: None, labels: None });
        }
        let wrong = |key: &str, what: String| text.wrong(key, what).in_file(path);
        let Written { graph, inputs, outputs, labels } = text.read().map_err(|error| error.in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let model = Model::load(&folder.join(graph))?;
        let read = |key: &str, name: &str| {
            let path = folder.join(name);
            let cannot = |error| wrong(key, format!("cannot read {}: {error}", path.display()));
            read_at_most(&path, most).map_err(cannot)
        };
        let (input, output) = (model.graph.input().elements(), model.graph.output_shape().elements());
        let inputs = tensors(&inputs, &read("inputs", &inputs)?, input)?;
        let outputs = match outputs {
            Some(name) => Some(tensors(&name, &read("outputs", &name)?, output)?),
            None => None,
        };
        let labels = labels.as_deref().map(|name| read("labels", name)).transpose()?;
        let counts = [outputs.as_ref().map(Vec::len), labels.as_ref().map(Vec::len)];
        if let Some(count) = counts.into_iter().flatten().find(|&count| count != inputs.len()) {
            let many = inputs.len();
            return Err(wrong("inputs", format!("{many} inputs, and {count} answers")));
        }
        Ok(Job { model, inputs, outputs, labels })
    }

    /// Adds the inputs that a file holds, one behind the other.
    ///
    /// # Errors
    /// When its length is none of whole inputs.
    pub fn add_inputs(&mut self, name: &str, bytes: &[u8]) -> Result<(), TextError> {
        self.inputs.extend(tensors(name, bytes, self.model.graph.input().elements())?);
        Ok(())
    }
}

fn tensors(name: &str, bytes: &[u8], elements: u64) -> Result<Vec<Vec<i8>>, TextError> {
    let elements = elements as usize;
    if bytes.is_empty() || !bytes.len().is_multiple_of(elements) {
        let length = bytes.len();
        return Err(TextError::whole(format!("{name}: {length} bytes are no tensors of {elements}")));
    }
    Ok(bytes.chunks_exact(elements).map(|one| one.iter().map(|byte| *byte as i8).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_with_its_graph() {
        let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../networks/digits");
        let job = Job::load(&digits.join("job.toml")).unwrap();
        assert_eq!((job.inputs.len(), job.labels.as_ref().map(Vec::len)), (360, Some(360)));
        let graph = Job::load(&digits.join("network.toml")).unwrap();
        assert_eq!((graph.model, graph.inputs.len()), (job.model, 0));
    }

    #[test]
    fn answers_are_as_many_as_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
        put("g.toml", b"name = \"g\"\ninput = { height = 1, width = 1, channels = 2 }\n[[layer]]\nname = \"a\"\nkind = \"activation\"\nfunction = \"relu\"\n");
        put("in", &[1, 2, 3, 4]);
        put("out", &[1, 2]);
        put("job.toml", b"graph = \"g.toml\"\ninputs = \"in\"\noutputs = \"out\"\n");
        let refusal = |name: &str| Job::load(&folder.path().join(name)).unwrap_err().to_string();
        assert!(refusal("job.toml").ends_with("2 inputs, and 1 answers"));
        put("wrong.toml", b"grpah = \"g.toml\"\ninputs = \"in\"\n");
        assert!(refusal("wrong.toml").contains("unknown field `grpah`, expected one of `graph`"));
        put("odd.toml", b"graph = \"g.toml\"\ninputs = \"g.toml\"\n");
        put("in", &[1, 2, 3]);
        assert!(refusal("job.toml").ends_with("3 bytes are no tensors of 2"));
        assert!(refusal("none.toml").contains("cannot read"));
    }
}
