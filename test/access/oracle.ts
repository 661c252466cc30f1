import type { AnyResource } from '../../src/index.js';
import {
  compareSubjects,
  createSubject,
  type Criteria,
  matches,
  R4,
  type SearchSubject,
  type SearchWorld,
  type SortKey,
} from '../../src/store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import type { MemberSetup, Parameter, PolicyJson, RuleJson } from './policies.js';
import { PROBES, SAMPLE_TYPES, type Json } from './world.js';

/**
 * The meaning of access policies, one resource at a time and as simple as possible. No criteria are combined, nothing is pushed
 * into a search, no fields are resolved by the definitions. It shares the meaning of a search with the library, but no code
 * of `src/access`.
 */
export class Oracle {
  readonly #world: ReadonlyMap<string, AnyResource>;
  readonly #rules: readonly OracleRule[];

  /** @param content all resources of the caller's project */
  constructor(content: readonly AnyResource[], rules: MemberSetup | readonly OracleRule[]) {
    this.#world = new Map(content.map((one) => [`${one.resourceType}/${one.id!}`, one]));
    this.#rules = 'access' in rules ? rulesOf(rules, this.#world) : rules;
  }

  /** The resource as the caller sees it under an interaction; undefined if it is missing for the caller. */
  see(interaction: Interaction, type: string, id: string): AnyResource | undefined {
    const resource = this.#world.get(`${type}/${id}`);
    return resource === undefined ? undefined : this.seeVersion(interaction, resource, resource);
  }

