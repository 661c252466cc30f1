import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium'];

/** A Chromium of this machine: the path in `FHIRGRAPH_CHROMIUM`, or one in the usual places. */
export function findChromium(): string | undefined {
  const named = process.env['FHIRGRAPH_CHROMIUM'];
  return named ?? PLACES.find((place) => existsSync(place));
}

export function launchChromium(path: string): Promise<Browser> {
  // The sandbox needs rights that containers rarely have; the page is our own.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu'] });
}
