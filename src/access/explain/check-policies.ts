import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import { didYouMean } from '../../fhir/messages.js';
import { idOf, parseReference, referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { ALL, refersTo, SAMPLE_EXPANSIONS } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { StoreContext } from '../../store/store.js';
import { everyMatch } from '../../store/every-page.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { distinctPolicies, readMembershipPolicies, type ChosenPolicy } from '../policy/membership-policies.js';
import type { PolicyParameters } from '../policy/policy-criteria.js';
import type { PolicyProblem } from '../policy/policy-problem.js';
import { membershipSizeProblem, policySize, type PolicySize } from '../policy/policy-shape.js';
import { constraintWarnings, ruleProblems, parametersUsed, policyProblems } from '../policy/validate-policy.js';
import { loadForPolicies } from '../policy/write-constraint.js';
import type { ResourceRef } from '../sign-in/find-membership.js';
import { ownParameters } from '../sign-in/member.js';

/** The problems of one AccessPolicy, or of the policies of one ProjectMembership. */
export interface PolicyFinding {
  /** The id of the project. */
  readonly project: string;
  /** `AccessPolicy/1` or `ProjectMembership/1`. */
  readonly resource: string;
  /** At least one. With an error, the members concerned cannot sign in; with warnings only, they can. */
  readonly problems: readonly PolicyProblem[];
  /** Of an AccessPolicy: the number of memberships that name it. Each affected one has its own finding. */
  readonly memberships?: number | undefined;
}

/** Which policies and memberships to check. */
export interface PolicyCheck {
  /** The project to check. Default: all projects. */
  readonly project?: ResourceRef | undefined;
}

/**
 * Finds policies and memberships that this version does not understand, for example written by an older version or
 * another program. Run it before an upgrade, so that nobody is locked out unexpectedly.
 *
 * It finds policies with problems; memberships whose policy is gone, has problems or does not fit their parameters;
 * parameters that the policy does not use, and parameters of the policy without a value. It changes nothing.
 *
 * Findings come as they are found, each project's policies before its memberships. Resources are read in pages, so any
 * number of them takes the memory of one page.
 *
 * For trusted host code: it needs no caller and reads every project.
 *
 * @throws FhirError `invalid` - the project is not named by an id
 *
 * @example
 * for await (const { resource, problems } of checkPolicies({}, { store })) console.log(resource, problems);
 */
export async function* checkPolicies(
  { project }: PolicyCheck,
  { store, signal }: StoreContext,
): AsyncGenerator<PolicyFinding, void, undefined> {
  if (project !== undefined) {
    const id = idOf(project, 'Project');
    if (id === undefined) throw new FhirError('invalid', 'checkPolicies needs the id of a project');
    yield* new ProjectCheck(store, id, { signal }).findings();
    return;
  }
  for await (const { resource } of everyResource(store, SERVER_SCOPE, 'Project', { signal })) {
    yield* new ProjectCheck(store, resource.id!, { signal }).findings();
  }
}

/** Resources read at once. */
const PAGE = 200;
/** Policies kept while memberships are read. */
const MAX_KEPT = 200;

class ProjectCheck {
  readonly #policies = new LRUCache<string, CheckedPolicy>({ max: MAX_KEPT });

  constructor(
    private readonly store: ResourceStore,
    private readonly project: string,
    private readonly options: CallOptions,
  ) {}

  async *findings(): AsyncGenerator<PolicyFinding, void, undefined> {
    for await (const { resource } of this.#every('AccessPolicy')) {
      const { reference, problems } = await this.#check(resource);
      const policy = elementsOf(resource);
      const warnings = problems.length > 0 ? [] : constraintWarnings(this.store.model, policy);
      const all = [...problems, ...warningsOf(policy), ...warnings];
      if (all.length > 0) yield this.#finding(reference, all, await this.#membershipsOf(resource.id!));
    }
    for await (const { resource } of this.#every('ProjectMembership')) {
      const problems = await this.#membershipProblems(elementsOf(resource));
      if (problems.length > 0) yield this.#finding(referenceTo('ProjectMembership', resource.id!), problems);
    }
  }

  #every(type: string): AsyncIterable<StoredResource> {
    return everyResource(this.store, this.project, type, this.options);
  }

  #finding(resource: string, problems: readonly PolicyProblem[], memberships?: number): PolicyFinding {
    return { project: this.project, resource, problems, ...(memberships === undefined ? {} : { memberships }) };
  }

  /** The parameter `access-policy` reads both elements that name policies. */
  async #membershipsOf(id: string): Promise<number> {
    const criteria = refersTo('access-policy', { type: 'AccessPolicy', id });
    const query = { project: this.project, type: 'ProjectMembership', criteria, limit: 0, total: true };
    return (await this.store.search(query, this.options)).total ?? 0;
  }

  async #membershipProblems(membership: JsonObject): Promise<PolicyProblem[]> {
    const { chosen, problems } = readMembershipPolicies(this.store.model, membership);
    const own = await this.#ownParameters(membership);
    const all = [...problems];
    for (const choice of chosen) all.push(...choiceProblems(this.store, choice, own, await this.#policy(choice)));
    const size = await this.#sizeProblem(distinctPolicies(chosen));
    return size === undefined ? all : [...all, size];
  }

  /** Policies are read one by one, since a membership may name many large ones. */
  async #sizeProblem(chosen: readonly ChosenPolicy[]): Promise<PolicyProblem | undefined> {
    const sizes: PolicySize[] = [];
    for (const choice of chosen) {
      const checked = await this.#policy(choice);
      if (checked !== undefined) sizes.push(checked.size);
    }
    return membershipSizeProblem(sizes);
  }

  /** `%profile`, and `%patient` for the profiles that have one. */
  async #ownParameters(membership: JsonObject): Promise<PolicyParameters> {
    const profile = isJsonObject(membership['profile']) ? membership['profile']['reference'] : undefined;
    const reference = typeof profile === 'string' ? parseReference(profile, this.store.model.baseUrl) : undefined;
    if (reference?.kind !== 'local') return new Map();
    const { type, id } = reference;
    const found = (await this.store.read([{ project: this.project, type, id }], this.options))[0]!;
    return ownParameters(this.store, found.status === 'found' ? found.resource : { resourceType: type, id });
  }

  async #policy({ reference, id }: ChosenPolicy): Promise<CheckedPolicy | undefined> {
    const known = this.#policies.get(reference);
    if (known !== undefined) return known;
    const found = (await this.store.read([{ project: this.project, type: 'AccessPolicy', id }], this.options))[0]!;
    return found.status === 'found' ? this.#check(found.resource) : undefined;
  }

  async #check(resource: AnyResource): Promise<CheckedPolicy> {
    const policy = elementsOf(resource);
    await loadForPolicies([policy]);
    const reference = referenceTo('AccessPolicy', resource.id!);
    const checked = {
      reference,
      policy,
      problems: policyProblems(this.store.model, reference, policy, this.store.terminology !== undefined),
      used: parametersUsed(policy),
      size: policySize(policy),
    };
    this.#policies.set(reference, checked);
    return checked;
  }
}

