import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InvitationFacts } from '../../src/index.js';
import { buildInvitationMessage, nameForMessage } from '../../src/mail.js';
import { cases, SEED } from '../support/chance.js';

describe('a name can be in a message', () => {
  test.each([
    'Ann Lee',
    "Siobhán O'Brien",
    'Anne-Marie Müller-Lüdenscheidt',
    'Dr. Ann Lee, M.D., Ph.D.',
    'J.R. Smith',
    'Dipl.-Ing. Eva Maier',
    'J. R. R. Tolkien',
    "St. Mary's Hospital",
    'Klinikum Nord e.V.',
    'U.S. Veterans (West)',
    'Clinic: North',
    'Ward 24/7',
    'Cardiology/ICU',
    'Ward 10:30',
    'Trial NCT0123456',
    'Study v2.0',
    'Clinic @ Home',
    'Müller & Söhne GmbH + Co. KG',
    'Praxis „Am See“',
    '<b>"A" & B',
    '東京大学病院',
    'ジョン・スミス',
    'Sant Cel·la',
    'مستشفى الملك',
    'बाल चिकित्सालय',
    'Клиника №1',
    'a',
    'Clinic!',
    'Really?',
  ])('%j', (name) => {
    expect(nameForMessage(name)).toBe(name);
  });

  test.each([
    ['  Ann   Lee ', 'Ann Lee'],
    ['Ann\r\nBcc: eve', 'Ann Bcc: eve'],
    ['Ann\u2028Lee', 'Ann Lee'],
    ['Ann\u202eeeL', 'Ann eeL'],
    ['Ann\u0000\u0007Lee', 'Ann Lee'],
    ['Ann\u00a0Lee', 'Ann Lee'],
    ['x'.repeat(200), `${'x'.repeat(99)}…`],
  ])('%j as %j', (name, shown) => {
    expect(nameForMessage(name)).toBe(shown);
  });
});

/** Each of them is a link, or could be a link, in some mail client. */
const LINKS = [
  'http://evil.example',
  ':https:evil',
  '：https:evil',
  '1:mailto:evil',
  'HTTPS://EVIL.EXAMPLE/x?y=1',
  'http:evil',
  'hxxp://evil',
  'mailto:eve@evil.example',
  'tel:5550199',
  'javascript:alert(1)',
  '//evil',
  'www.evil.example',
  'WWW.x',
  'evil.example',
  'evil.example/x',
  'Evil.Com',
  't.co',
  't.c/x',
  'sub.domain.evil.example',
  'évil.example',
  'xn--vil-9la.example',
  'пример.рф',
  '例え.テスト',
  'i❤.ws',
  'evil．example',
  'evil。example',
  'evil｡example',
  'evil․example',
  'evil﹒example',
  'ｅｖｉｌ．ｅｘａｍｐｌｅ',
  'ｈｔｔｐ：／／ｅｖｉｌ',
  'evil.\u0301example',
  'evil.e\u0301xample',
  '⒈evil.example',
  'eve@evil',
  'eve＠evil',
  '1.2.3.4',
  '10.0.0.1/x',
  'localhost:8080',
  '[::1]',
  '\\\\server\\share',
  '+1 800 555 0199',
  '0800-123-45678',
  '(030) 1234 56789',
];

test.each(LINKS)('%j does not', (link) => {
  for (const name of [link, `Visit ${link} now`, `(${link})`, `"${link}"`, `<${link}>`, `${link}.`, `x ${link}`]) {
    expect([name, nameForMessage(name)]).toEqual([name, undefined]);
  }
});

test.each([
  'evil\u200b.example',
  'evil\u00ad.example',
  'evil\u2060.example',
  'evil\ufe0f.example',
  'evil\u034f.example',
  'evil\u3164.example',
])('%j is not a link once the invisible character is a space', (name) => {
  expect(nameForMessage(name)).toBe('evil .example');
});

test.each(['', ' ', '\n', '\u200b', '\u202e\u0000'])('%j is not a name', (name) => {
  expect(nameForMessage(name)).toBeUndefined();
});

