import { parseFhirPath, unquote, unwrap, type SyntaxNode } from './syntax-tree.js';

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
