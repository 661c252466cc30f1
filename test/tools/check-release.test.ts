import { expect, test } from 'vitest';
// @ts-expect-error -- a script without types
import { missingForRelease } from '../../scripts/check-release.mjs';

const MANIFEST = {
  version: '1.2.3',
  repository: 'github:owner/fhirgraph',
  bugs: 'https://example.org/bugs',
  homepage: 'https://example.org',
  author: 'Ann',
  config: { ownerOfFhirgraphOrg: 'Ann' },
};
const CHANGELOG = '# Changes\n\n## 1.2.3 (2027-01-02)\n';

test('a complete release lacks nothing', () => {
  expect(missingForRelease(MANIFEST, CHANGELOG, 'v1.2.3', true)).toEqual([]);
});

test('a release without an author or owners, with another tag or without its changes is refused', () => {
  const manifest = { ...MANIFEST, author: '', config: {} };
  expect(missingForRelease(manifest, '## 1.2.30 (2027-01-02)\n', 'v1.2.4', false)).toEqual([
    'package.json has no "author".',
    'package.json does not say in "config.ownerOfFhirgraphOrg" who owns fhirgraph.org, the domain of the extension URLs.',
    '.github/CODEOWNERS does not say who reviews changes.',
    'The tag is v1.2.4, but package.json has version 1.2.3.',
    'CHANGELOG.md has no heading "## 1.2.3 (date)".',
  ]);
});
