import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { countOfShapes, type Occurrence } from '../../../src/stores/sqlite/rows/shapes.js';

const OTHER = 7;
const COLLECTION = 8;
const database = new Database(':memory:');
const store = new SqliteStore(database);
const statements = new Statements(database);

/** Numbers that are parts of each other, at each position of a list. Each shape has one resource more than the one before. */
const SHAPES = ['[]', '[3]', '[-3]', '[3,31]', '[-3,13,33]', '[13,-31]', '[1,3,33]', '[1,-3,133]', '[31,-33,333]'];

beforeAll(() => {
  const insert = database.prepare('INSERT INTO shape (collection, parameters, resources) VALUES (?, ?, ?)');
  SHAPES.forEach((parameters, index) => insert.run(COLLECTION, parameters, 1 << index));
  insert.run(OTHER, '[3,-31]', 1 << 20);
});
afterAll(() => store.close());

/** The resources of the shapes that contain one of a list of numbers. */
function resourcesWhere(holds: (numbers: readonly number[]) => boolean): number {
  return SHAPES.reduce((sum, text, index) => sum + (holds(JSON.parse(text) as number[]) ? 1 << index : 0), 0);
}

test.each([1, 3, 13, 31, 33, 133, 333, 4])('resources are counted by their values of parameter %i', (parameter) => {
  const count = (occurrence: Occurrence): unknown =>
    statements.get(countOfShapes(COLLECTION, parameter, occurrence))![0];
  const several = (numbers: readonly number[]): boolean => numbers.includes(-parameter);
  const some = (numbers: readonly number[]): boolean => numbers.includes(parameter) || several(numbers);
  expect([count('several'), count('some'), count('none')]).toEqual([
    resourcesWhere(several),
    resourcesWhere(some),
    resourcesWhere((numbers) => !some(numbers)),
  ]);
});

test.each(['several', 'some', 'none'] as const)('a count of shapes parses no list: %s', (occurrence) => {
  const { text, values } = countOfShapes(COLLECTION, 3, occurrence);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as readonly { readonly detail: string }[];
  expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH s USING INDEX sqlite_autoindex_shape_1 (collection=?)']);
});
