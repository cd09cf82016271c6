//! Images and sound in the form that an endpoint takes.

use serde_json::Value;

use super::{
    Api, BodyError, MediaProblem,
    ordered::{Ordered, object, raw, text},
    outline::Block,
    tool::marker_in,
};
use crate::{
    Media,
    json::{Style, from_value},
};

/// What is known of a medium.
pub(super) enum Shape<'a> {
    /// Base64 of a type such as `image/png`.
    Data { kind: &'a str, base64: &'a str },
    /// An image somewhere else.
    Address(&'a str),
    /// Base64 of sound in a format such as `wav`.
    Sound { format: &'a str, base64: &'a str },
    /// A form of the caller's.
    Own(Ordered<'a>),
}

/// The part as the caller gave it, keys sorted: the form of chat completions.
pub(super) fn as_given<'a>(
    api: Api,
    block: &Block<'_>,
    media: &'a Media,
) -> Result<Ordered<'a>, BodyError> {
    own(&media.body).map_err(|problem| refuse(api, block, problem))
}

/// The part in a form that can be turned into others.
pub(super) fn shape<'a>(
    api: Api,
    block: &Block<'_>,
    media: &'a Media,
) -> Result<Shape<'a>, BodyError> {
    read(&media.body).map_err(|problem| refuse(api, block, problem))
}

pub(super) fn refuse(api: Api, block: &Block<'_>, problem: MediaProblem) -> BodyError {
    let segment = block.segment.clone();
    BodyError::Media {
        api,
        segment,
        problem,
    }
}

/// `{"type": …}` in the words of the responses endpoint.
pub(super) fn responses<'a>(
    api: Api,
    block: &Block<'_>,
    media: &'a Media,
) -> Result<Ordered<'a>, BodyError> {
    let image = media
        .body
        .get("image_url")
        .filter(|_| is(media, "image_url"));
    let Some(url) = image.and_then(|image| image.get("url")?.as_str()) else {
        return as_given(api, block, media);
    };
    let part = object([("type", text("input_image")), ("image_url", text(url))]);
    let detail = image.and_then(|image| image.get("detail")?.as_str());
    Ok(part.with_some(detail.map(|detail| ("detail".into(), text(detail)))))
}

fn is(media: &Media, kind: &str) -> bool {
    media.body.get("type").and_then(Value::as_str) == Some(kind)
}

fn own(body: &Value) -> Result<Ordered<'_>, MediaProblem> {
    let keys = body.as_object().into_iter().flatten();
    if let Some(marker) = marker_in(keys.map(|(key, _)| key.as_str())) {
        return Err(MediaProblem::Marker(marker.to_owned()));
    }
    let json = from_value(body, Style::Compact).map_err(MediaProblem::Value)?;
    Ok(raw(json))
}

fn read(body: &Value) -> Result<Shape<'_>, MediaProblem> {
    let part = |key: &str, inner: &str| body.get(key)?.get(inner)?.as_str();
    match body.get("type").and_then(Value::as_str) {
        Some("image_url") => {
            only(body, "image_url", &["url"])?;
            let url = part("image_url", "url").ok_or(MediaProblem::Data)?;
            let Some(data) = url.strip_prefix("data:") else {
                return Ok(Shape::Address(url));
            };
            let (head, base64) = data.split_once(',').ok_or(MediaProblem::Data)?;
            let kind = head.strip_suffix(";base64").ok_or(MediaProblem::Data)?;
            if !kind.contains('/') {
                return Err(MediaProblem::Data);
            }
            Ok(Shape::Data { kind, base64 })
        }
        Some("input_audio") => {
            only(body, "input_audio", &["data", "format"])?;
            let base64 = part("input_audio", "data").ok_or(MediaProblem::Data)?;
            let format = part("input_audio", "format").ok_or(MediaProblem::Data)?;
            Ok(Shape::Sound { format, base64 })
        }
        _ => own(body).map(Shape::Own),
    }
}

/// Refuses what would be lost in another form.
fn only(body: &Value, key: &str, known: &[&str]) -> Result<(), MediaProblem> {
    let keys = |value: Option<&Value>| -> Vec<String> {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        members.map(|(key, _)| key.clone()).collect()
    };
    let outer = keys(Some(body));
    if let Some(marker) = marker_in(outer.iter().map(String::as_str)) {
        return Err(MediaProblem::Marker(marker.to_owned()));
    }
    let outer = outer.into_iter().filter(|it| it != "type" && it != key);
    let inner = keys(body.get(key)).into_iter();
    let mut lost = outer.chain(inner.filter(|it| !known.contains(&it.as_str())));
    lost.next()
        .map_or(Ok(()), |it| Err(MediaProblem::Member(it)))
}
