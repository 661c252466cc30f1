import { createTransport } from 'nodemailer';
import type { Mailer } from 'fhirgraph';

/** Sends invitations over SMTP. */
export interface SmtpMailer extends Mailer {
  close(): void;
}

/**
 * A mailer for `invite` that hands messages to an SMTP server.
 *
 * @param url such as `smtps://user:password@mail.example.org`; with `smtp:` the connection is encrypted as soon as the
 *   server offers it
 * @param from sender, such as `Riverside Clinic <no-reply@example.org>`
 */
export function smtpMailer(url: string, from: string): SmtpMailer {
  // One connection serves several invitations. Whoever invites waits for the answer: a server that says nothing is a
  // failure after ten seconds, not after minutes.
  const transport = createTransport({
    url,
    pool: true,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 10_000,
  });
  return {
    async send({ to, date, message }) {
      // An address object, so that nothing in it can be read as a list of several.
      await transport.sendMail({ from, to: { name: '', address: to }, date, ...message });
    },
    close: () => transport.close(),
  };
}
