// Takes the pictures of docs/images: starts `npm run example:graphiql` and looks at it with a headless Chromium.
import './assert-node.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findChromium, launchChromium } from '../test/servers/chromium.js';

const PORT = 18_080;
const IMAGE = fileURLToPath(new URL('../docs/images/graphiql.png', import.meta.url));

const chromium = findChromium();
if (chromium === undefined) throw new Error('No Chromium here; name one with FHIRGRAPH_CHROMIUM');
const example = spawn(process.execPath, ['--import', 'tsx', 'examples/graphiql.ts'], {
  env: { ...process.env, PORT: String(PORT) },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [line] = (await once(example.stdout, 'data')) as [Buffer];
  const address = /http\S+/.exec(line.toString())![0];
  const browser = await launchChromium(chromium);
  const page = await browser.newPage({ viewport: { width: 1200, height: 720 } });
  const told = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.goto(address);
  await told;
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.locator('.graphiql-execute-button').click();
  await answered;
  // Ada begins to ask for one more field.
  await page.locator('.graphiql-query-editor .view-line', { hasText: 'birthDate' }).click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('gen');
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
