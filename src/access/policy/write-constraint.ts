import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import type { JsonObject } from '../../fhir/resource.js';
import { assertFhirPath } from '../../fhirpath/compile.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { parseFhirPath, type SyntaxNode, unquote, unwrap } from '../../fhirpath/syntax-tree.js';
import { getOrCreate } from '../../platform/collections.js';
import { ruleElements } from './policy-grant.js';

/**
 * Rejects a write constraint that cannot be evaluated.
 *
 * @returns the names of the first-level elements it reads: a misspelled one has no values, and
 * `%before.statuss.exists().not()` would always hold
 * @param expression FHIRPath over `%before` and `%after`
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - it does not parse, or uses unknown names
 */
export function assertWriteConstraint(model: FhirModel, expression: string): ReadonlySet<string> {
  const outcomes = OUTCOMES(model);
  const outcome = getOrCreate<string, ReadonlySet<string> | FhirError>(outcomes, expression, () =>
    check(model, expression),
  );
  if (outcome instanceof FhirError) throw outcome;
  return outcome;
}

/** Awaited before the write constraints of policies are checked, as FHIRPath has to be loaded for them. */
export async function loadForPolicies(policies: readonly JsonObject[]): Promise<void> {
  const isConstrained = policies.some((policy) =>
    ruleElements(policy).some((rule) => rule['writeConstraint'] !== undefined),
  );
  if (isConstrained) await loadFhirPath();
}

/** Constraints are checked at each sign-in and parsing takes milliseconds; the results never change. */
const OUTCOMES = perModel(() => new LRUCache<string, ReadonlySet<string> | FhirError>({ max: 500 }));

function check(model: FhirModel, expression: string): ReadonlySet<string> | FhirError {
  try {
    assertFhirPath(model, expression, ['before', 'after']);
    return rootElements(expression, RESOURCES);
  } catch (error) {
    if (error instanceof FhirError && error.code !== 'internal') return error;
    throw error;
  }
}

/** Variables with the resource before or after the write. */
const RESOURCES: ReadonlySet<string> = new Set(['after', 'before', 'context', 'resource', 'rootResource']);

/**
 * The names of first-level elements that an expression reads: `status` and `name` of `status = 'final' or
 * %before.name.exists()`.
 *
 * Only names directly under the root or one of the variables are returned; the expression may read others.
 *
 * @param variables names of variables that hold a resource of the same type as the root
 */
export function rootElements(expression: string, variables: ReadonlySet<string>): ReadonlySet<string> {
  const names = new Set<string>();
  const pending = [parseFhirPath(expression)];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    // A definition may shadow one of the variables.
    if (node.type === 'FunctionInvocation' && unquote(node.text ?? '') === 'defineVariable') return new Set();
    const name = nameAtRoot(node, variables);
    if (name !== undefined) names.add(name);
    pending.push(...(node.children ?? []));
  }
  return names;
}

function nameAtRoot(node: SyntaxNode, variables: ReadonlySet<string>): string | undefined {
  if (node.type === 'MemberInvocation' && node.atRoot === 1) return unquote(node.text ?? '');
  const [from, member] = node.type === 'InvocationExpression' ? (node.children ?? []) : [];
  if (from === undefined || member?.type !== 'MemberInvocation') return undefined;
  const variable = unwrap(from);
  const isRoot =
    variable.type === 'ExternalConstantTerm' && variables.has(unquote(variable.delimitedText ?? variable.text ?? ''));
  return isRoot ? unquote(member.text ?? '') : undefined;
}
