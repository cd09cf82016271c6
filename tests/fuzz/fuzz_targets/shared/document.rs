//! What holds for every document that was read, whatever it was made of.

use headwater_template::{Span, read};

/// Reads bytes under a name, and looks at every place that the document tells.
pub fn check(path: &str, bytes: &[u8]) {
    // What a template includes is the template itself, so that files bring each other.
    let load = |name: &str| (name.len() < 8).then(|| bytes.to_vec());
    let Ok(document) = read(path, bytes, &load) else {
        return;
    };
    let file = document.file.text();
    let in_file = |span: Span| assert!(file.get(span.start..span.end).is_some(), "{span:?}");
    for problem in &document.problems {
        in_file(problem.span);
    }
    for note in &document.notes {
        in_file(note.span);
    }
    for template in &document.templates {
        let source = template.source();
        let spans = template.pieces().iter().map(|piece| piece.span);
        let problems = template.problems().iter().map(|problem| problem.span);
        let comments = template.comments().iter().map(|comment| comment.span);
        let parts = template.parts().iter().map(|part| part.span);
        let texts = template.texts().iter().copied();
        for span in spans.chain(problems).chain(comments).chain(parts).chain(texts) {
            assert!(source.text().get(span.start..span.end).is_some(), "{span:?}");
            in_file(source.in_file(span));
            let _ = source.position(span.start);
            if let Some((place, _)) = source.edit(span, "x\ny") {
                in_file(place);
            }
        }
        for marker in template.markers() {
            in_file(marker.in_file);
        }
    }
}
