import { didYouMean, quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { kindOf, namedStep } from '../../fhir/validation/findings.js';
import { ALL_INTERACTIONS } from '../rule.js';
import { readClearance } from './clearance-criteria.js';
import type { PolicyProblem } from './policy-problem.js';

const MAX_PROBLEMS = 100;

/**
 * Finds unsupported elements of an AccessPolicy: unknown names, values of another type, elements that restrict access
 * in a way that this library cannot apply. An empty list means that every element has a known meaning.
 *
 * A misspelled element would leave open what it was meant to close, so unknown elements are errors in every project,
 * whether or not it has `strictMode`.
 */
export function shapeProblems(model: FhirModel, policy: JsonObject): PolicyProblem[] {
  const shape = new Shape(model);
  shape.policy(policy);
  return shape.problems;
}

/** Elements whose primitive siblings (`_name`) do not affect access. */
const DESCRIPTIVE: ReadonlySet<string> = new Set(['id', 'language', 'name']);

/** Elements that restrict access, or change what the others mean, and that this library does not apply. */
const NOT_APPLIED: ReadonlyMap<string, string> = new Map([
  ['ipAccessRule', 'rules about addresses are not applied here; check addresses before sign-in, and remove them'],
  ['modifierExtension', 'a modifier extension may change the meaning of the policy and is not understood; remove it'],
  ['implicitRules', 'implicit rules may change the meaning of the policy and are not understood; remove them'],
]);

class Shape {
  readonly problems: PolicyProblem[] = [];

  constructor(private readonly model: FhirModel) {}

  policy(policy: JsonObject): void {
    this.#names(policy, '', 'AccessPolicy', ['resourceType']);
    for (const [name, message] of NOT_APPLIED) if (Object.hasOwn(policy, name)) this.#error(name, message);
    if (given(policy['name']) && typeof policy['name'] !== 'string') this.#error('name', 'must be a string');
    if (given(policy['compartment'])) this.#compartment(policy['compartment'], 'compartment');
    this.#items(policy, '', 'extension', (extension, path) => {
      if (!isJsonObject(extension) || extension['url'] !== OWN_EXTENSIONS.clearance) return;
      if (readClearance(extension) !== undefined) return;
      this.#error(path, 'a clearance has one "system" (valueUri), and a "code" (valueCode) for each code');
    });
    this.#items(policy, '', 'resource', (rule, path) => {
      if (isJsonObject(rule)) this.#rule(rule, path);
      else this.#error(path, `must be an object, not ${kindOf(rule)}`);
    });
  }

  #rule(rule: JsonObject, path: string): void {
    this.#names(rule, path, 'AccessPolicyResource');
    this.#resourceType(rule['resourceType'], `${path}.resourceType`);
    if (given(rule['readonly']) && typeof rule['readonly'] !== 'boolean') {
      this.#error(`${path}.readonly`, `must be true or false, not ${kindOf(rule['readonly'])}`);
    }
    if (given(rule['criteria'])) this.#criteria(rule['criteria'], rule['resourceType'], `${path}.criteria`);
    if (given(rule['compartment'])) this.#compartment(rule['compartment'], `${path}.compartment`);
    this.#interactions(rule, path);
    for (const list of ['hiddenFields', 'readonlyFields']) {
      this.#items(rule, path, list, (field, at) => this.#text(field, at));
    }
    this.#items(rule, path, 'writeConstraint', (constraint, at) => this.#constraint(constraint, at));
  }

  #resourceType(type: unknown, path: string): void {
    if (type === '*' || (typeof type === 'string' && this.model.isResourceType(type))) return;
    if (typeof type !== 'string') return this.#error(path, 'must name a resource type, or be "*"');
    this.#error(path, `unknown resource type ${quote(type)}.${didYouMean(type, this.model.resourceTypes)}`);
  }

  #interactions(rule: JsonObject, path: string): void {
    this.#items(rule, path, 'interaction', (one, at) => {
      if ((ALL_INTERACTIONS as readonly unknown[]).includes(one)) return;
      const hint = typeof one === 'string' ? didYouMean(one, ALL_INTERACTIONS) : '';
      this.#error(at, `must be one of ${ALL_INTERACTIONS.join(', ')}.${hint}`);
    });
  }

  /** `*` is not a search of one type; treated as one, it would grant the whole type. */
  #criteria(value: unknown, type: unknown, path: string): void {
    this.#text(value, path);
    if (typeof value !== 'string' || typeof type !== 'string' || type === '*' || !value.startsWith('*')) return;
    this.#error(path, `must begin with ${quote(`${type}?`)}; "*" is for rules for all types`);
  }

  #compartment(value: unknown, path: string): void {
    if (!isJsonObject(value)) return this.#error(path, `must be a Reference, not ${kindOf(value)}`);
    if (this.#names(value, path, 'Reference')) this.#text(value['reference'], `${path}.reference`);
  }

  #constraint(value: unknown, path: string): void {
    if (!isJsonObject(value)) return this.#error(path, `must be an Expression, not ${kindOf(value)}`);
    if (this.#names(value, path, 'Expression')) this.#text(value['expression'], `${path}.expression`);
    if (given(value['language']) && value['language'] !== 'text/fhirpath') {
      this.#error(`${path}.language`, 'must be text/fhirpath, the only language of write constraints');
    }
  }

  /**
   * Every name must be an element of the type and have a value.
   * @returns false if one is not
   */
  #names(object: JsonObject, path: string, type: string, others: readonly string[] = []): boolean {
    const before = this.problems.length;
    const known = [...this.model.typeDefinition(type)!.elements.keys(), ...others];
    for (const name of Object.keys(object)) {
      const at = join(path, namedStep(name));
      if (known.includes(name)) {
        if (object[name] === null) this.#error(at, 'must not be null');
      } else if (!name.startsWith('_')) this.#error(at, `unknown element.${didYouMean(name, known)}`);
      else if (!DESCRIPTIVE.has(name.slice(1))) {
        this.#error(at, 'extensions of this element are not understood; remove them');
      }
      if (this.#full) break;
    }
    return this.problems.length === before;
  }

  #items(object: JsonObject, path: string, name: string, check: (item: unknown, path: string) => void): void {
    const list = object[name];
    if (!given(list)) return;
    const at = join(path, name);
    if (!Array.isArray(list)) return this.#error(at, `must be a list, not ${kindOf(list)}`);
    for (const [index, item] of list.entries()) {
      check(item, `${at}[${index}]`);
      if (this.#full) return;
    }
  }

  #text(value: unknown, path: string): void {
    if (typeof value !== 'string') this.#error(path, `must be a string, not ${kindOf(value)}`);
    else if (value.trim() === '') this.#error(path, 'must not be empty');
  }

  get #full(): boolean {
    return this.problems.length >= MAX_PROBLEMS;
  }

  #error(path: string, message: string): void {
    if (!this.#full) this.problems.push({ path, message, severity: 'error' });
  }
}

