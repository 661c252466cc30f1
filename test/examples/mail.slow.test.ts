import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Email } from 'postal-mime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { smtpMailer } from '../../examples/mail/smtp-mailer.js';
import { tellMailStory } from '../../examples/mail/story.js';
import { createProject, initialize, invite, MemoryStore } from '../../src/index.js';
import { LOADER } from '../support/load-typescript.js';
import { type MailBox, openMailBox } from '../support/mail-box.js';

const FROM = 'Riverside Clinic <no-reply@example.org>';

let box: MailBox;
beforeEach(async () => {
  box = await openMailBox();
});
afterEach(() => box.close());

describe('invitations over SMTP', () => {
  test('reach a new user, an existing user, and a user with a server that failed at first', async () => {
    const mailer = smtpMailer(box.url, FROM);
    const broken = smtpMailer('smtp://127.0.0.1:9', FROM);
    const lines: string[] = [];
    const story = await tellMailStory(new MemoryStore(), mailer, broken, (line) => lines.push(line));
    mailer.close();

    expect(story).toMatchObject({
      newUser: { status: 'sent' },
      existingUser: { status: 'sent' },
      whileServerFails: { status: 'failed', error: { code: 'unavailable' } },
      sentAgain: { status: 'sent' },
    });
    expect(box.arrived.map(({ recipients, email }) => [recipients, email.subject])).toEqual([
      [['ada@example.org'], 'Invitation to Riverside Clinic'],
      [['ada@example.org'], 'Invitation to Hillside Clinic'],
      [['ben@example.org'], 'Invitation to Riverside Clinic'],
    ]);
    const [toNew, toKnown, again] = box.arrived.map(({ email }) => email) as [Email, Email, Email];
    expect(toNew.from).toEqual({ name: 'Riverside Clinic', address: 'no-reply@example.org' });
    expect(toNew.to).toEqual([{ name: '', address: 'ada@example.org' }]);
    expect(toNew.text).toContain('An account has been made for you.');
    expect(toNew.text).toContain('https://app.example.org/welcome');
    expect(toNew.html).toContain('<a href="https://app.example.org/welcome">');
    expect(toKnown.text).toContain('Sign in with the account that you have already.');
    expect(again.text).toContain('Hello Ben,');
  });

  test('are valid when the server refuses the recipient, with the answer of the server as the cause', async () => {
    const store = new MemoryStore();
    const { caller } = await initialize(store, { name: 'Operations' });
    const project = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller });
    box.refuse = Object.assign(new Error('No such mailbox'), { responseCode: 550 });
    const mailer = smtpMailer(box.url, FROM);
    const { membership, email } = await invite(
      project.id,
      { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' },
      { store, caller, mailer },
    );
    mailer.close();
    expect(membership.active).toBe(true);
    expect(email).toMatchObject({ status: 'failed', error: { code: 'unavailable', cause: { responseCode: 550 } } });
    expect(box.arrived).toEqual([]);
  });

  test('keep names with line separators, HTML or addresses out of headers and markup', async () => {
    const store = new MemoryStore();
    const { caller } = await initialize(store, { name: 'Operations' });
    const project = await createProject(
      { resourceType: 'Project', name: 'Clinic\u2028Bcc: eve <b>' },
      { store, caller },
    );
    const mailer = smtpMailer(box.url, FROM);
    const { email } = await invite(
      project.id,
      {
        resourceType: 'Patient',
        firstName: '<script>x</script>',
        lastName: 'Ü, eve@example.org',
        email: 'ö.a@example.org',
      },
      { store, caller, mailer },
    );
    mailer.close();
    expect(email).toEqual({ status: 'sent' });
    const [{ recipients, email: arrived }] = box.arrived as [MailBox['arrived'][number]];
    expect(recipients).toHaveLength(1);
    expect(arrived.bcc).toBeUndefined();
    expect(arrived.subject).toBe('Invitation to Clinic Bcc: eve <b>');
    expect(arrived.html).not.toMatch(/<script|<b>/);
  });

  test('the example runs', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', LOADER, 'examples/mail.ts'], {
      env: { ...process.env, SMTP_URL: box.url },
    });
    expect(stdout).toMatch(/Later: sent/);
    expect(box.arrived).toHaveLength(3);
  });
});
