//! Files that hold prompts as strings: JSON and YAML, read as one kind of value with places.

mod json;
mod json_string;
mod value;
mod yaml;
mod yaml_block;
mod yaml_flow;

pub(crate) use self::{
    json::read_json,
    value::{Data, Text, Value},
    yaml::read_yaml,
};

#[cfg(test)]
mod tests;

/// How deep values may nest.
const MAX_DEPTH: usize = 96;
