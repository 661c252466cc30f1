/** A fenced block of a document: its language, the rest of its first line, and its text. */
export interface Block {
  readonly language: string;
  readonly info: string;
  readonly text: string;
}

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+) ?(.*)\n([^]*?)^```$/gm)].map(([, language, info, text]) => ({
    language: language!,
    info: info!,
    text: text!,
  }));
}

/** The anchors of a document's headings, in the form of GitHub. */
export function anchorsOf(markdown: string): string[] {
  const seen = new Map<string, number>();
  return [...markdown.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
    const anchor = heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}
