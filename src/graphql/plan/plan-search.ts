import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { SEARCH_CONTROLS } from '../schema/arguments.js';
import { argumentName } from '../schema/fields.js';
import type { Argument } from './arguments.js';
import type { SearchEdge } from './plan.js';

/** Plans the arguments of a list or connection. */
export function planSearch(
  model: FhirModel,
  type: string,
  args: ReadonlyMap<string, Argument>,
): Omit<SearchEdge, 'key' | 'location' | 'shaping' | 'shape'> {
  const parameters = [...args].flatMap(([name, values]) =>
    SEARCH_CONTROLS.has(name) ? [] : [{ code: parameterCode(model, type, name), values }],
  );
  return {
    kind: 'search',
    type,
    reverse: args.get('_reference'),
    parameters,
    filter: args.get('_filter'),
    sort: args.get('_sort'),
    count: args.get('_count'),
    offset: args.get('_offset'),
    fhirpath: args.get('fhirpath'),
    cursors: [args.get('cursor'), args.get('_cursor')].filter((argument) => argument !== undefined),
  };
}

/** Argument names use `_` for `-`: `address_city` is `address-city`. */
function parameterCode(model: FhirModel, type: string, name: string): string {
  const parameters = model.searchParameters(type);
  if (parameters.has(name)) return name;
  for (const code of parameters.keys()) if (argumentName(code) === name) return code;
  return name;
}
