import type { PathExpression, PathStep } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import { assertFhirPath, compileTypedFhirPath } from '../../fhirpath/compile.js';
import { parseFhirPath, unquote, type SyntaxNode } from '../../fhirpath/syntax-tree.js';
import { elementsNamed, type Position, reachedFrom } from '../index/element-path.js';
import { type Alternative, alternativesOf, leadingName } from './alternatives.js';
import { pathSteps } from './path-steps.js';
import { assertNoTargetRead } from './resolved-targets.js';

/** An expression of a search parameter for one resource type, or of a component for the values of its composite. */
export interface CompiledExpression {
  /** The alternatives that apply to the type. */
  readonly expression: string;
  /** Absent if the expression needs the FHIRPath library. */
  readonly path?: PathExpression;
  /** Where the path leads; undefined without a path, because it then depends on the data. */
  readonly reached?: readonly Position[];
}

/** Types that mean every resource. */
const EVERY_RESOURCE: ReadonlySet<string> = new Set(['Resource', 'DomainResource']);

/**
 * Compiles the expression of a search parameter for one of its base types.
 *
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - not a FHIRPath expression, one that finds nothing in any
 * resource of the type, or one that reads the target of a reference.
 */
export function compileForType(model: FhirModel, type: string, text: string): CompiledExpression {
  const isTypeName = (name: string): boolean => name === type || (EVERY_RESOURCE.has(name) && model.isA(type, name));
  const appliesTo = ({ tree }: Alternative): boolean => {
    const name = leadingName(tree);
    return name === undefined || isTypeName(name) || model.typeDefinition(name)?.kind !== 'resource';
  };
  const alternatives = alternativesOf(parseFhirPath(text), text).filter(appliesTo);
  if (alternatives.length === 0) throw new FhirError('invalid', `no part of the expression is about ${type}`);
  return compile(model, [type], alternatives, isTypeName);
}

/** Compiles the expression of a component for the values at these positions. */
export function compileForComponent(model: FhirModel, types: readonly string[], text: string): CompiledExpression {
  return compile(model, types, alternativesOf(parseFhirPath(text), text), () => false);
}

function compile(
  model: FhirModel,
  types: readonly string[],
  alternatives: readonly Alternative[],
  isTypeName: (name: string) => boolean,
): CompiledExpression {
  const expression = alternatives.map(({ text }) => text).join(' | ');
  const path = alternatives.map(({ tree }) => pathSteps(tree, isTypeName)?.map((step) => withKnownType(model, step)));
  if (path.every((steps) => steps !== undefined) && path.every((steps) => isWalkable(model, types, steps))) {
    return { expression, path, reached: reachedFrom(model, types, path) };
  }
  assertFhirPath(model, expression, []);
  for (const { tree } of alternatives) {
    assertNoTargetRead(tree);
    assertNamesExist(model, types, tree);
  }
  for (const type of types) compileTypedFhirPath(model, expression, type);
  return { expression };
}

/** R4's own files write `ofType(DateTime)` in places, a type that FHIR does not have. */
function withKnownType(model: FhirModel, step: PathStep): PathStep {
  if (typeof step === 'string' || !('ofType' in step) || model.typeDefinition(step.ofType) !== undefined) return step;
  const ofType = step.ofType[0]!.toLowerCase() + step.ofType.slice(1);
  return model.typeDefinition(ofType) === undefined ? step : { ofType };
}

/**
 * Whether a path leads anywhere by elements alone.
 *
 * @returns false for a path into the extensions of a primitive or into a contained resource, which the library follows
 * @throws FhirError `invalid` - an element does not exist
 */
function isWalkable(model: FhirModel, types: readonly string[], steps: readonly PathStep[]): boolean {
  if (reachedFrom(model, types, [steps]).length > 0) return true;
  for (let length = 1; length <= steps.length; length++) {
    const name = steps[length - 1];
    const owners = reachedFrom(model, types, [steps.slice(0, length - 1)]).map(({ type }) => type);
    if (typeof name !== 'string' || owners.length === 0) continue;
    if (owners.some((owner) => elementsNamed(model, owner, name).length > 0)) continue;
    if (owners.some((owner) => owner === 'Resource' || model.typeDefinition(owner)?.kind === 'primitive')) return false;
    throw noSuchElement(model, owners, name);
  }
  throw new FhirError('invalid', 'the expression finds nothing: no element has the type that it selects');
}

function noSuchElement(model: FhirModel, owners: readonly string[], name: string): FhirError {
  const names = owners.flatMap((owner) => [...(model.typeDefinition(owner)?.elements.keys() ?? [])]);
  return new FhirError('invalid', `${owners[0]!} has no element ${quote(name)}.${didYouMean(name, new Set(names))}`);
}

/** Asserts that every element name exists in some type; in which type depends on the data. */
function assertNamesExist(model: FhirModel, types: readonly string[], tree: SyntaxNode): void {
  const known = ELEMENT_NAMES(model);
  const pending = [tree];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    pending.push(...(node.children ?? []));
    const name = node.type === 'MemberInvocation' ? unquote(node.text ?? '') : undefined;
    if (name !== undefined && !known.has(name)) throw noSuchElement(model, types, name);
  }
}

/** Names of elements, of choices without their type, and of types, which expressions write in the same places. */
const ELEMENT_NAMES = perModel((model): ReadonlySet<string> => {
  const names = new Set([...SYSTEM_NAMES, ...model.typeNames]);
  for (const type of model.typeNames) {
    for (const { name, choiceOf } of model.typeDefinition(type)!.elements.values()) {
      names.add(name);
      if (choiceOf !== undefined) names.add(choiceOf);
    }
  }
  return names;
});

const SYSTEM_NAMES = [
  ...['resourceType', 'FHIR', 'System', 'Boolean', 'String', 'Integer', 'Long', 'Decimal', 'Date', 'DateTime', 'Time'],
];
