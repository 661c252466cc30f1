import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { isJsonObject } from '../fhir/resource.js';
import type { CodeSystemConcept, CodeSystemIndex } from './code-system.js';

/**
 * The concepts of a system that pass all filters of `ValueSet.compose.include`, in steps.
 *
 * | property | operators |
 * |---|---|
 * | `concept`, `code` | `is-a`, `descendent-of`, `is-not-a`, `generalizes`, `=`, `in`, `not-in` |
 * | `display`, any other | `=`, `in`, `not-in`, `exists` |
 *
 * @throws FhirError `unsupported` - another operator, `regex` among them
 */
export function* filtered(
  system: CodeSystemIndex,
  filters: readonly unknown[],
): Generator<void, readonly CodeSystemConcept[]> {
  yield;
  let found: readonly CodeSystemConcept[] = [...system.concepts.values()];
  for (const filter of filters) {
    const keeps = compileFilter(system, filter);
    found = found.filter(keeps);
    yield;
  }
  return found;
}

type Keeps = (concept: CodeSystemConcept) => boolean;

function compileFilter(system: CodeSystemIndex, filter: unknown): Keeps {
  const { property, op, value } = isJsonObject(filter) ? filter : {};
  if (typeof property !== 'string' || typeof op !== 'string' || typeof value !== 'string') {
    throw new FhirError('unsupported', 'A filter of the value set has no property, operator or value');
  }
  const compiled =
    property === 'concept' || property === 'code'
      ? (hierarchyFilter(system, op, value) ?? valueFilter(op, value, ({ code }) => [code]))
      : valueFilter(op, value, (concept) => valuesOf(concept, property));
  if (compiled !== undefined) return compiled;
  throw new FhirError(
    'unsupported',
    `The value set filters ${quote(property)} by ${quote(op)}, which is not supported`,
  );
}

function hierarchyFilter(system: CodeSystemIndex, op: string, code: string): Keeps | undefined {
  switch (op) {
    case 'is-a':
      return oneOf(system.below(code));
    case 'descendent-of': {
      const below = oneOf(system.below(code));
      return (concept) => concept.code !== code && below(concept);
    }
    case 'is-not-a': {
      const below = oneOf(system.below(code));
      return (concept) => !below(concept);
    }
    case 'generalizes':
      return oneOf(system.above(code));
    default:
      return undefined;
  }
}

function valueFilter(
  op: string,
  value: string,
  valuesOf: (concept: CodeSystemConcept) => readonly string[],
): Keeps | undefined {
  const listed = new Set(value.split(',').map((one) => one.trim()));
  switch (op) {
    case '=':
      return (concept) => valuesOf(concept).includes(value);
    case 'in':
      return (concept) => valuesOf(concept).some((one) => listed.has(one));
    case 'not-in':
      return (concept) => !valuesOf(concept).some((one) => listed.has(one));
    case 'exists':
      return (concept) => valuesOf(concept).length > 0 === (value === 'true');
    default:
      return undefined;
  }
}

function oneOf(concepts: readonly CodeSystemConcept[]): Keeps {
  const set = new Set(concepts);
  return (concept) => set.has(concept);
}

function valuesOf(concept: CodeSystemConcept, property: string): readonly string[] {
  if (property === 'display') return concept.display === undefined ? [] : [concept.display];
  return concept.properties.get(property) ?? [];
}
