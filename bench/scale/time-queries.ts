import { type Caller, executeFhirGraphql, type ResourceStore } from 'fhirgraph';
import type { Known } from './lines.js';
import { type Quantiles, quantilesOf } from './measured.js';
import type { ScaleQuery } from './queries.js';

/** Times one query over the known patients in turn, including the JSON text of each answer. */
export async function timeQuery(
  { text, variables, name }: ScaleQuery,
  known: readonly Known[],
  context: { readonly store: ResourceStore; readonly caller: Caller },
  runs: number,
): Promise<Quantiles> {
  const times: number[] = [];
  for (let run = -known.length; run < runs; run++) {
    const values = variables(known.at(run % known.length)!);
    const start = performance.now();
    const result = await executeFhirGraphql(text, { ...context, variables: values });
    JSON.stringify(result);
    // The first round over all patients is the warm-up.
    if (run >= 0) times.push((performance.now() - start) * 1000);
    if (result.errors !== undefined)
      throw new AggregateError(result.errors, `${name} failed: ${result.errors[0]?.message}`);
  }
  return quantilesOf(times);
}
