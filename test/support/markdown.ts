/** A fenced block of a document: its language, what stands behind it, and its text. */
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
