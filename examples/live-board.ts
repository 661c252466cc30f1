import { createRepository, MemoryStore, systemCaller } from 'fhirgraph';
import { liveBoard } from './live-board/server.js';

// A ward board that shows tasks as they come. Run it with `npm run example:live-board` and open the address that it prints.

const PORT = Number(process.env.PORT ?? 8080);
const store = new MemoryStore();
const caller = systemCaller('ward');
const repository = createRepository({ store, caller });
const { id } = await repository.create({ resourceType: 'Patient', name: [{ family: 'Adams' }] });
liveBoard(store, caller).listen(PORT, '127.0.0.1', () => console.log(`Ward board: http://127.0.0.1:${PORT}/`));
for (let bed = 1; ; bed += 1) {
  const task = await repository.create({
    ...{ resourceType: 'Task', status: 'requested', intent: 'order', priority: 'routine' },
    ...{ description: `Measure the pulse in bed ${bed}`, for: { reference: `Patient/${id}` } },
  } as const);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  if (bed % 2 === 0) await repository.update({ ...task, status: 'completed' });
}