interface CheckedPolicy {
  readonly reference: string;
  readonly policy: JsonObject;
  /** Errors only. */
  readonly problems: readonly PolicyProblem[];
  readonly used: ReadonlySet<string>;
  readonly size: PolicySize;
}

/** What is wrong with one policy of a membership. */
function choiceProblems(
  { model }: ResourceStore,
  { reference, parameters, path }: ChosenPolicy,
  own: PolicyParameters,
  checked: CheckedPolicy | undefined,
): PolicyProblem[] {
  const problem = (severity: PolicyProblem['severity'], message: string, at = path): PolicyProblem => {
    return { path: at, message, severity };
  };
  if (checked === undefined) return [problem('error', `${reference} does not exist`)];
  const [broken] = checked.problems;
  if (broken !== undefined) return [problem('error', `${reference}, ${broken.path}: ${broken.message}`)];
  const values = new Map([...own, ...parameters]);
  // Sign-in calls the terminology itself. A policy that needs a terminology without one was reported above.
  const expansions = SAMPLE_EXPANSIONS;
  const unused = [...parameters.keys()].filter((name) => !checked.used.has(name));
  const missing = [...checked.used].filter((name) => !values.has(name));
  return [
    ...ruleProblems(model, { reference, policy: checked.policy, parameters: values, expansions }).map((one) =>
      problem('error', `${reference}, ${one.path}: ${one.message}`),
    ),
    ...unused.map((name) =>
      problem('warning', `${reference} does not use %${name}.${didYouMean(name, checked.used)}`, `${path}.parameter`),
    ),
    ...missing.map((name) =>
      problem('warning', `${reference} uses %${name}, which has no value here; conditions with it match nothing`),
    ),
  ];
}

/** Elements without effect, or with more effect than intended. */
function warningsOf(policy: JsonObject): PolicyProblem[] {
  return [policy['resource']].flat().flatMap((rule: unknown, index): PolicyProblem[] => {
    if (!isJsonObject(rule)) return [];
    const warning = (name: string, message: string): PolicyProblem => {
      return { path: `resource[${index}].${name}`, message, severity: 'warning' };
    };
    const { interaction, criteria } = rule;
    const type = String(rule['resourceType']);
    const found: PolicyProblem[] = [];
    if (!coveredByWildcard(type) && !LIMITS_SUPER_ADMINS.has(type)) {
      found.push(warning('resourceType', `no policy reaches ${type}: the rule grants nothing`));
    }
    if (Array.isArray(interaction) && interaction.length === 0) {
      found.push(warning('interaction', 'an empty list grants nothing'));
    }
    if (typeof criteria === 'string' && criteria.replace(/[^?]*\??/, '').replaceAll('&', '') === '') {
      found.push(warning('criteria', 'criteria without a condition grant every resource of the type'));
    }
    return found;
  });
}

/** Rules for these types grant no resources; they limit the powers of super administrators. */
const LIMITS_SUPER_ADMINS: ReadonlySet<string> = new Set(['Project', 'ProjectMembership']);

function everyResource(
  store: ResourceStore,
  project: string,
  type: string,
  options: CallOptions,
): AsyncIterable<StoredResource> {
  return everyMatch(PAGE, (page, budget) =>
    store.search({ project, type, criteria: ALL, ...page }, { ...options, budget }),
  );
}
