import type { HostFieldDefinition, HostInputField, ParentKind } from './host-schema.js';
import { invalid, readArgumentText, readTypeText } from './read-types.js';

/** The default cost of one parent, in resources: the same as the lookup of a reverse list. */
const DEFAULT_COST = 0.1;
const DEFAULT_TIMEOUT_MS = 10_000;

const OPTIONS = ['type', 'description', 'deprecated', 'args', 'cost', 'timeout', 'resolve'] as const;
const ROOT_KINDS: ReadonlySet<ParentKind> = new Set(['query', 'mutation']);

/**
 * Reads a field from the host's configuration.
 *
 * @throws FhirError `invalid` - an option is unknown, is missing or has a wrong value
 */
export function readField(parent: string, kind: ParentKind, name: string, given: unknown): HostFieldDefinition {
  const place = `fields.${parent}.${name}`;
  if (typeof given !== 'object' || given === null) throw invalid(place, 'a field is an object with type and resolve');
  const field = given as { readonly [option: string]: unknown };
  const known: readonly string[] =
    kind === 'mutation' ? [...OPTIONS, 'writes', 'result'] : kind === 'query' ? OPTIONS : [...OPTIONS, 'needs'];
  const unknown = Object.keys(field).find((option) => !known.includes(option));
  if (unknown !== undefined) throw invalid(place, `there is no option called "${unknown}" here`);
  const writes = field['writes'] !== undefined;
  const call = functionOf(place, writes ? 'writes' : 'resolve', field);
  if (call === undefined)
    throw invalid(place, kind === 'mutation' ? 'resolve or writes is missing' : 'resolve is missing');
  if (writes && field['resolve'] !== undefined) throw invalid(place, 'a field has either resolve or writes');
  const result = functionOf(place, 'result', field);
  if (result !== undefined && !writes) throw invalid(place, 'result belongs to a field with writes');
  return {
    parent,
    name,
    description: textOf(place, 'description', field),
    deprecationReason: textOf(place, 'deprecated', field),
    type: readTypeText(`${place}.type`, field['type']),
    args: readArguments(`${place}.args`, field['args']),
    source: writes ? 'writes' : ROOT_KINDS.has(kind) ? 'root' : 'batch',
    needs: readNeeds(`${place}.needs`, field['needs']),
    cost: numberOf(place, 'cost', field, 0) ?? DEFAULT_COST,
    timeout: numberOf(place, 'timeout', field, 1) ?? DEFAULT_TIMEOUT_MS,
    on: kind,
    keepsAbsent: KEPT.has(given),
    call,
    result,
  };
}

/** Marks a field whose lists have null for resources that are missing or hidden. */
export function keepAbsent<Field extends object>(field: Field): Field {
  KEPT.add(field);
  return field;
}

const KEPT = new WeakSet<object>();

function readArguments(place: string, args: unknown): readonly HostInputField[] {
  if (args === undefined) return [];
  if (typeof args !== 'object' || args === null)
    throw invalid(place, 'arguments are an object, with their types by name');
  return Object.entries(args).map(([name, given]): HostInputField => {
    const own = `${place}.${name}`;
    assertName(own, name);
    if (typeof given !== 'object' || given === null) return readArgumentText(own, name, given, undefined, undefined);
    const option = given as { readonly [option: string]: unknown };
    const [description, deprecated] = [textOf(own, 'description', option), textOf(own, 'deprecated', option)];
    return readArgumentText(own, name, option['type'], description, deprecated);
  });
}

function readNeeds(place: string, needs: unknown): readonly string[] | '*' {
  if (needs === undefined) return [];
  if (needs === '*') return needs;
  if (Array.isArray(needs) && needs.every((need) => typeof need === 'string')) return [...new Set(needs)];
  throw invalid(place, 'needs is a list of element names, or "*" for all');
}

/** @throws FhirError `invalid` - GraphQL reserves the name, or its grammar has no such name */
export function assertName(place: string, name: string): void {
  if (/^(?!__)[A-Za-z_]\w*$/.test(name)) return;
  throw invalid(place, 'a name has letters, digits and _, no digit first and no two _ first');
}

type Options = { readonly [option: string]: unknown };

function functionOf(place: string, name: string, options: Options): HostFieldDefinition['call'] {
  const value = options[name];
  if (value === undefined || typeof value === 'function') return value as HostFieldDefinition['call'];
  throw invalid(place, `${name} must be a function`);
}

function textOf(place: string, name: string, options: Options): string | undefined {
  const value = options[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(place, `${name} must be a string`);
}

function numberOf(place: string, name: string, options: Options, least: number): number | undefined {
  const value = options[name];
  if (value === undefined || (typeof value === 'number' && value >= least)) return value;
  throw invalid(place, `${name} must be a number of at least ${least}`);
}
