import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { serverCaller, type MemberCaller } from '../access/caller.js';
import { guardStore } from '../access/guarded-store.js';
import { breakGlass } from '../access/sign-in/break-glass.js';
import { signIn } from '../access/sign-in/sign-in.js';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { parseReference, splitReference } from '../fhir/reference.js';
import { elementsOf, type AnyResource } from '../fhir/resource.js';
import { createRepository } from '../repository/create-repository.js';
import type { ResourceStore } from '../store/store.js';
import { MemoryStore } from '../stores/memory/store.js';

/** The expected access of a member with the policy, over some data. */
export interface PolicyCase {
  /** For the report. Default: the position of the case. */
  readonly name?: string | undefined;
  /** The data of the project, with ids. It must contain the profile. */
  readonly resources: readonly Resource[];
  /** The profile of the member: `Practitioner/ben`, `Patient/ann`, `ClientApplication/feed`. */
  readonly as: string;
  /**
   * The parameters of the policy; the membership names the policy once per item. `Organization/north` is a reference,
   * other values are strings. Default: once, without parameters.
   */
  readonly parameters?: readonly { readonly [name: string]: string }[] | undefined;
  /** The member broke the glass. Default false. */
  readonly emergency?: boolean | undefined;
  /** Searches, such as `Patient` and `Patient?gender=female`, with the ids that they find, in any order. */
  readonly sees?: { readonly [search: string]: readonly string[] } | undefined;
  /** Resources, such as `Patient/ann`, with elements that the member does not see in them. */
  readonly hides?: { readonly [resource: string]: readonly string[] } | undefined;
  /** Writes, one after the other: a resource with an id is updated, one without is created. */
  readonly writes?: readonly PolicyWrite[] | undefined;
  /** Deletions after the writes: for example `Patient/ann`, each with its expected outcome. */
  readonly deletes?: { readonly [resource: string]: PolicyOutcome } | undefined;
}

/** A write of a policy test, and its expected outcome. */
export interface PolicyWrite {
  readonly resource: Resource;
  readonly outcome: PolicyOutcome;
}

/** `written`, or the code of the error: `forbidden`, `not-found`. */
export type PolicyOutcome = 'written' | (string & {});

/** An expectation that does not hold. */
export interface PolicyFailure {
  readonly case: string;
  /** `sees Patient?gender=female`, `hides Patient/ann`, `writes Patient/ann`. */
  readonly check: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** The result of `testPolicy`. */
export interface PolicyTestReport {
  readonly passed: boolean;
  /** How many expectations were checked. */
  readonly checks: number;
  readonly failures: readonly PolicyFailure[];
}

/** Options of `testPolicy`. */
export interface TestPolicyOptions {
  /** Default: R4. */
  readonly definitions?: FhirModel | undefined;
  /** Makes the store of each case. Default: a `MemoryStore`. */
  readonly openStore?: (() => ResourceStore) | undefined;
}

/**
 * Tests an access policy: each case is a project of its own with some data and a member that has the policy.
 *
 * @param policy one policy, or several that the member has together, each with the same parameters
 * @throws FhirError `policy-invalid` - the policy has a mistake
 * @throws FhirError `unprocessable`, `invalid` - the data, or a search, is not valid
 *
 * @example
 * const { failures } = await testPolicy(policy, [
 *   { resources, as: 'Practitioner/ben', sees: { Patient: ['ann'] }, hides: { 'Patient/ann': ['address'] } },
 * ]);
 * expect(failures).toEqual([]);
 */
export async function testPolicy(
  policy: AccessPolicy | readonly AccessPolicy[],
  cases: readonly PolicyCase[],
  options: TestPolicyOptions = {},
): Promise<PolicyTestReport> {
  const policies = (Array.isArray(policy) ? policy : [policy]) as readonly AccessPolicy[];
  const failures: PolicyFailure[] = [];
  let checks = 0;
  for (const [index, one] of cases.entries()) {
    const store = options.openStore?.() ?? new MemoryStore({ model: options.definitions });
    try {
      const run = new CaseRun(
        one,
        one.name ?? String(index),
        createRepository({ store, caller: await enrol(store, policies, one) }),
      );
      await run.all();
      checks += run.checks;
      failures.push(...run.failures);
    } finally {
      await store.close();
    }
  }
  return { passed: failures.length === 0, checks, failures };
}

class CaseRun {
  checks = 0;
  readonly failures: PolicyFailure[] = [];

  constructor(
    private readonly tested: PolicyCase,
    private readonly name: string,
    private readonly repository: ReturnType<typeof createRepository>,
  ) {}

