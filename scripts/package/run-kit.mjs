import { storeConformance } from 'fhirgraph/testing';

/** Runs the conformance kit. @returns the number of its cases */
export async function runKit(open) {
  const cases = [];
  storeConformance({ test: (name, run) => cases.push({ name, run }) }, open, { seed: 1 });
  for (const { name, run } of cases) {
    try {
      await run();
    } catch (error) {
      throw new Error(`conformance case failed: ${name}`, { cause: error });
    }
  }
  return cases.length;
}
