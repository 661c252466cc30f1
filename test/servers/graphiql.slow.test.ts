import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importBundle, systemCaller } from '../../src/index.js';
import { findChromium, launchChromium } from './chromium.js';
import { openYoga, type OpenYoga } from './open-yoga.js';

const CHROMIUM = findChromium();
if (CHROMIUM === undefined) console.warn('GraphiQL is not tested: no Chromium here, and FHIRGRAPH_CHROMIUM names none');

/** For a busy machine. */
const PATIENCE = 900_000;

describe.skipIf(CHROMIUM === undefined)('GraphiQL in a browser', () => {
  let yoga: OpenYoga;
  let browser: Browser;
  let page: Page;
  const foreign: string[] = [];

  beforeAll(async () => {
    yoga = await openYoga({ introspection: { types: ['Patient', 'Practitioner'] }, tellToken: true, query: '{ }' });
    const patient = { resourceType: 'Patient', name: [{ family: 'Brook', given: ['Cleo'] }], birthDate: '1970-05-17' };
    const entry = [{ resource: patient, request: { method: 'POST', url: 'Patient' } }];
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry };
    await importBundle(bundle, { store: yoga.store, caller: systemCaller(yoga.project) });
    browser = await launchChromium(CHROMIUM!);
    page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith(new URL(yoga.url).origin) && !/^(data|blob):/.test(request.url())) {
        foreign.push(request.url());
      }
    });
    const told = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.goto(yoga.url);
    // GraphiQL asks for the schema first.
    await told;
  }, PATIENCE);
  afterAll(async () => {
    await browser?.close();
    await yoga?.stop();
  });

  async function type(text: string): Promise<void> {
    await page.locator('.graphiql-query-editor .monaco-editor, .graphiql-query-editor .CodeMirror').first().click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.press('Delete');
    // In one piece, because the editor adds closing brackets to typed letters.
    await page.keyboard.insertText(text);
  }

  /** @returns the query that was sent, and the answer */
  async function run(): Promise<{ readonly query: string; readonly answer: unknown }> {
    const awaited = page.waitForResponse((one) => one.request().method() === 'POST');
    await page.locator('.graphiql-execute-button').click();
    const response = await awaited;
    const { query } = response.request().postDataJSON() as { query: string };
    return { query, answer: await response.json() };
  }

  /** The text of the answer pane. The editor writes spaces as no-break spaces. */
  const shown = async (): Promise<string> =>
    (await page.locator('.result-window').innerText()).replaceAll('\u00a0', ' ');

  test('runs a query and shows its answer', { timeout: PATIENCE }, async () => {
    await type('{ PatientList(name: "brook") { name { family given } birthDate } }');
    expect((await run()).answer).toEqual({
      data: { PatientList: [{ name: [{ family: 'Brook', given: ['Cleo'] }], birthDate: '1970-05-17' }] },
    });
    await expect.poll(() => shown(), { timeout: PATIENCE }).toContain('1970-05-17');
  });

  test('shows an error with its location', { timeout: PATIENCE }, async () => {
    await type('{ PatientList { nothing } }');
    const { query, answer } = await run();
    expect(answer).toMatchObject({
      errors: [{ locations: [{ line: 1, column: query.indexOf('nothing') + 1 }], extensions: { code: 'invalid' } }],
    });
    await expect.poll(() => shown(), { timeout: PATIENCE }).toContain('Cannot query field');
  });

  test('completes fields of the schema', { timeout: PATIENCE }, async () => {
    await type('{ PatientList { birthD } }');
    for (let back = 0; back < 4; back++) await page.keyboard.press('ArrowLeft');
    await expect
      .poll(
        async () => {
          await page.keyboard.press('Control+Space');
          return page.locator('.suggest-widget, .CodeMirror-hints').allInnerTexts();
        },
        { timeout: PATIENCE, interval: 500 },
      )
      .toEqual([expect.stringContaining('birthDate')]);
  });

  test('loads nothing from other hosts', () => {
    expect(foreign).toEqual([]);
  });
});