  async all(): Promise<void> {
    const { sees = {}, hides = {}, writes = [], deletes = {} } = this.tested;
    for (const [search, ids] of Object.entries(sees)) {
      this.#expect(`sees ${search}`, ids.toSorted(), await this.#idsOf(search));
    }
    for (const [resource, elements] of Object.entries(hides)) {
      this.#expect(`hides ${resource}`, [], await this.#shownOf(resource, elements));
    }
    for (const { resource, outcome } of writes) {
      const write = resource.id === undefined ? this.repository.create(resource) : this.repository.update(resource);
      this.#expect(
        `writes ${resource.resourceType}${resource.id === undefined ? '' : `/${resource.id}`}`,
        outcome,
        await outcomeOf(write),
      );
    }
    for (const [resource, outcome] of Object.entries(deletes)) {
      const { type, id } = splitReference(resource);
      this.#expect(
        `deletes ${resource}`,
        outcome,
        await outcomeOf(this.repository.delete(type as Resource['resourceType'], id)),
      );
    }
  }

  async #idsOf(search: string): Promise<readonly (string | undefined)[]> {
    const [type, query = ''] = search.split('?', 2) as [Resource['resourceType'], string?];
    const { entry = [] } = await this.repository.search(
      type,
      query.includes('_count=') ? query : `${query}&_count=1000`,
    );
    return entry.flatMap(({ search, resource }) => (search?.mode === 'match' ? resource?.id : [])).sort();
  }

  /** Those of the elements that the member sees. */
  async #shownOf(resource: string, elements: readonly string[]): Promise<readonly string[] | string> {
    const { type, id } = splitReference(resource);
    try {
      const seen = elementsOf(await this.repository.read(type as Resource['resourceType'], id));
      return elements.filter((name) => seen[name] !== undefined);
    } catch (error) {
      if (error instanceof FhirError) return error.code;
      throw error;
    }
  }

  #expect(check: string, expected: unknown, actual: unknown): void {
    this.checks += 1;
    if (JSON.stringify(expected) === JSON.stringify(actual)) return;
    this.failures.push({ case: this.name, check, expected, actual });
  }
}

async function outcomeOf(write: Promise<unknown>): Promise<string> {
  try {
    await write;
    return 'written';
  } catch (error) {
    if (error instanceof FhirError && error.status < 500) return error.code;
    throw error;
  }
}

const PROJECT = 'policy-test';

/** Makes the project with its data, and signs the member in. */
async function enrol(
  store: ResourceStore,
  policies: readonly AccessPolicy[],
  tested: PolicyCase,
): Promise<MemberCaller> {
  const { resources, as: profile, parameters = [{}], emergency = false } = tested;
  const isClient = /^(ClientApplication|Bot)\//.test(profile);
  const named = policies.map((policy, index) => ({ ...policy, id: `policy-${index}` }));
  const membership = {
    resourceType: 'ProjectMembership',
    id: 'member',
    project: { reference: `Project/${PROJECT}` },
    user: { reference: isClient ? profile : 'User/member' },
    profile: { reference: profile },
    access: parameters.flatMap((values) =>
      named.map(({ id }) => ({ policy: { reference: `AccessPolicy/${id}` }, ...parametersOf(values) })),
    ),
  };
  const made: readonly object[] = [
    { resourceType: 'Project', id: PROJECT, name: 'Policy test' },
    { resourceType: 'User', id: 'member', firstName: 'Test', lastName: 'Member', email: 'member@policy.test' },
    ...resources,
    ...named,
    membership,
  ];
  await put(store, made as readonly AnyResource[]);
  const caller = await signIn(store, { membership: 'member' });
  if (!emergency) return caller;
  const until = new Date(Date.now() + 3_600_000);
  return breakGlass(caller, { store, reason: 'Policy test', until, audit: () => undefined });
}

function parametersOf(values: { readonly [name: string]: string }): { readonly parameter?: readonly object[] } {
  const parameter = Object.entries(values).map(([name, value]) =>
    parseReference(value)?.kind === 'local'
      ? { name, valueReference: { reference: value } }
      : { name, valueString: value },
  );
  return parameter.length === 0 ? {} : { parameter };
}

async function put(store: ResourceStore, resources: readonly AnyResource[]): Promise<void> {
  await guardStore(store, serverCaller(PROJECT)).commit(
    resources.map((resource) => ({ kind: 'put', key: { type: resource.resourceType, id: resource.id! }, resource })),
  );
}
