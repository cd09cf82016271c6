//! The report as text for people. It has no word of the prompt in it.

use std::fmt::{self, Display, Formatter};

use super::{Border, Report, Risk, RungReport};
use crate::Padding;

/// Segments that are listed one by one; of a long history the newest are what changes.
const LISTED: usize = 24;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let block = self.block.get();
        let rest = self.tokens - self.blocks * block;
        writeln!(
            f,
            "tokens     {}: {} whole blocks of {block} and {rest} more",
            self.tokens, self.blocks
        )?;
        self.write_segments(f)?;
        self.write_borders(f)?;
        self.write_rungs(f)?;
        writeln!(
            f,
            "reusable   {} tokens by the same template, {} by the same tenant, {} by the next turn",
            self.reuse.same_template_tokens,
            self.reuse.same_tenant_tokens,
            self.reuse.same_conversation_tokens
        )?;
        self.paddings
            .iter()
            .try_for_each(|padding| writeln!(f, "alignment  {padding}"))?;
        self.risks
            .iter()
            .try_for_each(|risk| writeln!(f, "risk       {risk}"))
    }
}

impl Report {
    fn write_segments(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "segments   {:>9} {:>9} {:>9}",
            "tokens", "bytes", "changes"
        )?;
        let skipped = self.segments.len().saturating_sub(LISTED);
        // The head and the end: what lies between has been sent before.
        let head = if skipped == 0 { LISTED } else { LISTED / 2 };
        for (place, segment) in self.segments.iter().enumerate() {
            if place == head && skipped > 0 {
                writeln!(f, "           … {skipped} more segments")?;
            }
            if (head..head + skipped).contains(&place) && skipped > 0 {
                continue;
            }
            writeln!(
                f,
                "           {:>9} {:>9} {:>9}  {}",
                segment.tokens, segment.bytes, segment.changes, segment.segment
            )?;
        }
        Ok(())
    }

    fn write_borders(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "borders    {:>9} {:>9} {:>9}",
            "tokens", "stable", "aligned"
        )?;
        self.borders.iter().try_for_each(|border| {
            writeln!(
                f,
                "           {:>9} {:>9} {:>9}  {}",
                border.tokens, border.stable_tokens, border.aligned_tokens, border.border
            )
        })
    }

    fn write_rungs(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.rungs.is_empty() {
            return writeln!(f, "rungs      none, shorter than a block");
        }
        writeln!(f, "rungs      {:>9} {:>9}", "blocks", "tokens")?;
        self.rungs.iter().try_for_each(|rung| {
            let RungReport {
                blocks,
                tokens,
                hash,
                stands_for,
            } = rung;
            write!(f, "           {blocks:>9} {tokens:>9}  {hash}  ")?;
            list(f, stands_for)
        })
    }
}

fn list(f: &mut Formatter<'_>, borders: &[Border]) -> fmt::Result {
    for (place, border) in borders.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        write!(f, "{comma}{border}")?;
    }
    writeln!(f)
}

impl Display for Padding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            segment,
            stable_tokens,
            newlines,
            aligned_tokens,
        } = self;
        match newlines {
            Some(0) => write!(
                f,
                "{segment} ends on a block border, {stable_tokens} tokens"
            ),
            Some(count) => write!(
                f,
                "{segment} has {count} newlines more and goes from {stable_tokens} to \
                 {aligned_tokens} tokens"
            ),
            None => write!(
                f,
                "{segment} stays at {stable_tokens} tokens: no number of newlines reaches a block \
                 border in this vocabulary"
            ),
        }
    }
}

impl Display for Risk {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}: {}",
            self.segment,
            self.position,
            self.kind.as_str()
        )?;
        match (self.unstable_tokens, self.lost_tokens) {
            (Some(unstable), Some(lost)) => write!(
                f,
                ", {unstable} tokens can change and {lost} are not reused because of it"
            )?,
            _ => write!(f, ", up to a block is not reused because of it")?,
        }
        write!(f, "; {}", self.kind.advice())
    }
}
