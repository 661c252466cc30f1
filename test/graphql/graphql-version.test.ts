import { version } from 'graphql';
import { expect, test } from 'vitest';

test('the GraphQL tests run on the major version of graphql that their project names', () => {
  expect(version.split('.')[0]).toBe(process.env['GRAPHQL_MAJOR']);
});