test('every character that makes a domain of two words is treated as a dot', () => {
  const dots: string[] = [];
  for (let code = 1; code < 0x20000; code += 1) {
    const character = String.fromCodePoint(code);
    if (/[\p{L}\p{N}\p{Cn}\p{Co}\p{Cs}]/u.test(character)) continue;
    const domain = domainToASCII(`evil${character}example`);
    if (!domain.includes('.')) continue;
    dots.push(character);
    expect([character, nameForMessage(`evil${character}example`)]).toEqual([character, undefined]);
  }
  expect(dots).toEqual(expect.arrayContaining(['.', '\u3002', '\uff0e', '\uff61']));
});

const meta = { versionId: '1', lastUpdated: '2030-01-01T00:00:00.000Z' };

function messageOf(project: string, firstName: string, inviter: string): ReturnType<typeof buildInvitationMessage> {
  const facts: InvitationFacts = {
    to: 'ann@example.org',
    date: '2030-01-01T00:00:00.000Z',
    project: { resourceType: 'Project', id: 'p', meta, name: project },
    user: { resourceType: 'User', id: 'u', meta, firstName, lastName: 'Lee' },
    profile: { resourceType: 'Patient', id: 'x', meta },
    membership: { resourceType: 'ProjectMembership' } as never,
    isNewUser: true,
    invitedBy: { display: inviter },
  };
  return buildInvitationMessage(facts, { link: 'https://app.example.org/welcome' });
}

test('a message omits names that could be links', () => {
  for (const link of LINKS) {
    const { subject, text, html } = messageOf(`Win ${link}`, `Ann ${link}`, `Eve ${link}`);
    expect(subject).toBe('Invitation to a project');
    expect(text).toBe(
      `Hello,

You have been invited to a project.

An account has been made for you. To use it, set up your sign-in first.

https://app.example.org/welcome

If you did not expect this message, you can ignore it.
`,
    );
    expect(html.match(/<a /g)).toHaveLength(1);
    expect(html).not.toContain('Win');
  }
});

test('with any names, the only link is that of the host', () => {
  const pieces = fc.constantFrom(
    ...['evil', 'example', 'www', 'http', 'https', 'mailto', 'com', 'a', 'ü', 'рф', '例', '1', '255', '❤'],
    ...['.', '。', '．', '｡', '․', '/', '／', ':', '：', '@', '＠', '\\', '?', '#', '-', '_', '%2e', '&#46;'],
    ...[
      ' ',
      '\n',
      '\r\n',
      '\t',
      '\u200b',
      '\u202e',
      '\u2066',
      '\u00ad',
      '\u0301',
      '\ufe0f',
      '\u2028',
      '<',
      '>',
      '"',
      "'",
    ],
  );
  const name = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
  // The patterns of linkifiers, stated independently of the rule: schemes, www, addresses, and words with a domain's dot.
  const linkified =
    /[a-z][a-z0-9+.-]*:\/\/|\b(?:mailto|tel|https?):[\p{L}\p{N}/]|\bwww\.[\p{L}\p{N}]|[\p{L}\p{N}]@[\p{L}\p{N}]|[\p{L}\p{N}][.。．｡․][\p{L}\p{N}]{2}|\d\.\d+\.\d+\.\d/iu;
  const own = 'https://app.example.org/welcome';
  fc.assert(
    fc.property(name, name, name, (project, invitee, inviter) => {
      const { subject, text, html } = messageOf(project, invitee, inviter);
      expect(subject).not.toMatch(linkified);
      expect(subject).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect([...subject].length).toBeLessThanOrEqual(150);
      expect(text.replace(own, '')).not.toMatch(linkified);
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(html.replaceAll(/<a href="[^"]*">[^<]*<\/a>/g, '').replaceAll(/<\/?p>|&#\d+;/g, ' ')).not.toMatch(
        linkified,
      );
      expect(html.match(/<(?!\/?p>|\/?a[ >])/g)).toBeNull();
    }),
    { seed: SEED, numRuns: cases(500) },
  );
});
