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

const MAX_SUGGESTIONS = 5;
const MAX_NAME_LENGTH = 100;

/**
 * The end of an error message about an unknown name: ` Did you mean "family"?`, or an empty string if no name is close.
 *
 * A name that differs only in case, hyphens and underscores is the only suggestion. Otherwise close means few edits
 * relative to the length; at most five names, closest first, and none that is much farther than the closest.
 */
export function didYouMean(input: string, names: Iterable<string>): string {
  const near = suggestions(input, names);
  return near.length === 0 ? '' : ` Did you mean ${orList(near.map((name) => `"${name}"`))}?`;
}

/** The message about an option that does not exist. */
export function unknownOption(name: string, names: readonly string[]): string {
  return `There is no option called "${name}".${didYouMean(name, names)}`;
}

/** Whether two names differ in case, hyphens and underscores only. */
export function isSameName(one: string, other: string): boolean {
  // A query can have a name of any length, which is compared with each of hundreds.
  if (one.length > MAX_NAME_LENGTH || other.length > MAX_NAME_LENGTH) return one === other;
  return plain(one) === plain(other);
}

function suggestions(input: string, names: Iterable<string>): readonly string[] {
  if (input.length > MAX_NAME_LENGTH) return [];
  const wanted = plain(input);
  const threshold = Math.floor(wanted.length * 0.4) + 1;
  const found: { name: string; distance: number }[] = [];
  for (const name of names) {
    const known = plain(name);
    if (Math.abs(known.length - wanted.length) > threshold) continue;
    const distance = editDistance(wanted, known);
    if (distance <= threshold) found.push({ name, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  const farthest = found[0]?.distance === 0 ? 0 : (found[0]?.distance ?? 0) + 1;
  return found
    .filter(({ distance }) => distance <= farthest)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name);
}

/** An underscore at the beginning has a meaning of its own: `_sort`. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/(?<!^)[_-]/g, '');
}

/** Levenshtein distance, one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, above[column]! + 1, current[column - 1]! + 1));
    }
    above = current;
  }
  return above[b.length]!;
}