  /** Like {@link see}, for a version of a resource with the current state `current`. */
  seeVersion(interaction: Interaction, version: AnyResource, current: AnyResource): AnyResource | undefined {
    const granting = this.granting(interaction, current).filter((rule) => this.#grants(rule, version));
    return granting.length === 0 ? undefined : this.mask(version, granting);
  }

  /** A version of a deleted resource, which only rules for all resources of the type can show. */
  seeOpenly(interaction: Interaction, version: AnyResource): AnyResource | undefined {
    const open = this.rulesFor(version.resourceType, interaction).filter(isOpen);
    return open.length === 0 ? undefined : this.mask(version, open);
  }

  /** The ids of the matches of a search, in order. */
  search(type: string, asked: Criteria, sort: readonly SortKey[] = []): readonly string[] {
    const rules = this.rulesFor(type, 'search');
    const keys = sort.filter(({ parameter }) => rules.every((rule) => !barred(type, parameter, rule.hidden)));
    return this.#all(type)
      .filter((resource) => this.granting('search', resource).some((rule) => this.#holds(asked, resource, rule)))
      .map((resource) => subjectOf(resource))
      .sort(compareSubjects(keys))
      .map(({ id }) => id);
  }

  /** The ids of the resources that refer to a resource by a parameter. */
  referring(
    type: string,
    parameter: string,
    target: { readonly type: string; readonly id: string },
  ): readonly string[] {
    const asked: Criteria = {
      kind: 'match',
      parameter,
      test: { kind: 'reference', types: [target.type], id: target.id },
    };
    return this.search(type, asked);
  }

  /** Whether some rule is for all resources of the type, so that deletions can be shown. */
  opens(interaction: Interaction, type: string): boolean {
    return this.rulesFor(type, interaction).some(isOpen);
  }

  /** The rules that grant this interaction on the resource. */
  granting(interaction: Interaction, resource: AnyResource): readonly OracleRule[] {
    return this.rulesFor(resource.resourceType, interaction).filter((rule) => this.#grants(rule, resource));
  }

  rulesFor(type: string, interaction: Interaction): readonly OracleRule[] {
    return this.#rules.filter((rule) => rule.type === type && rule.interactions.includes(interaction));
  }

  /** Every rule for a type, with any interactions. */
  allRules(type: string): readonly OracleRule[] {
    return this.#rules.filter((rule) => rule.type === type);
  }

  /** The same rules over changed contents. Parameters are those of the sign-in. */
  withContent(content: readonly AnyResource[]): Oracle {
    return new Oracle(content, this.#rules);
  }

  /** Whether the rule would grant a resource that is not stored yet, judged over the contents after the write. */
  wouldGrant(rule: OracleRule, after: AnyResource): boolean {
    return inPolicy(rule, after, new Map(this.#world).set(`${after.resourceType}/${after.id!}`, after));
  }

  #all(type: string): AnyResource[] {
    return [...this.#world.values()].filter(({ resourceType }) => resourceType === type);
  }

  #grants(rule: OracleRule, resource: AnyResource): boolean {
    return inPolicy(rule, resource, this.#world);
  }

  /** Whether the condition matches a resource as one rule shows it. Chains reach only visible resources, as they are visible. */
  #holds(asked: Criteria, resource: AnyResource, rule: OracleRule): boolean {
    const type = resource.resourceType;
    const subject = seenBy(rule, resource);
    switch (asked.kind) {
      case 'and':
        return asked.of.every((one) => this.#holds(one, resource, rule));
      case 'or':
        return asked.of.some((one) => this.#holds(one, resource, rule));
      case 'not':
        return !this.#holds(asked.of, resource, rule);
      case 'chain':
        return localReferences(subject, asked.parameter).some((key) => {
          const target = this.#world.get(key);
          if (target?.resourceType !== asked.type) return false;
          return this.granting('search', target).some((other) => this.#holds(asked.of, target, other));
        });
      case 'has':
        return this.#all(asked.type).some((source) =>
          this.granting('search', source).some(
            (other) =>
              localReferences(seenBy(other, source), asked.parameter).includes(`${type}/${resource.id!}`) &&
              this.#holds(asked.of, source, other),
          ),
        );
      default:
        return matches(asked, subject, NOTHING);
    }
  }

  /** The resource as these rules show it. */
  mask(resource: AnyResource, granting: readonly Pick<OracleRule, 'hidden'>[]): AnyResource {
    const seen = withoutShells(
      union(
        resource,
        granting.map((rule) => without(resource, rule.hidden)),
      ),
    ) as Json;
    if (!Array.isArray(seen['contained'])) return seen as unknown as AnyResource;
    const contained = (seen['contained'] as readonly AnyResource[]).map((inner) => {
      const reading = READS.flatMap((one) => this.rulesFor(inner.resourceType, one));
      // Rules without read hide fields only if no rule reads.
      const rules = reading.length > 0 ? reading : this.allRules(inner.resourceType);
      return rules.length === 0 ? inner : withoutShells(union(inner, rules.map((rule) => without(inner, rule.hidden)))); // prettier-ignore
    });
    return { ...seen, contained } as unknown as AnyResource;
  }
}

export type Interaction = 'read' | 'vread' | 'search' | 'history' | 'create' | 'update' | 'delete';
const READS: readonly Interaction[] = ['read', 'vread', 'search', 'history'];
const ALL: readonly Interaction[] = [...READS, 'create', 'update', 'delete'];

/** A rule of a policy for one type, with its parameters filled in. */
export interface OracleRule {
  readonly type: string;
  readonly interactions: readonly Interaction[];
  /** Searches, each of which must find the resource. */
  readonly searches: readonly string[];
  /** Lists of Patients. The resource must be in the compartment of a Patient of each list. */
  readonly compartments: readonly (readonly string[])[];
  readonly never: boolean;
  readonly hidden: readonly string[];
  readonly readonlyFields: readonly string[];
  readonly constraints: readonly string[];
}

function rulesOf(setup: MemberSetup, world: ReadonlyMap<string, AnyResource>): OracleRule[] {
  const own = ownParameters(setup.profile, world);
  if (setup.access.length === 0) return SAMPLE_TYPES.flatMap((type) => defaultRule(type, setup.profile, own));
  return setup.access.flatMap(({ policy, parameters }) => {
    const names = new Set(parameters.map(({ name }) => name));
    const all = [...own.filter(({ name }) => !names.has(name)), ...parameters];
    const json = setup.policies[policy]!;
    return json.resource.flatMap((rule) => SAMPLE_TYPES.flatMap((type) => oracleRule(type, rule, json, all)));
  });
}

function ownParameters(profile: string, world: ReadonlyMap<string, AnyResource>): Parameter[] {
  const patient = profile.startsWith('Patient/')
    ? profile
    : (world.get(profile) as { patient?: { reference: string } } | undefined)?.patient?.reference;
  return [
    { name: 'profile', valueReference: { reference: profile } },
    ...(patient === undefined ? [] : [{ name: 'patient', valueReference: { reference: patient } }]),
  ];
}

function defaultRule(type: string, profile: string, own: readonly Parameter[]): OracleRule {
  const person = profile.startsWith('Patient/') || profile.startsWith('RelatedPerson/');
  const patient = own.find(({ name }) => name === 'patient')?.valueReference?.reference;
  return {
    type,
    interactions: person ? READS : ALL,
    searches: [],
    compartments: person ? [[patient!]] : [],
    never: false,
    hidden: [],
    readonlyFields: [],
    constraints: [],
  };
}

function oracleRule(type: string, rule: RuleJson, policy: PolicyJson, parameters: readonly Parameter[]): OracleRule[] {
  if (rule.resourceType !== type && rule.resourceType !== '*') return [];
  const searches: string[] = [];
  const compartments: (readonly string[])[] = [];
  let never = false;
  for (const part of (rule.criteria?.split('?')[1] ?? '').split('&').filter((text) => text !== '')) {
    const [name, value] = [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)];
    const put = substitute(name, value, parameters);
    if (put === undefined) never = true;
    else if (name === '_compartment') compartments.push(put.split(','));
    else searches.push(`${encodeURIComponent(name)}=${encodeURIComponent(put)}`);
  }
  const owner = rule.compartment ?? policy.compartment;
  if (owner !== undefined) {
    const put = substitute('compartment', owner.reference, parameters);
    if (put === undefined) never = true;
    else compartments.push(put.split(','));
  }
  // A rule for all types does not apply to types without the parameter of its criteria.
  if (rule.resourceType === '*') never ||= searches.some((search) => !isSearch(type, search));
  const interactions = rule.readonly === true ? READS : ((rule.interaction ?? ALL) as readonly Interaction[]);
  return [
    {
      type,
      interactions,
      searches,
      compartments,
      never,
      hidden: rule.hiddenFields ?? [],
      readonlyFields: rule.readonlyFields ?? [],
      constraints: (rule.writeConstraint ?? []).map(({ expression }) => expression),
    },
  ];
}

function isOpen({ searches, compartments, never }: OracleRule): boolean {
  return searches.length === 0 && compartments.length === 0 && !never;
}

/** Fills parameters into a value: plain text replacement, with each value escaped. */
function substitute(name: string, value: string, parameters: readonly Parameter[]): string | undefined {
  const texts = (parameter: string, onlyId: boolean): string[] =>
    parameters
      .filter((one) => one.name === parameter)
      .map(({ valueString, valueReference }) => {
        const text = valueString ?? valueReference!.reference;
        return onlyId ? text.split('/').at(-1)! : text;
      });
  const escaped = (text: string): string => text.replace(/[\\,|$]/g, '\\$&');
  if (name === '_filter')
    return value.replace(/%(\w+)/g, (_, one: string) => JSON.stringify(escaped(texts(one, false)[0]!)));
  const pieces = value.split(',').flatMap((piece) => {
    const [, before, parameter, id] = /^(\w+\/)?%(\w+?)(\.id)?$/.exec(piece) ?? [];
    if (parameter === undefined) return [piece];
    const onlyId = id !== undefined || before !== undefined;
    return texts(parameter, onlyId).map((text) => (before ?? '') + escaped(text));
  });
  return pieces.length === 0 ? undefined : pieces.join(',');
}

function isSearch(type: string, text: string): boolean {
  try {
    parseSearch(R4, type, text);
    return true;
  } catch {
    return false;
  }
}

function subjectOf(resource: AnyResource): SearchSubject {
  let subject = SUBJECTS.get(resource);
  if (subject === undefined) SUBJECTS.set(resource, (subject = createSubject(R4, resource, 0)));
  return subject;
}
const SUBJECTS = new WeakMap<AnyResource, SearchSubject>();

/** Policies are decided on the complete stored resource. */
function inPolicy(rule: OracleRule, resource: AnyResource, world: ReadonlyMap<string, AnyResource>): boolean {
  if (rule.never || rule.type !== resource.resourceType) return false;
  const subject = subjectOf(resource);
  return (
    rule.searches.every((text) => matches(parseSearch(R4, rule.type, text).criteria, subject, wholeWorld(world))) &&
    rule.compartments.every((owners) => owners.some((owner) => inCompartment(resource, subject, owner)))
  );
}

/** Owners are Patients. See https://hl7.org/fhir/R4/compartmentdefinition-patient.html. */
function inCompartment(resource: AnyResource, subject: SearchSubject, owner: string): boolean {
  if (`${resource.resourceType}/${resource.id!}` === owner) return true;
  if (resource.resourceType === 'Patient') return false;
  return R4.patientCompartment(resource.resourceType).some((code) => localReferences(subject, code).includes(owner));
}

function wholeWorld(world: ReadonlyMap<string, AnyResource>): SearchWorld {
  return {
    find: (type, id) => {
      const found = world.get(`${type}/${id}`);
      return found === undefined ? undefined : subjectOf(found);
    },
    referencing: (type, parameter, target) =>
      [...world.values()]
        .filter(({ resourceType }) => resourceType === type)
        .map((one) => subjectOf(one))
        .filter((one) => localReferences(one, parameter).includes(`${target.type}/${target.id}`)),
  };
}

const NOTHING: SearchWorld = { find: () => undefined, referencing: () => [] };

function localReferences(subject: SearchSubject, parameter: string): string[] {
  return (subject.entries.get(parameter) ?? []).flatMap(({ value }) =>
    value.kind === 'reference' && 'id' in value ? [`${value.type}/${value.id}`] : [],
  );
}

/** The resource as searches see it through one rule: without the values of parameters that read hidden fields. */
function seenBy(rule: OracleRule, resource: AnyResource): SearchSubject {
  const subject = subjectOf(resource);
  const entries = [...subject.entries].filter(([code]) => !barred(rule.type, code, rule.hidden));
  return { ...subject, entries: new Map(entries) };
}

/** A parameter reads a hidden field if removing the field from a resource with all elements changes the parameter's values. */
function barred(type: string, code: string, hidden: readonly string[]): boolean {
  const bare = code.replace(/[:$].*/, '');
  return hidden.some((field) => barredBy(type, field).has(bare));
}

const BARRED = new Map<string, ReadonlySet<string>>();

function barredBy(type: string, field: string): ReadonlySet<string> {
  const key = `${type} ${field}`;
  let codes = BARRED.get(key);
  if (codes === undefined) {
    const found = PROBES.filter(({ resourceType }) => resourceType === type).flatMap((probe) => {
      const whole = subjectOf(probe).entries;
      const rest = subjectOf(without(probe, [field])).entries;
      const given = (entries: SearchSubject['entries'], parameter: string): string =>
        JSON.stringify(
          [...entries].filter(([code]) => code.replace(/[:$].*/, '') === parameter).map(([, values]) => values),
        );
      return [...R4.searchParameters(type).keys()].filter((one) => given(whole, one) !== given(rest, one));
    });
    BARRED.set(key, (codes = new Set(found)));
  }
  return codes;
}

/** The resource without fields. A name includes its `_` sibling and, if no element has the name, the typed forms of a choice. */
export function without(resource: AnyResource, fields: readonly string[]): AnyResource {
  const copy = JSON.parse(JSON.stringify(resource)) as AnyResource;
  for (const field of fields) remove(copy, field.split('.'));
  return copy;
}

function remove(value: unknown, [name, ...rest]: readonly string[]): void {
  if (Array.isArray(value)) {
    for (const item of value) remove(item, [name!, ...rest]);
  } else if (typeof value === 'object' && value !== null) {
    const elements = value as { [name: string]: unknown };
    for (const key of Object.keys(elements)) {
      const choice = key.startsWith(name!) && /^[A-Z]/.test(key.slice(name!.length)) && name === 'value';
      if (key !== name && key !== `_${name!}` && !choice) continue;
      if (rest.length === 0) Reflect.deleteProperty(elements, key);
      else remove(elements[key], rest);
    }
  }
}

/** Without objects and lists that have become empty. The sample has none to begin with. */
function withoutShells(value: unknown): unknown {
  const isLeft = (one: unknown): boolean => typeof one !== 'object' || one === null || Object.keys(one).length > 0;
  if (Array.isArray(value)) return value.map(withoutShells).filter(isLeft);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).map(([name, inner]) => [name, withoutShells(inner)] as const);
  return Object.fromEntries(kept.filter(([, inner]) => isLeft(inner)));
}

/** The parts of a whole that are in any of the copies. */
export function union(whole: unknown, parts: readonly unknown[]): unknown {
  if (Array.isArray(whole)) {
    return whole.map((item, at) => union(item, parts.map((part) => (part as readonly unknown[])[at]))); // prettier-ignore
  }
  if (typeof whole !== 'object' || whole === null) return whole;
  const kept = Object.entries(whole).flatMap(([name, value]): [string, unknown][] => {
    const having = parts.filter((part) => Object.hasOwn(part as object, name)).map((part) => (part as Json)[name]);
    return having.length === 0 ? [] : [[name, union(value, having)]];
  });
  return Object.fromEntries(kept);
}
