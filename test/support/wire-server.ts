import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The server's reaction to a cancel request: see {@link WireServer.onCancel}. */
export interface CancelRequest {
  readonly processID: number;
  /** Whether the key is that of the process. */
  readonly fits: boolean;
  /** Ends the current statement of the process with an error, like PostgreSQL. */
  obey(): void;
  /** Closes the connection of the request, which shows that the request is complete. */
  close(): void;
}

/** A server that implements the part of PostgreSQL's protocol that `pg` needs, and stops where a test wants it to. */
export interface WireServer {
  readonly connection: { readonly host: string; readonly port: number; readonly user: string };
  /** Everything that happened, in order: `start 1`, `1: SELECT …`, `cancel 1`, `end 1`. */
  readonly events: readonly string[];
  /** Resolves when the event has happened so many times. */
  saw(event: string, times?: number): Promise<void>;
  /** Whether new connections receive a termination error, in one packet with the greeting. Default false. */
  endsNew: boolean;
  /** Decides about cancel requests. Default: cancels and closes if the key is right. */
  onCancel: (request: CancelRequest) => void;
  /** Answers a waiting statement: those with `slow` in their text wait. */
  answer(processID: number, state?: 'rows' | 'error'): void;
  /** Sends a warning to a connection, as PostgreSQL does within a statement. */
  warn(processID: number): void;
  /** Cuts a connection. */
  cut(processID: number): void;
  close(): Promise<void>;
}

export async function startWireServer(): Promise<WireServer> {
  const events: string[] = [];
  const waiting = new Set<() => void>();
  const processes = new Map<number, Socket>();
  const sockets = new Set<Socket>();
  const log = (event: string): void => {
    events.push(event);
    for (const check of waiting) check();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let pending = Buffer.alloc(0);
    let id: number | undefined;
    let prepared = '';
    socket.on('close', () => {
      sockets.delete(socket);
      if (id !== undefined) log(`end ${id}`);
    });
    const run = (text: string): void => {
      log(`${id}: ${text}`);
      if (!text.includes('slow')) socket.write(DONE);
    };
    socket.on('data', (data) => {
      pending = Buffer.concat([pending, data]);
      for (;;) {
        const typed = id !== undefined;
        if (pending.length < (typed ? 5 : 4)) return;
        const length = pending.readInt32BE(typed ? 1 : 0) + (typed ? 1 : 0);
        if (pending.length < length) return;
        const message = pending.subarray(0, length);
        pending = pending.subarray(length);
        if (!typed && message.readInt32BE(4) === CANCEL) {
          const processID = message.readInt32BE(8);
          log(`cancel ${processID}`);
          result.onCancel({
            processID,
            fits: message.readInt32BE(12) === keyOf(processID),
            obey: () => result.answer(processID, 'error'),
            close: () => socket.end(),
          });
          return;
        }
        if (!typed) {
          id = processes.size + 1;
          processes.set(id, socket);
          log(`start ${id}`);
          const greeting = [pack('R', int(0)), pack('K', Buffer.concat([int(id), int(keyOf(id))])), READY];
          if (result.endsNew) socket.end(Buffer.concat([...greeting, pack('E', ENDED)]));
          else socket.write(Buffer.concat(greeting));
          continue;
        }
        const text = message.subarray(5);
        if (message[0] === 0x51) run(text.toString('utf8', 0, text.length - 1));
        if (message[0] === 0x50) prepared = text.toString('utf8', 1, text.indexOf(0, 1));
        if (message[0] === 0x53) run(prepared);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const result: WireServer = {
    connection: { host: '127.0.0.1', port, user: 'test' },
    events,
    saw: (event, times = 1) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (events.filter((one) => one === event).length < times) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    endsNew: false,
    onCancel({ fits, obey, close }) {
      if (fits) obey();
      close();
    },
    answer: (processID, state = 'rows') => {
      processes.get(processID)!.write(state === 'rows' ? DONE : Buffer.concat([pack('E', CANCELLED), READY]));
    },
    warn: (processID) => void processes.get(processID)!.write(pack('N', WARNING)),
    cut: (processID) => void processes.get(processID)!.destroy(),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return result;
}

const CANCEL = 80877102;

/** A key that other processes cannot guess. */
function keyOf(processID: number): number {
  return processID * 7919;
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function pack(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int(body.length + 4), body]);
}

const READY = pack('Z', Buffer.from('I'));
const DONE = Buffer.concat([pack('C', Buffer.from('SELECT 0\0')), READY]);
const CANCELLED = Buffer.from('SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0');
const ENDED = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const WARNING = Buffer.from('SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication\0\0');
