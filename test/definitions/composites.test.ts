import { expect, test } from 'vitest';
import { R4 } from '../../src/store.js';
import { compilePath, reachedFrom } from '../../src/search/index/element-path.js';
import { isNative } from '../../src/search/index/index-expression.js';
import { valueIndexer } from '../../src/search/index/index-values.js';

test('every component of a composite of R4 reaches values of its type', () => {
  const composites = R4.resourceTypes.flatMap((type) =>
    [...R4.searchParameters(type).values()].flatMap((parameter) =>
      parameter.type === 'composite' ? [{ type, parameter }] : [],
    ),
  );
  const unusable = composites.flatMap(({ type, parameter: { code, path, components = [] } }) => {
    const roots = path === undefined ? [] : reachedFrom(R4, [type], path);
    const isUsable = ({ type: kind, expression, path: within }: (typeof components)[number]): boolean =>
      isNative(expression) ||
      roots.every(
        (root) =>
          within !== undefined &&
          compilePath(R4, root.type, within, (one) => valueIndexer(R4, kind, one.type, one.element)) !== undefined,
      );
    return components.filter((one) => !isUsable(one)).map((one) => `${type}.${code} ${one.code}`);
  });
  expect(composites.length).toBeGreaterThan(60);
  expect(unusable).toEqual([]);
});

test('the components of relationship have the expressions that R4 swaps', () => {
  const { components } = R4.searchParameter('DocumentReference', 'relationship')!;
  expect(components!.map(({ code, type, expression }) => [code, type, expression])).toEqual([
    ['relatesto', 'reference', 'target'],
    ['relation', 'token', 'code'],
  ]);
});
