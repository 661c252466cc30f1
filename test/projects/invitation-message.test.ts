import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plausibleEmail } from '../../src/projects/body/invite-body.js';
import type { InvitationFacts } from '../../src/index.js';
import { buildInvitationMessage } from '../../src/mail.js';
import { CHARACTER, cases } from '../support/chance.js';

const meta = { versionId: '1', lastUpdated: '2030-01-01T00:00:00.000Z' };

function facts(
  names: { project?: string; user?: string; inviter?: string; isNewUser?: boolean } = {},
): InvitationFacts {
  const { project = 'Clinic', user = 'Ann', inviter, isNewUser = true } = names;
  return {
    to: 'ann@example.org',
    date: '2030-01-01T00:00:00.000Z',
    project: { resourceType: 'Project', id: 'p', meta, name: project },
    user: { resourceType: 'User', id: 'u', meta, firstName: user, lastName: 'Lee' },
    profile: { resourceType: 'Patient', id: 'x', meta },
    membership: { resourceType: 'ProjectMembership' } as never,
    isNewUser,
    invitedBy: inviter === undefined ? undefined : { display: inviter },
  };
}

describe('the default invitation', () => {
  test('names the inviter and the project, and how to continue', () => {
    const { subject, text } = buildInvitationMessage(facts({ inviter: 'Ada Smith' }), {
      link: 'https://app.example.org/start?a=1&b=2',
    });
    expect(subject).toBe('Invitation to Clinic');
    expect(text).toBe(
      `Hello Ann,

Ada Smith has invited you to Clinic.

An account has been made for you. To use it, set up your sign-in first.

https://app.example.org/start?a=1&b=2

If you did not expect this message, you can ignore it.
`,
    );
  });

  test('addresses people who have an account', () => {
    const { text } = buildInvitationMessage(facts({ isNewUser: false }));
    expect(text).toContain('You have been invited to Clinic.');
    expect(text).toContain('Sign in with the account that you have already.');
  });

  test('escapes HTML', () => {
    const { html } = buildInvitationMessage(facts({ project: `<b>"A" & 'B'<b>`, user: '<script>' }), {
      link: 'https://example.org/?a="&b',
    });
    expect(html).not.toMatch(/<(?!\/?p>|a href="|\/a>)/);
    expect(html).toContain('&#60;b&#62;&#34;A&#34; &#38; &#39;B&#39;&#60;b&#62;');
    expect(html).toContain('<a href="https://example.org/?a=%22&#38;b">');
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'app', 'file:///etc'])('refuses the link %s', (link) => {
    expect(() => buildInvitationMessage(facts(), { link })).toThrow(TypeError);
  });

  test('has one short subject line, with any names', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER, maxLength: 400 }), (project) => {
        const { subject, html, text } = buildInvitationMessage(facts({ project, user: project, inviter: project }));
        expect([...subject].length).toBeLessThanOrEqual(150);
        expect(subject).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        expect(html.replace(/<\/?p>/g, '')).not.toMatch(/[<>]/);
      }),
    );
  });
});

test('no plausible e-mail address can break out of a header, and its normal form is stable', () => {
  const pieces = fc.constantFrom(
    'a',
    'B',
    '.',
    '@',
    '\r\n',
    ' ',
    ',',
    '<',
    '>',
    '\uff20',
    '\u0308',
    '\u200b',
    'é',
    '"',
    ';',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const email = plausibleEmail(parts.join(''));
      if (email === undefined) return;
      expect(email).toMatch(/^[^\s@<>,;"\p{C}]+@[^\s@<>,;"\p{C}]+$/u);
      expect(plausibleEmail(email)).toBe(email);
    }),
    { numRuns: cases(2_000, 120) },
  );
});
