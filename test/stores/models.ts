import type { ParameterRow } from '../../src/fhir/model/definition-types.js';
import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import * as texts from '../../src/fhir/r4-definitions.js';

/** R4 with search parameters of a type changed, added, or (undefined) removed. */
export function modelWith(
  type: string,
  changes: { readonly [code: string]: Partial<ParameterRow> | undefined },
): FhirModel {
  const rows = JSON.parse(texts.parameters[type]!) as readonly ParameterRow[];
  const kept = rows.flatMap((row) => {
    if (!(row.code in changes)) return [row];
    const change = changes[row.code];
    return change === undefined ? [] : [{ ...row, ...change }];
  });
  const added = Object.entries(changes).flatMap(([code, change]) =>
    change === undefined || rows.some((row) => row.code === code)
      ? []
      : [{ code, short: '', ...change } as ParameterRow],
  );
  const parameters = { ...texts.parameters, [type]: JSON.stringify([...kept, ...added]) };
  return new FhirModel({ ...texts, parameters });
}
