//! An ONNX model run in plain arithmetic: what tests compare with other implementations.
//!
//! `evaluate MODEL FOLDER [--bind 1] [--shape NAME=1x3x224x224]` reads `input_0.npy` and so on, in the order of the model's inputs,
//! and writes `output_0.npy` and so on. With `--bind` the inputs from that place on are constants, as shapes and scales have to be.
//! `evaluate --operators` lists the operators that are read. A model that cannot be run ends it with status 2 and the problems on standard output.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};
use vp_onnx::{Model, Options};
use vp_tensors::{ElementType, Elements, Tensor, ValueType};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (mut paths, mut options, mut bound) = (Vec::new(), Options::default(), usize::MAX);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bind" => bound = arguments.next().ok_or("no number")?.parse()?,
            "--operators" => {
                for operator in vp_onnx::supported() {
                    let dot = if operator.domain.is_empty() { "" } else { "." };
                    println!(
                        "{}{dot}{}\t{}\t{}",
                        operator.domain, operator.name, operator.since, operator.limits
                    );
                }
                return Ok(ExitCode::SUCCESS);
            }
            "--shape" => {
                let text = arguments.next().ok_or("no shape")?;
                let (name, shape) = text.rsplit_once('=').ok_or("no =")?;
                let shape = shape.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
                options.shapes.insert(name.to_owned(), shape);
            }
            _ => paths.push(argument),
        }
    }
    let [model, folder] = &paths[..] else { return Err("MODEL and FOLDER are needed".into()) };
    let folder = Path::new(folder);
    let begin = Instant::now();
    let model = Model::load(Path::new(model))?;
    let read = begin.elapsed();
    let mut inputs = Vec::new();
    for (at, input) in model.inputs().iter().enumerate() {
        let path = folder.join(format!("input_{at}.npy"));
        let tensor = if path.exists() { array(&fs::read(path)?)? } else { continue };
        if !options.shapes.contains_key(&input.name) {
            options.shapes.insert(input.name.clone(), tensor.shape.clone());
        }
        if at >= bound {
            options.values.insert(input.name.clone(), Arc::new(tensor));
        } else {
            inputs.push(tensor);
        }
    }
    let begin = Instant::now();
    let imported = match model.graph(&options) {
        Ok(imported) => imported,
        Err(problems) => {
            println!("{problems}");
            return Ok(ExitCode::from(2));
        }
    };
    imported.notes.iter().for_each(|note| println!("{note}"));
    let made = begin.elapsed();
    let begin = Instant::now();
    let operations: u64 = imported.graph.nodes.iter().map(|node| imported.graph.operations(node)).sum();
    let outputs = if inputs.is_empty() && !imported.graph.inputs.is_empty() {
        Vec::new()
    } else {
        let graph = &imported.graph;
        let mut wrong = None;
        let outputs = graph.run_each(&inputs, &mut |id, tensor| {
            let value = graph.value(id);
            let expected = ValueType::new(value.element_type, value.shape.clone());
            if ValueType::of(tensor) != expected {
                wrong = Some(format!(
                    "`{}` is {}, but was inferred as {expected}",
                    value.name,
                    ValueType::of(tensor)
                ));
            }
        })?;
        if let Some(wrong) = wrong {
            return Err(wrong.into());
        }
        outputs
    };
    println!(
        "{} nodes, {:.3} GOP; read {read:.1?}, made {made:.1?}, run {:.1?}",
        imported.graph.nodes.len(),
        operations as f64 * 1e-9,
        begin.elapsed()
    );
    for (at, output) in outputs.iter().enumerate() {
        fs::write(folder.join(format!("output_{at}.npy")), bytes(output))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the tensor of a file of NumPy, in row-major order.
fn array(bytes: &[u8]) -> Result<Tensor, Box<dyn Error>> {
    let header_end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..header_end])?;
    let after = |key: &str| header.split(key).nth(1).ok_or("no key");
    let kind = after("'descr': '")?.split('\'').next().ok_or("no type")?;
    let sizes = after("'shape': (")?.split(')').next().ok_or("no shape")?;
    let shape = sizes.split(',').map(str::trim).filter(|size| !size.is_empty()).map(str::parse);
    let shape = shape.collect::<Result<Vec<usize>, _>>()?;
    let data = &bytes[header_end..];
    let elements = match kind {
        "<f4" => {
            Elements::Float(data.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
        }
        "<i8" => {
            Elements::Int64(data.as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect())
        }
        "<i4" => {
            Elements::Int32(data.as_chunks::<4>().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect())
        }
        "|i1" => Elements::Int8(data.iter().map(|&byte| byte as i8).collect()),
        "|u1" => Elements::Uint8(data.to_vec()),
        "|b1" => Elements::Bool(data.iter().map(|&byte| byte != 0).collect()),
        other => return Err(format!("type {other}").into()),
    };
    Ok(Tensor::of(shape, elements))
}

/// Returns the bytes of a file of NumPy.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let kind = match tensor.element_type() {
        ElementType::Float => "<f4",
        ElementType::Int64 => "<i8",
        ElementType::Int32 => "<i4",
        ElementType::Int8 => "|i1",
        ElementType::Uint8 => "|u1",
        ElementType::Bool => "|b1",
    };
    let shape: String = tensor.shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    match &tensor.elements {
        Elements::Float(elements) => bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes())),
        Elements::Int64(elements) => bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes())),
        Elements::Int32(elements) => bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes())),
        Elements::Int8(elements) => bytes.extend(elements.iter().map(|&element| element as u8)),
        Elements::Uint8(elements) => bytes.extend(elements),
        Elements::Bool(elements) => bytes.extend(elements.iter().map(|&element| u8::from(element))),
    }
    bytes
}
