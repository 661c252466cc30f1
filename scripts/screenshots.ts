// Takes the pictures of docs/images: starts `npm run quickstart -- --serve` and opens it in a headless Chromium.
import './assert-node.mjs';
import { spawn } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findChromium, launchChromium } from '../test/servers/chromium.js';

const PORT = 18_080;
const IMAGE = fileURLToPath(new URL('../docs/images/graphiql.png', import.meta.url));

const chromium = findChromium();
if (chromium === undefined) throw new Error('No Chromium here; name one with FHIRGRAPH_CHROMIUM');
const example = spawn(
  process.execPath,
  ['--import', 'tsx', 'examples/quickstart.ts', '--serve', '--port', String(PORT)],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
try {
  const address = await printedAddress();
  const browser = await launchChromium(chromium);
  const page = await browser.newPage({ viewport: { width: 1200, height: 720 }, colorScheme: 'light' });
  const schema = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.goto(address);
  await schema;
  // A click into an operation makes it the one that the keys run.
  const line = page.locator('.graphiql-query-editor .view-line', { hasText: 'birthDate' }).first();
  await line.click({ position: { x: 60, y: 8 } });
  const answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.keyboard.press('Control+Enter');
  await answer;
  // The editor offers the fields that begin with "ma".
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('ma');
  await page.keyboard.press('Control+Space');
  await page.locator('.suggest-widget').first().waitFor();
  await page.waitForTimeout(1_500);
  mkdirSync(fileURLToPath(new URL('.', `file://${IMAGE}`)), { recursive: true });
  await page.screenshot({ path: IMAGE });
  await browser.close();
  console.log(`${IMAGE}: ${Math.round(statSync(IMAGE).size / 1000)} kB`);
} finally {
  example.kill();
}

function printedAddress(): Promise<string> {
  let printed = '';
  return new Promise((resolve, reject) => {
    example.stdout.on('data', (chunk) => {
      printed += String(chunk);
      const address = /http:\S+/.exec(printed)?.[0];
      if (address !== undefined) resolve(address);
    });
    example.once('exit', () => reject(new Error(`The example ended without an address: ${printed}`)));
  });
}
