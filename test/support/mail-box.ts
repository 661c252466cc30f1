import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** A mail server on loopback, and the messages that it accepted. */
export interface MailBox {
  readonly url: string;
  readonly arrived: { readonly recipients: readonly string[]; readonly raw: string; readonly email: Email }[];
  /** Answers every recipient with this from now on. */
  refuse: Error | undefined;
  close(): Promise<void>;
}

export async function openMailBox(): Promise<MailBox> {
  const arrived: MailBox['arrived'] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) => done(opened.refuse),
    onData(stream, session, done) {
      void text(stream).then(async (raw) => {
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        arrived.push({ recipients, raw, email: await PostalMime.parse(raw) });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const opened: MailBox = {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    arrived,
    refuse: undefined,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  return opened;
}
