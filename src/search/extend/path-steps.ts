import type { PathStep } from '../../fhir/model/definition-types.js';
import { parametersOf, unquote, unwrap, type SyntaxNode } from '../../fhirpath/syntax-tree.js';

/**
 * Compiles a FHIRPath syntax tree to the steps of a path. scripts/definitions/path-expression.mjs does the same for R4.
 *
 * @param isTypeName whether a name at the beginning names the resource itself, as `Patient` in `Patient.name`
 * @returns undefined for every other form of expression
 */
export function pathSteps(
  node: SyntaxNode,
  isTypeName: (name: string) => boolean = () => false,
): readonly PathStep[] | undefined {
  const inner = unwrap(node);
  const [from, second] = inner.children ?? [];
  switch (inner.type) {
    case 'MemberInvocation': {
      const name = unquote(inner.text ?? '');
      return inner.atRoot !== undefined && isTypeName(name) ? [] : [name];
    }
    case 'InvocationExpression':
      return append(pathSteps(from!, isTypeName), invocationSteps(second!));
    case 'TypeExpression':
      return inner.text === 'as' ? append(pathSteps(from!, isTypeName), ofType(second)) : undefined;
    case 'IndexerExpression': {
      const steps = pathSteps(from!, isTypeName);
      const index = literal(second!);
      // The index of a deeper element would count within each parent, and FHIRPath's counts in all of them.
      return steps?.length === 1 && typeof index === 'number' ? [...steps, { index }] : undefined;
    }
    default:
      return undefined;
  }
}

function invocationSteps(node: SyntaxNode): readonly PathStep[] | undefined {
  const name = unquote(node.text ?? '');
  if (node.type === 'MemberInvocation') return [name];
  if (node.type !== 'FunctionInvocation') return undefined;
  const [parameter, other] = parametersOf(node);
  if (parameter === undefined || other !== undefined) return undefined;
  switch (name) {
    case 'ofType':
    case 'as':
      return ofType(parameter);
    case 'where':
      return condition(parameter);
    case 'extension': {
      const url = literal(parameter);
      return typeof url === 'string' ? ['extension', { path: ['url'], equals: url }] : undefined;
    }
    default:
      return undefined;
  }
}

/** `system = 'phone'` or `resolve() is Patient`. */
function condition(node: SyntaxNode): readonly PathStep[] | undefined {
  const inner = unwrap(node);
  const [left, right] = inner.children ?? [];
  if (inner.type === 'TypeExpression' && inner.text === 'is') {
    const call = unwrap(left!);
    const type = typeName(right);
    const resolves = call.type === 'FunctionInvocation' && call.text === 'resolve';
    return resolves && type !== undefined ? [{ resolvesTo: type }] : undefined;
  }
  if (inner.type !== 'EqualityExpression' || inner.text !== '=') return undefined;
  const path = pathSteps(left!);
  const equals = literal(right!);
  if (path === undefined || !path.every((step) => typeof step === 'string')) return undefined;
  return typeof equals === 'string' || typeof equals === 'boolean' ? [{ path, equals }] : undefined;
}

function ofType(specifier: SyntaxNode | undefined): readonly PathStep[] | undefined {
  const type = typeName(specifier);
  return type === undefined ? undefined : [{ ofType: type }];
}

/** A type of FHIR. Types of FHIRPath itself are left to the library. */
function typeName(specifier: SyntaxNode | undefined): string | undefined {
  const text = specifier?.text ?? (specifier && unwrap(specifier).text) ?? '';
  const name = text.replace(/^FHIR\./, '');
  return /^\w+$/.test(name) ? name : undefined;
}

function literal(node: SyntaxNode): string | boolean | number | undefined {
  const inner = unwrap(node);
  if (inner.type === 'StringLiteral') return unquote(inner.text ?? '');
  if (inner.type === 'BooleanLiteral') return inner.text === 'true';
  return inner.type === 'NumberLiteral' && /^\d+$/.test(inner.text ?? '') ? Number(inner.text) : undefined;
}

function append(
  steps: readonly PathStep[] | undefined,
  more: readonly PathStep[] | undefined,
): readonly PathStep[] | undefined {
  return steps === undefined || more === undefined ? undefined : [...steps, ...more];
}
