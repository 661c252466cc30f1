// Opens the built site in a headless Chromium: every page at desktop and phone width, dark and light; the search; every
// query that runs in place, against the answer that the page shows; the playground. No request may leave the site.
// Run `npm run docs:site` first. FHIRGRAPH_PICTURES names a folder for screenshots.
import './assert-node.mjs';
import { createReadStream, existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from '../test/servers/chromium.js';
import { guideExamples, shownAnswer } from '../test/graphql/guide-examples.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SITE = join(ROOT, 'site');
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};
const VIEWS = [
  { name: 'desktop', width: 1280, height: 800 },
  { name: 'phone', width: 390, height: 844 },
];

if (!existsSync(SITE)) throw new Error('There is no site; run `npm run docs:site` first');
const chromium = findChromium();
if (chromium === undefined) {
  console.warn('No Chromium here, and FHIRGRAPH_CHROMIUM names none: the site was not checked');
  process.exit(0);
}
const server = createServer((request, response) => {
  const path = join(SITE, decodeURIComponent(new URL(request.url!, 'http://site').pathname));
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'index.html') : path;
  if (!existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
  return createReadStream(file).pipe(response);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const problems: string[] = [];
const browser = await launchChromium(chromium);
try {
  const pages = globSync('**/*.html', { cwd: SITE, exclude: ['api/**'] }).filter((name) => name !== '404.html');
  for (const view of VIEWS) {
    for (const colorScheme of ['light', 'dark'] as const) await checkPages(pages, view, colorScheme);
  }
  await checkSearch();
  for (const name of ['reference/queries', 'how-to/mutations']) await checkQueries(name);
  await checkPlayground();
  await checkApi();
} finally {
  await browser.close();
  server.close();
  server.closeAllConnections();
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log('The site is sound');

/** A page that notes errors and requests that leave the site. */
async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage(options);
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:')) problems.push(`${page.url()} requests ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${page.url()}: ${response.status()} for ${response.url()}`);
  });
  return page;
}

async function checkPages(
  names: readonly string[],
  { name: view, width, height }: (typeof VIEWS)[number],
  colorScheme: 'light' | 'dark',
): Promise<void> {
  const page = await open({ viewport: { width, height }, colorScheme });
  for (const name of names) {
    await page.goto(`${origin}/${name}`, { waitUntil: 'load' });
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    if (overflow > 0) problems.push(`${name} is ${overflow} pixels too wide at ${view} width`);
    const isDark = await page.evaluate<boolean>("document.documentElement.classList.contains('dark')");
    if (isDark !== (colorScheme === 'dark')) problems.push(`${name} is not ${colorScheme}`);
    const broken = await page.evaluate<number>(
      '[...document.images].filter((i) => i.complete && i.naturalWidth === 0).length',
    );
    if (broken > 0) problems.push(`${name} has ${broken} broken images`);
    const folder = process.env['FHIRGRAPH_PICTURES'];
    if (folder !== undefined && /^(?:index|playground|reference\/queries|contents)\.html$/.test(name)) {
      await page.screenshot({
        path: join(folder, `${name.replace('/', '-').replace('.html', '')}-${view}-${colorScheme}.png`),
      });
    }
  }
  await page.close();
}

async function checkSearch(): Promise<void> {
  const page = await open();
  await page.goto(origin);
  // The button works as soon as its script has run.
  await page.locator('.VPNavBarSearch button').click();
  await page.locator('.VPLocalSearchBox input').fill('hiddenFields');
  const results = page.locator('.VPLocalSearchBox .result');
  await results.first().waitFor();
  if ((await results.count()) === 0) problems.push('The search does not find "hiddenFields"');
  await page.close();
}

/** Runs every query of a page and compares with the answer that the page shows. */
async function checkQueries(name: string): Promise<void> {
  const page = await open();
  await page.goto(`${origin}/${name}.html`);
  const examples = guideExamples(readFileSync(join(ROOT, 'docs', `${name}.md`), 'utf8'));
  const runners = page.locator('.run-query');
  if ((await runners.count()) !== examples.length) problems.push(`${name}: not every query can be run`);
  for (const [index, { answer }] of examples.entries()) {
    const runner = runners.nth(index);
    await runner.locator('button').click();
    await runner.locator('pre').waitFor();
    const shown = shownAnswer(JSON.parse((await runner.locator('pre').textContent())!) as object);
    // Mutations make ids and times, so only the shape of their answers can be compared.
    const same = name.endsWith('mutations')
      ? Object.keys(shown).join() === Object.keys(answer).join()
      : JSON.stringify(sorted(shown)) === JSON.stringify(sorted(answer));
    if (!same) problems.push(`${name}: query ${index + 1} answers ${JSON.stringify(shown)}`);
  }
  await page.close();
}

async function checkPlayground(): Promise<void> {
  const page = await open();
  await page.goto(`${origin}/playground.html`);
  const run = page.locator('.playground button');
  await page.locator('.playground [role=status]', { hasText: 'Ready' }).waitFor();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  const options = await page.locator('.playground option').count();
  if (options !== 5) problems.push(`The playground has ${options} examples`);
  for (let index = 0; index < options; index++) {
    await page.locator('.playground select').selectOption({ index });
    await run.click();
    await page.locator('.playground [role=status]', { hasText: 'ms' }).waitFor();
    const answer = JSON.parse((await page.locator('.playground pre').textContent())!) as object;
    if (Object.keys(answer).join() !== 'data') problems.push(`The playground's example ${index + 1} fails`);
  }
  if (requests.length > 0) problems.push(`Queries of the playground request ${requests.join(', ')}`);
  await page.close();
}

async function checkApi(): Promise<void> {
  const page = await open();
  await page.goto(`${origin}/api/index.html`);
  if (!(await page.title()).includes('fhirgraph')) problems.push('There is no API reference');
  await page.close();
}

/** With the keys of objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
