import { existsSync, readFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { pathToFileURL } from 'node:url';

/**
 * What a release still lacks, as sentences: `npm run check:release -- v1.0.0` refuses to publish while there is any.
 *
 * @param {Record<string, any>} manifest package.json
 * @param {string} changelog CHANGELOG.md
 * @param {string | undefined} tag the tag of the release, such as v1.0.0
 * @param {boolean} hasOwners whether .github/CODEOWNERS names who reviews changes
 */
export function missingForRelease(manifest, changelog, tag, hasOwners) {
  const missing = ['repository', 'bugs', 'homepage', 'author']
    .filter((field) => !manifest[field])
    .map((field) => `package.json has no "${field}".`);
  if (!manifest.config?.ownerOfFhirgraphOrg) {
    missing.push(
      'package.json does not say in "config.ownerOfFhirgraphOrg" who owns fhirgraph.org, the domain of the extension URLs.',
    );
  }
  if (!hasOwners) missing.push('.github/CODEOWNERS does not say who reviews changes.');
  if (tag !== `v${manifest.version}`)
    missing.push(`The tag is ${tag}, but package.json has version ${manifest.version}.`);
  const heading = new RegExp(`^## ${manifest.version.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm');
  if (!heading.test(changelog)) missing.push(`CHANGELOG.md has no heading "## ${manifest.version} (date)".`);
  return missing;
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
  const hasOwners = existsSync(new URL('../.github/CODEOWNERS', import.meta.url));
  const missing = missingForRelease(JSON.parse(read('package.json')), read('CHANGELOG.md'), argv[2], hasOwners);
  for (const sentence of missing) console.error(sentence);
  exit(missing.length === 0 ? 0 : 1);
}
