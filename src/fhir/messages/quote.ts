const MAX_QUOTED_LENGTH = 40;

/** The caller's own text for an error message: in quotes, control characters escaped, cut to 40 characters. */
export function quote(text: string): string {
  const cut = text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH - 1)}…` : text;
  return JSON.stringify(cut);
}

/** `a`, `a or b`, `a, b or c`. */
export function orList(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)!}`;
}
