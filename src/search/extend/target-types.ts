import type { CompiledExpression } from './compile-expression.js';

/** A list of more types than this means every type. */
const MAX_STATED = 100;

/**
 * The types that a reference parameter can point to: those that it states and its elements allow; undefined for any
 * type.
 */
export function targetTypes(
  stated: readonly string[] | undefined,
  compiled: CompiledExpression,
): readonly string[] | undefined {
  const named = stated === undefined || stated.length === 0 || stated.length > MAX_STATED ? undefined : stated;
  const allowed = allowedTypes(compiled);
  if (named === undefined || allowed === undefined) return named ?? allowed;
  const both = named.filter((type) => allowed.includes(type));
  return both.length > 0 ? both : allowed;
}

function allowedTypes({ path, reached }: CompiledExpression): readonly string[] | undefined {
  if (path === undefined || reached === undefined) return undefined;
  const ends = path.map((steps) => {
    const last = steps.at(-1);
    return typeof last === 'object' && 'resolvesTo' in last ? last.resolvesTo : undefined;
  });
  if (ends.every((end) => end !== undefined)) return [...new Set(ends)];
  const lists = reached.flatMap(({ type, element }) =>
    type === 'Reference' || type === 'canonical'
      ? [element?.targets]
      : type === 'uri' || type === 'Resource'
        ? [undefined]
        : [],
  );
  return lists.length > 0 && lists.every((list) => list !== undefined) ? [...new Set(lists.flat())] : undefined;
}
