import { expect, test } from 'vitest';
import { directoryEntry } from '../../src/access/write/membership-records.js';
import type { AnyResource } from '../../src/index.js';

const KEY = { project: 'clinic', type: 'ProjectMembership', id: 'm' };

test.each<[object, object]>([
  [{}, {}],
  [{ user: {}, externalId: 7 }, {}],
  [{ user: { reference: 'User/ann', display: 'Ann' } }, { user: { reference: 'User/ann' } }],
  [{ externalId: 'idp|ann' }, { externalId: 'idp|ann' }],
])('the directory above projects records for %j the project and %j', (elements, expected) => {
  const membership = { resourceType: 'ProjectMembership', id: 'm', admin: true, ...elements } as AnyResource;
  const write = directoryEntry(KEY, 0, membership)[1]!.write;
  expect(write.kind === 'put' && write.resource).toStrictEqual({
    resourceType: 'ProjectMembership',
    id: 'm',
    project: { reference: 'Project/clinic' },
    ...expected,
  });
});
