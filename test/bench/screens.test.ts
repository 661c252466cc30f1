import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { assertEqualAnswers } from '../../bench/equal-answers.js';
import { openScreens, VARIABLES } from '../../bench/screens.js';
import { SCREENS } from '../../bench/screens/queries.js';

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-screens-'));
const opened = await openScreens(folder, 6);

afterAll(async () => {
  await opened.close();
  rmSync(folder, { recursive: true });
});

test.each(SCREENS)('$what: hand-written SQL and the stores give one answer', async (screen) => {
  expect(await assertEqualAnswers(opened.variants, screen, VARIABLES)).toBeGreaterThan(1_000);
});