/** Null counts as a missing value, and is reported with the names. */
function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Maximum number of rules of one policy. A rule for each resource type is about 150. */
const MAX_RULES = 500;
/** Maximum length of one policy, in characters of JSON. */
const MAX_LENGTH = 100_000;
/** Maximum total size of a membership's policies with their parameters, in policies of maximum size. */
const MAX_LARGEST_POLICIES = 2;

/** What is too large in a policy to be compiled at each sign-in. */
export function sizeProblems(policy: JsonObject): PolicyProblem[] {
  const { rules, length } = policySize(policy);
  const problem = (path: string, message: string): PolicyProblem[] => [{ path, message, severity: 'error' }];
  if (rules > MAX_RULES) {
    return problem('resource', `at most ${MAX_RULES} rules are allowed, not ${rules}; name several policies instead`);
  }
  if (length > MAX_LENGTH) {
    return problem('resource', `at most ${MAX_LENGTH} characters are allowed, not ${length}; shorten the criteria`);
  }
  return [];
}

/** The limit that the policies of a membership exceed together; undefined if they exceed none. */
export function membershipSizeProblem(policies: readonly PolicySize[]): PolicyProblem | undefined {
  let [rules, length] = [0, 0];
  for (const size of policies) {
    rules += size.rules;
    length += size.length;
  }
  const [maxRules, maxLength] = [MAX_LARGEST_POLICIES * MAX_RULES, MAX_LARGEST_POLICIES * MAX_LENGTH];
  if (rules <= maxRules && length <= maxLength) return undefined;
  const message = `all policies together may have ${maxRules} rules and ${maxLength} characters, not ${rules} and ${length}; name fewer`;
  return { path: 'access', message, severity: 'error' };
}

/** How large an AccessPolicy is. */
export interface PolicySize {
  readonly rules: number;
  /** Characters as JSON. */
  readonly length: number;
}

export function policySize(policy: JsonObject): PolicySize {
  const rules = policy['resource'];
  return { rules: Array.isArray(rules) ? rules.length : 0, length: JSON.stringify(policy).length };
}
