import { cacheExchange, Client, fetchExchange, gql } from '@urql/core';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveBoard } from '../../examples/live-board/server.js';
import { createRepository, MemoryStore, type Repository, systemCaller } from '../../src/index.js';
import { findChromium, launchChromium } from '../servers/chromium.js';

const CHROMIUM = findChromium();
if (CHROMIUM === undefined)
  console.warn('EventSource is not tested: no Chromium here, and FHIRGRAPH_CHROMIUM names none');

let store: MemoryStore;
let repository: Repository;
let server: Server;
let url: string;

beforeEach(async () => {
  store = new MemoryStore();
  repository = createRepository({ store, caller: systemCaller('ward') });
  server = liveBoard(store, systemCaller('ward'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await store.close();
  await new Promise((resolve) => server.close(resolve));
});

const task = (id: string, description: string, status: 'requested' | 'completed' = 'requested') =>
  repository.update({ resourceType: 'Task', id, status, intent: 'order', description });

test('urql receives events', async () => {
  const client = new Client({
    url: `${url}/fhir/R4/$graphql`,
    exchanges: [cacheExchange, fetchExchange],
    fetchSubscriptions: true,
    preferGetMethod: false,
  });
  const seen: string[] = [];
  const first = Promise.withResolvers<true>();
  client.subscription(gql('subscription { TaskChanges { event id } }'), {}).subscribe(({ data, error }) => {
    if (error) first.reject(error);
    seen.push(`${data?.TaskChanges.event} ${data?.TaskChanges.id}`);
    first.resolve(true);
  });
  // It begins when the server has the request.
  let number = 0;
  while (seen.length === 0) {
    await task(`t${number++}`, 'pulse');
    await Promise.race([first.promise, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
  expect(seen[0]).toMatch(/^enter t\d+$/);
});

describe.skipIf(CHROMIUM === undefined)('the ward board in a browser', () => {
  test('shows what is there, what comes and what changes, and goes on after a break', async () => {
    await task('t1', 'pulse');
    const browser = await launchChromium(CHROMIUM!);
    try {
      const page = await browser.newPage();
      await page.goto(url);
      const rows = async (...texts: string[]): Promise<void> => {
        await page.waitForFunction(
          (wanted) => [...document.querySelectorAll('li')].map((row) => row.textContent).join() === wanted,
          texts.join(),
        );
      };
      await rows('pulse');
      await task('t2', 'temperature');
      await rows('pulse', 'temperature');
      await task('t1', 'pulse', 'completed');
      await rows('temperature');
      server.closeAllConnections();
      await task('t2', 'weight');
      await rows('weight');
    } finally {
      await browser.close();
    }
  });
});
