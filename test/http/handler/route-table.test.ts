import { expect, test } from 'vitest';
import { ROUTE_GROUPS } from '../../../src/http/exchange/handler-config.js';
import type { Route } from '../../../src/http/exchange/exchange.js';
import { ROUTES } from '../../../src/http/handler/routes.js';

const MEMBERS = 'members';
const ADMINISTRATORS = 'administrators';
const OPERATORS = 'super administrators';
const REMOVERS = 'super administrators without access policies';

/** Who may call the routes that are not for all members. `npx vitest run test/http/handler/route-table.test.ts -u` writes the page. */
const CALLERS: { readonly [route: string]: string } = {
  'GET [base]/metadata': 'everybody',
  'GET [base]/.well-known/smart-configuration': 'everybody, if `smartConfiguration` is set',
  'GET /healthcheck': 'everybody, if `healthcheck` is true',
  'GET /auth/me': MEMBERS,
  'POST [base]/Project': OPERATORS,
  'GET /admin/projects': OPERATORS,
  'GET /admin/projects/[project]': `${OPERATORS}, ${ADMINISTRATORS}`,
  'PATCH /admin/projects/[project]': OPERATORS,
  'DELETE /admin/projects/[project]': REMOVERS,
  'POST /admin/projects/[project]/deactivate': OPERATORS,
  'POST /admin/projects/[project]/reactivate': OPERATORS,
  'GET /admin/projects/[project]/export': REMOVERS,
  'POST /admin/projects/[project]/erase-resource': REMOVERS,
  'POST /admin/projects/[project]/erase-patient': REMOVERS,
  'POST /admin/projects/[project]/purge-history': REMOVERS,
  'POST /admin/projects/[project]/members/[membership]/revoke-sessions': `${ADMINISTRATORS}, the member`,
  'POST /admin/invitations/accept': 'the invited person, whom `identify` verifies',
  'GET /admin/audit-log': MEMBERS,
};

const NAMES: { readonly [name: string]: string } = {
  type: 'type',
  id: 'id',
  version: 'version',
  project: 'project',
  membership: 'membership',
};

function nameOf(route: Route): string {
  return `${route.method} ${placeOf(route)}`;
}

function placeOf({ root, path }: Route): string {
  const place = path.replace(/:(\w+)/g, (_, name: string) => `[${NAMES[name]!}]`);
  const base = { fhir: '[base]', admin: '/admin', beside: '' }[root];
  return place === '' ? base : `${base}/${place}`;
}

test('the page of routes has each of them, with who may call it', async () => {
  const names = ROUTES.map(nameOf);
  expect(Object.keys(CALLERS).filter((name) => !names.includes(name))).toEqual([]);
  const sorted = ROUTES.toSorted((one, other) => ROUTE_GROUPS.indexOf(one.group) - ROUTE_GROUPS.indexOf(other.group));
  // One row for all methods of a path that the same callers may use.
  const rows = new Map<string, Set<string>>();
  for (const route of sorted) {
    const callers = CALLERS[nameOf(route)] ?? (route.group === 'admin' ? ADMINISTRATORS : MEMBERS);
    const row = `${placeOf(route)}\` | \`${route.group}\` | ${callers} |`;
    rows.set(row, (rows.get(row) ?? new Set()).add(route.method));
  }
  const page = [
    '# Routes',
    '',
    'Every route of [the handler](../how-to/http-service.md), with its [group](../how-to/http-service.md) and who may call it. `[base]` is `baseUrl`; `/admin`, `/auth` and `/healthcheck` are next to a base that ends in `/fhir/R4`, otherwise below the base. Of several routes that fit, the first answers. GET answers HEAD, too. A test generates this page.',
    '',
    '- **Members** call within their access rules. A Patient finds the AuditEvents of its own record.',
    '- **Administrators** are those of the project.',
    '- **Super administrators** with access policies need a rule for the interaction.',
    '',
    '| Route | Group | Who may call it |',
    '|---|---|---|',
    ...[...rows].map(([row, methods]) => `| \`${[...methods].join(', ')} ${row}`),
    '',
  ].join('\n');
  await expect(page).toMatchFileSnapshot('../../../docs/reference/routes.md');
});
