// Mutants of StrykerJS (https://stryker-mutator.io).
import { Instrumenter } from '@stryker-mutator/instrumenter';

/** Puts every mutant into the sources, each behind a switch. `sources`: `{ name, mutate, content }`. */
export function instrument(sources) {
  const silent = () => undefined;
  const log = { isDebugEnabled: () => false, trace: silent, debug: silent, info: silent, warn: silent, error: silent };
  return new Instrumenter(log).instrument(sources, { plugins: null, excludedMutations: [], ignorers: [] });
}
