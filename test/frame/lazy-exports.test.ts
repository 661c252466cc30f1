import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
// @ts-expect-error -- a script without types
import { withLazyExports } from '../../scripts/lazy-exports.mjs';
import * as index from '../../src/index.js';

const SOURCE = readFileSync(new URL('../../src/index.ts', import.meta.url), 'utf8');
const LAZY =
  /^export async function (\w+)\(\.\.\.values\) \{ return \(await import\('([^']+)'\)\)\.(\w+)\(\.\.\.values\); \}$/gm;

test('functions that the build loads on their first call return promises', () => {
  const lazy = [...(withLazyExports(SOURCE) as string).matchAll(LAZY)].map(([, name]) => name!);
  expect(lazy).toContain('importBundle');
  for (const name of lazy) {
    const called = (index as unknown as { readonly [name: string]: () => unknown })[name]!;
    expect(answerOf(called), name).toBeInstanceOf(Promise);
  }
});

test('other names are unchanged, and a missing name is an error', () => {
  const text = withLazyExports(SOURCE) as string;
  expect(text).toContain("export { createRepository } from './repository/create-repository.js';");
  expect(text).toContain('type ResourceValidation');
  expect(() => withLazyExports("export { invite } from './invite.js';") as string).toThrow('does not export');
});

/** The answer to a call without arguments; a rejection if it throws synchronously. */
function answerOf(called: () => unknown): unknown {
  try {
    const answer = called();
    if (answer instanceof Promise) answer.catch(() => undefined);
    return answer;
  } catch {
    return Promise.resolve();
  }
}
