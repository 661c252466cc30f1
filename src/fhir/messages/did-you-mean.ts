import { orList } from './quote.js';

const MAX_SUGGESTIONS = 5;
const MAX_NAME_LENGTH = 100;

/**
 * The end of an error message about an unknown name: ` Did you mean "family"?`, or an empty string if no name is close.
 *
 * Close means few edits relative to the length, as in graphql-js; at most five names, closest first.
 */
export function didYouMean(input: string, names: Iterable<string>): string {
  const near = suggestions(input, names);
  return near.length === 0 ? '' : ` Did you mean ${orList(near.map((name) => `"${name}"`))}?`;
}

function suggestions(input: string, names: Iterable<string>): readonly string[] {
  if (input.length > MAX_NAME_LENGTH) return [];
  const wanted = input.toLowerCase().replaceAll('_', '-');
  const threshold = Math.floor(wanted.length * 0.4) + 1;
  const found: { name: string; distance: number }[] = [];
  for (const name of names) {
    if (Math.abs(name.length - wanted.length) > threshold) continue;
    const distance = editDistance(wanted, name.toLowerCase().replaceAll('_', '-'));
    if (distance <= threshold) found.push({ name, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return found.slice(0, MAX_SUGGESTIONS).map(({ name }) => name);
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
