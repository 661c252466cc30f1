import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/compile.js';
import { anchorsOf } from '../support/markdown.js';

/** The first questions of adopters: the page and the heading with the answer, and a text that the section must contain. */
const QUESTIONS: readonly (readonly [question: string, answer: string, text: string])[] = [
  ['How do I start?', 'docs/tutorial/getting-started.md#1-install', 'npm install fhirgraph'],
  ['How do I mount it in Express, Fastify or Hono?', 'docs/how-to/http-service.md#where-to-mount-it', 'Express'],
  ['How do I verify a token?', 'docs/how-to/http-service.md#serve-over-http', 'jwtVerify'],
  ['Which claims sign a member in?', 'docs/how-to/signing-in.md#who-signs-in', '{ project, externalId }'],
  ['How do I lock somebody out?', 'docs/how-to/signing-in.md#end-access', 'revokeSessions'],
  ['How do I limit an app to SMART scopes?', 'docs/how-to/signing-in.md#narrowing-a-caller', 'patient/Observation.rs'],
  ['How do I invite a practitioner?', 'docs/how-to/inviting.md#invite', "resourceType: 'Practitioner'"],
  ['How do I find and remove members?', 'docs/how-to/members.md#change-and-remove-members', 'removeMember'],
  ['How do I give a client a secret?', 'docs/how-to/members.md#clients-and-bots', 'rotateClientSecret'],
  [
    'How do I restrict a practitioner to one ward?',
    'docs/how-to/policy-cookbook.md#one-organization',
    'subject:Patient.organization',
  ],
  ['How do I hide a field?', 'docs/how-to/policy-cookbook.md#hidden-fields', 'hiddenFields'],
  ['Which elements does a policy have?', 'docs/reference/access-policies.md#elements-of-a-rule', 'writeConstraint'],
  ['What can a member without a policy do?', 'docs/concepts/access.md#without-a-policy', 'requirePolicy'],
  ['Why is access denied?', 'docs/how-to/troubleshoot.md#nothing-comes-back', 'explainAccess'],
  ['How do I query a patient with observations?', 'docs/reference/queries.md#follow-references-back', '_reference'],
  ['How do I page?', 'docs/reference/queries.md#pages-and-counts', 'cursor'],
  ['What does a search by name find?', 'docs/reference/searching.md#strings', ':contains'],
  ['How do I write through GraphQL?', 'docs/how-to/mutations.md#create', 'PatientCreate'],
  ['How do I import a Bundle?', 'docs/how-to/import.md#bundles', 'importBundle'],
  ['How do I import a Bulk Data export?', 'docs/how-to/import.md#ndjson', 'importNdjson'],
  ['How do I add a field?', 'docs/how-to/host-fields.md#a-field-on-a-type', 'resolve(parents'],
  ['How do I add a search parameter?', 'docs/how-to/search-parameters.md#what-you-can-define', 'expression'],
  ['How do I use US Core?', 'docs/how-to/profiles.md#extensions-as-fields', 'US Core'],
  ['How do I search by a value set?', 'docs/how-to/terminology.md#terminology', ':in='],
  ['How do I run in a container?', 'docs/how-to/deploy.md#a-container-with-sqlite', 'FROM node'],
  ['How do I run on Lambda?', 'docs/how-to/deploy.md#serverless', 'Lambda'],
  ['How do I use PostgreSQL?', 'docs/how-to/postgresql.md#postgresql', 'new PostgresStore'],
  ['How do I back up?', 'docs/how-to/back-up.md#sqlite', 'store.backup'],
  ['How do I upgrade?', 'docs/how-to/upgrade.md#steps', 'checkPolicies'],
  ['What breaks between versions?', 'docs/how-to/upgrade.md#versioning-policy', 'Semantic Versioning'],
  ['What does error X mean?', 'docs/reference/errors.md#every-code', '`policy-invalid`'],
  ['May I repeat a write that failed?', 'docs/reference/errors.md#writes-in-doubt', 'unknown: true'],
  ['What may one query cost?', 'docs/reference/limits.md#choose-limits', 'cost'],
  ['Who saw a record?', 'docs/how-to/audit.md#who-saw-my-record', 'searchAuditLog'],
  ['How do I erase a patient?', 'docs/how-to/erasing.md#a-patient', 'erasePatient'],
  ['What must a load balancer ask?', 'docs/how-to/deploy.md#health-and-readiness', 'store.read('],
  ['What may I log?', 'docs/how-to/observability.md#logs', 'clinical values'],
  ['May clocks differ?', 'docs/how-to/signing-in.md#clocks', '60 seconds'],
  ['How do I limit the rate of a client?', 'docs/reference/limits.md#choose-limits', 'Rate limits'],
  ['Can I go back to the old version?', 'docs/how-to/upgrade.md#roll-back-a-deployment', 'restore the backup'],
  ['What does a restore lose?', 'docs/how-to/back-up.md#what-a-rollback-loses', 'revokeSessions'],
  ['Which versions get fixes?', 'docs/how-to/upgrade.md#support', 'newest minor version'],
  ['What does HIPAA ask of me?', 'docs/how-to/compliance.md#hipaa', '312(b)'],
  ['How do I monitor it?', 'docs/how-to/observability.md#spans-and-counts', 'OpenTelemetry'],
  ['How fast is it?', 'docs/internals/performance.md#figures', 'floor'],
  ['Does my Medplum code work?', 'docs/how-to/medplum.md#every-method', '`searchResources`'],
  ['Where is a change to be made in the code?', 'docs/internals/architecture.md#architecture', 'src/graphql'],
];

const clicks = clicksFrom('README.md');

describe('a question is answered within two clicks from the README', () => {
  test.each(QUESTIONS)('%s', (_question, answer, text) => {
    const [page, anchor] = answer.split('#') as [string, string];
    expect(clicks.get(page)).toBeLessThanOrEqual(2);
    expect(anchorsOf(pageText(page))).toContain(anchor);
    expect(sectionOf(page, anchor)).toContain(text);
  });
});

test('a page that nothing links would be found', () => {
  expect(clicks.get('docs/how-to/no-such-page.md')).toBeUndefined();
});

/** The least number of clicks from a page to each page that its links lead to. */
function clicksFrom(start: string): ReadonlyMap<string, number> {
  const found = new Map([[start, 0]]);
  for (const [page, distance] of found) {
    for (const [, target] of pageText(page).matchAll(/\]\((?![a-z]+:)([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
      const path = normalize(join(dirname(page), target!));
      if (!found.has(path) && existsSync(join(ROOT, path))) found.set(path, distance + 1);
    }
  }
  return found;
}

/** The text below a heading, up to the next heading of its level or above. A title's section ends at the next heading. */
function sectionOf(page: string, anchor: string): string {
  const lines = pageText(page).split('\n');
  const headings = headingLines(lines);
  const at = anchorsOf(pageText(page)).indexOf(anchor);
  const { line, level } = headings[at]!;
  const end = headings.slice(at + 1).find((next) => level === 1 || next.level <= level);
  return lines.slice(line, end?.line).join('\n');
}

function headingLines(lines: readonly string[]): { readonly line: number; readonly level: number }[] {
  let isCode = false;
  return lines.flatMap((text, line) => {
    if (text.startsWith('```')) isCode = !isCode;
    const level = isCode ? 0 : (/^#+(?= )/.exec(text)?.[0].length ?? 0);
    return level === 0 ? [] : [{ line, level }];
  });
}

function pageText(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}
