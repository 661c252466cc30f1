import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type Criteria, expansionsIn } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceStore } from '../../store/store.js';
import { criteriaConditions } from '../policy/policy-criteria.js';
import { policyError } from '../policy/policy-problem.js';
import { ruleElements, type PolicyGrant } from '../policy/policy-grant.js';
import { expandAll } from './expand-concepts.js';
import { searchForPolicy } from './search-terminology.js';

/**
 * Expands the value sets and hierarchies of codes in a policy's criteria, so that its rules are compiled with codes.
 * Policies without such tests stay as they are.
 *
 * @param subject the profile of the member that the policy binds
 * @throws FhirError `policy-invalid` - there is no terminology, or a value set is unknown or cannot be expanded
 * @throws FhirError `unavailable` - the terminology cannot be reached
 */
export async function withPolicyExpansions(
  store: ResourceStore,
  project: string,
  grant: PolicyGrant,
  subject: string | undefined,
  call: CallOptions | undefined,
): Promise<PolicyGrant> {
  const requests = expansionsIn(
    ...ruleElements(grant.policy).flatMap((rule) => [...conceptCriteria(store.model, grant, rule)]),
  );
  if (requests.size === 0) return grant;
  const ignored = new Set<string>();
  try {
    const search = searchForPolicy(store, project, subject, ignored, call);
    const context = { project, forPolicy: true, search } as const;
    return { ...grant, expansions: await expandAll(requests, store.terminology, context, call) };
  } catch (error) {
    if (!(error instanceof FhirError) || !REFUSED.has(error.code)) throw error;
    throw policyError(grant.reference, [{ path: 'resource', message: `${error.message}${hint(ignored)}` }]);
  }
}

function hint(ignored: ReadonlySet<string>): string {
  const [first] = ignored;
  if (first === undefined) return '';
  return `; ${first} does not count here, because no administrator other than the member itself wrote its current version`;
}

/** The error codes for which a retry is useless. */
const REFUSED: ReadonlySet<string> = new Set(['invalid', 'unsupported', 'too-costly', 'not-found']);

/** Without a mention nothing is parsed here. */
const MENTION = /:(?:not-)?in=|:above=|:below=|_filter=/;

function* conceptCriteria(
  model: FhirModel,
  { parameters }: PolicyGrant,
  rule: { readonly [name: string]: unknown },
): Generator<Criteria> {
  const { criteria, resourceType } = rule;
  if (typeof criteria !== 'string' || !MENTION.test(decodedName(criteria))) return;
  // A rule for all types is compiled for each type at its first use, when it is too late to call the terminology.
  const types = resourceType === '*' ? model.resourceTypes : [String(resourceType)];
  for (const type of types) {
    try {
      for (const condition of criteriaConditions(model, type, criteria, parameters)) yield condition.criteria;
    } catch {
      // Compiling the rule reports it.
    }
  }
}

/** Names of parameters may be escaped: `code%3Ain=`. */
function decodedName(criteria: string): string {
  return criteria.replace(/%3a/gi, ':').replace(/%5f/gi, '_');
}
