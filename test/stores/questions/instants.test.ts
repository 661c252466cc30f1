import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, Prefix } from '../../../src/store.js';
import { oneOf, queryOf, resourceOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { askEverywhere } from './ask-everywhere.js';

const DAY = 86_400_000;
const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'sa', 'eb', 'ap'];

function requests(count: number): readonly AnyResource[] {
  return Array.from({ length: count }, (_, index) =>
    resourceOf('ServiceRequest', `s${(index * 7919) % 1_009}`, { status: index % 3 === 0 ? 'draft' : 'active' }),
  );
}

function updated(prefix: Prefix, low: number, high: number): Criteria {
  return { kind: 'last-updated', test: { kind: 'date', prefix, low, high } };
}

describe('instants of the last change', () => {
  askEverywhere({
    make: requests,
    count: 280,
    ask: (random, data) => {
      const { lastUpdated } = oneOf(data.subjects('ServiceRequest'), random);
      const low = lastUpdated + oneOf([-1, 0, 0, 1, -DAY], random);
      const one = updated(oneOf(PREFIXES, random), low, low + oneOf([1, 1, 1_000, DAY, 3 * DAY], random));
      const not: Criteria = { kind: 'not', of: one };
      const other = oneOf<Criteria>([match('status', 'active'), { kind: 'not', of: match('status', 'draft') }], random);
      const criteria = oneOf<Criteria>(
        [
          one,
          not,
          { kind: 'and', of: [one, other] },
          { kind: 'and', of: [not, other] },
          { kind: 'or', of: [not, { kind: 'not', of: other }] },
        ],
        random,
      );
      const sort = oneOf([[by('status')], [by('_lastUpdated', random() < 0.5)], undefined], random);
      return queryOf('ServiceRequest', criteria, { sort, limit: oneOf([0, 10], random), total: true });
    },
  });
});
