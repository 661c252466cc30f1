import type { ParameterRow } from '../../fhir/model/definition-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { PathExpression } from '../../fhir/model/definition-types.js';
import { quote } from '../../fhir/messages/quote.js';
import { sameJson } from '../../fhir/json/same-json.js';
import type { FindDefinition } from './compile-parameter.js';
import type { DefinitionProblems } from './problems.js';
import type { SearchParameterSource } from './read-search-parameter.js';

/** By resource type and code. */
export type OwnParameters = Map<string, Map<string, OwnParameter>>;

export interface OwnParameter {
  readonly row: ParameterRow;
  readonly source: SearchParameterSource;
}

/**
 * Names that are controls of searches in GraphQL, so that no parameter can have them. Every other control begins with
 * `_`.
 */
export const RESERVED_CODES: ReadonlySet<string> = new Set(['cursor', 'fhirpath']);

/** Adds a parameter to those of a type, unless the type has it already. Contradictions become problems. */
export function addParameter(
  model: FhirModel,
  own: OwnParameters,
  type: string,
  added: OwnParameter,
  problems: DefinitionProblems,
): void {
  const { source, row } = added;
  const ofType = own.get(type) ?? new Map<string, OwnParameter>();
  const earlier = ofType.get(row.code);
  const present = earlier?.row ?? model.searchParameter(type, row.code);
  if (present !== undefined) {
    if (isRestatement(present, added)) return;
    const origin = earlier === undefined ? '' : ` of ${earlier.source.place}`;
    const difference =
      present.type === row.type ? `with expression ${quote(present.expression, 200)}` : `of type ${present.type}`;
    problems.add(
      `${source.place}.code`,
      `${source.subject}: ${type} already has ${quote(row.code)}${origin}, ${difference}; use another code`,
    );
    return;
  }
  const clash = nameClash(model, ofType, type, row.code);
  if (clash !== undefined) {
    problems.add(`${source.place}.code`, `${source.subject}: ${clash}`);
    return;
  }
  ofType.set(row.code, added);
  own.set(type, ofType);
}

/** True for the same search under the same name. Descriptions may differ. */
function isRestatement(
  present: Pick<ParameterRow, 'type' | 'expression'> & { readonly path?: PathExpression },
  { row, source }: OwnParameter,
): boolean {
  if (present.type !== row.type) return false;
  if (source.derived || present.expression === row.expression) return true;
  return present.path !== undefined && row.path !== undefined && sameJson(present.path, row.path);
}

/** Codes are also names of arguments in GraphQL, with `_` for `-`. */
function nameClash(
  model: FhirModel,
  own: ReadonlyMap<string, OwnParameter>,
  type: string,
  code: string,
): string | undefined {
  if (code.startsWith('_')) return `codes that begin with "_" are FHIR's; use another code than ${quote(code)}`;
  const name = code.replaceAll('-', '_');
  if (RESERVED_CODES.has(name)) return `${quote(name)} is an argument of every search; use another code`;
  for (const other of [...model.searchParameters(type).keys(), ...own.keys()]) {
    if (other.replaceAll('-', '_') !== name) continue;
    return `in GraphQL ${quote(code)} would be the argument ${quote(name)}, as ${quote(other)} of ${type} already is; use another code`;
  }
  return undefined;
}

/**
 * Finds the parameters that components name by url: the host's, and FHIR's own, with urls that end in their code
 * (`…/SearchParameter/Observation-value-quantity`, `…/clinical-code`).
 */
export function definitionFinder(model: FhirModel, sources: readonly SearchParameterSource[]): FindDefinition {
  const given = new Map(sources.flatMap((source) => (source.url === undefined ? [] : [[source.url, source] as const])));
  return (url, type) => {
    const [address] = url.split('|', 1) as [string];
    const own = given.get(address);
    if (own !== undefined) return { code: own.code, type: own.type };
    const code = /^http:\/\/hl7\.org\/fhir\/SearchParameter\/[A-Za-z]+-(.+)$/.exec(address)?.[1];
    const parameter = code === undefined ? undefined : model.searchParameter(type, code);
    return parameter && { code: parameter.code, type: parameter.type };
  };
}
