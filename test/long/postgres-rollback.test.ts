import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AnyResource,
  FhirError,
  type MemberCaller,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { below, createRandom, oneOf, PROJECT } from '../support/kit.js';
import { ENDING_CODES } from '../../src/access/sign-in/session.js';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { TUNING } from '../../src/stores/postgres/scans/tuning.js';
import { assertSearches, skewedResources } from '../../src/testing/suites/random-searches.js';
import { repositoryOf, signedIn, system } from '../repository/harness.js';
import { write } from '../stores/queries.js';
import { buildSegments } from '../stores/postgres/build-segments.js';
import { cases, SEED } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined)
  console.warn('PostgreSQL is not put back: no server here; FHIRGRAPH_POSTGRES_BIN may name one');

const DEFAULTS = [SEGMENT_TUNING, TUNING].map((tuning) => [tuning, { ...tuning }] as const);
const STATUSES = ['final', 'amended', 'preliminary'] as const;

/** What the database holds, and what the only member may see. */
interface State {
  readonly observations: ReadonlyMap<string, AnyResource>;
  readonly active: boolean;
  /** The status of the Observations that the policy shows. */
  readonly status: string;
}

describe.skipIf(PROGRAMS === undefined)(
  'a server whose data are put back to an earlier copy under living processes',
  () => {
    const tally = tallyOf('data put back, PostgreSQL');
    const home = mkdtempSync(join(tmpdir(), 'fhirgraph-rollback-'));
    const [data, copy] = [join(home, 'server', 'data'), join(home, 'copy')];
    const random = createRandom(SEED);
    let server: PostgresServer;
    let pool: pg.Pool;
    let living: PostgresStore;
    let other: PostgresStore;
    beforeAll(async () => {
      // Few resources are many segments, and every search uses them.
      Object.assign(SEGMENT_TUNING, { size: 40, minSize: 7 });
      Object.assign(TUNING, { look: 0 });
      // Another user runs PostgreSQL.
      chmodSync(home, 0o711);
      server = await startPostgres(PROGRAMS!, { fsync: 'off' }, join(home, 'server'));
      pool = new pg.Pool({ ...server.connection, max: 8 });
      [living, other] = [new PostgresStore(pool), new PostgresStore(pool)];
    });
    afterAll(async () => {
      DEFAULTS.forEach(([tuning, before]) => Object.assign(tuning, before));
      await Promise.all([living?.close(), other?.close()]);
      await pool?.end();
      await server?.kill();
      rmSync(home, { recursive: true, force: true });
    });

    let state: State = { observations: new Map(), active: true, status: 'final' };
    let member: { readonly membership: string; readonly user: string; readonly policy: string };

    async function change(): Promise<void> {
      const observations = new Map(state.observations);
      for (const one of await write(other, skewedResources(10, random))) observations.set(one.id!, one);
      const active = random() < 0.7;
      const status = oneOf(STATUSES, random);
      await updateMember(member.membership, { active }, { store: other, caller: systemCaller(PROJECT) });
      await repositoryOf(other, serverCaller(PROJECT)).update({
        resourceType: 'AccessPolicy',
        id: member.policy,
        resource: [{ resourceType: 'Observation', criteria: `Observation?status=${status}` }],
      });
      state = { observations, active, status };
      if (random() < 0.7) await buildSegments(pool, ['Observation']);
    }

    async function copied(from: string, to: string): Promise<void> {
      await server.kill();
      rmSync(to, { recursive: true, force: true });
      // As root, only this keeps the owner.
      const done = spawnSync('cp', ['-a', from, to]);
      if (done.status !== 0) cpSync(from, to, { recursive: true });
      await server.start();
      // The connections of before are lost.
      await Promise.all(Array.from({ length: 8 }, () => pool.query('SELECT 1').catch(() => undefined)));
      await untilAvailable(() => living.read([]));
      await untilAvailable(() => other.accessEpoch());
    }

    const held: { readonly caller: MemberCaller; readonly status: string }[] = [];

    async function ask(): Promise<void> {
      await assertSearches(living, PROJECT, [...state.observations.values()], random, 6);
      const signingIn = signIn(living, { project: PROJECT, user: member.user }, { recheckAfter: 0 });
      if (state.active) held.push({ caller: await signingIn, status: state.status });
      else await expect(signingIn).rejects.toMatchObject({ code: 'membership-inactive' });
      for (const one of held.splice(0)) {
        const { caller, status } = one;
        try {
          const { entry = [] } = await repositoryOf(living, caller).search('Observation', 'code=c1&_count=1000');
          expect([status, state.active]).toEqual([state.status, true]);
          expect(entry.map(({ resource }) => resource!.id).sort()).toEqual(shownTo(status));
          if (held.length < 5) held.push(one);
        } catch (error) {
          // A change and its opposite end a session, too.
          if (!(error instanceof FhirError && ENDING_CODES.has(error.code))) throw error;
        }
        tally.addTrials(1);
      }
    }

    function shownTo(status: string): readonly string[] {
      return [...state.observations.values()]
        .map((one) => one as unknown as { id: string; status: string; code: { coding: { code: string }[] } })
        .filter((one) => one.status === status && one.code.coding.some(({ code }) => code === 'c1'))
        .map(({ id }) => id)
        .sort();
    }

    test(`they search, sign in and verify what is there now, seed ${SEED}`, async () => {
      await system(other, PROJECT);
      const { membership, user } = await signedIn(other, {
        project: PROJECT,
        rules: [{ resourceType: 'Observation' }],
      });
      const { access } = await repositoryOf(other, serverCaller(PROJECT)).read('ProjectMembership', membership);
      member = { membership, user, policy: access![0]!.policy.reference!.slice('AccessPolicy/'.length) };
      await change();
      await buildSegments(pool, ['Observation']);
      await copied(data, copy);
      let kept = state;
      for (let round = 0; round < cases(2, 3); round++) {
        for (let n = below(3, random); n >= 0; n--) {
          await change();
          await ask();
        }
        if (random() < 0.2) {
          await copied(data, copy);
          kept = state;
          continue;
        }
        await copied(copy, data);
        state = kept;
        tally.addFaults();
        if (random() < 0.5) await ask();
        // Others write what the living process has not seen.
        await change();
        await ask();
        expect((await living.verify()).problems).toEqual([]);
      }
    });
  },
);

async function untilAvailable(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt > 20 || !(error instanceof FhirError) || error.code !== 'unavailable') throw error;
    }
  }
}
