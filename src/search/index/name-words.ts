/** The maximum number of words of a name or address that a search finds by their beginnings, in any order. */
export const MAX_NAME_WORDS = 32;

/** The words of a name or address, as its index rows have them. */
export interface NameWords {
  /**
   * A text per distinct word, which begins with the word and continues with the others, each followed by a blank.
   *
   * PERF: so one row says whether all words of a search belong to the same name, and the index finds it by any of them.
   */
  readonly rotations: readonly string[];
  /** False if there are more words than the rotations have. */
  readonly complete: boolean;
}

/**
 * The words of a name or address, from its folded parts.
 *
 * `nameWords(['smith', 'alice marie'])` has the rotations `'smith alice marie '`, `'alice marie smith '` and
 * `'marie smith alice '`.
 */
export function nameWords(parts: readonly string[]): NameWords {
  const words = new Set<string>();
  let length = 0;
  for (const part of parts) {
    for (const word of part.split(' ')) {
      if (word === '' || words.has(word)) continue;
      length += word.length + 1;
      if (words.size === MAX_NAME_WORDS || length > MAX_LENGTH)
        return { rotations: rotationsOf(words), complete: false };
      words.add(word);
    }
  }
  return { rotations: rotationsOf(words), complete: true };
}

/** Of all words and their blanks, in UTF-16 code units. */
const MAX_LENGTH = 1_024;

function rotationsOf(words: ReadonlySet<string>): readonly string[] {
  const whole = [...words].map((word) => `${word} `).join('');
  let start = 0;
  return [...words].map((word) => {
    const rotation = whole.slice(start) + whole.slice(0, start);
    start += word.length + 1;
    return rotation;
  });
}
