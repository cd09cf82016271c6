//! The JSON Schema of the configuration says what the reader reads: each key, in both directions.

use std::collections::BTreeSet;

use headwater_router::Config;
use serde_json::Value;

/// What the reader expects where it finds an unknown key: the names in its error.
fn keys_of_reader(wrap: &dyn Fn(&str) -> String) -> BTreeSet<String> {
    let yaml = wrap("{no_such_key: 1}");
    let error = Config::parse(&yaml, "r.yaml").unwrap_err().to_string();
    let (_, expected) = error
        .split_once("unknown field `no_such_key`, expected ")
        .unwrap_or_else(|| panic!("{yaml}: {error}"));
    expected
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Compares an object of the schema with the reader, then whatever is inside of it.
fn compare(root: &Value, schema: &Value, wrap: &dyn Fn(&str) -> String, seen: &mut usize) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return compare(root, &root["$defs"][name], wrap, seen);
    }
    if schema["type"] == "array" {
        return compare(
            root,
            &schema["items"],
            &|inside| wrap(&format!("[{inside}]")),
            seen,
        );
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        compare(root, choice, wrap, seen);
    }
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    assert_eq!(schema["additionalProperties"], false);
    let keys: BTreeSet<String> = properties.keys().cloned().collect();
    assert_eq!(keys, keys_of_reader(wrap), "{}", wrap("…"));
    *seen += 1;
    for (key, inside) in properties {
        let nested = |text: &str| wrap(&format!("{{{key}: {text}}}"));
        compare(root, inside, &nested, seen);
    }
}

fn schema() -> Value {
    serde_json::from_str(include_str!(
        "../../../../docs/schemas/headwater-router.json"
    ))
    .unwrap()
}

#[test]
fn every_key_of_the_reader_is_in_the_schema_and_no_other() {
    let schema = schema();
    let mut seen = 0;
    compare(&schema, &schema, &str::to_owned, &mut seen);
    assert!(seen >= 15, "only {seen} objects were compared");
}

/// A default or a limit of the schema, put into a file.
fn accepts(key: &str, value: &Value) -> Result<Config, String> {
    let (group, key) = key.split_once('.').unwrap_or(("", key));
    let setting = if group.is_empty() {
        format!("{key}: {value}")
    } else {
        format!("{group}: {{{key}: {value}}}")
    };
    let yaml = format!("listen: 127.0.0.1:0\nworkers: [http://a:1]\n{setting}\n");
    Config::parse(&yaml, "r.yaml").map_err(|error| error.to_string())
}

#[test]
fn defaults_and_ranges_of_the_schema_are_those_of_the_reader() {
    let schema = schema();
    let plain = accepts("body_key", &Value::Bool(true)).unwrap();
    let mut checked = 0;
    let mut check = |path: &str, setting: &Value| {
        if let Some(default) = setting.get("default") {
            assert_eq!(
                accepts(path, default).as_ref(),
                Ok(&plain),
                "{path} {default}"
            );
            checked += 1;
        }
        // Pairs of settings of which one bounds the other cannot both be at their limits.
        if path.ends_with("watermark") || path.ends_with("hard_cap") || setting["type"] != "integer"
        {
            return;
        }
        let (least, most) = (&setting["minimum"], &setting["maximum"]);
        for limit in [least, most] {
            assert!(accepts(path, limit).is_ok(), "{path} {limit}");
        }
        let below = Value::from(least.as_i64().unwrap() - 1);
        assert!(accepts(path, &below).is_err(), "{path} {below}");
        let above = Value::from(most.as_i64().unwrap() + 1);
        assert!(accepts(path, &above).is_err(), "{path} {above}");
    };
    for (key, setting) in schema["properties"].as_object().unwrap() {
        let setting = match setting["$ref"].as_str() {
            Some(name) => &schema["$defs"][name.strip_prefix("#/$defs/").unwrap()],
            None => setting,
        };
        match setting["properties"].as_object() {
            // A trace needs a collector, a certificate its key.
            Some(_) if ["traces", "tls", "kv_events"].contains(&key.as_str()) => {}
            Some(inside) => {
                for (name, setting) in inside {
                    check(&format!("{key}.{name}"), setting);
                }
            }
            None if key == "threads" => {}
            None => check(key, setting),
        }
    }
    assert!(checked > 25, "{checked}");
}
