import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { MemoryStore } from 'fhirgraph';
import { smtpMailer } from './mail/smtp-mailer.js';
import { tellMailStory } from './mail/story.js';

// Invitations that leave by SMTP. Run it with `npm run example:mail`: a mail server on this machine takes them and shows
// what arrived. `SMTP_URL=smtp://… npm run example:mail` sends them through a server of yours (to example.org).

const FROM = 'Riverside Clinic <no-reply@example.org>';
/** Port 9 is "discard": nobody answers there. */
const NOBODY = 'smtp://127.0.0.1:9';

const store = new MemoryStore();
const server = process.env.SMTP_URL === undefined ? await startServer() : undefined;
const url = process.env.SMTP_URL ?? `smtp://127.0.0.1:${(server!.server.address() as AddressInfo).port}`;
const mailer = smtpMailer(url, FROM);
const broken = smtpMailer(NOBODY, FROM);
try {
  await tellMailStory(store, mailer, broken, (line) => console.log(line));
} finally {
  mailer.close();
  broken.close();
  server?.close();
  await store.close();
}

async function startServer(): Promise<SMTPServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address).join(', ');
        console.log(`  mail server: ${bytes} bytes for ${to}`);
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return server;
}
