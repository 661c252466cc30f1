/** Maximum length of quoted input in a message, in characters. */
const MAX_LENGTH = 40;

/** Quotes caller input for an error message: in quotes, control characters escaped, cut to 40 characters. */
export function quote(text: string, maxLength = MAX_LENGTH): string {
  return JSON.stringify(shorten(text, maxLength));
}

/** Cuts text to a length in characters and marks the cut with an ellipsis. */
export function shorten(text: string, maxLength = MAX_LENGTH): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** The suffix of a message that reports the first of several problems: ` (and 2 more)`; empty for a single one. */
export function andMore(problems: { readonly length: number }, of = ''): string {
  return problems.length < 2 ? '' : ` (and ${problems.length - 1} more${of})`;
}

/** `a`, `a or b`, `a, b or c`. */
export function orList(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)!}`;
}
