import { expect, test } from 'vitest';
import { Sql, sql, type SqlValue } from '../../src/stores/sql/sql.js';

/** What the template below makes, joined by hand. */
function joined(parts: readonly (Sql | SqlValue)[]): Sql {
  const texts = parts.map((part) => (part instanceof Sql ? part.text : '?'));
  return new Sql(
    `a ${texts[0]!} b ${texts[1]!} c ${texts[2]!}`,
    parts.flatMap((part) => (part instanceof Sql ? part.values : [part])),
  );
}

const ofParts = (parts: readonly (Sql | SqlValue)[]): Sql => sql`a ${parts[0]!} b ${parts[1]!} c ${parts[2]!}`;

test('one template makes the text of its parts, in whatever order values and pieces come', () => {
  const pieces = [sql`x`, sql`?`, sql`y = ${1}`, sql`${'z'}`, 5, 'x', null];
  for (let round = 0; round < 2; round++) {
    for (const first of pieces) {
      for (const second of pieces) {
        for (const third of pieces) {
          const parts = [first, second, third];
          expect(ofParts(parts)).toEqual(joined(parts));
        }
      }
    }
  }
});

test('texts are right after more shapes than are remembered, and for long ones', () => {
  for (let shape = 0; shape < 10_000; shape++) {
    const parts = [shape, new Sql(`column${shape % 5_000}`, []), sql`${shape} + 1`];
    expect(ofParts(parts).text).toBe(`a ? b column${shape % 5_000} c ? + 1`);
  }
  const long = new Sql('x'.repeat(100_000), [7]);
  for (let round = 0; round < 2; round++) expect(ofParts([1, long, long])).toEqual(joined([1, long, long]));
});
