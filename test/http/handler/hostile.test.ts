import { expect, test, vi } from 'vitest';
import { createTestService } from '../../../src/test-service.js';

test.each([
  ['GET', 'Patient'],
  ['GET', 'Patient/_history'],
  ['GET', 'Patient/ann/$everything'],
  ['GET', 'ProjectMembership'],
  ['PUT', 'Patient'],
  ['DELETE', 'Patient'],
  ['POST', 'Patient/_search'],
  ['GET', '$graphql'],
])('%s %s with 10,001 parameters is refused before they are read', async (method, path) => {
  const signIn = vi.fn();
  const service = await createTestService({ config: { signIn } });
  const query = `?${Array.from({ length: 10_001 }, (_, n) => `p${n}=1`).join('&')}`;
  const response = await service.handler(new Request(`${service.baseUrl}/${path}${query}`, { method }));
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining('At most 10000 parameters')]);
  expect(signIn).not.toHaveBeenCalled();
});
