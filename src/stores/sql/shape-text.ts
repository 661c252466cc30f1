import { type MarkedEntries, SEVERAL } from './extremes.js';

/**
 * The shape of a resource: the numbers of the parameters that it has values of, negative where it has several values (see
 * extremes.ts), as a JSON list in order. Components of composites do not count: no search names their parameter.
 */
export function shapeText({ entries, marks }: MarkedEntries, numberOf: (code: string) => number): string {
  const signed: number[] = [];
  let previous: string | undefined;
  for (let index = 0; index < entries.length; index++) {
    const { parameter, group } = entries[index]!;
    // PERF (scale): values of one parameter mostly follow each other.
    if (group !== 0 || parameter === previous) continue;
    const number = numberOf(parameter);
    signed.push((marks[index]! & SEVERAL) === 0 ? number : -number);
    previous = parameter;
  }
  signed.sort((a, b) => Math.abs(a) - Math.abs(b));
  return `[${signed.filter((number, index) => number !== signed[index - 1]).join(',')}]`;
}
