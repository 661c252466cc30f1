import { describe, expect, it } from 'vitest';
import { countValues } from '../../src/fhirpath/element-weights.js';

describe('countValues', () => {
  it('counts the values of objects and lists at every level', () => {
    expect(countValues({})).toBe(0);
    expect(countValues({ a: 1, b: [true, null, 'x'], c: { d: { e: [] } } })).toBe(8);
  });

  it('ignores the contents of library objects', () => {
    expect(countValues({ at: new Date(0), known: new Map([[1, 2]]) })).toBe(2);
  });

  it('stops when it exceeds the requested number', () => {
    const looked: string[] = [];
    const watched = (name: string): object =>
      Object.defineProperty({ rest: 1 }, 'inside', { enumerable: true, get: () => looked.push(name) });
    expect(countValues([watched('first'), watched('second')], 1)).toBeGreaterThan(1);
    expect(looked).toEqual([]);
  });
});
